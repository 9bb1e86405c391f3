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
	sealed  *chunk.Sealed
	buffer  *memory.Chunk // the buffer that has the record; nil if Memory has the record
	memory  []byte        // memory for the record alone; nil if Buffer has the record
	weight  int64         // bytes that the memory counts for Buffer or Memory
	firstAt time.Time     // when its first message came
	lastAt  time.Time     // when its last message came

	// the last message of each latching connection; nil once they are in the state before the ring
	latched []*Message
	// latched messages that refer to the chunk
	messages int
	// only these messages need the chunk, and its Weight counts for latched messages
	left bool
}

// InBuffer returns a sealed chunk that stays in its buffer, for which the memory counts so many bytes.
func InBuffer(c *memory.Chunk, counted int64) *Chunk {
	return &Chunk{sealed: c.Sealed(), buffer: c, weight: counted, firstAt: c.FirstAt(), lastAt: c.LastAt()}
}

// InMemory returns a copy of a sealed chunk, whose first and last message came at these times, with its
// record in own memory.
func InMemory(c *chunk.Sealed, own []byte, first, last time.Time) *Chunk {
	sealed := *c // which goes back with its buffer
	own = append(own, c.Record...)
	sealed.Record, sealed.Counts, sealed.PayloadBytes = own, slices.Clone(c.Counts),
		slices.Clone(c.PayloadBytes)
	return &Chunk{sealed: &sealed, memory: own, weight: int64(cap(own)), firstAt: first, lastAt: last}
}

// Sealed returns the sealed chunk.
func (c *Chunk) Sealed() *chunk.Sealed { return c.sealed }

// Buffer returns the buffer that has the record; nil if Memory has the record.
func (c *Chunk) Buffer() *memory.Chunk { return c.buffer }

// Memory returns memory for the record alone; nil if Buffer has the record.
func (c *Chunk) Memory() []byte { return c.memory }

// Weight returns how many bytes the memory counts for Buffer or Memory.
func (c *Chunk) Weight() int64 { return c.weight }

// FirstAt returns when the first message came.
func (c *Chunk) FirstAt() time.Time { return c.firstAt }

// LastAt returns when the last message came.
func (c *Chunk) LastAt() time.Time { return c.lastAt }

// MessageCount returns how many messages the chunk holds.
func (c *Chunk) MessageCount() uint64 {
	var n uint64
	for _, m := range c.sealed.Counts {
		n += uint64(m.Count)
	}
	return n
}

// Bytes returns what the memory counts for the chunk and its latched messages.
func (c *Chunk) Bytes() int64 {
	n := c.weight
	for _, l := range c.latched {
		n += l.counted
	}
	return n
}

// LatchedIn returns the last message of each latching connection in a sealed chunk, the latest message first,
// and how many bytes copies of these messages count. The frames are those of the chunk. LatchedIn needs no
// lock.
func (m *Store) LatchedIn(
	c *memory.Chunk, latching map[rosbag.ConnID]*Source,
) (all []*Message, counted int64) {
	latches := func(conn *rosbag.Connection) bool { return latching[conn.ID] != nil }
	for conn, frame := range c.Builder().LastFrames(latches) {
		l := &Message{
			source: latching[conn.ID], frame: frame, holders: 1,
			counted: Overhead + m.Weight(len(frame)),
		}
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
			l.frame = bytes.Clone(l.frame)
			continue
		}
		l.frame, l.counted, l.chunk = nil, 0, c
		c.messages++
	}
}

// Pass adds the latched messages of a chunk to the state before the ring: the chunk leaves the ring, or goes
// past it to a snapshot.
func (m *Store) Pass(c *Chunk) {
	all := c.latched
	c.latched = nil
	for _, l := range slices.Backward(all) {
		m.ForgetBeforeRing(l.source)
		m.mem.ToLatched(l.counted) // a chunk counts for latched messages from Leave on
		switch {
		case l.source.released:
			m.release(l)
		case l.counted > 0 && !m.mem.LatchedFits(0):
			m.release(l)
			m.noteMissingBeforeRing(l.source)
		default:
			if m.beforeRing == nil {
				m.beforeRing = map[*Source]*Message{}
			}
			m.passed++
			l.passed = m.passed
			m.beforeRing[l.source] = l
		}
	}
}

// Leave is called after Pass, when neither the ring nor a snapshot needs the chunk any more. The chunk
// stays in memory for the latched messages that refer to it, and counts for latched messages from then
// on. If latched messages may not have that much, those in the state before the ring are forgotten.
func (m *Store) Leave(c *Chunk) {
	if c.messages > 0 && !m.mem.LatchedFits(c.weight) {
		for of, l := range m.beforeRing {
			if l.chunk == c {
				m.ForgetBeforeRing(of)
				m.noteMissingBeforeRing(of)
			}
		}
	}
	if c.messages == 0 {
		m.free(c)
		return
	}
	c.left = true
	m.mem.ToLatched(c.weight)
	if c.buffer != nil {
		m.mem.Retire(c.buffer)
	}
}

// unrefer removes one reference of a message to a chunk.
func (m *Store) unrefer(c *Chunk) {
	if c.messages--; c.messages == 0 && c.left {
		m.mem.ToLatched(-c.weight)
		m.free(c)
	}
}

// noteMissingBeforeRing notes that a latched message from before the ring will be missing in the next
// snapshot.
func (m *Store) noteMissingBeforeRing(c *Source) {
	m.noteShortage("no memory for a latched message from before the next snapshot: -b is too small",
		c.conn.Topic)
}

// Holds reports whether a latched message of c is remembered.
func (m *Store) Holds(c *Source) bool { return c.last != nil || m.beforeRing[c] != nil }

// ForgetBeforeRing releases the message of c in the state before the ring.
func (m *Store) ForgetBeforeRing(c *Source) {
	if l := m.beforeRing[c]; l != nil {
		delete(m.beforeRing, c)
		m.release(l)
	}
}

// yieldBeforeRing forgets the state before the ring if that makes room for n bytes of a later message. It
// reports whether there is room.
func (m *Store) yieldBeforeRing(n int64) bool {
	unneeded := map[*Chunk]int{} // messages that refer to the chunk and would be released
	for _, l := range m.beforeRing {
		if l.holders > 1 {
			continue
		}
		n -= l.counted
		if c := l.chunk; c != nil && c.left {
			if unneeded[c]++; unneeded[c] == c.messages {
				n -= c.weight
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
