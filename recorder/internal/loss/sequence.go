// Package loss finds out what publishers have sent that never arrived: gaps in the sequence
// numbers of their messages, and links that were lost. It does no I/O and has no lock: that of
// the caller guards it.
//
// Decisions: ADR 0032, 0049.
package loss

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
)

// Publishers number the messages of a topic in header.seq, before their queue for
// this subscriber drops any. A missing number is a message that never reached this
// node: the publisher's queue was full because the network or this node was too slow,
// or there was no link.
//
// The numbers of some publishers mean something else. Many nodes set none; relays pass
// on the numbers of one node or of several; players repeat them. So the numbers of a
// publisher are believed only after they have grown by exactly one seqProof times in a
// row; then gaps before that count, too. Numbers that go back to before the first one,
// as those of a player that begins again, must prove themselves again. Numbers that go
// back to between the first and the last one come from several nodes: what was counted
// is taken back, and later numbers of the link are ignored. One case is not recognized: a
// relay that leaves out, on purpose, less than each fifth message.
const (
	seqProof = 4
	seqMost  = 1 << 24 // a larger step is no gap: this is 100 messages a second for two days
)

// Sequence finds the gaps in the numbers of one publisher. The goroutine of its link owns it.
type Sequence struct {
	begun   bool   // last is set
	off     bool   // the numbers are not the publisher's own
	first   uint32 // the number after the last restart
	last    uint32
	streak  int // steps of one in a row, up to seqProof
	early   int // missing since first, to be counted when the numbers are believed
	counted int // missing since first, and counted
}

// believed reports whether gaps count.
func (w *Sequence) believed() bool { return w.streak >= seqProof }

// Run reads the numbers of whole frames back to back, and returns how many messages are missing
// before and between the frames. A negative result takes back messages that were counted by mistake.
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

// Step is Run for one number.
func (w *Sequence) Step(seq uint32) (missing int) {
	if w.off {
		return 0
	}
	delta := int32(seq - w.last) // numbers wrap around
	switch {
	case !w.begun:
		w.restart(seq)
	case delta == 1:
		w.last = seq
		if w.streak = min(w.streak+1, seqProof); w.believed() {
			missing, w.early = w.early, 0
			w.counted += missing
		}
	case int32(seq-w.first) <= 0 || delta > seqMost || delta <= 0 && !w.believed():
		w.restart(seq)
	case !w.believed(): // the publisher's queue may be too small from the first message on
		w.early += int(delta) - 1
		w.last, w.streak = seq, 0
	case delta > 0:
		missing = int(delta) - 1
		w.counted += missing
		w.last = seq
	default: // back to between first and last
		w.off = true
		missing = -w.counted
	}
	return missing
}

func (w *Sequence) restart(seq uint32) {
	*w = Sequence{begun: true, first: seq, last: seq}
}

// Unseen counts a message that arrived and whose number was not read.
func (w *Sequence) Unseen() { w.last++ }

// reopened prepares for another link to the same process. The numbers go on, unless the process
// has advertised the topic again.
func (w *Sequence) reopened() {
	if w.counted = 0; w.believed() {
		w.first = w.last + 1
	}
}

// Numbered reports whether the first field of a message definition is a
// std_msgs/Header called header, whose first field is seq. It is how roscpp and rospy
// decide which messages they number.
func Numbered(definition string) bool {
	name, ok := stdmsg.FirstField(definition)
	return ok && name == "header"
}
