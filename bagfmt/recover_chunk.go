package bagfmt

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

const (
	extentShare   = 4        // bytes looked at for the ends of chunks, as a multiple of the file
	maxLate       = 1 << 16  // chunks remembered until their connections are known
	maxSeen       = 1 << 18  // chunks remembered to tell repeats
	doubtfulBytes = 64 << 20 // unpacked from a chunk whose header may be wrong
	endsToTry     = 4        // index data records that may follow a chunk whose length is wrong
	bz2Signature  = "BZh"
	// After as many packed chunks with faults the slower bz2 decoder, which no input makes
	// much slower, has to do alone.
	maxFailures = 100
)

// heldChunk is a chunk between its record and the one behind its index data.
type heldChunk struct {
	active   bool
	place    chunkPlace
	end      int64
	stored   []byte // behind headroom in recovery.buf
	crc      uint32 // of stored
	data     []byte // unpacked; nil if the chunk is lost
	certain  bool   // a checksum was right
	wrong    error  // why it is lost, or not whole
	space    *connSpace
	indexed  uint64 // messages that its index data counts
	offsets  []uint32
	deferred bool // read a second time
	odd      bool // there are decoders that do not take what is stored
}

// lateChunk is a chunk with messages of connections that were not known yet.
type lateChunk struct {
	place   chunkPlace
	space   *connSpace
	indexed uint64
}

// chunkKey tells most chunks apart without their data.
type chunkKey struct {
	crc    uint32
	stored int
}

// chunk reads a chunk record, whose header may be damaged as wrong says.
func (v *recovery) chunk(h *recordHeader, start int64, wrong error) error {
	if v.space.section > 0 { // the bag before is complete
		v.space.close(v)
		v.space, v.seam = v.newSpace(), true
	}
	v.space.begin(v)
	v.space.checked = v.space.checked || h.has&hasCRC32C != 0
	if wrong == nil && h.op != OpChunk {
		wrong = corrupt(start, h.op, "chunk with the op of another record")
	}
	if wrong != nil {
		v.repair(wrong)
	}
	p := chunkPlace{
		pos: start, op: OpChunk, size: int64(h.size), compression: Compression(bytes.Clone(h.compression)),
		crc: h.crc, checked: h.has&hasCRC32C != 0,
	}
	n, err := v.s.length(start, OpChunk)
	if err != nil {
		return v.lost(start, err)
	}
	p.stored, p.data = n, v.s.off
	if n == 0 && p.size == 0 {
		return v.placeholder(p)
	}
	end := p.data + n
	if end > v.size {
		return v.unbounded(p, torn(start, OpChunk, "data", v.size-p.data, n))
	}
	if err := checkChunkSize(start, p.compression, p.stored, p.size, v.o.MaxChunkBytes); err != nil {
		return v.giveUp(p, end, err)
	}
	if data, ok := v.readAhead(&p); ok {
		v.hold(p, data, true)
		return nil
	}
	if err := v.readStored(&p); err != nil {
		return v.giveUp(p, end, err)
	}
	whole := n > 0 && v.chunkEndsHere()
	data, certain, err := v.judge(&p)
	switch {
	case err == nil && (certain || whole):
		v.hold(p, data, certain)
		return nil
	case whole && !v.swallows(&p, end):
		return v.giveUp(p, end, err)
	case err == nil:
		err = corrupt(start, OpChunk, "no record follows its data of %d bytes", n)
	}
	return v.unbounded(p, err)
}

// swallows reports whether there are other chunks in the packed data of one that does
// not unpack: its length is wrong, and where it ends another record starts by chance.
func (v *recovery) swallows(p *chunkPlace, end int64) bool {
	if p.compression == CompressionNone { // a message may hold a bag
		return false
	}
	_, ok := resync(v.r, p.data, end)
	return ok
}

// chunkEndsHere reports whether what comes now can follow a chunk: no message.
func (v *recovery) chunkEndsHere() bool {
	b, _ := v.s.r.Peek(int(min(firstHeadBytes, v.size-v.s.off))) // as much as can be read
	ok, op := plausibleHead(b, v.s.off, v.size)
	return ok && op != OpMessage && op != opMessageDefinition
}

// readStored reads the data of a chunk to where its copy will need it.
func (v *recovery) readStored(p *chunkPlace) error {
	n := chunkHeadroom + int(p.stored)
	if cap(v.buf) < n {
		v.buf = make([]byte, n+n/8+4096) // with room for the index
	}
	v.buf = v.buf[:n]
	v.held = heldChunk{stored: v.buf[chunkHeadroom:], offsets: v.held.offsets[:0]}
	err := v.s.full(v.held.stored, p.pos, OpChunk, "data")
	v.held.crc = crc32.Checksum(v.held.stored, castagnoli)
	return err
}

// readAhead does what readStored and judge do for a chunk without fault, if it was
// unpacked while the walk was in front of it.
func (v *recovery) readAhead(p *chunkPlace) (data []byte, ok bool) {
	if v.ahead == nil {
		return nil, false
	}
	j := v.ahead.take(p, v.failures < maxFailures)
	if j == nil {
		return nil, false
	}
	v.buf, j.buf = j.buf, v.buf
	v.plain, j.plain = j.plain, v.plain
	v.held = heldChunk{stored: v.buf[chunkHeadroom:], crc: j.crc, offsets: v.held.offsets[:0]}
	v.ahead.recycle(j)
	v.seek(p.data + p.stored)
	return j.data, true
}

