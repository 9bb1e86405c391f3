package bagfmt

import (
	"bytes"
	"encoding/binary"
	"io"
)

const (
	// opField is the start of the one field that every record header has byte for byte,
	// wherever its writer puts it: C++ sorts the fields by name, Python does not.
	opField = "\x04\x00\x00\x00op="

	firstResyncBlock = 4 << 10 // bytes searched at once, which double up to resyncBlock
	resyncBlock      = 64 << 10
	resyncHeader     = 252 // longest header looked at; known writers' take 48 to 64 bytes
	// resyncShare bounds the bytes of headers parsed to that many times the bytes
	// searched, so that a file full of candidates takes linear time, too.
	resyncShare = 32
)

// resync returns the offset of the next plausible chunk record at or behind from,
// for a reader that lost its place in a file of size bytes: a header that parses
// exactly, of a compression that we know, with data that ends where another record
// begins or the file ends. A chunk that the end of the file tears is plausible, too.
//
// What it finds need not be a chunk of this bag: a message may hold a whole bag, and
// its chunks look like any other. So it serves only when the records no longer say
// where the next one is, and what it finds may be the start of such a message's
// inside; a chunk that the walk reaches is right without it.
//
// It takes memory for one block and time in proportion to what it passes over. Parts
// of the file that cannot be read hold no chunk.
func resync(r io.ReaderAt, from, size int64) (next int64, ok bool) {
	f := recordFinder{r: r, from: max(from, 0), size: size, to: size}
	return f.next()
}

// resyncBare returns the offset of the next plausible message or connection record that
// starts in the range from from to to: its header parses exactly, known says that there is
// its connection, and where its data ends another record begins, or the file ends. What
// is said of resync goes for it, too.
func resyncBare(r io.ReaderAt, from, to, size int64, known func(ConnID) bool) (next int64, ok bool) {
	f := recordFinder{r: r, from: max(from, 0), to: to, size: size, known: known}
	return f.next()
}

// recordFinder is the state of resync and resyncBare.
type recordFinder struct {
	r        io.ReaderAt
	from, to int64
	size     int64
	known    func(ConnID) bool // nil: look for chunks
	step     int64             // bytes of the block
	buf      []byte
	start    int64 // offset of buf in the file
	parsed   int   // header bytes that were parsed
	most     int   // of them, up to the end of the block
	behind   [firstHeadBytes]byte
}

// next looks at one block after the other.
func (f *recordFinder) next() (next int64, ok bool) {
	at := f.from
	for f.step = firstResyncBlock; at < f.to; f.step = min(2*f.step, resyncBlock) { // often it is near
		if next, ok = f.block(at); ok {
			return next, true
		}
		at += f.step
	}
	return 0, false
}

// block looks at the op fields that start in the block at offset at.
func (f *recordFinder) block(at int64) (int64, bool) {
	f.start = max(at-firstHeadBytes, f.from)
	end := min(at+f.step+firstHeadBytes+int64(len(opField)), f.size)
	if int64(len(f.buf)) < end-f.start {
		f.buf = make([]byte, min(f.size-f.from, f.step+3*firstHeadBytes))
	}
	b := f.buf[:end-f.start]
	n, _ := f.r.ReadAt(b, f.start) // what cannot be read is looked over
	b = b[:n]
	f.most = f.parsed + resyncShare*int(f.step)
	last := int(min(at+f.step-f.start, int64(len(b))))
	for i := int(at - f.start); i < last; {
		step := bytes.Index(b[i:min(last+len(opField)-1, len(b))], []byte(opField))
		if step < 0 {
			return 0, false
		}
		i += step
		if i+len(opField) < len(b) && f.wants(Op(b[i+len(opField)])) {
			if pos, ok := f.headerAround(b, i); ok {
				return f.start + int64(pos), f.start+int64(pos) < f.to
			}
		}
		i += len(opField)
	}
	return 0, false
}

// wants reports whether a record of op is looked for.
func (f *recordFinder) wants(op Op) bool {
	if f.known == nil {
		return op == OpChunk
	}
	return op == OpMessage || op == OpConnection
}

// headerAround looks for a header in b that holds the op field at op.
func (f *recordFinder) headerAround(b []byte, op int) (pos int, ok bool) {
	for pos = op - 4; pos >= 0 && op-pos <= resyncHeader; pos-- {
		n := int64(binary.LittleEndian.Uint32(b[pos:]))
		end := int64(pos) + 4 + n
		if n > resyncHeader || end <= int64(op+len(opField)) || end+4 > int64(len(b)) {
			continue
		}
		if f.parsed += int(n); f.parsed > f.most {
			return 0, false
		}
		var h recordHeader
		if h.parse(b[pos+4:end]) != nil || !f.wants(h.op) {
			continue
		}
		if f.plausible(&h, f.start+end+4+int64(binary.LittleEndian.Uint32(b[end:]))) {
			return pos, true
		}
	}
	return 0, false
}

// plausible reports whether the record with that header, which ends at end, makes sense.
func (f *recordFinder) plausible(h *recordHeader, end int64) bool {
	if h.op == OpChunk {
		_, err := ParseCompression(string(h.compression))
		return err == nil && f.recordAt(end)
	}
	return end <= f.size && (h.op != OpMessage || f.known(h.conn)) && f.recordAt(end)
}

// recordAt reports whether a record can start at off, or the file ends there or
// before.
func (f *recordFinder) recordAt(off int64) bool {
	if off >= f.size {
		return true
	}
	if f.parsed += len(f.behind); f.parsed > f.most {
		return false
	}
	return plausibleRecord(f.r, off, f.size, f.behind[:])
}

// plausibleRecord reports whether what is at off looks like a top level record,
// possibly torn by the end of the file. It reads no more than buf, which should
// have firstHeadBytes.
func plausibleRecord(r io.ReaderAt, off, size int64, buf []byte) bool {
	b := buf[:min(int64(len(buf)), size-off)]
	n, _ := r.ReadAt(b, off)
	ok, _ := plausibleHead(b[:n], off, size)
	return ok
}

// plausibleHead does what plausibleRecord does for the record that starts with b. op
// is 0 if it cannot be told.
func plausibleHead(b []byte, off, size int64) (ok bool, op Op) {
	if len(b) < 4 {
		return off+int64(len(b)) == size, 0
	}
	length := int64(binary.LittleEndian.Uint32(b))
	if length < minRecordBytes || length > maxHeaderBytes {
		return false, 0
	}
	torn := off+4+length > size
	if b = b[4:]; int64(len(b)) >= length {
		var h recordHeader
		return h.parse(b[:length]) == nil && h.op >= opMessageDefinition && h.op <= OpConnection, h.op
	}
	// The header is longer than buf, with the topic of a connection, or torn.
	if len(b) < 4 {
		return torn, 0
	}
	first := int64(binary.LittleEndian.Uint32(b))
	if first+4 > length {
		return false, 0
	}
	key, _, found := bytes.Cut(b[4:], []byte("="))
	var h recordHeader
	return !found && torn || found && h.known(key), 0
}

// known reports whether key is a field that record headers have.
func (h *recordHeader) known(key []byte) bool {
	if string(key) == keyOp {
		return true
	}
	had := h.has
	h.set(key, nil)
	h.set(key, make([]byte, 4))
	h.set(key, make([]byte, 8))
	return h.has != had
}
