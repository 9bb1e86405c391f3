package bagfmt

import (
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
