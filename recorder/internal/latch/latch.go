// Package latch keeps the latest message of each latching publisher, for the files and the snapshots
// that begin later. The package is pure: the caller has the lock of the intake. The frame of a Message
// that a caller was given may be read without the lock. The intake, the ring and the
// writers of the messages use latch.
package latch

import (
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ErrNoMemory says that the latched messages before a snapshot are not in it.
var ErrNoMemory = errors.New("no memory for what is latched before it")

// Source is a connection with its latched message: one header of one publisher on one topic.
type Source struct {
	Conn      *rosbag.Connection
	Bytes     int       // of the record of the connection, about
	Latest    time.Time // when its last message came
	Latching  bool      // its latest message begins each file
	EveryFile bool      // its latest message begins each file even with Store.Off
	Missed    bool      // the latest message came while nothing was recorded
	Released  bool      // the accounts have released the connection
	Last      *Message  // nil for none
}

// publisher is a node on a topic. A node that has come back with another header has several
// connections.
type publisher struct {
	topic    string
	callerID string
}

func (c *Source) publisher() publisher { return publisher{c.Conn.Topic, c.Conn.Header.CallerID()} }

// Message is a latched message. Its holders are counted: its Source while the message is the latest one,
// a chunk or the state before the ring, and each file and snapshot that will begin with it. The last holder
// gives the memory back. The frame changes only while the Source is the only holder.
type Message struct {
	*Source
	Frame []byte // nil if chunk has it, as the last message of the connection there
	chunk *Chunk // that has the frame; nil if Frame is set
	// ADR 0127: files, snapshots and the ring share one copy.
	holders int    // those that will release the message
	counted int64  // bytes that the memory counts for the message
	passed  uint64 // the place of the message in the order in which messages left the ring; zero before
}

// retain adds a holder of the message.
func (l *Message) retain() *Message {
	l.holders++
	return l
}

// Store keeps the latest message of each latching publisher: for the files that begin later, and as the
// state before the ring of chunks for snapshots. The caller has the lock.
type Store struct {
	mem        *memory.Memory
	Off        bool                 // files do not begin with latched messages
	beforeRing map[*Source]*Message // the state before the ring: the last messages in chunks that have left or passed it
	passed     uint64               // messages that were added to the state before the ring
	Free       func(*Chunk)         // takes back the memory of a chunk to which no message refers any more

	shortage Shortage
	short    bool // a shortage was noted before
}

// Shortage says for which latched message there was no memory.
type Shortage struct {
	Text  string // empty for nothing
	Topic string
}

// New returns an empty store. off says that files do not begin with latched messages.
func New(mem *memory.Memory, off bool) Store { return Store{mem: mem, Off: off} }

// TakeShortage returns the first shortage there was, once.
func (m *Store) TakeShortage() Shortage {
	s := m.shortage
	m.shortage = Shortage{}
	return s
}

// noteShortage notes a shortage, if it is the first one.
func (m *Store) noteShortage(text, topic string) {
	if !m.short {
		m.short, m.shortage = true, Shortage{text, topic}
	}
}

// Weight returns how many bytes a latched message of n bytes counts: for itself and for its copy on the
// way to the file.
func (m *Store) Weight(n int) int64 { return 2 * m.mem.Weight(n) }

// Remember keeps a copy of the latest message of c.
func (m *Store) Remember(c *Source, frame []byte) {
	if l := c.Last; l != nil && l.holders == 1 && cap(l.Frame) >= len(frame) {
		l.Frame = append(l.Frame[:0], frame...)
		return
	}
	m.Forget(c)
	if m.Reserve(c, len(frame)) {
		m.Keep(c, append([]byte(nil), frame...))
	}
}

// Reserve takes memory for a latched message of n bytes. If there is none, or if latched messages have their
// share already (see memory.LatchedFits), files do not begin with a message of c until a later one finds room.
func (m *Store) Reserve(c *Source, n int) bool {
	weight := m.Weight(n)
	if (m.mem.LatchedFits(weight) || m.yieldBeforeRing(weight)) && m.mem.MakeRoom(weight, memory.ForMessages) {
		m.mem.UseLatched(weight)
		return true
	}
	m.noteShortage("no memory to repeat a latched message in the next file: -b is too small", c.Conn.Topic)
	return false
}

// Keep makes frame, for which there is memory by Reserve, the latest message of c.
func (m *Store) Keep(c *Source, frame []byte) {
	m.Forget(c)
	c.Last = &Message{Source: c, Frame: frame, holders: 1, counted: m.Weight(len(frame))}
}

// Forget releases the latest message of c.
func (m *Store) Forget(c *Source) {
	if c.Last != nil {
		m.release(c.Last)
		c.Last = nil
	}
}

// release removes one holder of a message.
func (m *Store) release(l *Message) {
	if l.holders--; l.holders > 0 {
		return
	}
	m.mem.UnuseLatched(l.counted)
	if l.chunk != nil {
		m.unrefer(l.chunk)
	}
}

// Release releases the messages that a file or a snapshot begins with.
func (m *Store) Release(all []*Message) {
	for _, l := range all {
		m.release(l)
	}
}

// AtFile returns the latched messages of all publishers, or only those that came while nothing was recorded, for
// a file that begins now. The caller releases the messages. Of a publisher that has come back with another
// header only the connection with the latest message counts.
func (m *Store) AtFile(sources []*Source, missed bool) []*Message {
	var all []*Message
	newest := map[publisher]*Source{}
	for _, c := range sources {
		if !c.Latching || c.Last == nil || m.Off && !c.EveryFile {
			continue
		}
		key := c.publisher()
		if other := newest[key]; other == nil || !c.Latest.Before(other.Latest) {
			newest[key] = c
		}
	}
	for _, c := range slices.Backward(sources) {
		if newest[c.publisher()] == c && (c.Missed || !missed) {
			all = append(all, c.Last.retain())
		}
	}
	return all
}

// Claim counts n bytes for latched messages on their way to a file, if that many bytes are free.
func (m *Store) Claim(n int64) bool {
	if !m.mem.MakeRoom(n, memory.ForMessages) {
		return false
	}
	m.mem.UseLatched(n)
	return true
}
