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
	conn      *rosbag.Connection
	bytes     int       // of the record of the connection, about
	latest    time.Time // when its last message came
	latching  bool      // its latest message begins each file
	everyFile bool      // its latest message begins each file even with Store.Off
	missed    bool      // the latest message came while nothing was recorded
	released  bool      // the accounts have released the connection
	last      *Message  // nil for none
}

// publisher is a node on a topic. A node that has come back with another header has several
// connections.
type publisher struct {
	topic    string
	callerID string
}

// NewSource returns a connection without a message, whose record takes about so many bytes.
func NewSource(conn *rosbag.Connection, bytes int) Source { return Source{conn: conn, bytes: bytes} }

// Conn returns the connection.
func (c *Source) Conn() *rosbag.Connection { return c.conn }

// Bytes returns about how many bytes the record of the connection takes.
func (c *Source) Bytes() int { return c.bytes }

// Latest returns when the last message came.
func (c *Source) Latest() time.Time { return c.latest }

// Latching reports whether the latest message begins each file.
func (c *Source) Latching() bool { return c.latching }

// RepeatInEachFile makes each file begin with the latest message, also with a Store that is off.
func (c *Source) RepeatInEachFile() { c.latching, c.everyFile = true, true }

// Came notes that a message came.
func (c *Source) Came(at time.Time) { c.latest = at }

// CameUnrecorded notes that the latest message came while nothing was recorded.
func (c *Source) CameUnrecorded() { c.missed = c.latching }

// ConnectionReleased notes that the accounts have released the connection.
func (c *Source) ConnectionReleased() { c.released = true }

// Released reports whether the accounts have released the connection.
func (c *Source) Released() bool { return c.released }

// Remembered reports whether the latest message is remembered.
func (c *Source) Remembered() bool { return c.last != nil }

func (c *Source) publisher() publisher { return publisher{c.conn.Topic, c.conn.Header.CallerID()} }

// Message is a latched message. Its holders are counted: its Source while the message is the latest one,
// a chunk or the state before the ring, and each file and snapshot that will begin with it. The last holder
// gives the memory back. The frame changes only while the Source is the only holder.
type Message struct {
	source *Source
	frame  []byte // nil if chunk has it, as the last message of the connection there
	chunk  *Chunk // that has the frame; nil if Frame is set
	// ADR 0127: files, snapshots and the ring share one copy.
	holders int    // those that will release the message
	counted int64  // bytes that the memory counts for the message
	passed  uint64 // the place of the message in the order in which messages left the ring; zero before
}

// Conn returns the connection of the message.
func (l *Message) Conn() *rosbag.Connection { return l.source.conn }

// RecordBytes returns about how many bytes the record of the connection takes.
func (l *Message) RecordBytes() int { return l.source.bytes }

// Frame returns the frame; nil if a chunk has it.
func (l *Message) Frame() []byte { return l.frame }

// retain adds a holder of the message.
func (l *Message) retain() *Message {
	l.holders++
	return l
}

// Store keeps the latest message of each latching publisher: for the files that begin later, and as the
// state before the ring of chunks for snapshots. The caller has the lock.
type Store struct {
	mem *memory.Memory
	// files do not begin with latched messages
	off bool
	// the state before the ring: the last messages in chunks that have left or passed it
	beforeRing map[*Source]*Message
	// messages that were added to the state before the ring
	passed uint64
	// takes back the memory of a chunk to which no message refers any more
	free func(*Chunk)

	shortage Shortage
	short    bool // a shortage was noted before
}

// Shortage says for which latched message there was no memory.
type Shortage struct {
	Text  string // empty for nothing
	Topic string
}

// New returns an empty store. off says that files do not begin with latched messages. free takes back the
// memory of a chunk to which no message refers any more.
func New(mem *memory.Memory, off bool, free func(*Chunk)) Store {
	return Store{mem: mem, off: off, free: free}
}

// Connected notes whether a publisher with a new connection latches its messages.
func (m *Store) Connected(c *Source, latching bool) { c.latching = latching && !m.off }

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
	if l := c.last; l != nil && l.holders == 1 && cap(l.frame) >= len(frame) {
		l.frame = append(l.frame[:0], frame...)
		return
	}
	m.Forget(c)
	if m.Reserve(c, len(frame)) {
		m.Keep(c, append([]byte(nil), frame...))
	}
}

// Reserve takes memory for a latched message of n bytes. If there is none, or if latched messages have
// their share already (see memory.LatchedFits), files do not begin with a message of c until a later one
// finds room.
func (m *Store) Reserve(c *Source, n int) bool {
	weight := m.Weight(n)
	if (m.mem.LatchedFits(weight) || m.yieldBeforeRing(weight)) &&
		m.mem.MakeRoom(weight, memory.ForMessages) {
		m.mem.UseLatched(weight)
		return true
	}
	m.noteShortage("no memory to repeat a latched message in the next file: -b is too small", c.conn.Topic)
	return false
}

// Keep makes frame, for which there is memory by Reserve, the latest message of c.
func (m *Store) Keep(c *Source, frame []byte) {
	m.Forget(c)
	c.last = &Message{source: c, frame: frame, holders: 1, counted: m.Weight(len(frame))}
}

// Forget releases the latest message of c.
func (m *Store) Forget(c *Source) {
	if c.last != nil {
		m.release(c.last)
		c.last = nil
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

// AtFile returns the latched messages of all publishers, for a file that begins now, and those of them
// that came while nothing was recorded. If a pause has ended, and no file begins, it returns only these.
// The caller releases all. Of a publisher that has come back with another header only the connection with
// the latest message counts.
func (m *Store) AtFile(sources []*Source, resumed bool) (all, missed []*Message) {
	newest := map[publisher]*Source{}
	for _, c := range sources {
		if !c.latching || c.last == nil || m.off && !c.everyFile {
			continue
		}
		key := c.publisher()
		if other := newest[key]; other == nil || !c.latest.Before(other.latest) {
			newest[key] = c
		}
	}
	for _, c := range slices.Backward(sources) {
		if newest[c.publisher()] == c && (c.missed || !resumed) {
			all = append(all, c.last.retain())
			if c.missed {
				missed = append(missed, c.last)
			}
		}
	}
	for _, c := range sources {
		c.missed = false
	}
	return all, missed
}

// Claim counts n bytes for latched messages on their way to a file, if that many bytes are free.
func (m *Store) Claim(n int64) bool {
	if !m.mem.MakeRoom(n, memory.ForMessages) {
		return false
	}
	m.mem.UseLatched(n)
	return true
}
