package search

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	// opField is the start of the op field, the only field that is the same in every record
	// header. Its position varies: C++ sorts the fields by name, Python does not.
	opField = "\x04\x00\x00\x00op="

	firstBlock = 4 << 10 // bytes searched at a time; doubles up to blockBytes
	blockBytes = 64 << 10
	maxHeader  = 252 // longest header considered; those of known writers have 48 to 64 bytes
	// The bytes of headers parsed are at most parseFactor times the bytes searched, so
	// that the search takes linear time even in a file full of candidates.
	parseFactor = 32
)

// Chunk returns the offset of the next plausible chunk record at or after from, in a
// file of size bytes. A chunk record is plausible if its header is valid, its compression
// is known, and its data ends where another record starts, or at or after the end of the
// file.
//
// The chunk may be inside a message that contains a whole bag. So it is only for
// readers that cannot find the next record otherwise.
//
// It needs memory for one block, and time proportional to the bytes searched. It skips
// parts of the file that cannot be read.
func Chunk(r io.ReaderAt, from, size int64) (next int64, ok bool) {
	f := recordFinder{r: r, from: max(from, 0), size: size, to: size}
	return f.next()
}

// Message is Chunk for message and connection records that start between from and
// to. A message record is plausible only if known reports true for its connection.
func Message(r io.ReaderAt, from, to, size int64, known func(rosbag.ConnID) bool) (next int64, ok bool) {
	f := recordFinder{r: r, from: max(from, 0), to: to, size: size, known: known}
	return f.next()
}

// recordFinder is the state of Chunk and Message.
type recordFinder struct {
	r        io.ReaderAt
	from, to int64
	size     int64
	known    func(rosbag.ConnID) bool // nil: search for chunks
	step     int64                    // bytes of the block
	buf      []byte
	start    int64                     // offset of buf in the file
	parsed   int                       // header bytes parsed so far
	maxParse int                       // limit for parsed at the end of the block
	nextHead [wire.FirstHeadBytes]byte // memory of recordAt
}

// next searches one block after the other.
func (f *recordFinder) next() (next int64, ok bool) {
	at := f.from
	// small blocks first: the next record is often near
	for f.step = firstBlock; at < f.to; f.step = min(2*f.step, blockBytes) {
		if next, ok = f.block(at); ok {
			return next, true
		}
		at += f.step
	}
	return 0, false
}

// block checks the op fields that start in the block at offset at.
func (f *recordFinder) block(at int64) (int64, bool) {
	f.start = max(at-wire.FirstHeadBytes, f.from)
	end := min(at+f.step+wire.FirstHeadBytes, f.size)
	if int64(len(f.buf)) < end-f.start {
		f.buf = make([]byte, min(f.size-f.from, f.step+3*wire.FirstHeadBytes))
	}
	b := f.buf[:end-f.start]
	n, _ := f.r.ReadAt(b, f.start) // parts that cannot be read are skipped
	b = b[:n]
	f.maxParse = f.parsed + parseFactor*int(f.step)
	last := int(min(at+f.step-f.start, int64(len(b))))
	for i := int(at - f.start); i < last; {
		step := bytes.Index(b[i:min(last+len(opField)-1, len(b))], []byte(opField))
		if step < 0 {
			return 0, false
		}
		i += step
		if i+len(opField) < len(b) && f.matches(rosbag.Op(b[i+len(opField)])) {
			if pos, ok := f.headerAround(b, i); ok {
				return f.start + int64(pos), f.start+int64(pos) < f.to
			}
		}
		i += len(opField)
	}
	return 0, false
}

// matches reports whether records of op are searched for.
func (f *recordFinder) matches(op rosbag.Op) bool {
	if f.known == nil {
		return op == rosbag.OpChunk
	}
	return op == rosbag.OpMessage || op == rosbag.OpConnection
}

