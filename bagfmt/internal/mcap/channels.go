package mcap

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

const (
	maxMetadata     = 256       // pairs of a channel's metadata
	maxChannelBytes = 256 << 20 // of all schemas and channels of a file

	encodingROS1 = "ros1"    // of messages
	schemaROS1   = "ros1msg" // of schemas
)

// Channels are the schemas and channels of a file, and the connections that they make.
type Channels struct {
	// KeepForeign makes connections also of channels whose messages are not those of ROS 1.
	KeepForeign bool

	schemas  map[uint16]*schema
	channels map[uint16]*channel
	bytes    int // of all of them
}

type schema struct {
	name, encoding, data string

	md5 string // of data, once it was needed
}

// md5sum returns the md5sum of a definition of ROS 1, "*" if that cannot be used.
func (s *schema) md5sum() string {
	if s.md5 == "" {
		s.md5 = wire.AnyOf
		if t, err := rosmsg.Parse(s.name, s.data); err == nil {
			s.md5 = t.MD5Sum()
		}
	}
	return s.md5
}

type channel struct {
	schema   uint16
	topic    string
	encoding string
	metadata rosbag.Header
	at       int64 // offset of its record
	conn     *rosbag.Connection
	wrong    error // why it has no connection
}

// room counts n bytes of the record at offset at.
func (c *Channels) room(n int, at int64) error {
	if n > wire.MaxConnectionBytes {
		return &rosbag.LimitError{
			Offset: at, Op: rosbag.OpConnection, What: "schema or channel",
			Got: int64(n), Limit: wire.MaxConnectionBytes,
		}
	}
	if c.bytes+n > maxChannelBytes {
		return &rosbag.LimitError{
			Offset: at, Op: rosbag.OpConnection, What: "schemas and channels",
			Got: int64(c.bytes + n), Limit: maxChannelBytes,
		}
	}
	return nil
}

// AddSchema learns a schema from the content of its record, which is at offset at or in the chunk
// there. One that is known changes nothing; one that contradicts it is an error.
func (c *Channels) AddSchema(b []byte, at int64) error {
	x := content{b: b}
	id, name, encoding, data := x.u16(), x.bytes(), x.bytes(), x.bytes()
	if err := x.done("schema"); err != nil {
		return wire.Corrupt(at, rosbag.OpConnection, "%v", err)
	}
	if old := c.schemas[id]; old != nil {
		if old.name != string(name) || old.encoding != string(encoding) || old.data != string(data) {
			return wire.Corrupt(at, rosbag.OpConnection,
				"schema %d is %.80q and %.80q, or their definitions differ", id, old.name, name)
		}
		return nil
	}
	if id == 0 {
		return wire.Corrupt(at, rosbag.OpConnection, "schema %.80q has the id 0, which means none", name)
	}
	if err := c.room(len(b), at); err != nil {
		return err
	}
	if c.schemas == nil {
		c.schemas = make(map[uint16]*schema)
	}
	c.schemas[id] = &schema{name: string(name), encoding: string(encoding), data: string(data)}
	c.bytes += len(b)
	return nil
}

// AddChannel learns a channel, as AddSchema does with a schema. Its schema may follow.
func (c *Channels) AddChannel(b []byte, at int64) error {
	x := content{b: b}
	id, schema, topic, encoding := x.u16(), x.u16(), x.bytes(), x.bytes()
	metadata := x.bytes()
	if err := x.done("channel"); err != nil {
		return wire.Corrupt(at, rosbag.OpConnection, "%v", err)
	}
	if old := c.channels[id]; old != nil {
		if old.topic != string(topic) || old.schema != schema || old.encoding != string(encoding) {
			return wire.Corrupt(at, rosbag.OpConnection,
				"channel %d is %.80q and %.80q, or their schemas or encodings differ", id, old.topic, topic)
		}
		return nil
	}
	if err := c.room(len(b), at); err != nil {
		return err
	}
	ch := &channel{schema: schema, topic: string(topic), encoding: string(encoding), at: at}
	var err error
	if ch.metadata, err = parseMetadata(metadata); err != nil {
		return wire.Corrupt(at, rosbag.OpConnection, "metadata of channel %d %v", id, err)
	}
	if c.channels == nil {
		c.channels = make(map[uint16]*channel)
	}
	c.channels[id] = ch
	c.bytes += len(b)
	return nil
}

// Known reports whether there is a channel with that id.
func (c *Channels) Known(id uint16) bool { return c.channels[id] != nil }

// Incomplete returns a channel whose schema is not known, if there is one.
func (c *Channels) Incomplete() (channel, schema uint16, missing bool) {
	for id, ch := range c.channels {
		if ch.schema != 0 && c.schemas[ch.schema] == nil {
			return id, ch.schema, true
		}
	}
	return 0, 0, false
}

// Foreign reports whether there is such a channel and its messages are not given out.
func (c *Channels) Foreign(id uint16) bool {
	_, err := c.Connection(id)
	return err != nil
}

