package bagfmt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"
)

// indexEntry is one entry of a chunk's index.
type indexEntry struct {
	key    uint64 // time as a number that sorts
	offset uint32 // of the message record in the chunk data
	conn   int32  // index in Reader.conns
}

// IndexEntry says where one message is.
type IndexEntry struct {
	Conn   *Connection
	Time   Time
	Offset uint32 // of its record in the unpacked chunk
}

// ChunkIndex reads the index of chunk i and returns the entries of the connections
// that keep wants, nil for all, sorted by time and place. It does not look at the
// chunk itself.
func (r *Reader) ChunkIndex(i int, keep func(*Connection) bool) ([]IndexEntry, error) {
	kept := make([]bool, len(r.conns))
	for n, c := range r.conns {
		kept[n] = keep == nil || keep(c)
	}
	l := chunkLoader{once: true}
	entries, err := l.entries(r, i, kept, nil)
	if err != nil {
		return nil, err
	}
	out := make([]IndexEntry, len(entries))
	for n, e := range entries {
		out[n] = IndexEntry{r.conns[e.conn], e.time(), e.offset}
	}
	return out, nil
}

func timeKey(t Time) uint64 { return uint64(t.Sec)<<32 | uint64(t.Nsec) }

func (e indexEntry) time() Time { return Time{uint32(e.key >> 32), uint32(e.key)} }

func sortEntries(list []indexEntry) {
	slices.SortFunc(list, func(a, b indexEntry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.offset, b.offset))
	})
}

// lastAt returns the number of the last entry with a time of at most t, or -1.
func lastAt(list []indexEntry, t Time) int {
	return sort.Search(len(list), func(i int) bool { return list[i].key > timeKey(t) }) - 1
}

// chunkPlace is the parsed header of a chunk record.
type chunkPlace struct {
	pos         int64 // of the record
	data        int64 // of its data
	stored      int64
	size        int64
	compression Compression
	crc         uint32
	checked     bool // crc counts
}

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
}

const firstHeadBytes = 512 // more than the header of any known writer's chunk record

