package latch

import (
	"bytes"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Overhead is about how many bytes the note of a chunk takes beside its copy of a message.
const Overhead = 256

// Chunk is a sealed chunk that stays in memory after the recording is done with it: in the ring, with a
// snapshot, and then as long as latched messages refer to it.
//
// Its notes are the last message of each latching connection in the chunk. A note costs nothing on the way
// of its message into the chunk. It is a copy, or refers to the chunk where that takes less memory: a large
// map is a chunk of its own, and packed well.
type Chunk struct {
	*chunk.Sealed
	Buffer  *memory.Chunk // the buffer that has the record; nil if Memory has the record
	Memory  []byte        // memory for the record alone; nil if Buffer has the record
	Weight  int64         // bytes that the memory counts for Buffer or Memory
	FirstAt time.Time     // when its first message came
	LastAt  time.Time     // when its last message came

	notes    []*Message // until the chunk has left the ring or passed it
	messages int        // messages that refer to the chunk
	left     bool       // only these messages need the chunk, and its Weight counts for latched messages
}

// NewChunk returns a sealed chunk that stays in memory: with its record in own memory, or in its buffer if
// own is nil. counted is what the memory counts for the buffer. The caller gives the buffer of a chunk with
// own memory back.
func NewChunk(c *memory.Chunk, counted int64, own []byte) *Chunk {
	kept := &Chunk{Sealed: c.Sealed, Buffer: c, Weight: counted, FirstAt: c.FirstAt, LastAt: c.LastAt}
	if own == nil {
		return kept
	}
	sealed := *c.Sealed // which goes back with its buffer
	own = append(own, c.Sealed.Record...)
	sealed.Record, sealed.Counts, sealed.PayloadBytes = own, slices.Clone(sealed.Counts), slices.Clone(sealed.PayloadBytes)
	kept.Sealed, kept.Buffer, kept.Memory, kept.Weight = &sealed, nil, own, int64(cap(own))
	return kept
}

// MessageCount returns how many messages the chunk holds.
func (c *Chunk) MessageCount() uint64 {
	var n uint64
	for _, m := range c.Counts {
		n += uint64(m.Count)
	}
	return n
}

// Bytes returns what the memory counts for the chunk and its notes.
func (c *Chunk) Bytes() int64 {
	n := c.Weight
	for _, l := range c.notes {
		n += l.counted
	}
	return n
}

// Notes returns the notes of a sealed chunk, the latest message first, and how many bytes copies of them
// count. The frames are those of the chunk. Notes needs no lock.
func (m *Store) Notes(c *memory.Chunk, latching map[rosbag.ConnID]*Source) (all []*Message, counted int64) {
	for conn, frame := range c.Builder.LastFrames(func(conn *rosbag.Connection) bool { return latching[conn.ID] != nil }) {
		l := &Message{Source: latching[conn.ID], Frame: frame, holders: 1, counted: Overhead + m.Weight(len(frame))}
		all = append(all, l)
		counted += l.counted
	}
	return all, counted
}

// Note adds notes to the chunk: copies, for which there is memory, or references to the chunk.
func (c *Chunk) Note(notes []*Message, copied bool) {
	c.notes = notes
	for _, l := range notes {
		if copied {
			l.Frame = bytes.Clone(l.Frame)
			continue
		}
		l.Frame, l.counted, l.chunk = nil, 0, c
		c.messages++
	}
}

// Pass makes the notes of a chunk part of the state before the ring: the chunk leaves the ring, or passes it.
func (m *Store) Pass(c *Chunk) {
	notes := c.notes
	c.notes = nil
	for _, l := range slices.Backward(notes) {
		m.ForgetStart(l.Source)
		m.mem.ToLatched(l.counted) // a chunk counts for latched messages from Leave on
		switch {
		case l.Released:
			m.release(l)
		case l.counted > 0 && !m.mem.LatchedFits(0):
			m.release(l)
			m.noteNoStart(l.Source)
		default:
			if m.start == nil {
				m.start = map[*Source]*Message{}
			}
			m.passed++
			l.passed = m.passed
			m.start[l.Source] = l
		}
	}
}

// Leave ends the time of a chunk in the ring or with a snapshot, after Pass. The chunk stays for the latched
// messages that refer to it, and counts for latched messages from then on. If these may not have so much, the
// messages in the state before the ring are forgotten.
func (m *Store) Leave(c *Chunk) {
	if c.messages > 0 && !m.mem.LatchedFits(c.Weight) {
		for of, l := range m.start {
			if l.chunk == c {
				m.ForgetStart(of)
				m.noteNoStart(of)
			}
		}
	}
	if c.messages == 0 {
		m.Free(c)
		return
	}
	c.left = true
	m.mem.ToLatched(c.Weight)
	if c.Buffer != nil {
		m.mem.Retire(c.Buffer)
	}
}

// unrefer notes that one message less refers to a chunk.
func (m *Store) unrefer(c *Chunk) {
	if c.messages--; c.messages == 0 && c.left {
		m.mem.ToLatched(-c.Weight)
		m.Free(c)
	}
}

// noteNoStart notes that a latched message will be missing in the next snapshot.
func (m *Store) noteNoStart(c *Source) {
	m.noteShortage("no memory for a latched message from before the next snapshot: -b is too small", c.Conn.Topic)
}

// Holds reports whether a latched message of c is remembered.
func (m *Store) Holds(c *Source) bool { return c.Last != nil || m.start[c] != nil }

// ForgetStart releases the message of c in the state before the ring.
func (m *Store) ForgetStart(c *Source) {
	if l := m.start[c]; l != nil {
		delete(m.start, c)
		m.release(l)
	}
}

// yieldStart forgets the state before the ring if n bytes for a later message fit then. It reports whether
// they do.
func (m *Store) yieldStart(n int64) bool {
	unneeded := map[*Chunk]int{} // messages that refer to the chunk and would be released
	for _, l := range m.start {
		if l.holders > 1 {
			continue
		}
		n -= l.counted
		if c := l.chunk; c != nil && c.left {
			if unneeded[c]++; unneeded[c] == c.messages {
				n -= c.Weight
			}
		}
	}
	if !m.mem.LatchedFits(n) {
		return false
	}
	for c := range m.start {
		m.ForgetStart(c)
		m.noteNoStart(c)
	}
	return true
}