// headerAround searches b for a header that contains the op field at op.
func (f *recordFinder) headerAround(b []byte, op int) (pos int, ok bool) {
	for pos = op - 4; pos >= 0 && op-pos <= maxHeader; pos-- {
		n := int64(binary.LittleEndian.Uint32(b[pos:]))
		end := int64(pos) + 4 + n
		if n > maxHeader || end <= int64(op+len(opField)) || end+4 > int64(len(b)) {
			continue
		}
		if f.parsed += int(n); f.parsed > f.maxParse {
			return 0, false
		}
		var h wire.RecordHeader
		if h.Parse(b[pos+4:end]) != nil || !f.matches(h.Op) {
			continue
		}
		if f.plausible(&h, f.start+end+4+int64(binary.LittleEndian.Uint32(b[end:]))) {
			return pos, true
		}
	}
	return 0, false
}

// plausible reports whether the record with header h and end end is plausible.
func (f *recordFinder) plausible(h *wire.RecordHeader, end int64) bool {
	if h.Op == rosbag.OpChunk {
		_, err := rosbag.ParseCompression(string(h.Compression))
		return err == nil && f.recordAt(end)
	}
	return end <= f.size && (h.Op != rosbag.OpMessage || f.known(h.Conn)) && f.recordAt(end)
}

// recordAt reports whether a record can start at off, or the file ends there or
// before.
func (f *recordFinder) recordAt(off int64) bool {
	if off >= f.size {
		return true
	}
	if f.parsed += len(f.nextHead); f.parsed > f.maxParse {
		return false
	}
	return PlausibleRecord(f.r, off, f.size, f.nextHead[:])
}

// PlausibleRecord reports whether a top level record can start at off, possibly truncated
// by the end of the file. It reads no more than buf, which should have wire.FirstHeadBytes.
func PlausibleRecord(r io.ReaderAt, off, size int64, buf []byte) bool {
	b := buf[:min(int64(len(buf)), size-off)]
	n, _ := r.ReadAt(b, off)
	ok, _ := PlausibleHead(b[:n], off, size)
	return ok
}

// PlausibleHead is PlausibleRecord for a record that starts with b. op is 0 if it is
// unknown.
func PlausibleHead(b []byte, off, size int64) (ok bool, op rosbag.Op) {
	if len(b) < 4 {
		return off+int64(len(b)) == size, 0
	}
	length := int64(binary.LittleEndian.Uint32(b))
	if length < wire.MinRecordBytes || length > wire.MaxHeaderBytes {
		return false, 0
	}
	torn := off+4+length > size
	if b = b[4:]; int64(len(b)) >= length {
		var h wire.RecordHeader
		return h.Parse(b[:length]) == nil && h.Op >= rosbag.OpMessageDefinition &&
			h.Op <= rosbag.OpConnection, h.Op
	}
	// The header is longer than buf, as that of a connection with a long topic, or truncated.
	if len(b) < 4 {
		return torn, 0
	}
	first := int64(binary.LittleEndian.Uint32(b))
	if first+4 > length {
		return false, 0
	}
	key, _, found := bytes.Cut(b[4:], []byte("="))
	var h wire.RecordHeader
	return !found && torn || found && h.Knows(key), 0
}

// IndexData returns the offset of the next plausible index data record.
func IndexData(r io.ReaderAt, from, to int64) (int64, bool) {
	const field = "\x04\x00\x00\x00op=\x04"
	buf := make([]byte, min(blockBytes+wire.FirstHeadBytes, max(to-from, 0)))
	for at := from; at < to; at += blockBytes {
		n, _ := r.ReadAt(buf[:min(int64(len(buf)), to-at)], at) // parts that cannot be read are skipped
		b := buf[:n]
		for i := 0; ; i++ {
			step := bytes.Index(b[i:], []byte(field))
			if step < 0 {
				break
			}
			i += step
			for pos := i - 4; pos >= 0 && i-pos < 64; pos-- {
				length := int(binary.LittleEndian.Uint32(b[pos:]))
				var h wire.RecordHeader
				if length >= len(field) && length < 128 && pos+4+length <= len(b) &&
					h.Parse(b[pos+4:pos+4+length]) == nil && h.Op == rosbag.OpIndexData &&
					h.Ver == wire.IndexVersion {
					return at + int64(pos), true
				}
			}
		}
	}
	return 0, false
}