// place reads the header of chunk i.
func (l *chunkLoader) place(r *Reader, i int) (chunkPlace, error) {
	pos := r.chunks[i].Pos
	p := chunkPlace{pos: pos}
	need := int64(firstHeadBytes)
	for {
		n := int(min(need, r.size-pos))
		if cap(l.head) < n {
			l.head = make([]byte, n)
		}
		l.head = l.head[:n]
		if err := readAt(r.r, l.head, pos, pos); err != nil {
			return p, err
		}
		headerBytes := int64(binary.LittleEndian.Uint32(l.head)) // addChunk left room for it
		if headerBytes > maxHeaderBytes {
			return p, corrupt(pos, OpChunk, "header of %d bytes, limit %d", headerBytes, maxHeaderBytes)
		}
		if end := headerBytes + minRecordBytes; end > int64(n) {
			if end > r.size-pos {
				return p, torn(pos, OpChunk, "header", int64(n), end)
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
		return p, corrupt(pos, OpChunk, "%v", err)
	case h.op != OpChunk:
		return p, corrupt(pos, h.op, "chunk info points here, where there is no chunk")
	}
	p.data = pos + int64(n) + 4
	p.stored = int64(binary.LittleEndian.Uint32(l.head[n:]))
	p.size = int64(h.size)
	p.compression = Compression(h.compression)
	p.crc, p.checked = h.crc, h.has&hasCRC32C != 0
	if left := r.size - p.data; p.stored > left {
		return p, torn(pos, OpChunk, "data", left, p.stored)
	}
	return p, nil
}

// readAt fills b from offset off for the chunk at pos.
func readAt(r io.ReaderAt, b []byte, off, pos int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || isEnd(err): // the file shrank
		return torn(pos, OpChunk, "record", off-pos+int64(n), off-pos+int64(len(b)))
	}
	return readError(off, err)
}

// entries reads the index of chunk i, for the connections in keep, sorted by time
// and place, into dst.
func (l *chunkLoader) entries(r *Reader, i int, keep []bool, dst []indexEntry) ([]indexEntry, error) {
	dst = dst[:0]
	p, err := l.place(r, i)
	if err != nil {
		return dst, err
	}
	end := r.indexPos
	if i+1 < len(r.chunks) {
		end = r.chunks[i+1].Pos
	}
	at := p.data + p.stored
	section := io.NewSectionReader(r.r, at, max(end-at, 0))
	switch {
	case l.s == nil && l.once:
		l.s = newStream(section, at, int(min(max(section.Size(), smallBufferBytes), streamBufferBytes)))
	case l.s == nil:
		l.s = newStream(section, at, streamBufferBytes)
	default:
		l.s.reset(section, at)
	}
	l.promise(r, i)
	for n := 0; n < len(r.chunks[i].Counts); {
		start := l.s.off
		var h recordHeader
		switch err := l.s.next(&h); {
		case errors.Is(err, io.EOF):
			return dst, corrupt(p.pos, OpChunk, "%d of %d index data records follow", n, len(r.chunks[i].Counts))
		case err != nil:
			return dst, err
		}
		if h.op != OpIndexData {
			size, err := l.s.length(start, h.op)
			if err == nil {
				err = l.s.skip(size, start, h.op)
			}
			if err != nil {
				return dst, err
			}
			continue
		}
		n++
		if dst, err = l.indexData(r, &h, start, keep, dst); err != nil {
			return dst, err
		}
	}
	sortEntries(dst)
	return dst, nil
}

// promise notes which index data records chunk i has to have.
func (l *chunkLoader) promise(r *Reader, i int) {
	if l.expect == nil {
		l.expect = make([]uint64, len(r.conns))
	}
	for _, n := range r.chunks[l.expectOf].Counts { // an error leaves some; all would take too long in a bag of many
		l.expect[r.byID[n.Conn.ID]] = 0
	}
	l.expectOf = i
	for _, n := range r.chunks[i].Counts {
		l.expect[r.byID[n.Conn.ID]] = uint64(n.Count) + 1
	}
}

// indexData adds the entries of one index data record to dst.
func (l *chunkLoader) indexData(r *Reader, h *recordHeader, start int64, keep []bool, dst []indexEntry) ([]indexEntry, error) {
	if h.ver != indexVersion {
		return dst, corrupt(start, OpIndexData, "version %d, want %d", h.ver, indexVersion)
	}
	conn, known := r.byID[h.conn]
	if !known {
		return dst, corrupt(start, OpIndexData, "index of unknown connection %d", h.conn)
	}
	switch promised := l.expect[conn]; promised {
	case 0: // what was in its place is missing
		return dst, corrupt(start, OpIndexData, "connection %d again, or not in the chunk info", h.conn)
	case uint64(h.count) + 1:
		l.expect[conn] = 0
	default:
		return dst, corrupt(start, OpIndexData, "%d messages of connection %d, the chunk info says %d", h.count, h.conn, promised-1)
	}
	if _, err := l.s.indexData(h, start, keep[conn]); err != nil || !keep[conn] {
		return dst, err
	}
	b := l.s.data
	dst = slices.Grow(dst, len(b)/indexEntryBytes)
	for ; len(b) >= indexEntryBytes; b = b[indexEntryBytes:] {
		dst = append(dst, indexEntry{timeKey(getTime(b)), binary.LittleEndian.Uint32(b[8:]), conn})
	}
	return dst, nil
}

// data reads and unpacks chunk i into fresh memory.
func (l *chunkLoader) data(r *Reader, i int) ([]byte, chunkPlace, error) {
	p, err := l.place(r, i)
	if err != nil {
		return nil, p, err
	}
	if err := checkChunkSize(p.pos, p.compression, p.stored, p.size, r.o.MaxChunkBytes); err != nil {
		return nil, p, err
	}
	var stored []byte
	if p.compression == CompressionNone {
		stored = make([]byte, p.stored) // messages will point into it
	} else {
		l.stored = slices.Grow(l.stored[:0], int(p.stored))[:p.stored]
		stored = l.stored
	}
	if err := readAt(r.r, stored, p.data, p.pos); err != nil {
		return nil, p, err
	}
	data, err := l.open(&p, stored)
	return data, p, err
}

// open checks and unpacks the stored data of a chunk.
func (l *chunkLoader) open(p *chunkPlace, stored []byte) ([]byte, error) {
	if p.checked {
		if crc := crc32.Checksum(stored, castagnoli); crc != p.crc {
			return nil, corrupt(p.pos, OpChunk, "crc32c of its data is %08x, its header says %08x", crc, p.crc)
		}
	}
	if p.compression == CompressionNone {
		return stored, nil // stock readers do not look at size
	}
	data, err := l.unpack.unpack(p.compression, stored, p.size)
	if err != nil {
		return nil, corrupt(p.pos, OpChunk, "%v", err)
	}
	return data, nil
}

// checkChunkSize compares the sizes of the chunk at pos with the limit.
func checkChunkSize(pos int64, c Compression, stored, size, limit int64) error {
	if stored > limit {
		return &LimitError{Offset: pos, Op: OpChunk, What: "stored chunk", Got: stored, Limit: limit}
	}
	if size > limit && c != CompressionNone {
		return &LimitError{Offset: pos, Op: OpChunk, What: "unpacked chunk", Got: size, Limit: limit}
	}
	return nil
}

// load reads the data of x and compares its entries with it. If they do not fit,
// or are damaged already, it makes new ones from the data. An error without data
// says that the chunk is lost; one with data, that the index was bad, and whether
// messages are missing.
func (l *chunkLoader) load(r *Reader, x *cursorChunk, keep []bool, q Query) error {
	data, p, err := l.data(r, x.number)
	if err != nil {
		return err
	}
	bad := x.damaged
	if bad == nil {
		if err = l.verify(r, x.entries[x.next:], data, p.checked); err == nil {
			x.hold(data)
			return nil
		}
		bad = corrupt(p.pos, OpChunk, "index does not fit the chunk: %v", err)
		if x.next > 0 {
			return bad // it did fit when it was loaded before: the file has changed
		}
	}
	var found int
	var whole bool
	x.entries, found, whole = rebuild(r, data, keep, q, x.entries[:0])
	x.next, x.damaged = 0, nil
	// What a checksum covers is what was written; else the chunk info has to agree.
	bad.Recovered = whole && (p.checked || p.compression != CompressionNone || uint64(found) >= r.count(x.number, keep))
	x.hold(data)
	return bad
}

// hold makes data, which entries point into, the data of x.
func (x *cursorChunk) hold(data []byte) {
	x.data = data
	if n := len(x.entries); n > 0 {
		x.share = (len(data) + n - 1) / n
	}
}

// count returns the messages of chunk i in kept connections, as its chunk info says.
func (r *Reader) count(i int, keep []bool) uint64 {
	var sum uint64
	for _, n := range r.chunks[i].Counts {
		if keep[r.byID[n.Conn.ID]] {
			sum += uint64(n.Count)
		}
	}
	return sum
}

// headerShare bounds the header bytes that all entries of a chunk may make us parse
// to that many times its data. Entries of a sound index point at different messages.
const headerShare = 4

var errCrowded = errors.New("many entries point at the same records")

// verify checks that entries point at messages of their connections. The time of
// an entry counts, as for stock's player, unless the chunk has a checksum: then
// the time in the chunk is known to be right.
func (l *chunkLoader) verify(r *Reader, entries []indexEntry, data []byte, checked bool) error {
	budget := headerShare*len(data) + maxHeaderBytes
	for _, e := range entries {
		id, t, _, parsed, err := messageAt(data, int64(e.offset))
		budget -= parsed
		switch {
		case budget < 0:
			return errCrowded
		case err != nil:
			return fmt.Errorf("record at %d: %w", e.offset, err)
		case id != r.conns[e.conn].ID:
			return fmt.Errorf("message at %d is of connection %d, its index entry of %d", e.offset, id, r.conns[e.conn].ID)
		case checked && t != e.time():
			return fmt.Errorf("message at %d is of time %s, its index entry of %s", e.offset, t, e.time())
		}
	}
	return nil
}

// rebuild makes index entries from chunk data, as far as it can be read. found
// counts the messages of kept connections at any time; whole says that all records
// could be read.
func rebuild(r *Reader, data []byte, keep []bool, q Query, dst []indexEntry) (list []indexEntry, found int, whole bool) {
	w := chunkWalk{data: data}
	whole = true
	for {
		at := w.at
		h, _, err := w.next()
		if errors.Is(err, io.EOF) {
			sortEntries(dst)
			return dst, found, whole
		}
		if err != nil {
			whole = false
			continue
		}
		if h.op != OpMessage {
			continue
		}
		conn, ok := r.byID[h.conn]
		if !ok {
			whole = false
			continue
		}
		if !keep[conn] {
			continue
		}
		found++
		if q.covers(timeKey(h.time)) {
			dst = append(dst, indexEntry{timeKey(h.time), uint32(at), conn})
		}
	}
}

// covers reports whether a message of that time is in the range of q.
func (q *Query) covers(key uint64) bool {
	return key >= timeKey(q.Start) && (q.End.IsZero() || key <= timeKey(q.End))
}

// chunkWalk goes over the records of chunk data.
type chunkWalk struct {
	data   []byte
	at     int // of the next record
	header recordHeader
}

// next returns the header and the length-prefixed data of the next record, io.EOF
// at the end. After an error the walk goes on behind the damaged record or, if
// that cannot be found, is at its end.
func (w *chunkWalk) next() (*recordHeader, []byte, error) {
	if w.at >= len(w.data) {
		return nil, nil, io.EOF
	}
	b := w.data[w.at:]
	if id, t, frame, rest, ok := cutMessage(b); ok {
		w.header.op, w.header.conn, w.header.time = OpMessage, id, t
		w.at = len(w.data) - len(rest)
		return &w.header, frame, nil
	}
	at := w.at
	tail, rest, err := cutRecord(b, &w.header)
	w.at = len(w.data)
	if w.header.framed {
		w.at -= len(rest)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("record at %d: %w", at, err)
	}
	return &w.header, tail, nil
}
