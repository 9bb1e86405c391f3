package latch

import (
	"bytes"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Overhead is about how many bytes a latched message of a chunk takes beside its copy of the frame.
const Overhead = 256

// Chunk is a sealed chunk that stays in memory after the recording is done with it: in the ring, with a
// snapshot, and then as long as latched messages refer to it.
//
// It lists the last message of each latching connection in the chunk, which are found only now, so that a
// message costs nothing more on its way into the chunk. Such a Message has a copy of its frame, or refers to
// the chunk if that takes less memory: a large map is a chunk of its own, and well compressed.
type Chunk struct {
	*chunk.Sealed
	Buffer  *memory.Chunk // the buffer that has the record; nil if Memory has the record
	Memory  []byte        // memory for the record alone; nil if Buffer has the record
	Weight  int64         // bytes that the memory counts for Buffer or Memory
	FirstAt time.Time     // when its first message came
	LastAt  time.Time     // when its last message came

	latched  []*Message // the last message of each latching connection; nil once they are in the state before the ring
	messages int        // latched messages that refer to the chunk
	left     bool       // only these messages need the chunk, and its Weight counts for latched messages
}

// NewChunk returns a sealed chunk that stays in memory: with its record in own memory, or in its buffer if
// own is nil. counted is what the memory counts for the buffer. The caller gives the buffer of a chunk with
// own memory back.
func NewChunk(c *memory.Chunk, counted int64, own []byte) *Chunk {
	kept := &Chunk{Sealed: c.Sealed(), Buffer: c, Weight: counted, FirstAt: c.FirstAt(), LastAt: c.LastAt()}
	if own == nil {
		return kept
	}
	sealed := *c.Sealed() // which goes back with its buffer
	own = append(own, c.Sealed().Record...)
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

// Bytes returns what the memory counts for the chunk and its latched messages.
func (c *Chunk) Bytes() int64 {
	n := c.Weight
	for _, l := range c.latched {
		n += l.counted
	}
	return n
}

// LatchedIn returns the last message of each latching connection in a sealed chunk, the latest message first,
// and how many bytes copies of these messages count. The frames are those of the chunk. LatchedIn needs no
// lock.
func (m *Store) LatchedIn(c *memory.Chunk, latching map[rosbag.ConnID]*Source) (all []*Message, counted int64) {
	for conn, frame := range c.Builder().LastFrames(func(conn *rosbag.Connection) bool { return latching[conn.ID] != nil }) {
		l := &Message{Source: latching[conn.ID], Frame: frame, holders: 1, counted: Overhead + m.Weight(len(frame))}
		all = append(all, l)
		counted += l.counted
	}
	return all, counted
}

// SetLatched sets the last messages that LatchedIn has returned. With copied, for which there must be memory,
// they get copies of their frames; otherwise they refer to the chunk.
func (c *Chunk) SetLatched(all []*Message, copied bool) {
	c.latched = all
	for _, l := range all {
		if copied {
			l.Frame = bytes.Clone(l.Frame)
			continue
		}
		l.Frame, l.counted, l.chunk = nil, 0, c
		c.messages++
	}
}

// Pass adds the latched messages of a chunk to the state before the ring: the chunk leaves the ring, or goes
// past it to a snapshot.
func (m *Store) Pass(c *Chunk) {
	all := c.latched
	c.latched = nil
	for _, l := range slices.Backward(all) {
		m.ForgetBeforeRing(l.Source)
		m.mem.ToLatched(l.counted) // a chunk counts for latched messages from Leave on
		switch {
		case l.Released:
			m.release(l)
		case l.counted > 0 && !m.mem.LatchedFits(0):
			m.release(l)
			m.noteMissingBeforeRing(l.Source)
		default:
			if m.beforeRing == nil {
				m.beforeRing = map[*Source]*Message{}
			}
			m.passed++
			l.passed = m.passed
			m.beforeRing[l.Source] = l
		}
	}
}

// Leave is called after Pass, when neither the ring nor a snapshot needs the chunk any more. The chunk stays in
// memory for the latched messages that refer to it, and counts for latched messages from then on. If latched
// messages may not have that much, those in the state before the ring are forgotten.
func (m *Store) Leave(c *Chunk) {
	if c.messages > 0 && !m.mem.LatchedFits(c.Weight) {
		for of, l := range m.beforeRing {
			if l.chunk == c {
				m.ForgetBeforeRing(of)
				m.noteMissingBeforeRing(of)
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

// unrefer removes one reference of a message to a chunk.
func (m *Store) unrefer(c *Chunk) {
	if c.messages--; c.messages == 0 && c.left {
		m.mem.ToLatched(-c.Weight)
		m.Free(c)
	}
}

// noteMissingBeforeRing notes that a latched message from before the ring will be missing in the next snapshot.
func (m *Store) noteMissingBeforeRing(c *Source) {
	m.noteShortage("no memory for a latched message from before the next snapshot: -b is too small", c.Conn.Topic)
}

// Holds reports whether a latched message of c is remembered.
func (m *Store) Holds(c *Source) bool { return c.Last != nil || m.beforeRing[c] != nil }

// ForgetBeforeRing releases the message of c in the state before the ring.
func (m *Store) ForgetBeforeRing(c *Source) {
	if l := m.beforeRing[c]; l != nil {
		delete(m.beforeRing, c)
		m.release(l)
	}
}

// yieldBeforeRing forgets the state before the ring if that makes room for n bytes of a later message. It reports
// whether there is room.
func (m *Store) yieldBeforeRing(n int64) bool {
	unneeded := map[*Chunk]int{} // messages that refer to the chunk and would be released
	for _, l := range m.beforeRing {
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
	for c := range m.beforeRing {
		m.ForgetBeforeRing(c)
		m.noteMissingBeforeRing(c)
	}
	return true
}
