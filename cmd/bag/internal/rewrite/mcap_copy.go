package rewrite

import (
	"maps"
	"math"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// CopyChunk implements chunkSink. A chunk refers to channels by their ids, so these have to be those of the
// output. What it has of schemas and channels has to be what the output has of them: two records with one
// id must be the same.
func (s *MCAPSink) CopyChunk(c rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection) (bool, error) {
	counts, _ := c.Counts()
	conns := make(map[rosbag.ConnID]*rosbag.Connection, len(counts)) // of the output
	for _, n := range counts {
		conn := as(n.Conn)
		if !s.mayHave(conn, n.Conn.ID) {
			return false, nil
		}
		conns[n.Conn.ID] = conn
	}
	of, ok := c.(interface{ MCAP() *chunk.MCAP })
	if !ok {
		return false, nil
	}
	x := of.MCAP()
	if x == nil || !s.takes(x) {
		return false, nil
	}
	schemas, ok := s.sameDefinitions(x, conns)
	if !ok {
		return false, nil
	}
	for _, id := range slices.Sorted(maps.Keys(schemas)) { // the same bytes each time
		if _, err := s.schema(schemas[id], int(id)); err != nil {
			return false, err
		}
	}
	for i, n := range counts {
		channel, err := s.of(conns[n.Conn.ID])
		if err != nil {
			return false, err
		}
		channel.seq = x.Last[i] + 1 // a message that does not come in a chunk follows the latest one
	}
	return true, s.w.Copy(x)
}

// mayHave reports whether the channel of a connection has an id, or can have it.
func (s *MCAPSink) mayHave(c *rosbag.Connection, id rosbag.ConnID) bool {
	if channel := s.channels[c]; channel != nil {
		return rosbag.ConnID(channel.id) == id
	}
	return s.o.KeepIDs && c.ID == id && id <= math.MaxUint16 && !s.w.HasChannel(uint16(id))
}

// takes reports whether a chunk is packed as the user wants it.
func (s *MCAPSink) takes(x *chunk.MCAP) bool {
	want := int64(s.o.ChunkBytes)
	return (s.o.AnyCompression || string(x.Compression) == s.o.Compression) &&
		(s.o.AnySize || x.Bytes >= want/2 && (x.Bytes <= 2*want || len(x.Entries) == 1))
}

// sameDefinitions reports whether the schemas and channels in a chunk are what the output has, or can have,
// for the connections with these ids. It returns the schemas.
func (s *MCAPSink) sameDefinitions(
	x *chunk.MCAP, conns map[rosbag.ConnID]*rosbag.Connection,
) (map[uint16]mcapType, bool) {
	if len(x.Schemas)+len(x.Channels) == 0 {
		return nil, true
	}
	types := make(map[uint16]mcapType)
	ids := make(map[mcapType]uint16)
	for _, ch := range x.Channels {
		conn := conns[rosbag.ConnID(ch.ID)]
		metadata := make(map[string]string, len(ch.Metadata))
		for _, f := range ch.Metadata {
			metadata[f.Key] = f.Value
		}
		if conn == nil || conn.Topic != ch.Topic || ch.Encoding != messageEncoding ||
			!ascending(ch.Metadata) || !maps.Equal(metadata, mcapMetadata(conn)) {
			return nil, false
		}
		t := s.typeOf(conn)
		id, known := s.schemas[t]
		if !known {
			id, known = ids[t]
		}
		if other, taken := types[ch.Schema]; ch.Schema == 0 || known && id != ch.Schema ||
			!known && s.w.HasSchema(ch.Schema) || taken && other != t {
			return nil, false
		}
		types[ch.Schema], ids[t] = t, ch.Schema
	}
	return types, !slices.ContainsFunc(x.Schemas, func(sc chunk.MCAPSchema) bool {
		return sc.Encoding != schemaEncoding || types[sc.ID] != mcapType{sc.Name, sc.Data}
	})
}

// ascending reports whether the keys are as the writer of the output writes them: sorted, and unique.
func ascending(h rosbag.Header) bool {
	for i := 1; i < len(h); i++ {
		if h[i-1].Key >= h[i].Key {
			return false
		}
	}
	return true
}
