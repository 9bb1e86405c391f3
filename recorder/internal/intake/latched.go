package intake

import (
	"bytes"
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
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

// Unpin lets go of latched messages.
func (d Files) Unpin(all []latch.Pinned) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Latched.Unpin(all)
}

// warnShortage says once why latched messages are not repeated.
func (in *Intake) warnShortage() {
	in.Mu.Lock()
	s := in.Latched.TakeShortage()
	in.Mu.Unlock()
	switch {
	case s.Text == "":
	case s.Topic == "":
		in.log.Warn(s.Text)
	default:
		in.log.Warn(s.Text, zap.String("topic", s.Topic))
	}
}

// RepeatedInFile accounts for latched messages that were written to the file of part.
func (d Files) RepeatedInFile(c *chunk.Sealed, part int) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.CountRepeated(c)
	in.Rotation.Repeated(part, int64(len(c.Record)))
}

// RepeatedInSnapshot accounts for latched messages that were written to a snapshot.
func (d Snapshots) RepeatedInSnapshot(c *chunk.Sealed) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.CountRepeated(c)
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

// LatchedIn returns the last message of each latching connection in a sealed chunk, the latest
// first, with a copy if there is memory for that and the chunk itself takes more.
func (in *Intake) LatchedIn(c *memory.Chunk) []latch.Pinned {
	latching := in.latchingOf(c.Sealed)
	if latching == nil {
		return nil
	}
	var all []latch.Pinned
	var counted int64
	for conn, frame := range c.Builder.LastFrames(func(conn *rosbag.Connection) bool { return latching[conn.ID] != nil }) {
		l := &latch.Message{Frame: frame, Counted: latch.LatchedOverhead + in.Latched.Weight(len(frame))}
		all = append(all, latch.Pinned{Source: latching[conn.ID], Message: l})
		counted += l.Counted
	}
	copied := counted <= int64(len(c.Sealed.Record)) && in.claimForRing(counted)
	for _, l := range all {
		if copied {
			l.Frame = bytes.Clone(l.Frame)
		} else {
			l.Frame, l.Counted = nil, 0
		}
	}
	return all
}

// claimForRing counts n bytes for the ring if there are so many. The chunks of a requested
// snapshot must not displace each other.
func (in *Intake) claimForRing(n int64) bool {
	in.Mu.Lock()
	defer in.Mu.Unlock()
	if !in.Pool.Fits(n) && (in.Ring.Pending > 0 || !in.Pool.MakeRoom(n, memory.ForAny)) {
		return false
	}
	in.Pool.Use(n)
	return true
}

// UnpinState lets go of the state where a snapshot begins.
func (d Snapshots) UnpinState(s *latch.State) {
	in := d.in
	in.Mu.Lock()
	defer in.Mu.Unlock()
	in.Latched.UnpinState(s)
}

// ErrNoLatchedMemory says that the latched messages before a snapshot are not in it.
var ErrNoLatchedMemory = errors.New("no memory for what is latched before it")

// AddBefore adds copies of messages that come before the snapshot in the ring.
func (d Snapshots) AddBefore(s *latch.State, all []latch.Pinned) error {
	in := d.in
	var counted int64
	for _, l := range all {
		l.Counted = in.Latched.Weight(len(l.Frame))
		counted += l.Counted
	}
	if counted > 0 && !in.claimLatched(counted) {
		return ErrNoLatchedMemory
	}
	s.AddBefore(all)
	return nil
}

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

// FrameOf returns the frame of a latched message, and what that takes beside the bytes that are
// counted for the message, until unclaimLatched.
func (d Files) FrameOf(l latch.Pinned) (frame []byte, claimed int64, err error) {
	in := d.in
	if l.Chunk == nil {
		return l.Frame, 0, nil
	}
	claimed = in.Latched.Weight(int(l.Chunk.Sealed.UncompressedBytes))
	if !in.claimLatched(claimed) {
		return nil, 0, ErrNoLatchedMemory
	}
	for m, err := range l.Chunk.Sealed.Messages() {
		if err != nil {
			in.unclaimLatched(claimed)
			return nil, 0, err
		}
		if m.Conn.ID == l.Conn.ID {
			frame = m.Frame
		}
	}
	return frame, claimed, nil
}

// GoBy lets the notes of a chunk pass the ring.
func (d Snapshots) GoBy(c *ring.Chunk) {
	in := d.in
	in.Mu.Lock()
	in.Latched.Pass(c.TakeNotes())
	in.Mu.Unlock()
}
