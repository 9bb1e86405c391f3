package intake

import (
	"errors"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/rosbag"
)

// PinLatched returns the latched messages that a file begins with: of all publishers, or of those
// that pass want if it is not nil. They stay as they are until unpin. mu is held.
func (in *Intake) PinLatched(want func(*latch.Source) bool) []latch.Pinned {
	all := in.Latched.AtFile(in.Account.Sources(), want)
	for _, l := range all {
		in.Account.Connections.Of(l.Conn).NoteWritten(in.Rotation.Part())
	}
	return all
}

// CountRepeated counts latched messages that were repeated. mu is held.
func (in *Intake) CountRepeated(c *chunk.Sealed) {
	in.Account.EachCount(c, func(t *account.Topic, n account.Tally) { t.Repeated += n.Messages })
}

// latchingOf returns the latching connections with messages in a chunk, nil if there are none.
func (in *Intake) latchingOf(chunk *chunk.Sealed) (all map[rosbag.ConnID]*latch.Source) {
	in.Mu.Lock()
	defer in.Mu.Unlock()
	for _, n := range chunk.Counts {
		if c := in.Account.Connections.Of(n.Conn); c != nil && c.Latching {
			if all == nil {
				all = map[rosbag.ConnID]*latch.Source{}
			}
			all[n.Conn.ID] = &c.Source
		}
	}
	return all
}

// ErrNoLatchedMemory says that the latched messages before a snapshot are not in it.
var ErrNoLatchedMemory = errors.New("no memory for what is latched before it")

// claimLatched counts n bytes for latched messages on their way to a file, if there are so many.
func (in *Intake) claimLatched(n int64) bool {
	in.Mu.Lock()
	defer in.Mu.Unlock()
	return in.Latched.Claim(n)
}

// unclaimLatched gives them back.
func (in *Intake) unclaimLatched(n int64) {
	in.Mu.Lock()
	in.Pool.UnuseLatched(n)
	in.Mu.Unlock()
}