// Connection returns the connection of a channel, or why its messages are not given out, both nil if there is
// no such channel. After the first call for a channel its schema is settled, and any number of
// goroutines may call it.
func (c *Channels) Connection(id uint16) (*rosbag.Connection, error) {
	ch := c.channels[id]
	if ch == nil {
		return nil, nil // the caller reports a channel that is not defined
	}
	if ch.conn == nil && ch.wrong == nil {
		header, err := c.header(id, ch)
		if err == nil {
			err = wire.CheckConnectionBytes(ch.at, headerBytes(header))
		}
		if ch.wrong = err; err == nil {
			ch.conn = &rosbag.Connection{ID: rosbag.ConnID(id), Topic: ch.topic, Header: header}
		}
		ch.metadata = nil
	}
	return ch.conn, ch.wrong
}

// header makes the connection header of a channel.
func (c *Channels) header(id uint16, ch *channel) (rosbag.Header, error) {
	s := c.schemas[ch.schema]
	switch {
	case s == nil && ch.schema != 0:
		return nil, wire.Corrupt(ch.at, rosbag.OpConnection,
			"channel %d, topic %.80q, has the schema %d, which is missing", id, ch.topic, ch.schema)
	case s != nil && ch.encoding == encodingROS1 && s.encoding == schemaROS1:
		return s.header(ch), nil
	case s == nil:
		s = new(schema)
	}
	if c.KeepForeign {
		return s.foreignHeader(ch), nil
	}
	return nil, &rosbag.EncodingError{
		Topic: ch.topic, Encoding: ch.encoding, Schema: s.name,
		SchemaEncoding: s.encoding,
	}
}

// headerBytes returns the size of h as a block of fields.
func headerBytes(h rosbag.Header) int64 {
	var n int64
	for _, f := range h {
		n += int64(len(f.Key) + len(f.Value) + 5)
	}
	return n
}

// Connections returns the connections of all channels by ascending id, and an error for each channel
// that has none; for a channel of another encoding only if used reports that it has messages.
func (c *Channels) Connections(used func(id uint16) bool) (list []*rosbag.Connection, wrong []error) {
	for _, id := range slices.Sorted(maps.Keys(c.channels)) {
		conn, err := c.Connection(id)
		if conn != nil {
			list = append(list, conn)
		}
		var encoding *rosbag.EncodingError
		if err != nil && (!errors.As(err, &encoding) || used(id)) {
			wrong = append(wrong, err)
		}
	}
	return list, wrong
}

// header makes the connection header of a channel of ROS 1: the fields that each publisher sends, in
// the order of stock's recorder, and then the other metadata. Without an md5sum in the metadata
// it is computed from the definition.
func (s *schema) header(ch *channel) rosbag.Header {
	get := func(key, otherwise string) string {
		if v, ok := ch.metadata.Get(key); ok {
			return v
		}
		return otherwise
	}
	md5, ok := ch.metadata.Get(rosbag.KeyMD5Sum)
	if !ok {
		md5 = s.md5sum()
	}
	h := rosbag.Header{
		{Key: rosbag.KeyTopic, Value: get(rosbag.KeyTopic, ch.topic)},
		{Key: rosbag.KeyType, Value: s.name},
		{Key: rosbag.KeyMD5Sum, Value: md5},
		{Key: rosbag.KeyMessageDefinition, Value: s.data},
	}
	return append(h,
		ch.others(rosbag.KeyTopic, rosbag.KeyType, rosbag.KeyMD5Sum, rosbag.KeyMessageDefinition)...)
}

// others returns the metadata without some keys, by key. What cannot be a field of a connection
// header is left out.
func (ch *channel) others(without ...string) rosbag.Header {
	var list rosbag.Header
	for _, f := range ch.metadata {
		if f.Key == "" || strings.Contains(f.Key, "=") || slices.Contains(without, f.Key) {
			continue
		}
		if f.Key == rosbag.KeyLatching {
			f.Value = latching(f.Value)
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b rosbag.Field) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// latching converts the value in the metadata to that in a connection header. Converters copy the value
// of a header; other writers have a truth value.
func latching(v string) string {
	switch v {
	case "true", "True":
		return "1"
	case "false", "False":
		return "0"
	}
	return v
}

// foreignHeader makes the header of a channel of another encoding. s is empty if there is no schema.
func (s *schema) foreignHeader(ch *channel) rosbag.Header {
	h := rosbag.Header{
		{Key: rosbag.KeyTopic, Value: ch.topic},
		{Key: rosbag.KeyType, Value: s.name},
		{Key: rosbag.KeyMCAPEncoding, Value: ch.encoding},
		{Key: rosbag.KeyMCAPSchemaEncoding, Value: s.encoding},
		{Key: rosbag.KeyMCAPSchema, Value: s.data},
	}
	for _, f := range ch.metadata {
		h = append(h, rosbag.Field{Key: rosbag.KeyMCAPMetadata + f.Key, Value: f.Value})
	}
	return h
}
