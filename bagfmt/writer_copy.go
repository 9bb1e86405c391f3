package bagfmt

import (
	"hash/crc32"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/cursor"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// CopyChunk writes a chunk that a Cursor has read, with the data as it is stored there: what Write of all
// its messages would write takes much longer to pack. as returns the connection that Write would get for
// one of the chunk. CopyChunk reports false if Write has to do it: because the chunk is packed in another
// way, is much smaller or larger than those of Write, or because one of its connections has another id or
// header, or no record in the bag so far.
func (w *Writer) CopyChunk(
	c rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection,
) (copied bool, err error) {
	whole, ok := c.(*cursor.Whole)
	switch want := int64(w.o.ChunkBytes); {
	case w.closed:
		return false, rosbag.ErrClosed
	case w.failed() != nil:
		return false, w.failed()
	case !ok || whole.OfMCAP() || whole.Compression != w.o.Compression || whole.Bytes < want/2 ||
		whole.Bytes > 2*want && len(whole.Entries) > 1:
		return false, nil
	}
	for i := range whole.Slots {
		in := whole.Slots[i].Conn
		own, err := w.conns.own(as(in))
		if err != nil {
			return false, err
		}
		if own.ID != in.ID || own.Topic != in.Topic || !slices.Equal(own.Header, in.Header) ||
			!whole.Recorded[i] && !w.records.Has(own.ID) {
			return false, nil
		}
	}
	s := chunk.Sealed{
		Compression: whole.Compression, UncompressedBytes: whole.Bytes, StoredBytes: int64(len(whole.Stored)),
		Start: whole.Start(), End: whole.End(),
	}
	for i := range whole.Slots {
		id := whole.Slots[i].Conn.ID
		whole.Slots[i].Conn = w.conns.byID[id]
		w.records.Copied(id)
	}
	if err := w.flush(); err != nil {
		return false, err
	}
	if err := w.drain(); err != nil {
		return false, err
	}
	b := slices.Grow(w.packed[:0],
		wire.ChunkHeaderBytes(s.Compression)+len(whole.Stored)+
			len(whole.Used)*wire.IndexHeaderBytes+len(whole.Entries)*wire.IndexEntryBytes)
	b = wire.AppendChunkHeader(b, s.Compression, crc32.Checksum(whole.Stored, wire.Castagnoli),
		int(whole.Bytes), len(whole.Stored))
	s.Record, s.Counts, s.PayloadBytes = whole.Append(append(b, whole.Stored...), nil, nil)
	w.packed = s.Record[:0]
	return true, w.writeChunk(&s)
}
