package bagfmt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkLoader reads chunks and their indexes. It keeps buffers and codecs from one
// call to the next and is not for concurrent use.
type chunkLoader struct {
	head     []byte
	stored   []byte
	s        *stream
	unpack   decompressor
	expect   []uint64 // by index in Reader.conns: messages the chunk info promises, +1; 0 = no index data to come
	expectOf int      // the chunk that expect is about
	once     bool     // no second call of entries follows: take no larger buffer than this one needs
	memory   []byte   // for the data of the next chunk, if it is enough; what holds data then
	merger   runMerger
}

// place reads the header of segment i.
func (l *chunkLoader) place(r *Reader, i int) (chunkPlace, error) {
	if r.chunks[i].kind.raw() {
		return r.chunks[i].rawPlace(r.size)
	}
	pos := r.chunks[i].Pos
	p := chunkPlace{pos: pos, op: rosbag.OpChunk, decrypter: r.decrypter}
	need := int64(firstHeadBytes)
	for {
		n := int(min(need, r.size-pos))
		if cap(l.head) < n {
			l.head = make([]byte, n)
		}
		l.head = l.head[:n]
		if err := readAt(r.r, l.head, pos, p); err != nil {
			return p, err
		}
		headerBytes := int64(binary.LittleEndian.Uint32(l.head)) // addChunk left room for it
		if headerBytes > maxHeaderBytes {
			return p, corrupt(pos, rosbag.OpChunk, "header of %d bytes, limit %d", headerBytes, maxHeaderBytes)
		}
		if end := headerBytes + minRecordBytes; end > int64(n) {
			if end > r.size-pos {
				return p, torn(pos, rosbag.OpChunk, "header", int64(n), end)
			}
			need = end
			continue
		}
		break
	}
	n := 4 + int(binary.LittleEndian.Uint32(l.head))
	var h recordHeader
	switch err := h.parse(l.head[4:n]); {
	case err != nil:
		return p, corrupt(pos, rosbag.OpChunk, "%v", err)
	case h.op != rosbag.OpChunk:
		return p, corrupt(pos, h.op, "chunk info points here, where there is no chunk")
	}
	p.data = pos + int64(n) + 4
	p.stored = int64(binary.LittleEndian.Uint32(l.head[n:]))
	p.size = int64(h.size)
	p.compression = compressionNamed(h.compression)
	p.crc, p.checked = h.crc, h.has&hasCRC32C != 0
	if left := r.size - p.data; p.stored > left {
		if r.chunks[i].kind != segmentTorn {
			return p, torn(pos, rosbag.OpChunk, "data", left, p.stored)
		}
		p.stored, p.torn = left, true
	}
	return p, checkOverlap(r, i, &p)
}

// checkOverlap checks that chunk i ends before the next one starts. Otherwise reading
// nested chunks would take time quadratic in the size of the file. It shortens an
// uncompressed chunk that is too long, because its messages before the next one can
// still be read.
func checkOverlap(r *Reader, i int, p *chunkPlace) error {
	if i+1 >= len(r.chunks) {
		return nil
	}
	next := r.chunks[i+1].Pos
	switch room := next - p.data; {
	case p.stored <= room:
		return nil
	case room < 0 || p.compression != rosbag.CompressionNone:
		return corrupt(p.pos, rosbag.OpChunk, "its %d bytes reach into the chunk at %d", p.stored, next)
	default:
		p.stored, p.torn = room, p.decrypter != nil
	}
	return nil
}

const (
	windowBytes     = 64 << 10
	smallChunkBytes = 4 << 10 // of chunks up to this size, several headers are read at once
)

// window reads more than it is asked for, and keeps it.
type window struct {
	r   io.ReaderAt
	buf []byte
	off int64
}