// hold keeps a chunk until its index data was read.
func (v *recovery) hold(p chunkPlace, data []byte, certain bool) {
	v.held.active, v.held.place, v.held.data, v.held.certain = true, p, data, certain
	v.held.end, v.held.space, v.held.indexed = p.data+p.stored, v.space, 0
}

// giveUp passes over a chunk that is lost.
func (v *recovery) giveUp(p chunkPlace, end int64, err error) error {
	v.hold(p, nil, false)
	v.held.end, v.held.wrong, v.held.stored = end, err, nil
	v.seek(end)
	if !v.recordAt(end) {
		v.held.end = end
		return v.release()
	}
	return nil
}

// unpackSound unpacks stored data, whose crc32c is crc, into memory or, if that is not
// enough, fresh memory, which memory is from then on. If anything at all is wrong with it,
// the result is nil.
func unpackSound(d *decompressor, p *chunkPlace, stored []byte, crc uint32, memory *[]byte) []byte {
	packed := p.compression == CompressionLZ4 || p.compression == CompressionBZ2
	if !packed || p.size == 0 || p.checked && crc != p.crc {
		return nil
	}
	d.checked = p.checked
	data, err := d.unpack(p.compression, stored, p.size, (*memory)[:0])
	if err != nil {
		return nil
	}
	if cap(data) > cap(*memory) {
		*memory = data
	}
	return data
}

// judge unpacks what readStored read. certain says that a checksum proved it. It corrects
// the compression and the size of p if those are wrong and the data is certain.
func (v *recovery) judge(p *chunkPlace) (data []byte, certain bool, err error) {
	stored := v.held.stored
	if p.compression != CompressionNone && v.failures < maxFailures {
		if data := unpackSound(&v.unpack, p, stored, v.held.crc, &v.plain); data != nil {
			return data, true, nil
		}
		v.failures++
	}
	proven := p.checked && v.held.crc == p.crc
	kind := p.compression
	if _, unknown := ParseCompression(string(kind)); unknown != nil {
		wrong := corrupt(p.pos, OpChunk, "unknown compression %.40q", p.compression)
		if kind = guessCompression(stored); kind == CompressionNone && !proven {
			return nil, false, wrong
		}
		v.repair(wrong)
	}
	if kind == CompressionNone {
		if p.checked && !proven {
			return nil, false, corrupt(p.pos, OpChunk, "crc32c of its data is %08x, its header says %08x",
				v.held.crc, p.crc)
		}
		p.compression, p.size = kind, p.stored
		return stored, proven, nil
	}
	data, err = v.unpackAll(kind, bytes.NewReader(stored), p.stored, v.unpackLimit(p))
	if err != nil {
		return nil, false, corrupt(p.pos, OpChunk, "%v", err)
	}
	if n := int64(len(data)); n != p.size && p.size > 0 { // the codec's checksum decides
		v.repair(corrupt(p.pos, OpChunk, "unpacks to %d bytes, its header says %d", n, p.size))
	}
	if p.checked && !proven {
		v.repair(corrupt(p.pos, OpChunk, "crc32c in its header is wrong, the %s data is right", kind))
	}
	p.compression, p.size = kind, int64(len(data))
	v.held.odd = kind == CompressionBZ2
	return data, true, nil
}

// indexData reads an index data record.
func (v *recovery) indexData(h *recordHeader, start int64) error {
	count := uint64(h.count)
	next, err := v.s.indexData(h, start, v.held.active && !v.held.certain)
	switch {
	case err != nil && !next:
		return v.lostIndex(start, err)
	case err != nil:
		v.repair(err)
	case v.held.active:
		v.held.indexed += count
		for b := v.s.data; len(b) >= indexEntryBytes && len(v.held.offsets) < len(v.held.data)/minRecordBytes; b = b[indexEntryBytes:] {
			v.held.offsets = append(v.held.offsets, binary.LittleEndian.Uint32(b[8:]))
		}
	default:
		v.space.stray += count
	}
	return nil
}

// lostIndex goes on behind index data that cannot be read: no message is lost with it,
// unless there are chunks that are not found behind it.
func (v *recovery) lostIndex(start int64, err error) error {
	if failed := v.release(); failed != nil {
		return failed
	}
	next, ok := v.nextChunk(start)
	if !ok && isEnd(err) {
		v.repair(err)
		v.seek(v.size)
		return nil
	}
	v.skip(start, next-start, err)
	v.seek(next)
	v.seam = true
	return nil
}

// release ends the held chunk: what is good of it goes to the writer.
func (v *recovery) release() error {
	if !v.held.active {
		return nil
	}
	h := &v.held
	h.active = false
	promised := h.indexed
	if info, ok := h.space.meet(h.place.pos); ok && promised == 0 {
		promised = info
	}
	if h.data == nil {
		v.skipCounted(h.place.pos, h.end-h.place.pos, promised, h.wrong)
		return nil
	}
	return v.emit(h, promised)
}
