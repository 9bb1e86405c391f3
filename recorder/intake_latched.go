package recorder

import (
	"bytes"
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// sources returns the connections as far as latched messages go, by id. mu is held.
func (in *intake) sources() []*latch.Source {
	all := make([]*latch.Source, len(in.connections.all))
	for i, c := range in.connections.all {
		all[i] = &c.Source
	}
	return all
}

// pinLatched returns the latched messages that a file begins with: of all publishers, or of those
// that pass want if it is not nil. They stay as they are until unpin. mu is held.
func (in *intake) pinLatched(want func(*latch.Source) bool) []latch.Pinned {
	all := in.latched.AtFile(in.sources(), want)
	for _, l := range all {
		in.connections.of(l.Conn).written = in.rotation.Part() + 1
	}
	return all
}

// unpin lets go of latched messages.
func (in *intake) unpin(all []latch.Pinned) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.Unpin(all)
}

// warnShortage says once why latched messages are not repeated.
func (in *intake) warnShortage() {
	in.mu.Lock()
	s := in.latched.TakeShortage()
	in.mu.Unlock()
	switch {
	case s.Text == "":
	case s.Topic == "":
		in.log.Warn(s.Text)
	default:
		in.log.Warn(s.Text, zap.String("topic", s.Topic))
	}
}

// repeatedInFile accounts for latched messages that were written to the file of part.
func (in *intake) repeatedInFile(c *bagfmt.SealedChunk, part int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.countRepeated(c)
	in.rotation.Repeated(part, int64(len(c.Record)))
}

// repeatedInSnapshot accounts for latched messages that were written to a snapshot.
func (in *intake) repeatedInSnapshot(c *bagfmt.SealedChunk) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.countRepeated(c)
}

// countRepeated counts latched messages that were repeated. mu is held.
func (in *intake) countRepeated(c *bagfmt.SealedChunk) {
	in.eachCount(c, func(t *topic, n tally) { t.repeated += n.messages })
}

// latchingOf returns the latching connections with messages in a chunk, nil if there are none.
func (in *intake) latchingOf(chunk *bagfmt.SealedChunk) (all map[bagfmt.ConnID]*latch.Source) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range chunk.Counts {
		if c := in.connections.of(n.Conn); c != nil && c.Latching {
			if all == nil {
				all = map[bagfmt.ConnID]*latch.Source{}
			}
			all[n.Conn.ID] = &c.Source
		}
	}
	return all
}

// latchedIn returns the last message of each latching connection in a sealed chunk, the latest
// first, with a copy if there is memory for that and the chunk itself takes more.
func (in *intake) latchedIn(c *memory.Chunk) []latch.Pinned {
	latching := in.latchingOf(c.Sealed)
	if latching == nil {
		return nil
	}
	var all []latch.Pinned
	var counted int64
	for conn, frame := range c.Builder.LastFrames(func(conn *bagfmt.Connection) bool { return latching[conn.ID] != nil }) {
		l := &latch.Message{Frame: frame, Counted: latch.LatchedOverhead + in.latched.Weight(len(frame))}
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
func (in *intake) claimForRing(n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.pool.Fits(n) && (in.ring.Pending > 0 || !in.pool.MakeRoom(n, memory.ForAny)) {
		return false
	}
	in.pool.Use(n)
	return true
}

// unpinState lets go of the state where a snapshot begins.
func (in *intake) unpinState(s *latch.State) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.UnpinState(s)
}

var errNoLatchedMemory = errors.New("no memory for what is latched before it")

// addBefore adds copies of messages that come before the snapshot in the ring.
func (in *intake) addBefore(s *latch.State, all []latch.Pinned) error {
	var counted int64
	for _, l := range all {
		l.Counted = in.latched.Weight(len(l.Frame))
		counted += l.Counted
	}
	if counted > 0 && !in.claimLatched(counted) {
		return errNoLatchedMemory
	}
	s.AddBefore(all)
	return nil
}

// claimLatched counts n bytes for latched messages on their way to a file, if there are so many.
func (in *intake) claimLatched(n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.latched.Claim(n)
}

// unclaimLatched gives them back.
func (in *intake) unclaimLatched(n int64) {
	in.mu.Lock()
	in.pool.UnuseLatched(n)
	in.mu.Unlock()
}

// frameOf returns the frame of a latched message, and what that takes beside the bytes that are
// counted for the message, until unclaimLatched.
func (in *intake) frameOf(l latch.Pinned) (frame []byte, claimed int64, err error) {
	if l.Chunk == nil {
		return l.Frame, 0, nil
	}
	claimed = in.latched.Weight(int(l.Chunk.Sealed.UncompressedBytes))
	if !in.claimLatched(claimed) {
		return nil, 0, errNoLatchedMemory
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

// goBy lets the notes of a chunk pass the ring.
func (in *intake) goBy(c *ring.Chunk) {
	in.mu.Lock()
	in.latched.Pass(c.TakeNotes())
	in.mu.Unlock()
}