func (w *window) ReadAt(b []byte, off int64) (int, error) {
	if off < w.off || off+int64(len(b)) > w.off+int64(len(w.buf)) {
		if w.buf == nil {
			w.buf = make([]byte, windowBytes)
		}
		n, err := w.r.ReadAt(w.buf[:windowBytes], off)
		w.buf, w.off = w.buf[:n], off
		if n < len(b) {
			return copy(b, w.buf), err
		}
	}
	return copy(b, w.buf[off-w.off:]), nil
}

// readAt fills b from offset off for the segment at p.
func readAt(r io.ReaderAt, b []byte, off int64, p chunkPlace) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || isEnd(err): // the file shrank
		return torn(p.pos, p.op, "record", off-p.pos+int64(n), off-p.pos+int64(len(b)))
	}
	return readError(off, err)
}

// data reads and unpacks segment i, into l.memory or fresh memory.
func (l *chunkLoader) data(r *Reader, i int) ([]byte, chunkPlace, error) {
	p, err := l.place(r, i)
	if err != nil {
		return nil, p, err
	}
	data, err := l.read(r, &p)
	return data, p, err
}

// read reads and unpacks the segment at p, into l.memory or fresh memory, unless the cache
// has it.
func (l *chunkLoader) read(r *Reader, p *chunkPlace) ([]byte, error) {
	if err := p.checkSize(r.o.MaxChunkBytes); err != nil {
		return nil, err
	}
	if p.compression != rosbag.CompressionBZ2 {
		return l.readNew(r, p)
	}
	return r.cache.Load().chunk(cacheKey{r: r, pos: p.pos}, func() ([]byte, error) { return l.readNew(r, p) })
}

func (l *chunkLoader) readNew(r *Reader, p *chunkPlace) ([]byte, error) {
	var stored []byte
	if p.compression == rosbag.CompressionNone {
		if int64(cap(l.memory)) < p.stored {
			l.memory = make([]byte, p.stored)
		}
		stored = l.memory[:p.stored:p.stored] // messages will point into it
		l.memory = nil
	} else {
		l.stored = slices.Grow(l.stored[:0], int(p.stored))[:p.stored]
		stored = l.stored
	}
	if err := readAt(r.r, stored, p.data, *p); err != nil {
		return nil, err
	}
	l.unpack.interrupted = r.o.Interrupted
	return l.open(p, stored)
}

// open checks the stored data of a chunk and unpacks it, into l.memory or fresh memory.
func (l *chunkLoader) open(p *chunkPlace, stored []byte) ([]byte, error) {
	if p.checked && !p.torn {
		if crc := crc32.Checksum(stored, castagnoli); crc != p.crc {
			return nil, corrupt(p.pos, rosbag.OpChunk, "crc32c of its data is %08x, its header says %08x", crc, p.crc)
		}
	}
	stored, err := p.decrypter.openChunk(p, stored)
	if err != nil || p.compression == rosbag.CompressionNone {
		return stored, err // stock readers do not look at size
	}
	l.unpack.checked = p.checked
	data, err := l.unpack.unpack(p.compression, stored, p.size, l.memory)
	l.memory = nil
	var stop *interruption
	switch {
	case errors.As(err, &stop):
		return nil, stop.err
	case err != nil:
		return nil, corrupt(p.pos, rosbag.OpChunk, "%v", err)
	}
	return data, nil
}

