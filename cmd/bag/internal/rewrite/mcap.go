package rewrite

import (
	"io"
	"math"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros2/mcapwriter"
	"github.com/gorosbag/gorosbag/rosbag"
)

// MCAPOptions say how an MCAP file is written.
type MCAPOptions struct {
	Compression string // of the chunks that are packed: zstd, lz4 or none; empty means zstd
	ChunkBytes  int    // a chunk ends with the message that makes it as large as this before compression
	Workers     int    // goroutines that pack chunks
	// KeepIDs gives channels the ids of their connections, where these are free: those of another MCAP
	// file, so that its chunks can be copied.
	KeepIDs bool
	// AnyCompression and AnySize copy chunks that are packed in another way than the others, and much
	// smaller or larger ones.
	AnyCompression, AnySize bool
}

// MCAPSink writes one MCAP file of the profile "ros1".
type MCAPSink struct {
	w        *mcapwriter.Writer
	o        MCAPOptions
	channels map[*rosbag.Connection]*mcapChannel
	conn     *rosbag.Connection // connection of the last message
	channel  *mcapChannel       // channel of conn
	schemas  map[mcapType]uint16
	types    msgdef.Cache
}

type mcapChannel struct {
	id  uint16
	seq uint32 // of the next message
}

const (
	messageEncoding = "ros1" // which is the name of the profile, too
	schemaEncoding  = "ros1msg"
)

// mcapType identifies a schema.
type mcapType struct{ name, definition string }

// NewMCAP starts an MCAP file on w.
func NewMCAP(w io.Writer, o MCAPOptions) (*MCAPSink, error) {
	mw, err := mcapwriter.New(w,
		mcapwriter.Options{
			Profile: messageEncoding, Compression: o.Compression, ChunkBytes: o.ChunkBytes,
			Workers: o.Workers,
		})
	if err != nil {
		return nil, err
	}
	return &MCAPSink{
		w: mw, o: o, channels: make(map[*rosbag.Connection]*mcapChannel),
		schemas: make(map[mcapType]uint16),
	}, nil
}

// Write implements rosbag.Sink.
func (s *MCAPSink) Write(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	if c != s.conn {
		channel, err := s.of(c)
		if err != nil {
			return err
		}
		s.conn, s.channel = c, channel
	}
	seq := s.channel.seq
	s.channel.seq++
	return s.w.Write(s.channel.id, seq, uint64(t.Sec)*1e9+uint64(t.Nsec), data)
}

// of returns the channel of a connection, and writes it if it is new.
func (s *MCAPSink) of(c *rosbag.Connection) (*mcapChannel, error) {
	if channel := s.channels[c]; channel != nil {
		return channel, nil
	}
	schema, err := s.schema(s.typeOf(c), mcapwriter.AnyID)
	if err != nil {
		return nil, err
	}
	want := mcapwriter.AnyID
	if s.o.KeepIDs && c.ID <= math.MaxUint16 {
		want = int(c.ID)
	}
	id, err := s.w.AddChannel(want, schema, c.Topic, messageEncoding, mcapMetadata(c))
	if err != nil {
		return nil, err
	}
	s.channels[c] = &mcapChannel{id: id}
	return s.channels[c], nil
}

// mcapMetadata returns the metadata of a channel: all fields of the connection header that the schema
// does not have. The field latching has the form that the registry of MCAP defines.
func mcapMetadata(c *rosbag.Connection) map[string]string {
	metadata := make(map[string]string, len(c.Header))
	for _, f := range c.Header {
		if _, twice := metadata[f.Key]; !twice { // readers of bags use the first field of a name
			metadata[f.Key] = f.Value
		}
	}
	delete(metadata, "type")
	delete(metadata, "message_definition")
	switch metadata["latching"] {
	case "0":
		metadata["latching"] = "false"
	case "1":
		metadata["latching"] = "true"
	}
	return metadata
}

// typeOf returns what the schema of a connection is to be.
func (s *MCAPSink) typeOf(c *rosbag.Connection) mcapType {
	t := mcapType{c.Header.Type(), c.Header.MessageDefinition()}
	if known, err := s.types.Of(c); err == nil {
		t.definition = known.Definition
	}
	return t
}

// schema writes the schema of a type, if it is new, and returns its id. That of a new one is want, if that
// is free.
func (s *MCAPSink) schema(t mcapType, want int) (uint16, error) {
	if id, ok := s.schemas[t]; ok {
		return id, nil
	}
	id, err := s.w.AddSchema(want, t.name, schemaEncoding, []byte(t.definition))
	s.schemas[t] = id
	return id, err
}

// Close implements rosbag.Sink.
func (s *MCAPSink) Close() error { return s.w.Close() }

// Abort implements rosbag.Sink.
func (s *MCAPSink) Abort() { s.w.Abort() }
