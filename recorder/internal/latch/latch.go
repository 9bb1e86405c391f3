// Package latch keeps the latest message of each latching publisher, for the files and the snapshots
// that begin later. It is pure: the caller has the lock, which is that of the intake; a Message that
// is pinned may be read without. The intake and the ring use it, and whoever writes what they hand on.
package latch

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ErrNoMemory says that the latched messages before a snapshot are not in it.
var ErrNoMemory = errors.New("no memory for what is latched before it")

// Source is a connection as far as latched messages go: one header of one publisher on one topic.
type Source struct {
	Conn      *rosbag.Connection
	Bytes     int       // of the record of the connection, about
	Latest    time.Time // when its last message came
	Latching  bool      // its latest message begins each file
	EveryFile bool      // its latest message begins each file even with Store.Off
	Missed    bool      // the latest message came while nothing was recorded
	Released  bool      // the recording has forgotten the connection
	Last      *Message  // nil for none
}

// Message is the latest message of a latching publisher, to be repeated at the
// start of each file. While it is pinned its frame does not
// change, and may be read without the lock.
type Message struct {
	Frame   []byte
	Chunk   *Held // in place of Frame: the message is the last one of its connection in this chunk
	Pins    int   // writers that will read Frame or Chunk
	Counted int64 // bytes that the memory counts for the message
	Gone    bool  // released while pinned: the last Unpin gives the memory back
}

// Store keeps the latest message of each latching publisher: for the files that begin later,
// and as the state where the ring of chunks for snapshots begins. The caller has the lock.
type Store struct {
	mem   *memory.Memory
	Off   bool // files do not begin with latched messages
	Start ringStart

	shortage Shortage
	Short    bool // a shortage was noted before
}

// Shortage is what could not be kept for want of memory.
type Shortage struct {
	Text  string // empty for nothing
	Topic string // empty if several topics are concerned
}

// New returns an empty store. off says that files do not begin with latched messages.
func New(mem *memory.Memory, off bool) Store { return Store{mem: mem, Off: off} }

// TakeShortage returns the first shortage there was, once.
func (m *Store) TakeShortage() Shortage {
	s := m.shortage
	m.shortage = Shortage{}
	return s
}

// noteShortage notes why latched messages are not repeated, if it is the first reason.
func (m *Store) noteShortage(text, topic string) {
	if !m.Short {
		m.Short, m.shortage = true, Shortage{text, topic}
	}
}

// Pinned is a latched message on its way into a file.
type Pinned struct {
	*Source
	*Message
}

// LastFrame returns the last of whole frames back to back.
func LastFrame(run []byte) []byte {
	for {
		n := 4 + int(binary.LittleEndian.Uint32(run))
		if n >= len(run) {
			return run
		}
		run = run[n:]
	}
}

// Weight is what a latched message counts: for itself and for its copy on
// the way to the file.
func (m *Store) Weight(n int) int64 { return 2 * m.mem.Weight(n) }

// Remember keeps a copy of the latest message of c.
func (m *Store) Remember(c *Source, frame []byte) {
	if l := c.Last; l != nil && l.Pins == 0 && cap(l.Frame) >= len(frame) {
		l.Frame = append(l.Frame[:0], frame...)
		return
	}
	m.Forget(c)
	weight := m.Weight(len(frame))
	if !m.Reserve(weight, c) {
		return
	}
	c.Last = &Message{Frame: append([]byte(nil), frame...), Counted: weight}
}

// Reserve takes n bytes of the budget for the latched message of c.
// Beyond half of what shared chunks leave of the budget, or when it is used up, c is not
// repeated until a later message of it finds room.
func (m *Store) Reserve(n int64, c *Source) bool {
	if (m.mem.LatchedFits(n) || m.yieldStart(n)) && m.mem.MakeRoom(n, memory.ForMessages) {
		m.mem.UseLatched(n)
		return true
	}
	m.noteShortage("no memory to repeat a latched message in the next file: -b is too small", c.Conn.Topic)
	return false
}

// Forget releases the remembered message of c.
func (m *Store) Forget(c *Source) {
	l := c.Last
	if l == nil {
		return
	}
	c.Last = nil
	if l.Pins > 0 {
		l.Gone = true
		return
	}
	m.releaseLatched(l)
}

func (m *Store) releaseLatched(l *Message) {
	m.mem.UnuseLatched(l.Counted)
	if l.Chunk != nil {
		m.releaseHeld(l.Chunk)
	}
}

// publisher is a node on a topic. One that has come back with another header has several
// connections.
type publisher struct {
	topic    string
	callerID string
}

func (c *Source) publisher() publisher { return publisher{c.Conn.Topic, c.Conn.Header.CallerID()} }

// AtFile returns the latched messages of all publishers, or of those that pass want if it is not
// nil. They stay as they are until unpin. Of one publisher that has come back with another header
// only the connection with the latest message counts.
func (m *Store) AtFile(sources []*Source, want func(*Source) bool) []Pinned {
	var all []Pinned
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
		if newest[c.publisher()] != c || want != nil && !want(c) {
			continue
		}
		all = append(all, c.pinLast())
	}
	return all
}

// pinLast returns the latched message of c, which stays as it is until unpin.
func (c *Source) pinLast() Pinned {
	c.Last.Pins++
	return Pinned{c, c.Last}
}

// Unpin releases messages that were pinned.
func (m *Store) Unpin(all []Pinned) {
	for _, l := range all {
		l.Pins--
		if l.Gone && l.Pins == 0 {
			m.releaseLatched(l.Message)
		}
	}
}

// Claim counts n bytes for latched messages on their way to a file, if that many bytes are free.
func (m *Store) Claim(n int64) bool {
	if !m.mem.MakeRoom(n, memory.ForMessages) {
		return false
	}
	m.mem.UseLatched(n)
	return true
}
