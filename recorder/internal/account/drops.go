package account

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// Drop counts messages that were received and are lost. Messages beyond the limit of the topic are
// not wanted and do not count.
func (t *Topic) Drop(cause control.DropCause, messages uint64) {
	t.dropped[cause] += t.Wanted(messages)
}

// DropOversize counts a message that is too large: the buffer would need at least the given number of bytes.
func (t *Topic) DropOversize(buffer int64) {
	t.Drop(control.DropOversize, 1)
	t.bufferNeeded = max(t.bufferNeeded, buffer)
}

// Drops is how many messages of a topic were lost, for one cause, since the last report.
type Drops struct {
	Topic        string
	Cause        control.DropCause
	Messages     uint64
	BufferNeeded int64 // bytes, for DropOversize; zero if it is not known
}

// NewDrops returns the lost messages to report at now.
func (a *Accounts) NewDrops(now time.Time) []Drops {
	var all []Drops
	for _, t := range a.topics {
		if t.reportedDrops == nil {
			if t.dropped == [control.DropCauses]uint64{} {
				continue
			}
			t.reportedDrops = new([control.DropCauses]loss.Reported)
		}
		for cause, n := range t.dropped {
			if d := t.reportedDrops[cause].Growth(n, now); d > 0 {
				lost := Drops{Topic: string(t.name), Cause: control.DropCause(cause), Messages: d}
				if lost.Cause == control.DropOversize {
					lost.BufferNeeded = t.bufferNeeded
				}
				all = append(all, lost)
			}
		}
	}
	return all
}
