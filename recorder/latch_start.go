package recorder

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// ringStart is what is latched where the ring begins: of each latching connection the last
// message in a chunk that has left the ring or gone by.
//
// The sink notes the last message of each such connection with every chunk that has some, so a
// message costs nothing on its way in. Such a note is a copy, or refers to the chunk where that
// takes less memory: a large map is a chunk of its own, and packed well. It counts for the ring
// while its chunk is there, and then for the latched messages.
type ringStart struct {
	of     map[*source]passedMessage
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
	sealed  *bagfmt.SealedChunk
	chunk   *memory.Chunk // that the record is part of; nil when it is in memory of its own
	weight  int64         // bytes that the memory counts for the chunk
	free    func()        // takes the memory back
	holders int           // messages that are needed, and one for the ring or the snapshot that has it
	counted int64         // bytes that latchedStore counts, once those have let it go
}

// pass makes the notes of a chunk the state behind it: the chunk leaves the ring, or goes by.
func (m *latchStore) pass(notes []pinned) {
	start := &m.start
	for _, l := range slices.Backward(notes) {
		m.forgetStart(l.source)
		m.mem.ToLatched(l.counted) // its chunk, if it refers to one, has its turn in keepHeld
		if l.released {
			m.releaseLatched(l.latched)
			continue
		}
		if l.counted > 0 && !m.mem.LatchedFits(0) {
			m.releaseLatched(l.latched)
			m.noteNoStart(l.source)
			continue
		}
		if start.of == nil {
			start.of = map[*source]passedMessage{}
		}
		start.passed++
		start.of[l.source] = passedMessage{l, start.passed}
	}
}

// noteNoStart notes that a latched message will be missing in the next snapshot.
func (m *latchStore) noteNoStart(c *source) {
	m.noteShortage("no memory for a latched message from before the next snapshot: -b is too small", c.conn.Topic)
}

// holdsLatched reports whether a latched message of c is remembered.
func (m *latchStore) holdsLatched(c *source) bool {
	if c.last != nil {
		return true
	}
	_, ok := m.start.of[c]
	return ok
}

// forgetStart lets go of what c has latched where the ring begins.
func (m *latchStore) forgetStart(c *source) {
	l, ok := m.start.of[c]
	if !ok {
		return
	}
	delete(m.start.of, c)
	if l.pins > 0 {
		l.gone = true
		return
	}
	m.releaseLatched(l.latched)
}

// pinStart returns what is latched where the ring begins, in the order in which it came. It stays
// as it is until unpin.
func (m *latchStore) pinStart() []pinned {
	inOrder := slices.SortedFunc(maps.Values(m.start.of), func(a, b passedMessage) int { return cmp.Compare(a.number, b.number) })
	all := make([]pinned, 0, len(inOrder))
	for _, l := range inOrder {
		l.pins++
		all = append(all, l.pinned)
	}
	return all
}

// yieldStart lets go of all that is latched where the ring begins if n bytes for a later message
// fit then. It reports whether they do.
func (m *latchStore) yieldStart(n int64) bool {
	start := m.start.of
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
	if !m.mem.LatchedFits(n) {
		return false
	}
	for c := range start {
		m.forgetStart(c)
		m.noteNoStart(c)
	}
	return true
}

// keepHeld takes over a chunk that the ring or a snapshot is done with, for the latched messages
// that refer to it. It reports whether there are any.
func (m *latchStore) keepHeld(c *heldChunk) bool {
	c.holders--
	if c.holders > 0 && !m.mem.LatchedFits(c.weight) {
		c.holders++
		for conn, l := range m.start.of {
			if l.chunk == c {
				m.forgetStart(conn)
				m.noteNoStart(conn)
			}
		}
		c.holders--
	}
	if c.holders == 0 {
		return false
	}
	c.counted = c.weight
	m.mem.ToLatched(c.counted)
	if c.chunk != nil {
		m.mem.Retire(c.chunk)
	}
	return true
}

// releaseHeld lets go of a chunk for one latched message.
func (m *latchStore) releaseHeld(c *heldChunk) {
	if c.holders--; c.holders == 0 {
		m.mem.ToLatched(-c.counted)
		c.free()
	}
}
