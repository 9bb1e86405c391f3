package recovery

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/search"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// recoverInput is the file that Recover reads, with the read position. It finds out where
// records start and end, but stores nothing of their contents.
type recoverInput struct {
	r    io.ReaderAt
	size int64
	s    *wire.Stream // its offset is the read position

	// The last search for a chunk: from searchedFrom it found foundChunk. A search that
	// starts between the two has the same result.
	searchedFrom, foundChunk int64
}

func newRecoverInput(r io.ReaderAt, size int64) *recoverInput {
	in := &recoverInput{r: r, size: size}
	in.s = wire.NewStream(in.section(0), 0, wire.StreamBufferBytes)
	return in
}

// section returns a reader for the file from off to its end.
func (in *recoverInput) section(off int64) *io.SectionReader {
	return io.NewSectionReader(in.r, off, in.size-off)
}

// seek sets the read position.
func (in *recoverInput) seek(off int64) {
	if off == in.s.Off && in.s.R.Buffered() > 0 {
		return
	}
	in.s.Reset(in.section(off), off)
}

// headerAt parses the record header at off. It reports whether there is a valid header of
// at most wire.FirstHeadBytes, as every record but a connection has.
func (in *recoverInput) headerAt(off int64, h *wire.RecordHeader) bool {
	if off >= in.size {
		return false
	}
	var buf [wire.FirstHeadBytes]byte
	n, _ := in.r.ReadAt(buf[:min(wire.FirstHeadBytes, in.size-off)], off) // as much as there is
	if n < 4 {
		return false
	}
	length := int64(binary.LittleEndian.Uint32(buf[:]))
	return length <= int64(n-4) && h.Parse(buf[4:4+length]) == nil
}

// bagHeaderAt reports whether the bag header record of a bag of version 2.0 is at off.
func (in *recoverInput) bagHeaderAt(off int64) bool {
	var h wire.RecordHeader
	return in.headerAt(off, &h) && h.Op == rosbag.OpBagHeader
}

// hasChecksumAt reports whether the record at off is a chunk with a checksum.
func (in *recoverInput) hasChecksumAt(off int64) bool {
	var h wire.RecordHeader
	return in.headerAt(off, &h) && h.Has&wire.HasCRC32C != 0
}

// recordAt reports whether a record can start at off, or the file ends there.
func (in *recoverInput) recordAt(off int64) bool {
	var buf [wire.FirstHeadBytes]byte
	return off == in.size || off < in.size && search.PlausibleRecord(in.r, off, in.size, buf[:])
}

// chunkCanEndHere reports whether the record at the read position can follow a chunk: it
// is not a message.
func (in *recoverInput) chunkCanEndHere() bool {
	b, _ := in.s.R.Peek(int(min(wire.FirstHeadBytes, in.size-in.s.Off))) // as much as can be read
	ok, op := search.PlausibleHead(b, in.s.Off, in.size)
	return ok && op != rosbag.OpMessage && op != rosbag.OpMessageDefinition
}

// nextChunk returns the offset of the next chunk after start, or the end of the file.
func (in *recoverInput) nextChunk(start int64) (next int64, ok bool) {
	if start < in.searchedFrom || start >= in.foundChunk {
		in.searchedFrom = start
		if in.foundChunk, ok = search.Chunk(in.r, start+1, in.size); !ok {
			in.foundChunk = in.size
		}
	}
	return in.foundChunk, in.foundChunk < in.size
}

// containsChunk reports whether another chunk starts in the data of p, which ends at end.
// It does not search the data of an uncompressed chunk: a message may contain a bag.
func (in *recoverInput) containsChunk(p *wire.ChunkPlace, end int64) bool {
	if p.Compression == rosbag.CompressionNone {
		return false
	}
	_, ok := search.Chunk(in.r, p.Data, end)
	return ok
}

// checksumMatches reports whether the checksum of a chunk matches if its data ends at end.
func (in *recoverInput) checksumMatches(p *wire.ChunkPlace, end int64) bool {
	sum := crc32.New(wire.Castagnoli)
	_, err := io.Copy(sum, io.NewSectionReader(in.r, p.Data, end-p.Data))
	return err == nil && sum.Sum32() == p.CRC
}

// extent reads records from the start of the data of an uncompressed chunk to the first
// one that cannot be in a chunk. torn reports whether the file ends inside that one.
func (in *recoverInput) extent(p *wire.ChunkPlace) (end int64, torn bool, messages uint64) {
	in.seek(p.Data)
	// without a seek, if the first record cannot be in a chunk
	if b, _ := in.s.R.Peek(wire.FirstHeadBytes); len(b) == wire.FirstHeadBytes {
		if ok, op := search.PlausibleHead(b, p.Data, in.size); ok && op >= rosbag.OpBagHeader &&
			op != rosbag.OpConnection {
			return p.Data, false, 0
		}
	}
	for {
		var h wire.RecordHeader
		start := in.s.Off
		if err := in.s.Next(&h); err != nil {
			return start, wire.IsEnd(err), messages
		}
		if h.Op != rosbag.OpMessage && h.Op != rosbag.OpConnection && h.Op != rosbag.OpMessageDefinition {
			return start, false, messages
		}
		n, err := in.s.Length(start, h.Op)
		if err != nil || n > in.size-in.s.Off {
			return start, err == nil || wire.IsEnd(err), messages
		}
		if in.s.Skip(n, start, h.Op) != nil {
			return start, false, messages
		}
		if h.Op == rosbag.OpMessage {
			messages++
		}
	}
}
