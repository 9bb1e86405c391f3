package chunk

import (
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
	if len(b.index.Entries) == 0 {
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
		Counts:            slices.Grow(c.Counts[:0], len(b.index.Used)),
		PayloadBytes:      slices.Grow(c.PayloadBytes[:0], len(b.index.Used)),
	}
	out, headroom := b.buf, wire.ChunkHeadroom
	if z != nil && z.codec.Kind() != rosbag.CompressionNone {
		c.Compression = z.codec.Kind()
		headroom = wire.ChunkHeaderBytes(c.Compression)
		out = z.codec.Append(slices.Grow(buf[:0], headroom)[:headroom], data)
		c.StoredBytes = int64(len(out) - headroom)
	}
	stored := out[headroom:]
	// ADR 0003: stock and others pass over a field that they do not know.
	wire.AppendChunkHeader(out[:0], c.Compression, crc32.Checksum(stored, wire.Castagnoli), len(data),
		len(stored))
	c.Record, c.Counts, c.PayloadBytes = b.index.Append(out, c.Counts, c.PayloadBytes)
	if c.Compression == rosbag.CompressionNone {
		b.buf = c.Record[:wire.ChunkHeadroom+len(data)] // keep the memory if the index made it grow
	}
	return c, nil
}

// errEmpty is what Seal returns for a chunk without messages.
var errEmpty = errors.New("chunk without messages")
