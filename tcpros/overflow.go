package tcpros

import "sync/atomic"

// Overflow says what a publication does with a frame that a subscriber's queue has
// no room for.
type Overflow int

const (
	// OverflowDrop drops the oldest frame of a queue that holds
	// AdvertiseOptions.QueueFrames, and counts it, as stock does.
	OverflowDrop Overflow = iota
	// OverflowBlock drops nothing. Publish still never blocks: its caller asks Room
	// first and waits for AdvertiseOptions.Freed, else queues grow without bound. A
	// queue is full by its bytes, whatever QueueFrames says, so that memory is bounded.
	OverflowBlock
)

// A queue is full with so many bytes, but takes two frames of any size, so that the
// next one is there when one is written. It has room again at half of it: so there
// is a wake-up for many small frames, not for each.
const (
	blockBytes  = 2 << 20
	blockFrames = 2
	frameCost   = 64 // what a frame costs in memory beside its bytes
)

// room knows whether the queues of a publication can take another frame.
type room struct {
	block bool
	full  atomic.Int32 // links whose queue is full
	freed func()
}

// filled counts a link whose queue has become full.
func (r *room) filled() { r.full.Add(1) }

// release takes such a link back.
func (r *room) release() {
	if r.full.Add(-1) == 0 && r.freed != nil {
		r.freed()
	}
}

// isFull reports whether a queue, which was full before or not, takes no more.
func (r *room) isFull(before bool, frames, bytes int) bool {
	if before {
		return frames >= blockFrames && bytes > blockBytes/2
	}
	return r.block && frames >= blockFrames && bytes >= blockBytes
}

// Room reports whether the queue of every subscriber can take another frame. It
// costs next to nothing. With OverflowDrop it always says so.
func (p *Publication) Room() bool { return p.room.full.Load() == 0 }
