// Package loss finds out what publishers have sent that never arrived: gaps in the sequence
// numbers of their messages, and links that were lost. It does no I/O and has no lock: the
// caller's guards it.
package loss

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/internal/msgheader"
)

// Publishers number the messages of a topic in header.seq, before their queue for
// this subscriber drops any. A number that does not come is a message that never
// reached us: the publisher's queue was full because the network or we took too long,
// or the link was away.
//
// Not every publisher's numbers say that. Many set none; relays pass those of others
// on, or of several; players repeat them. So the numbers of a publisher are believed
// only once they have grown by exactly one seqProof times in a row; then the holes before
// that count, too. Numbers that go back before those, as a player's do that begins again,
// must be proved anew. Numbers that go back among those that were seen or left out come
// from several sources: what was counted is taken back, and the link is not looked at any
// more. What remains is a relay that leaves out less than each fifth message on purpose.
const (
	seqProof = 4
	seqMost  = 1 << 24 // a step beyond is no hole: 100 messages a second for two days
)

// Sequence finds the gaps in the numbers of one publisher. The goroutine of its link owns it.
type Sequence struct {
	begun  bool   // last is set
	off    bool   // the numbers are not the publisher's own
	first  uint32 // since it may be believed
	last   uint32
	streak int // steps of one, up to seqProof
	early  int // missing since first, to be counted when it is believed
	holes  int // counted since first
}

// believed reports whether a gap would be a hole.
func (w *Sequence) believed() bool { return w.streak >= seqProof }

// Run looks at whole frames back to back and returns how many messages are missing
// in front of and between them; negative takes some back.
func (w *Sequence) Run(frames []byte, count int) (missing int) {
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
				missing += w.Step(seq)
				last = w.last
			}
		}
		at += size
	}
	w.last = last
	return missing
}

// Step looks at one number.
func (w *Sequence) Step(seq uint32) (missing int) {
	if w.off {
		return 0
	}
	delta := int32(seq - w.last) // they wrap around
	switch {
	case !w.begun:
		w.restart(seq)
	case delta == 1:
		w.last = seq
		if w.streak = min(w.streak+1, seqProof); w.believed() {
			missing, w.early = w.early, 0
			w.holes += missing
		}
	case int32(seq-w.first) <= 0 || delta > seqMost || delta <= 0 && !w.believed():
		w.restart(seq)
	case !w.believed(): // its queue may be too small from the first message on
		w.early += int(delta) - 1
		w.last, w.streak = seq, 0
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

func (w *Sequence) restart(seq uint32) {
	*w = Sequence{begun: true, first: seq, last: seq}
}

// Unseen counts a message that came without its number being read.
func (w *Sequence) Unseen() { w.last++ }

// reopened prepares for another link to the same process. Its numbers go on, unless it
// began to publish anew.
func (w *Sequence) reopened() {
	if w.holes = 0; w.believed() {
		w.first = w.last + 1
	}
}

// Numbered reports whether the first field of a message definition is a
// std_msgs/Header called header, whose first field is seq. It is how roscpp and rospy
// decide which messages they number.
func Numbered(definition string) bool {
	name, ok := msgheader.First(definition)
	return ok && name == "header"
}
