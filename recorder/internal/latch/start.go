package latch

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ringStart is what is latched where the ring begins: of each latching connection the last
// message in a chunk that has left the ring or gone by.
//
// The sink notes the last message of each such connection with every chunk that has some, so a
// message costs nothing on its way in. Such a note is a copy, or refers to the chunk where that
// takes less memory: a large map is a chunk of its own, and packed well. It counts for the ring
// while its chunk is there, and then for the latched messages.
type ringStart struct {
	Of     map[*Source]passedMessage
	passed uint64 // messages so far
}

// passedMessage is a latched message in a chunk that has left the ring.
type passedMessage struct {
	Pinned
	number uint64 // in the order of ringStart.passed
}

// LatchedOverhead is what a latched message takes beside its copy, about.
const LatchedOverhead = 256

// Held is a chunk of which latched messages may be needed after its time in the ring.
type Held struct {
	Sealed  *chunk.Sealed
	Chunk   *memory.Chunk // the buffer that has the record; nil if the record is in memory of its own
	Weight  int64         // bytes that the memory counts for the chunk
	Free    func()        // gives the memory of the chunk back
	Holders int           // messages that refer to the chunk, and one more while the ring or a snapshot has the chunk
	Counted int64         // bytes that Store counts for the chunk after the ring or the snapshot has released it
}

// Pass makes the notes of a chunk the state behind it: the chunk leaves the ring, or goes by.
func (m *Store) Pass(notes []Pinned) {
	start := &m.Start
	for _, l := range slices.Backward(notes) {
		m.ForgetStart(l.Source)
		m.mem.ToLatched(l.Counted) // its chunk, if it refers to one, has its turn in KeepHeld
		if l.Released {
			m.releaseLatched(l.Message)
			continue
		}
		if l.Counted > 0 && !m.mem.LatchedFits(0) {
			m.releaseLatched(l.Message)
			m.noteNoStart(l.Source)
			continue
		}
		if start.Of == nil {
			start.Of = map[*Source]passedMessage{}
		}
		start.passed++
		start.Of[l.Source] = passedMessage{l, start.passed}
	}
}

// noteNoStart notes that a latched message will be missing in the next snapshot.
func (m *Store) noteNoStart(c *Source) {
	m.noteShortage("no memory for a latched message from before the next snapshot: -b is too small", c.Conn.Topic)
}

// Holds reports whether a latched message of c is remembered.
func (m *Store) Holds(c *Source) bool {
	if c.Last != nil {
		return true
	}
	_, ok := m.Start.Of[c]
	return ok
}

// ForgetStart releases the latched message of c where the ring begins.
func (m *Store) ForgetStart(c *Source) {
	l, ok := m.Start.Of[c]
	if !ok {
		return
	}
	delete(m.Start.Of, c)
	if l.Pins > 0 {
		l.Gone = true
		return
	}
	m.releaseLatched(l.Message)
}

// PinStart returns what is latched where the ring begins, in the order in which it came. It stays
// as it is until unpin.
func (m *Store) PinStart() []Pinned {
	inOrder := slices.SortedFunc(maps.Values(m.Start.Of), func(a, b passedMessage) int { return cmp.Compare(a.number, b.number) })
	all := make([]Pinned, 0, len(inOrder))
	for _, l := range inOrder {
		l.Pins++
		all = append(all, l.Pinned)
	}
	return all
}

// yieldStart lets go of all that is latched where the ring begins if n bytes for a later message
// fit then. It reports whether they do.
func (m *Store) yieldStart(n int64) bool {
	start := m.Start.Of
	held := map[*Held]bool{}
	for _, l := range start {
		switch {
		case l.Pins > 0:
		case l.Chunk == nil:
			n -= l.Counted
		case !held[l.Chunk]:
			held[l.Chunk] = true
			n -= l.Chunk.Counted
		}
	}
	if !m.mem.LatchedFits(n) {
		return false
	}
	for c := range start {
		m.ForgetStart(c)
		m.noteNoStart(c)
	}
	return true
}

// KeepHeld takes over a chunk that the ring or a snapshot is done with, for the latched messages
// that refer to it. It reports whether there are any.
func (m *Store) KeepHeld(c *Held) bool {
	c.Holders--
	if c.Holders > 0 && !m.mem.LatchedFits(c.Weight) {
		c.Holders++
		for conn, l := range m.Start.Of {
			if l.Chunk == c {
				m.ForgetStart(conn)
				m.noteNoStart(conn)
			}
		}
		c.Holders--
	}
	if c.Holders == 0 {
		return false
	}
	c.Counted = c.Weight
	m.mem.ToLatched(c.Counted)
	if c.Chunk != nil {
		m.mem.Retire(c.Chunk)
	}
	return true
}

// releaseHeld notes that one latched message does not refer to a chunk any more.
func (m *Store) releaseHeld(c *Held) {
	if c.Holders--; c.Holders == 0 {
		m.mem.ToLatched(-c.Counted)
		c.Free()
	}
}

// Notes returns the last message of each latching connection in a sealed chunk, the latest first, and how
// many bytes copies of them count. The frames are those of the chunk. It needs no lock.
func (m *Store) Notes(c *memory.Chunk, latching map[rosbag.ConnID]*Source) (all []Pinned, counted int64) {
	for conn, frame := range c.Builder.LastFrames(func(conn *rosbag.Connection) bool { return latching[conn.ID] != nil }) {
		l := &Message{Frame: frame, Counted: LatchedOverhead + m.Weight(len(frame))}
		all = append(all, Pinned{Source: latching[conn.ID], Message: l})
		counted += l.Counted
	}
	return all, counted
}

// Settle makes notes copies, or makes them refer to their chunk.
func Settle(notes []Pinned, copied bool) {
	for _, l := range notes {
		if copied {
			l.Frame = bytes.Clone(l.Frame)
		} else {
			l.Frame, l.Counted = nil, 0
		}
	}
}
