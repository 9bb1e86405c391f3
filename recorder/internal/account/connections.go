package account

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	// HeaderBytes bounds the connection headers and the accounts of all publishers together. A header
	// stays until the bag that has it is closed: the index of the bag needs it.
	HeaderBytes = 16 << 20

	// ConnectionOverhead is about how many bytes a connection or a publisher takes beside its texts.
	ConnectionOverhead = 512
	fieldOverhead      = 40

	// KeptPublishers is how many publishers of a topic have an account of their own; more only if all
	// have links.
	KeptPublishers = 16
	// KeptLatched is how many latched messages of publishers that are gone are kept for each topic.
	KeptLatched = 16
	// KeptLatchedOfAll is how many latched messages of publishers that are gone are kept of all topics:
	// each keeps its header, and where a robot makes new topics for months, these would fill HeaderBytes.
	// The few topics of the recorder itself, such as that of the parameters, stay beyond that.
	KeptLatchedOfAll = 1024

	namedBytes = 256 // most bytes of the name of a publisher that are kept, and of its address
)

// Connections owns the connection headers of all publishers. The header of a publisher that is gone is
// released when no file, chunk or latched message needs it any more.
type Connections struct {
	all         []*Connection          // by id
	next        rosbag.ConnID          // never reused: a snapshot may outlive a connection
	held        int64                  // bytes of all headers and publishers
	definitions map[string]*definition // by their text
}

// Connection is the header of one publisher on one topic. All links with that header share it, one after the
// other or at the same time.
type Connection struct {
	source latch.Source
	topic  *Topic
	// open links
	links int
	// messages begin with a header
	stamped bool
	// the publisher has sent a large message to the end
	proven bool
	// 1 + part of the last file with the connection record, written or queued; 0 for none
	stored int
	// 1 + part of the last file with a message of the connection; 0 for none
	written int
	// bytes that Connections counts for the header, without its definition
	size int64
	// nil if the header has none
	definition *definition
}

// HasRecord reports whether the file of a part has the connection record, or will have it before any
// chunk that is queued from now on.
func (c *Connection) HasRecord(part int) bool { return c.stored == part+1 }

// NewRecord returns how many bytes the record of the connection takes if the file of a part does not have it.
func (c *Connection) NewRecord(part int) int {
	if c.HasRecord(part) {
		return 0
	}
	return c.Bytes()
}

// Conn returns the connection in the bag.
func (c *Connection) Conn() *rosbag.Connection { return c.source.Conn() }

// Source returns the connection as a source of latched messages.
func (c *Connection) Source() *latch.Source { return &c.source }

// Latching reports whether the latest message of the connection begins each file.
func (c *Connection) Latching() bool { return c.source.Latching() }

// Bytes returns about how many bytes the record of the connection takes.
func (c *Connection) Bytes() int { return c.source.Bytes() }

// Topic returns the account of the topic.
func (c *Connection) Topic() *Topic { return c.topic }

// Proven reports whether the publisher has sent a large message to the end.
func (c *Connection) Proven() bool { return c.proven }

// LinkOpened notes that a link to the publisher is open.
func (c *Connection) LinkOpened() {
	c.links++
	h := c.Conn().Header
	c.topic.noteLinked(h.Type(), h.Latching())
}

// LinkClosed notes that a link to the publisher is closed.
func (c *Connection) LinkClosed() {
	c.links--
	c.topic.linked--
}

// NoteRecord notes that the file of a part has the record of the connection, or will have.
func (c *Connection) NoteRecord(part int) { c.stored = part + 1 }

// NoteWritten notes that a message of the connection was written to the file of a part.
func (c *Connection) NoteWritten(part int) { c.written = part + 1 }

// Within reports whether only files of parts before the given one have the connection.
func (c *Connection) Within(before int) bool { return max(c.stored, c.written) <= before }

// NoteUnrecorded counts messages that came while nothing was recorded.
func (c *Connection) NoteUnrecorded(messages int) {
	if !c.topic.AtLimit() {
		c.topic.passed += uint64(messages)
		c.source.CameUnrecorded()
	}
}

// Came counts messages that came, whose frames follow each other in run. The stamp of the first one is
// enough: messages that are read together came together.
func (c *Connection) Came(at time.Time, messages int, run []byte) {
	c.topic.last = at
	c.source.Came(at)
	c.topic.came.messages += uint64(messages)
	c.topic.came.bytes += uint64(len(run))
	c.noteStamp(run)
}

// Announced counts a large message, of which only the length of its frame has come.
func (c *Connection) Announced(at time.Time, bytes int) {
	c.topic.last = at
	c.topic.came.messages++
	c.topic.came.bytes += uint64(bytes)
}

// Arrived notes that a large message, which was announced, has come to the end.
func (c *Connection) Arrived(at time.Time, frame []byte) {
	c.topic.last = at
	c.source.Came(at)
	c.proven = true
	c.noteStamp(frame)
}

// Published notes that the recorder itself has made a message.
func (c *Connection) Published(at time.Time) {
	c.topic.last = at
	c.source.Came(at)
}

