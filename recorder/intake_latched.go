package recorder

import (
	"bytes"
	"errors"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// sources returns the connections as far as latched messages go, by id. mu is held.
func (in *intake) sources() []*source {
	all := make([]*source, len(in.connections.all))
	for i, c := range in.connections.all {
		all[i] = &c.source
	}
	return all
}

// pinLatched returns the latched messages that a file begins with: of all publishers, or of those
// that pass want if it is not nil. They stay as they are until unpin. mu is held.
func (in *intake) pinLatched(want func(*source) bool) []pinned {
	all := in.latched.atFile(in.sources(), want)
	for _, l := range all {
		in.connections.of(l.conn).written = in.rotation.Part() + 1
	}
	return all
}

// unpin lets go of latched messages.
func (in *intake) unpin(all []pinned) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.unpin(all)
}

// warnShortage says once why latched messages are not repeated.
func (in *intake) warnShortage() {
	in.mu.Lock()
	s := in.latched.takeShortage()
	in.mu.Unlock()
	switch {
	case s.text == "":
	case s.topic == "":
		in.log.Warn(s.text)
	default:
		in.log.Warn(s.text, zap.String("topic", s.topic))
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
func (in *intake) latchingOf(chunk *bagfmt.SealedChunk) (all map[bagfmt.ConnID]*source) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range chunk.Counts {
		if c := in.connections.of(n.Conn); c != nil && c.latching {
			if all == nil {
				all = map[bagfmt.ConnID]*source{}
			}
			all[n.Conn.ID] = &c.source
		}
	}
	return all
}

// latchedIn returns the last message of each latching connection in a sealed chunk, the latest
// first, with a copy if there is memory for that and the chunk itself takes more.
func (in *intake) latchedIn(c *memory.Chunk) []pinned {
	latching := in.latchingOf(c.Sealed)
	if latching == nil {
		return nil
	}
	var all []pinned
	var counted int64
	for conn, frame := range c.Builder.LastFrames(func(conn *bagfmt.Connection) bool { return latching[conn.ID] != nil }) {
		l := &latched{frame: frame, counted: latchedOverhead + in.latched.latchedWeight(len(frame))}
		all = append(all, pinned{latching[conn.ID], l})
		counted += l.counted
	}
	copied := counted <= int64(len(c.Sealed.Record)) && in.claimForRing(counted)
	for _, l := range all {
		if copied {
			l.frame = bytes.Clone(l.frame)
		} else {
			l.frame, l.counted = nil, 0
		}
	}
	return all
}

// claimForRing counts n bytes for the ring if there are so many. The chunks of a requested
// snapshot must not displace each other.
func (in *intake) claimForRing(n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.pool.Fits(n) && (in.ring.pending > 0 || !in.pool.MakeRoom(n, memory.ForAny)) {
		return false
	}
	in.pool.Use(n)
	return true
}

// unpinState lets go of the state where a snapshot begins.
func (in *intake) unpinState(s *snapshotState) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latched.unpinState(s)
}

var errNoLatchedMemory = errors.New("no memory for what is latched before it")

// addBefore adds copies of messages that come before the snapshot in the ring.
func (in *intake) addBefore(s *snapshotState, all []pinned) error {
	var counted int64
	for _, l := range all {
		l.counted = in.latched.latchedWeight(len(l.frame))
		counted += l.counted
	}
	if counted > 0 && !in.claimLatched(counted) {
		return errNoLatchedMemory
	}
	s.addBefore(all)
	return nil
}

// claimLatched counts n bytes for latched messages on their way to a file, if there are so many.
func (in *intake) claimLatched(n int64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.latched.claim(n)
}

// unclaimLatched gives them back.
func (in *intake) unclaimLatched(n int64) {
	in.mu.Lock()
	in.pool.UnuseLatched(n)
	in.mu.Unlock()
}

// frameOf returns the frame of a latched message, and what that takes beside the bytes that are
// counted for the message, until unclaimLatched.
func (in *intake) frameOf(l pinned) (frame []byte, claimed int64, err error) {
	if l.chunk == nil {
		return l.frame, 0, nil
	}
	claimed = in.latched.latchedWeight(int(l.chunk.sealed.UncompressedBytes))
	if !in.claimLatched(claimed) {
		return nil, 0, errNoLatchedMemory
	}
	for m, err := range l.chunk.sealed.Messages() {
		if err != nil {
			in.unclaimLatched(claimed)
			return nil, 0, err
		}
		if m.Conn.ID == l.conn.ID {
			frame = m.Frame
		}
	}
	return frame, claimed, nil
}

// goBy lets the notes of a chunk pass the ring.
func (in *intake) goBy(c *ringChunk) {
	in.mu.Lock()
	in.latched.pass(c.takeNotes())
	in.mu.Unlock()
}
