package recovery

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	untrustedUnpackBytes = 64 << 20 // limit for unpacking a chunk whose header may be wrong
	// After this many damaged compressed chunks they are unpacked once only, by the decoder
	// that reads damaged data.
	maxFailures = 100
)

// chunkDecoder reads and unpacks chunks, also those with a wrong header. The chunks that
// it returns share its memory, and are valid until the next call.
type chunkDecoder struct {
	report   *Report
	limit    int64         // bytes of a chunk, stored or unpacked
	ahead    *recoverAhead // nil without Workers
	buf      chunkBuffer
	plain    []byte // memory for unpacked data
	unpack   codec.Decompressor
	salvage  codec.Salvager
	failures int // chunks that unpack could not unpack
}

// decodedChunk is a chunk that the decoder has read.
type decodedChunk struct {
	place   wire.ChunkPlace // with compression and size corrected, if the header is wrong
	stored  []byte          // stored data; nil if it is incomplete
	buf     *chunkBuffer    // contains stored
	crc     uint32          // of stored
	data    []byte          // unpacked data; nil if the chunk is lost
	certain bool            // a checksum matched
	repack  bool            // not all decoders accept the stored data
}

// chunkBuffer holds the stored data of a chunk, with space for a record header before it
// and for index data after it.
type chunkBuffer struct{ b []byte }

// resize returns memory for n bytes of stored data.
func (b *chunkBuffer) resize(n int64) []byte {
	size := wire.ChunkHeadroom + int(n)
	if cap(b.b) < size {
		b.b = make([]byte, size+size/8+4096) // with space for the index
	}
	b.b = b.b[:size]
	return b.b[wire.ChunkHeadroom:]
}

// seal adds the header of c before its stored data and the index data after it, and
// returns the result as a sealed chunk.
func (b *chunkBuffer) seal(c *decodedChunk, index *chunkIndex) *chunk.Sealed {
	kind := c.place.Compression
	start := wire.ChunkHeadroom - wire.ChunkHeaderBytes(kind)
	wire.AppendChunkHeader(b.b[start:start:wire.ChunkHeadroom], kind, c.crc, len(c.data), len(c.stored))
	sealed := &chunk.Sealed{
		Compression: kind, UncompressedBytes: int64(len(c.data)), StoredBytes: int64(len(c.stored)),
		Start: index.start, End: index.end,
		Counts:       make([]rosbag.ConnCount, 0, len(index.Used)),
		PayloadBytes: make([]uint64, 0, len(index.Used)),
	}
	b.b, sealed.Counts, sealed.PayloadBytes = index.Append(b.b[:wire.ChunkHeadroom+len(c.stored)],
		sealed.Counts, sealed.PayloadBytes)
	sealed.Record = b.b[start:]
	return sealed
}

// read reads the stored data of the chunk at p from s.
func (d *chunkDecoder) read(s *wire.Stream, p *wire.ChunkPlace) (decodedChunk, error) {
	stored := d.buf.resize(p.Stored)
	err := s.Full(stored, p.Pos, rosbag.OpChunk, "data")
	crc := crc32.Checksum(stored, wire.Castagnoli)
	return decodedChunk{place: *p, stored: stored, buf: &d.buf, crc: crc}, err
}

// takeAhead returns the chunk at p if it was read ahead and is intact.
func (d *chunkDecoder) takeAhead(p *wire.ChunkPlace) (c decodedChunk, ok bool) {
	// what follows is probably like it: not worth a look
	if d.ahead == nil || p.Compression == rosbag.CompressionNone {
		return c, false
	}
	j := d.ahead.take(p, d.failures < maxFailures)
	if j == nil {
		return c, false
	}
	d.buf, j.buf = j.buf, d.buf
	d.plain, j.plain = j.plain, d.plain
	d.ahead.queue.Recycle(j)
	return decodedChunk{
		place: *p, stored: d.buf.b[wire.ChunkHeadroom:], buf: &d.buf, crc: j.crc,
		data: j.data, certain: true,
	}, true
}

// decode unpacks the stored data of c. If the compression or the size in the header is
// wrong and a checksum matches, it corrects them in c.place.
func (d *chunkDecoder) decode(c *decodedChunk) error {
	p, stored := &c.place, c.stored
	if p.Compression != rosbag.CompressionNone && d.failures < maxFailures {
		if data := unpackIntact(&d.unpack, p, stored, c.crc, &d.plain); data != nil {
			c.data, c.certain = data, true
			return nil
		}
		d.failures++
	}
	crcMatches := p.Checked && c.crc == p.CRC
	kind := p.Compression
	if _, unknown := rosbag.ParseCompression(string(kind)); unknown != nil {
		wrong := wire.Corrupt(p.Pos, rosbag.OpChunk, "unknown compression %.40q", p.Compression)
		if kind = codec.Guess(stored); kind == rosbag.CompressionNone && !crcMatches {
			return wrong
		}
		d.report.repair(wrong)
	}
	if kind == rosbag.CompressionNone {
		if p.Checked && !crcMatches {
			return wire.Corrupt(p.Pos, rosbag.OpChunk, "crc32c of its data is %08x, its header says %08x",
				c.crc, p.CRC)
		}
		p.Compression, p.Size = kind, p.Stored
		c.data, c.certain = stored, crcMatches
		return nil
	}
	data, err := d.salvage.Unpack(kind, bytes.NewReader(stored), p.Stored, d.unpackLimit(p), &d.plain)
	if err != nil {
		return wire.Corrupt(p.Pos, rosbag.OpChunk, "%v", err)
	}
	// a wrong size does not matter: the codec's checksum matched
	if n := int64(len(data)); n != p.Size && p.Size > 0 {
		d.report.repair(wire.Corrupt(p.Pos, rosbag.OpChunk, "unpacks to %d bytes, its header says %d", n,
			p.Size))
	}
	if p.Checked && !crcMatches {
		d.report.repair(wire.Corrupt(p.Pos, rosbag.OpChunk,
			"crc32c in its header is wrong, the %s data is right", kind))
	}
	p.Compression, p.Size = kind, int64(len(data))
	c.data, c.certain, c.repack = data, true, kind == rosbag.CompressionBZ2
	return nil
}

// decodeTorn unpacks the beginning of the chunk at p, which is truncated by the end of the
// file. r is the file from the data of the chunk on. It returns an error if the data is
// damaged.
func (d *chunkDecoder) decodeTorn(r io.Reader, p *wire.ChunkPlace) (decodedChunk, error) {
	data, err := d.salvage.Unpack(p.Compression, r, 0, d.unpackLimit(p), &d.plain)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return decodedChunk{place: *p, data: data}, err
}

// unpackLimit returns the limit for unpacking a chunk whose header may be wrong.
func (d *chunkDecoder) unpackLimit(p *wire.ChunkPlace) int64 {
	return min(max(p.Size, untrustedUnpackBytes), d.limit)
}

// unpackIntact unpacks stored data, whose crc32c is crc, into memory. If that is too small
// it allocates, and sets memory to the result. It returns nil if the data or the header is
// wrong in any way.
func unpackIntact(d *codec.Decompressor, p *wire.ChunkPlace, stored []byte, crc uint32,
	memory *[]byte,
) []byte {
	packed := p.Compression == rosbag.CompressionLZ4 || p.Compression == rosbag.CompressionBZ2
	if !packed || p.Size == 0 || p.Checked && crc != p.CRC {
		return nil
	}
	data, err := d.Unpack(p.Compression, stored, p.Size, (*memory)[:0])
	if err != nil {
		return nil
	}
	if cap(data) > cap(*memory) {
		*memory = data
	}
	return data
}
