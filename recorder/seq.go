package recorder

import (
	"encoding/binary"
	"time"

	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Publishers number the messages of a topic in header.seq, before their queue for
// this subscriber drops any. A number that does not come is a message that never
// reached us: the publisher's queue was full because the network or we took too long,
// or the link was away.
//
// Not every publisher's numbers say that. Many set none; relays pass those of others
// on, or of several; players repeat them. So the numbers of a publisher are believed
// only once they have grown by exactly one seqProof times in a row. Numbers that go
// back before those, as a player's do that begins again, must be proved anew. Numbers
// that go back among those that were seen or left out come from several sources: what
// was counted is taken back, and the link is not looked at any more. What remains
// is a relay that leaves out less than each fifth message on purpose.
const (
	seqProof = 4
	seqMost  = 1 << 24 // a step beyond is no hole: 100 messages a second for two days
)

// seqWatch finds the holes in the numbers of one publisher. The link's goroutine owns it.
type seqWatch struct {
	begun  bool   // last is set
	off    bool   // the numbers are not the publisher's own
	first  uint32 // since it may be believed
	last   uint32
	streak int // steps of one, up to seqProof
	holes  int // counted since first
}

// believed reports whether a gap would be a hole.
func (w *seqWatch) believed() bool { return w.streak >= seqProof }

// run looks at whole frames back to back and returns how many messages are missing
// in front of and between them; negative takes some back.
func (w *seqWatch) run(frames []byte, count int) (missing int) {
	if w.off {
		return 0
	}
	last, at := w.last, 0
	for range count {
		size := int(binary.LittleEndian.Uint32(frames[at:]))
		if at += 4; size >= 4 {
			if seq := binary.LittleEndian.Uint32(frames[at:]); seq == last+1 && w.believed() {
				last = seq // almost always
			} else {
				w.last = last
				missing += w.step(seq)
				last = w.last
			}
		}
		at += size
	}
	w.last = last
	return missing
}

// step looks at one number.
func (w *seqWatch) step(seq uint32) (missing int) {
	if w.off {
		return 0
	}
	delta := int32(seq - w.last) // they wrap around
	switch {
	case !w.begun:
		w.restart(seq)
	case delta == 1:
		w.last = seq
		w.streak = min(w.streak+1, seqProof)
	case !w.believed() || int32(seq-w.first) <= 0 || delta > seqMost:
		w.restart(seq)
	case delta > 0:
		missing = int(delta) - 1
		w.holes += missing
		w.last = seq
	default: // back among those since first
		w.off = true
		missing = -w.holes
	}
	return missing
}

func (w *seqWatch) restart(seq uint32) {
	*w = seqWatch{begun: true, first: seq, last: seq}
}

// unseen counts a message that came without its number being read.
func (w *seqWatch) unseen() { w.last++ }

// again prepares for another link to the same process. Its numbers go on, unless it
// began to publish anew.
func (w *seqWatch) again() {
	if w.holes = 0; w.believed() {
		w.first = w.last + 1
	}
}

// beginsWithHeader reports whether the first field of a message definition is a
// std_msgs/Header called header, whose first field is seq. It is how roscpp and rospy
// decide which messages they number.
func beginsWithHeader(definition string) bool {
	name, ok := msgheader.First(definition)
	return ok && name == "header"
}

// watchedFrame looks at the number of a large message on its way.
type watchedFrame struct {
	tcpros.LargeFrame
	link *link
	head []byte // the frame's first bytes, once they are there
}

// Room implements tcpros.LargeFrame.
func (f *watchedFrame) Room(n int) []byte {
	room := f.LargeFrame.Room(n)
	if room == nil {
		f.link.seq.unseen() // it is counted as dropped
		f.head = nil
	} else if f.head == nil {
		f.head = room
	}
	return room
}

// Commit implements tcpros.LargeFrame.
func (f *watchedFrame) Commit(received time.Time) {
	w := f.link.seq
	if len(f.head) < 8 {
		w.unseen()
	} else {
		f.link.missed(w.step(binary.LittleEndian.Uint32(f.head[4:])))
	}
	f.head = nil
	f.LargeFrame.Commit(received)
}
