package rosbag

// ConnID numbers the connections of a bag. Ids may be sparse.
type ConnID uint32

// Field is one key and its value. The value may hold any bytes.
type Field struct {
	Key   string
	Value string
}

// Header is what a publisher said about itself when the link to it was
// made: every field, in its order, unknown ones included.
type Header []Field

// Keys of a connection header that ROS gives a meaning, and those that only a channel of an MCAP file has.
const (
	KeyCallerID          = "callerid"
	KeyLatching          = "latching"
	KeyMD5Sum            = "md5sum"
	KeyMessageDefinition = "message_definition"
	KeyTopic             = "topic"
	KeyType              = "type"

	// The other keys are of a connection that is a channel of an MCAP file whose messages are not
	// those of ROS 1, such as cdr of ROS 2. Readers give out such connections only if they are asked
	// for them: see KeepForeign of bagfmt.ReaderOptions. The header then has the keys topic, type,
	// which is the name of the schema and may be empty, and these, but no md5sum and no
	// message_definition. The payloads are what the file holds.

	// KeyMCAPEncoding is the message_encoding of the channel, for example "cdr".
	KeyMCAPEncoding = "mcap.encoding"
	// KeyMCAPSchemaEncoding is for example "ros2msg"; empty without a schema.
	KeyMCAPSchemaEncoding = "mcap.schema_encoding"
	// KeyMCAPSchema is the data of the schema: a definition, or bytes.
	KeyMCAPSchema = "mcap.schema"
	// KeyMCAPMetadata comes before each key of the channel's metadata, for example
	// "mcap.metadata.offered_qos_profiles".
	KeyMCAPMetadata = "mcap.metadata."
)

// Get returns the value of the first field named key.
func (h Header) Get(key string) (value string, ok bool) {
	for i := range h {
		if h[i].Key == key {
			return h[i].Value, true
		}
	}
	return "", false
}

func (h Header) value(key string) string {
	v, _ := h.Get(key)
	return v
}

// Type returns the message type, for example "std_msgs/String".
func (h Header) Type() string { return h.value(KeyType) }

// MD5Sum returns the checksum of the message definition.
func (h Header) MD5Sum() string { return h.value(KeyMD5Sum) }

// MessageDefinition returns the full text of the definition, untrusted.
func (h Header) MessageDefinition() string { return h.value(KeyMessageDefinition) }

// CallerID returns the name of the publishing node, if known.
func (h Header) CallerID() string { return h.value(KeyCallerID) }

// Latching reports whether the publisher sends its last message to new subscribers.
func (h Header) Latching() bool { return h.value(KeyLatching) == "1" }

// Connection is one publisher of one topic. It is never modified once it is used.
type Connection struct {
	ID     ConnID
	Topic  string // the name that the messages are stored under
	Header Header
}

// ConnCount is the number of messages of one connection in a Span.
type ConnCount struct {
	Conn  *Connection
	Count uint32
}
