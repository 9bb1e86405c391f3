package rewrite

import (
	"io"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros2/mcapwriter"
	"github.com/gorosbag/gorosbag/rosbag"
)

// MCAPSink writes one MCAP file of the profile "ros1".
type MCAPSink struct {
	w        *mcapwriter.Writer
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

// mcapType identifies a schema.
type mcapType struct{ name, definition string }

// NewMCAP starts an MCAP file on w. compression is zstd, lz4 or none; empty means
// zstd. A chunk ends with the message that makes it as large as chunkBytes before
// compression. workers goroutines pack chunks.
func NewMCAP(w io.Writer, compression string, chunkBytes, workers int) (*MCAPSink, error) {
	mw, err := mcapwriter.New(w,
		mcapwriter.Options{
			Profile: "ros1", Compression: compression, ChunkBytes: chunkBytes,
			Workers: workers,
		})
	if err != nil {
		return nil, err
	}
	return &MCAPSink{
		w: mw, channels: make(map[*rosbag.Connection]*mcapChannel),
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
	schema, err := s.schema(c)
	if err != nil {
		return nil, err
	}
	id, err := s.w.AddChannel(schema, c.Topic, "ros1", mcapMetadata(c))
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

// schema writes the schema of c's type, if it is new, and returns its id.
func (s *MCAPSink) schema(c *rosbag.Connection) (uint16, error) {
	t := mcapType{c.Header.Type(), c.Header.MessageDefinition()}
	if known, err := s.types.Of(c); err == nil {
		t.definition = known.Definition
	}
	if id, ok := s.schemas[t]; ok {
		return id, nil
	}
	id, err := s.w.AddSchema(t.name, "ros1msg", []byte(t.definition))
	s.schemas[t] = id
	return id, err
}

// Close implements rosbag.Sink.
func (s *MCAPSink) Close() error { return s.w.Close() }

// Abort implements rosbag.Sink.
func (s *MCAPSink) Abort() { s.w.Abort() }