// noteStamp notes the stamp of the first of some frames, which came at Last of the topic.
func (c *Connection) noteStamp(frame []byte) {
	// length, seq, seconds, nanoseconds
	if c.stamped && len(frame) >= 16 && binary.LittleEndian.Uint32(frame) >= 12 {
		c.topic.came.rawStamp, c.topic.came.stamped = binary.LittleEndian.Uint64(frame[8:]), c.topic.last
	}
}

// definition is the text of a message type. All connections with the same text share it.
type definition struct {
	text  string
	uses  int
	owner *Topic // the first topic with the definition; the bytes count for its headers
}

const definitionKey = "message_definition"

// SizeOf returns how many bytes the header of a new connection will take.
func (s *Connections) SizeOf(h rosbag.Header) int64 {
	size, defined := int64(ConnectionOverhead), false
	for _, f := range h {
		size += int64(fieldOverhead + len(f.Key))
		first := f.Key == definitionKey && !defined
		defined = defined || first
		if !first || s.definitions[f.Value] == nil {
			size += int64(len(f.Value))
		}
	}
	return size
}

// admits decides whether the headers of t may take more bytes. As memory.Memory.Admits does for messages,
// it compares the bytes that a topic holds with the bytes that are left, so that the topic with most is
// refused first.
func (s *Connections) admits(t *Topic, bytes int64) bool {
	return s.held+bytes <= HeaderBytes && t.headers+bytes <= memory.FairnessFactor*(HeaderBytes-s.held)
}

// Find returns the connection of t with this header, or nil.
func (t *Topic) Find(h rosbag.Header) *Connection {
	i := slices.IndexFunc(t.conns, func(c *Connection) bool { return slices.Equal(c.Conn().Header, h) })
	if i < 0 {
		return nil
	}
	return t.conns[i]
}

// Add makes a connection of t. It copies h.
func (s *Connections) Add(t *Topic, h rosbag.Header) *Connection {
	c, bytes := &Connection{topic: t}, 0
	own := make(rosbag.Header, len(h))
	for i, f := range h {
		own[i].Key = strings.Clone(f.Key)
		bytes += 5 + len(f.Key) + len(f.Value)
		if f.Key == definitionKey && c.definition == nil {
			c.definition = s.share(t, f.Value)
			own[i].Value = c.definition.text
			continue
		}
		own[i].Value = strings.Clone(f.Value)
	}
	c.size = s.SizeOf(h) // without the definition, which is known now
	c.source = latch.NewSource(&rosbag.Connection{ID: s.next, Topic: string(t.name), Header: own}, bytes)
	_, c.stamped = stdmsg.FirstField(msgdef.DefinitionOf(h))
	s.next++
	s.charge(t, c.size)
	s.all = append(s.all, c)
	t.conns = append(t.conns, c)
	return c
}

// Of returns the account of a connection; nil if it was released.
func (s *Connections) Of(conn *rosbag.Connection) *Connection {
	i, ok := slices.BinarySearchFunc(s.all, conn.ID,
		func(c *Connection, id rosbag.ConnID) int { return cmp.Compare(c.Conn().ID, id) })
	if !ok {
		return nil
	}
	return s.all[i]
}

// share returns the shared copy of a definition.
func (s *Connections) share(t *Topic, text string) *definition {
	d := s.definitions[text]
	if d == nil {
		if s.definitions == nil {
			s.definitions = map[string]*definition{}
		}
		d = &definition{text: strings.Clone(text), owner: t}
		s.definitions[d.text] = d
		s.charge(t, int64(len(text)))
	}
	d.uses++
	return d
}

func (s *Connections) charge(t *Topic, bytes int64) {
	s.held += bytes
	t.headers += bytes
}

// Release releases the connections without a link for which which returns true.
func (s *Connections) Release(which func(*Connection) bool) {
	left := map[*Topic]bool{}
	s.all = slices.DeleteFunc(s.all, func(c *Connection) bool {
		if c.links > 0 || !which(c) {
			return false
		}
		c.source.ConnectionReleased()
		left[c.topic] = true
		s.charge(c.topic, -c.size)
		if d := c.definition; d != nil {
			if d.uses--; d.uses == 0 {
				delete(s.definitions, d.text)
				s.charge(d.owner, -int64(len(d.text)))
			}
		}
		return true
	})
	for t := range left {
		t.conns = slices.DeleteFunc(t.conns, func(c *Connection) bool { return c.source.Released() })
	}
}

// HeadersFullError is the error for a publisher that is refused because there is no memory for its header.
type HeadersFullError struct {
	bytes int64 // of the header
	held  int64 // bytes that the headers of its topic hold
}

// Error implements error.
func (e *HeadersFullError) Error() string {
	return fmt.Sprintf("no memory for its connection header of %d bytes: the headers of its topic hold %d of %d; they are kept until the bag is closed: split the recording, or find out why they differ", e.bytes, e.held, HeaderBytes)
}

// Admit returns a *HeadersFullError if there is no memory for the account of a publisher and, unless
// known says that the topic has a connection with this header, for the header.
func (s *Connections) Admit(t *Topic, known bool, h rosbag.Header, id, uri string) error {
	need := int64(0)
	if !known {
		need = s.SizeOf(h)
	}
	if t.publishers.find(id) == nil {
		need += publisherSize(id)
	}
	if need == 0 || s.admits(t, need) {
		return nil
	}
	t.publishers.refuse(uri)
	return &HeadersFullError{need, t.headers}
}
