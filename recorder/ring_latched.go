package recorder

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// ringStart is what is latched where the ring begins: of each latching connection the last
// message in a chunk that has left the ring or gone by. It is guarded by intake.mu.
//
// The sink notes the last message of each such connection with every chunk that has some, so a
// message costs nothing on its way in. Such a note is a copy, or refers to the chunk where that
// takes less memory: a large map is a chunk of its own, and packed well. It counts for the ring
// while its chunk is there, and then for the latched messages.
type ringStart struct {
	of     map[*connection]passedMessage
	passed uint64 // messages so far
}

// passedMessage is a latched message in a chunk that has left the ring.
type passedMessage struct {
	pinned
	number uint64 // in the order of ringStart.passed
}

// latchedOverhead is what a latched message takes beside its copy, about.
const latchedOverhead = 256

// heldChunk is a chunk of which latched messages may be needed after its time in the ring.
type heldChunk struct {
	ringChunk
	holders int   // messages that are needed, and one for the ring or the snapshot that has it
	counted int64 // bytes that latchedStore counts, once those have let it go
}

// latchingOf returns the latching connections with messages in a chunk, nil if there are none.
func (in *intake) latchingOf(chunk *bagfmt.SealedChunk) (all map[bagfmt.ConnID]*connection) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range chunk.Counts {
		if c := in.connections.of(n.Conn); c != nil && c.latching {
			if all == nil {
				all = map[bagfmt.ConnID]*connection{}
			}
			all[n.Conn.ID] = c
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
		l := &latched{frame: frame, counted: latchedOverhead + in.latchedWeight(len(frame))}
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
	if !in.pool.Fits(n) && (in.snaps.pending > 0 || !in.pool.MakeRoom(n, memory.ForAny)) {
		return false
	}
	in.pool.Use(n)
	return true
}

// note adds latched messages to a chunk.
func (c *ringChunk) note(all []pinned) {
	c.latched = all
	holders := 1
	for _, l := range all {
		c.copied += l.counted
		if l.frame == nil {
			holders++
		}
	}
	if holders == 1 {
		return
	}
	c.held = &heldChunk{ringChunk: *c, holders: holders}
	for _, l := range all {
		if l.frame == nil {
			l.chunk = c.held
		}
	}
}

// pass makes what is latched in c the state behind it: c leaves the ring, or goes by. mu is held.
func (m *buffer) pass(c *ringChunk) {
	start := &m.snaps.ring.start
	for _, l := range slices.Backward(c.latched) {
		m.forgetStart(l.connection)
		m.pool.ToLatched(l.counted) // its chunk, if it refers to one, has its turn in keepHeld
		if l.released {
			m.releaseLatched(l.latched)
			continue
		}
		if l.counted > 0 && !m.pool.LatchedFits(0) {
			m.releaseLatched(l.latched)
			m.warnNoStart(l.connection)
			continue
		}
		if start.of == nil {
			start.of = map[*connection]passedMessage{}
		}
		start.passed++
		start.of[l.connection] = passedMessage{l, start.passed}
	}
	c.latched, c.copied = nil, 0
}

func (m *buffer) warnNoStart(c *connection) {
	m.warnLatched("no memory for a latched message from before the next snapshot: -b is too small", zap.String("topic", c.topic.name))
}

// holdsLatched reports whether a latched message of c is remembered. mu is held.
func (m *buffer) holdsLatched(c *connection) bool {
	if c.last != nil {
		return true
	}
	if m.snaps == nil {
		return false
	}
	_, ok := m.snaps.ring.start.of[c]
	return ok
}

// forgetStart lets go of what c has latched where the ring begins. mu is held.
func (m *buffer) forgetStart(c *connection) {
	if m.snaps == nil {
		return
	}
	l, ok := m.snaps.ring.start.of[c]
	if !ok {
		return
	}
	delete(m.snaps.ring.start.of, c)
	if l.pins > 0 {
		l.gone = true
		return
	}
	m.releaseLatched(l.latched)
}

// pinStart returns what is latched where the ring begins, in the order in which it came. It stays
// as it is until unpin. mu is held.
func (m *buffer) pinStart() []pinned {
	inOrder := slices.SortedFunc(maps.Values(m.snaps.ring.start.of), func(a, b passedMessage) int { return cmp.Compare(a.number, b.number) })
	all := make([]pinned, 0, len(inOrder))
	for _, l := range inOrder {
		l.pins++
		all = append(all, l.pinned)
	}
	return all
}

// yieldStart lets go of all that is latched where the ring begins if n bytes for a later message
// fit then. It reports whether they do. mu is held.
func (m *buffer) yieldStart(n int64) bool {
	if m.snaps == nil {
		return false
	}
	start := m.snaps.ring.start.of
	held := map[*heldChunk]bool{}
	for _, l := range start {
		switch {
		case l.pins > 0:
		case l.chunk == nil:
			n -= l.counted
		case !held[l.chunk]:
			held[l.chunk] = true
			n -= l.chunk.counted
		}
	}
	if !m.pool.LatchedFits(n) {
		return false
	}
	for c := range start {
		m.forgetStart(c)
		m.warnNoStart(c)
	}
	return true
}

// keepHeld takes over a chunk that the ring or a snapshot is done with, for the latched messages
// that refer to it. It reports whether there are any. mu is held.
func (m *buffer) keepHeld(c *heldChunk) bool {
	c.holders--
	if c.holders > 0 && !m.pool.LatchedFits(c.weight) {
		c.holders++
		for conn, l := range m.snaps.ring.start.of {
			if l.chunk == c {
				m.forgetStart(conn)
				m.warnNoStart(conn)
			}
		}
		c.holders--
	}
	if c.holders == 0 {
		return false
	}
	c.counted = c.weight
	m.pool.ToLatched(c.counted)
	if c.chunk != nil {
		m.pool.Retire(c.chunk)
	}
	return true
}

// releaseHeld lets go of a chunk for one latched message. mu is held.
func (m *buffer) releaseHeld(c *heldChunk) {
	if c.holders--; c.holders == 0 {
		m.pool.ToLatched(-c.counted)
		m.free(c.ringChunk)
	}
}
