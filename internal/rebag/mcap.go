package rebag

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// mcapCompressions are the compressions that NewMCAP knows.
var mcapCompressions = map[string]mcap.CompressionFormat{
	"": mcap.CompressionZSTD, "zstd": mcap.CompressionZSTD, "lz4": mcap.CompressionLZ4, "none": mcap.CompressionNone,
}

// MCAPSink writes one MCAP file of the profile "ros1".
type MCAPSink struct {
	w        *mcap.Writer
	channels []mcapChannel // by id of the connection
	schemas  map[mcapType]uint16
	count    int // of channels
	msg      mcap.Message
}

type mcapChannel struct {
	known bool
	id    uint16
	seq   uint32
}

// mcapType identifies a schema.
type mcapType struct{ name, definition string }

// NewMCAP starts an MCAP file on w. compression is zstd, lz4 or none; empty means
// zstd. A chunk ends with the message that makes it larger than chunkBytes before
// compression.
func NewMCAP(w io.Writer, compression string, chunkBytes int) (*MCAPSink, error) {
	format, ok := mcapCompressions[compression]
	if !ok {
		return nil, fmt.Errorf("MCAP knows the compressions zstd, lz4 and none, not %q", compression)
	}
	mw, err := mcap.NewWriter(w, &mcap.WriterOptions{
		IncludeCRC: true, Chunked: true, ChunkSize: int64(chunkBytes), Compression: format,
	})
	if err != nil {
		return nil, err
	}
	if err := mw.WriteHeader(&mcap.Header{Profile: "ros1", Library: "gorosbag"}); err != nil {
		return nil, err
	}
	return &MCAPSink{w: mw, schemas: make(map[mcapType]uint16)}, nil
}

// errMCAPIDs is a limit of the format.
var errMCAPIDs = errors.New("MCAP has room for 65535 types and as many connections")

// Write implements Sink.
func (s *MCAPSink) Write(m *Message) error {
	for int(m.Conn.ID) >= len(s.channels) {
		s.channels = append(s.channels, mcapChannel{})
	}
	c := &s.channels[m.Conn.ID]
	if !c.known {
		id, err := s.channel(m.Conn)
		if err != nil {
			return err
		}
		c.known, c.id = true, id
	}
	at := uint64(m.Time.Sec)*1e9 + uint64(m.Time.Nsec)
	s.msg = mcap.Message{ChannelID: c.id, Sequence: c.seq, LogTime: at, PublishTime: at, Data: m.Data}
	c.seq++
	return s.w.WriteMessage(&s.msg)
}

// channel writes the channel of c and returns its id.
func (s *MCAPSink) channel(c *bagfmt.Connection) (uint16, error) {
	schema, err := s.schema(c)
	if err != nil {
		return 0, err
	}
	if s.count == math.MaxUint16 {
		return 0, errMCAPIDs
	}
	s.count++ // the first id is 1: Python's reader passes over a channel 0
	id := uint16(s.count)
	return id, s.w.WriteChannel(&mcap.Channel{
		ID: id, SchemaID: schema, Topic: c.Topic, MessageEncoding: "ros1", Metadata: mcapMetadata(c),
	})
}

// mcapMetadata returns what the metadata of a channel says: the whole connection header but what the
// schema says, with latching as the registry of MCAP has it.
func mcapMetadata(c *bagfmt.Connection) map[string]string {
	metadata := make(map[string]string, len(c.Header))
	for _, f := range c.Header {
		if _, twice := metadata[f.Key]; !twice { // readers of bags take the first one
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
func (s *MCAPSink) schema(c *bagfmt.Connection) (uint16, error) {
	t := mcapType{c.Header.Type(), c.Header.MessageDefinition()}
	if id, ok := s.schemas[t]; ok {
		return id, nil
	}
	if len(s.schemas) >= math.MaxUint16 {
		return 0, errMCAPIDs
	}
	id := uint16(len(s.schemas) + 1) // 0 means none
	s.schemas[t] = id
	return id, s.w.WriteSchema(&mcap.Schema{ID: id, Name: t.name, Encoding: "ros1msg", Data: []byte(t.definition)})
}

// Close implements Sink.
func (s *MCAPSink) Close() error { return s.w.Close() }

// Abort implements Sink.
func (s *MCAPSink) Abort() {}
