package live

import (
	"hash/maphash"
	"slices"

	"github.com/gorosbag/gorosbag/internal/queue/placeheap"
	"github.com/gorosbag/gorosbag/rosbag"
)

// lane is the frames of one channel.
type lane struct {
	id      ChannelID
	latched fifo // from before the subscription; sent before live
	live    fifo
	turn    uint64 // number of the oldest frame, skipped ones included, since this channel was last served
	owed    bool   // turn is valid: a frame came since then
	joining bool   // its latched frames are not known yet: no frame may leave
	marks   []mark // of latched frames, which may come once more as live frames

	// Kept by the shelves.
	inTurns   bool // the lane is in shelves.turns,
	turnPlace int  // at this place
	shelf     *shelf
	place     int // in shelf
}

// shelf is a heap of lanes.
type shelf = placeheap.Heap[*lane]

// mark recognizes a frame that comes twice.
type mark struct {
	time rosbag.Time
	sum  uint64
}

var markSeed = maphash.MakeSeed()

func markOf(f *Frame) mark { return mark{f.Time, maphash.Bytes(markSeed, f.Payload)} }

func (l *lane) len() int { return l.latched.len() + l.live.len() }

// comesAgain reports whether f was received as a latched message.
func (l *lane) comesAgain(f *Frame) bool {
	i := slices.IndexFunc(l.marks, func(m mark) bool { return m.time == f.Time && m == markOf(f) })
	if i >= 0 {
		l.marks = slices.Delete(l.marks, i, i+1)
	}
	return i >= 0
}