// load reads the data of x and compares its entries with it. If they do not fit,
// or are damaged already, or there is no index, it makes new ones from the data. From
// then on they point at frames. An error without data says that the chunk is lost;
// one with data, that the index was bad, and whether messages are missing.
func (l *chunkLoader) load(r *Reader, x *cursorChunk, keep []bool, q rosbag.Query) error {
	data, p, err := l.data(r, x.number)
	if err != nil {
		return err
	}
	if x.evicted {
		if crc32.Checksum(data, castagnoli) != x.sum {
			return corrupt(p.pos, p.op, "its data has changed since it was first read")
		}
		x.evicted = false
		x.hold(data)
		return nil
	}
	bad := x.damaged
	if bad == nil && !x.derive {
		if err = l.resolve(r, x.entries, data, p.checked); err == nil {
			x.hold(data)
			return nil
		}
		bad = corrupt(p.pos, rosbag.OpChunk, "index does not fit the chunk: %v", err)
	}
	kind := r.chunks[x.number].kind
	d := derivation{r: r, keep: keep, q: q, list: x.entries[:0]}
	whole := d.run(kind, data)
	if d.stopped != nil {
		return d.stopped
	}
	x.entries, x.next, x.damaged, x.derive = d.list, 0, nil, false
	x.hold(data)
	promised := countKept(r, x.number, keep)
	if bad != nil {
		// What a checksum covers is what was written; else the chunk info has to agree.
		bad.Recovered = whole && (p.checked || p.compression != rosbag.CompressionNone || d.found >= promised)
		return bad
	}
	if d.found < promised { // the scan that found the segment reported what else is wrong with it
		return corrupt(p.pos, p.op, "%d of %d messages can be read", d.found, promised)
	}
	return nil
}

// derived makes the entries of segment i from its data. As those of index data they
// point at records.
func (l *chunkLoader) derived(r *Reader, i int, keep []bool) ([]indexEntry, error) {
	data, _, err := l.data(r, i)
	if err != nil {
		return nil, err
	}
	d := derivation{r: r, keep: keep, records: true}
	d.run(r.chunks[i].kind, data)
	return d.list, d.stopped
}

// hold makes data, which entries point into, the data of x.
func (x *cursorChunk) hold(data []byte) {
	x.data = data
	if n := len(x.entries); n > 0 {
		x.share = (len(data) + n - 1) / n
	}
}

// release forgets the data of x, but not what it was: entries stay good for it. It
// returns the memory.
func (x *cursorChunk) release() []byte {
	data := x.data
	x.sum, x.evicted, x.data = crc32.Checksum(data, castagnoli), true, nil
	return data
}

// countKept returns the number of messages of chunk i in kept connections, according to
// its chunk info.
func countKept(r *Reader, i int, keep []bool) uint64 {
	var sum uint64
	for _, n := range r.chunks[i].Counts {
		if keep[r.byID[n.Conn.ID]] {
			sum += uint64(n.Count)
		}
	}
	return sum
}

// maxHeaderFactor bounds the header bytes that all entries of a chunk may make us parse
// to that many times its data. Entries of a sound index point at different messages.
const maxHeaderFactor = 4

var errSharedRecords = errors.New("many entries point at the same records")

// resolve checks that entries point at messages of their connections, and makes
// them point at the frames. The time of an entry counts, as for stock's player, unless
// the chunk has a checksum: then the time in the chunk is known to be right.
func (l *chunkLoader) resolve(r *Reader, entries []indexEntry, data []byte, checked bool) error {
	budget := maxHeaderFactor*len(data) + maxHeaderBytes
	for i := range entries {
		e := &entries[i]
		id, t, frame, parsed, err := messageAt(data, int64(e.offset))
		budget -= parsed
		switch {
		case budget < 0:
			return errSharedRecords
		case err != nil:
			return fmt.Errorf("record at %d: %w", e.offset, err)
		case id != r.conns[e.conn].ID:
			return fmt.Errorf("message at %d is of connection %d, its index entry of %d", e.offset, id, r.conns[e.conn].ID)
		case checked && t != e.time():
			return fmt.Errorf("message at %d is of time %s, its index entry of %s", e.offset, t, e.time())
		}
		e.offset = uint32(frame)
	}
	return nil
}

// covers reports whether a message of that time is in the range of q.
func covers(q *rosbag.Query, key uint64) bool {
	return key >= timeKey(q.Start) && (q.End.IsZero() || key <= timeKey(q.End))
}

// covered returns the entries of list, which is sorted, that are in the range of q.
func covered(q *rosbag.Query, list []indexEntry) []indexEntry {
	if n := len(list); n == 0 || covers(q, list[0].key) && covers(q, list[n-1].key) {
		return list
	}
	return slices.DeleteFunc(list, func(e indexEntry) bool { return !covers(q, e.key) })
}
