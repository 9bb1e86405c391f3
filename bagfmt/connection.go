package bagfmt

import (
	"cmp"
	"slices"

	"github.com/gorosbag/gorosbag/internal/fields"
)

// ConnID numbers the connections of a bag. Ids may be sparse.
type ConnID uint32

// Field is one key and its value.
type Field = fields.Field

// ConnectionHeader is what a publisher said about itself when the link to it was
// made: every field, in its order, unknown ones included.
type ConnectionHeader []Field

// Keys of a connection header that ROS gives a meaning.
const (
	keyCallerID          = "callerid"
	keyLatching          = "latching"
	keyMD5Sum            = "md5sum"
	keyMessageDefinition = "message_definition"
	keyTopic             = "topic"
	keyType              = "type"
)

// Get returns the value of the first field named key.
func (h ConnectionHeader) Get(key string) (value string, ok bool) {
	return fields.List(h).Get(key)
}

func (h ConnectionHeader) value(key string) string {
	v, _ := h.Get(key)
	return v
}

// Topic returns the topic as the publisher named it.
func (h ConnectionHeader) Topic() string { return h.value(keyTopic) }

// Type returns the message type, for example "std_msgs/String".
func (h ConnectionHeader) Type() string { return h.value(keyType) }

// MD5Sum returns the checksum of the message definition.
func (h ConnectionHeader) MD5Sum() string { return h.value(keyMD5Sum) }

// MessageDefinition returns the full text of the definition, untrusted.
func (h ConnectionHeader) MessageDefinition() string { return h.value(keyMessageDefinition) }

// CallerID returns the name of the publishing node, if known.
func (h ConnectionHeader) CallerID() string { return h.value(keyCallerID) }

// Latching reports whether the publisher sends its last message to new subscribers.
func (h ConnectionHeader) Latching() bool { return h.value(keyLatching) == "1" }

// Connection is one publisher of one topic. It is never modified once it is used.
type Connection struct {
	ID     ConnID
	Topic  string // the name that the messages are stored under
	Header ConnectionHeader
}

// Message is one recorded message.
type Message struct {
	Conn *Connection
	Time Time
	// Frame is the u32 length and the payload: the tail of the bag record and, byte
	// for byte, what TCPROS sends.
	Frame []byte
	// Share is what the message costs in memory while it is kept: the bytes of its
	// unpacked chunk, which any Frame of the chunk keeps alive, divided by the number
	// of messages that the Query selected from it, rounded up; by LastBefore, which
	// selects one, all of them. A Scanner, which does
	// not know that number beforehand, leaves it 0.
	Share int
}

// Data returns the serialized message without its length.
func (m *Message) Data() []byte { return m.Frame[4:] }

// denseTable bounds the slice of a connTable whose number of connections is not known: ids
// beyond it cost a map lookup.
const denseTable = 4096

// connTable finds the connections of a bag by id.
type connTable struct {
	most   int // connections to come, if that is known beforehand
	dense  []*Connection
	sparse map[ConnID]*Connection
}

func (t *connTable) get(id ConnID) *Connection {
	if int64(id) < int64(len(t.dense)) {
		return t.dense[id]
	}
	return t.sparse[id]
}

// add learns the connection of the record at offset at. A record that repeats a
// known connection changes nothing, as in stock readers; one that contradicts it
// is an error.
func (t *connTable) add(h *recordHeader, data []byte, at int64) error {
	if old := t.get(h.conn); old != nil && old.equals(h.topic, data) {
		return nil // as in each second chunk of many bags
	}
	c, err := parseConnection(h, data)
	if err != nil {
		return corrupt(at, OpConnection, "%v", err)
	}
	if old := t.get(c.ID); old != nil {
		if old.Topic != c.Topic || old.Header.Type() != c.Header.Type() || old.Header.MD5Sum() != c.Header.MD5Sum() {
			return corrupt(at, OpConnection, "id %d is %q and %q", c.ID, old.Topic, c.Topic)
		}
		return nil
	}
	switch {
	case int64(c.ID) >= int64(max(denseTable, t.most)):
		if t.sparse == nil {
			t.sparse = make(map[ConnID]*Connection)
		}
		t.sparse[c.ID] = c
		return nil
	case int(c.ID) >= len(t.dense):
		t.dense = append(t.dense, make([]*Connection, int(c.ID)+1-len(t.dense))...)
	}
	t.dense[c.ID] = c
	return nil
}

// equals reports whether topic and data, a connection header, say what c says.
func (c *Connection) equals(topic, data []byte) bool {
	if string(topic) != c.Topic {
		return false
	}
	for _, f := range c.Header {
		key, value, rest, err := fields.Next(data)
		if err != nil || string(key) != f.Key || string(value) != f.Value {
			return false
		}
		data = rest
	}
	return len(data) == 0
}

// all returns the connections by ascending id.
func (t *connTable) all() []*Connection {
	list := make([]*Connection, 0, len(t.sparse))
	for _, c := range t.dense {
		if c != nil {
			list = append(list, c)
		}
	}
	n := len(list)
	for _, c := range t.sparse {
		list = append(list, c)
	}
	slices.SortFunc(list[n:], func(a, b *Connection) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
