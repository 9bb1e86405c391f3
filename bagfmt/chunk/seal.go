package chunk

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Sealed is a finished chunk.
type Sealed struct {
	Record            []byte // chunk record and its index data records, ready for one Write
	Compression       rosbag.Compression
	UncompressedBytes int64       // chunk data as built
	StoredBytes       int64       // chunk data as stored in Record
	Start, End        rosbag.Time // of the earliest and the latest message
	Counts            []rosbag.ConnCount
	PayloadBytes      []uint64 // of the messages of each of Counts, without their length words
}

// Seal finishes the chunk: it compresses the data, adds the header in front and
// the index after it. The result is the builder's own, valid until its Reset; with
// compression its Record is buf, grown if needed. The builder takes no messages until
// Reset. Seal touches nothing but b, z and buf, so that it can run beside other
// builders of the same file.
func (b *Builder) Seal(z *Compressor, buf []byte) (*Sealed, error) {
	if b.open.active {
		panic("chunk: Seal inside a message")
	}
	if len(b.entries) == 0 {
		return nil, errEmpty
	}
	data := b.buf[wire.ChunkHeadroom:]
	c := &b.sealed
	*c = Sealed{
		Compression:       rosbag.CompressionNone,
		UncompressedBytes: int64(len(data)),
		StoredBytes:       int64(len(data)),
		Start:             b.start,
		End:               b.end,
		Counts:            slices.Grow(c.Counts[:0], len(b.used)),
		PayloadBytes:      slices.Grow(c.PayloadBytes[:0], len(b.used)),
	}
	out, headroom := b.buf, wire.ChunkHeadroom
	if z != nil && z.codec.Kind() != rosbag.CompressionNone {
		c.Compression = z.codec.Kind()
		headroom = wire.ChunkHeaderBytes(c.Compression)
		out = z.codec.Append(slices.Grow(buf[:0], headroom)[:headroom], data)
		c.StoredBytes = int64(len(out) - headroom)
		if c.StoredBytes > wire.HardMaxChunkBytes {
			return nil, &rosbag.LimitError{Op: rosbag.OpChunk, What: "stored chunk", Got: c.StoredBytes, Limit: wire.HardMaxChunkBytes}
		}
	}
	stored := out[headroom:]
	wire.AppendChunkHeader(out[:0], c.Compression, crc32.Checksum(stored, wire.Castagnoli), len(data), len(stored))
	c.Record = b.appendIndex(out, c)
	if c.Compression == rosbag.CompressionNone {
		b.buf = c.Record[:wire.ChunkHeadroom+len(data)] // keep the memory if the index made it grow
	}
	return c, nil
}

// errEmpty is what Seal returns for a chunk without messages.
var errEmpty = errors.New("chunk without messages")

// appendIndex adds one index data record for each connection, by ascending id, and
// fills c.Counts and c.PayloadBytes.
func (b *Builder) appendIndex(out []byte, c *Sealed) []byte {
	slices.SortFunc(b.used, func(x, y int32) int { return cmp.Compare(b.slots[x].conn.ID, b.slots[y].conn.ID) })
	size := len(b.used)*wire.IndexHeaderBytes + len(b.entries)*wire.IndexEntryBytes
	out = slices.Grow(out, size)
	for _, s := range b.used {
		slot := &b.slots[s]
		if slot.count == 0 {
			continue
		}
		out = wire.AppendIndexHeader(out, slot.conn.ID, int(slot.count))
		slot.at, slot.last, slot.mixed = len(out), rosbag.Time{}, false
		out = out[:len(out)+int(slot.count)*wire.IndexEntryBytes]
		c.Counts = append(c.Counts, rosbag.ConnCount{Conn: slot.conn, Count: slot.count})
		c.PayloadBytes = append(c.PayloadBytes, slot.bytes)
	}
	for _, e := range b.entries {
		slot := &b.slots[e.slot]
		wire.PutTime(out[slot.at:], e.time)
		binary.LittleEndian.PutUint32(out[slot.at+8:], e.offset)
		slot.at += wire.IndexEntryBytes
		slot.mixed = slot.mixed || e.time.Before(slot.last)
		slot.last = e.time
	}
	for _, s := range b.used {
		if slot := &b.slots[s]; slot.mixed && slot.count > 0 {
			wire.SortIndex(out[slot.at-int(slot.count)*wire.IndexEntryBytes : slot.at])
		}
	}
	return out
}
