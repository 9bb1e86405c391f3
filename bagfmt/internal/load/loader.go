package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Loader reads chunks and their indexes. It keeps buffers and codecs from one
// call to the next and is not for concurrent use.
type Loader struct {
	head   []byte
	window window
	// what the segment that was placed last is read from
	from   io.ReaderAt
	last   placed
	stored []byte
	s      *wire.Stream
	// what s reads
	section io.SectionReader
	Unpack  codec.Decompressor
	// by index in Table.Conns: messages the chunk info promises, +1; 0 = no index data to come
	expect []uint64
	// the chunk that expect is about
	expectOf int
	// no second call of entries follows: take no larger buffer than this one needs
	once bool
	// for the data of the next chunk, if it is enough; what holds data then
	Memory []byte
	// Query.Memory; nil for none
	Take func(n int) []byte
	// compare checksums in the data of a chunk that has one of its own, too
	Strict bool
	merger runMerger
}

// placed is what Place has found last: the index of a chunk is read first, then the chunk.
type placed struct {
	bag    *table.Table
	number int
	place  wire.ChunkPlace
}

// Place reads the header of segment i.
func (l *Loader) Place(bag *table.Table, i int) (wire.ChunkPlace, error) {
	if l.last.bag == bag && l.last.number == i {
		return l.last.place, nil
	}
	l.from = l.file(bag, i)
	p, err := l.findPlace(bag, i)
	if l.last = (placed{bag, i, p}); err != nil {
		l.last.bag = nil
	}
	return p, err
}

// file returns what segment i is read from.
func (l *Loader) file(bag *table.Table, i int) io.ReaderAt {
	if !Small(bag, i) {
		return bag.File
	}
	if l.window.of != bag {
		l.window = window{of: bag, r: bag.File}
	}
	l.window.want = int(bag.ExtentEnd(i) - bag.Chunks[i].Pos)
	return &l.window
}

// Plain reports whether the segment that was placed last is not compressed.
func (l *Loader) Plain() bool { return l.last.place.Compression == rosbag.CompressionNone }

func (l *Loader) findPlace(bag *table.Table, i int) (wire.ChunkPlace, error) {
	if bag.Chunks[i].Kind.Raw() {
		return bag.Chunks[i].RawPlace(bag.Size)
	}
	if bag.MCAP != nil {
		return l.mcapPlace(bag, i)
	}
	pos := bag.Chunks[i].Pos
	p := wire.ChunkPlace{Pos: pos, Op: rosbag.OpChunk, Decrypter: bag.Decrypter}
	need := int64(wire.FirstHeadBytes)
	for {
		n := int(min(need, bag.Size-pos))
		if cap(l.head) < n {
			l.head = make([]byte, n)
		}
		l.head = l.head[:n]
		if err := readAt(l.from, l.head, pos, p); err != nil {
			return p, err
		}
		headerBytes := int64(binary.LittleEndian.Uint32(l.head)) // addChunk left room for it
		if headerBytes > wire.MaxHeaderBytes {
			return p, wire.Corrupt(pos, rosbag.OpChunk, "header of %d bytes, limit %d", headerBytes,
				wire.MaxHeaderBytes)
		}
		if end := headerBytes + wire.MinRecordBytes; end > int64(n) {
			if end > bag.Size-pos {
				return p, wire.Torn(pos, rosbag.OpChunk, "header", int64(n), end)
			}
			need = end
			continue
		}
		break
	}
	n := 4 + int(binary.LittleEndian.Uint32(l.head))
	var h wire.RecordHeader
	switch err := h.Parse(l.head[4:n]); {
	case err != nil:
		return p, wire.Corrupt(pos, rosbag.OpChunk, "%v", err)
	case h.Op != rosbag.OpChunk:
		return p, wire.Corrupt(pos, h.Op, "chunk info points here, where there is no chunk")
	}
	p = h.ChunkPlace(pos)
	p.Decrypter = bag.Decrypter
	p.Data, p.Stored = pos+int64(n)+4, int64(binary.LittleEndian.Uint32(l.head[n:]))
	if left := bag.Size - p.Data; p.Stored > left {
		if bag.Chunks[i].Kind != table.KindTorn {
			return p, wire.Torn(pos, rosbag.OpChunk, "data", left, p.Stored)
		}
		p.Stored, p.Torn = left, true
	}
	return p, checkOverlap(bag, i, &p)
}

// checkOverlap checks that chunk i ends before the next one starts. Otherwise reading
// nested chunks would take time quadratic in the size of the file. It shortens an
// uncompressed chunk that is too long, because its messages before the next one can
// still be read.
func checkOverlap(bag *table.Table, i int, p *wire.ChunkPlace) error {
	if i+1 >= len(bag.Chunks) {
		return nil
	}
	next := bag.Chunks[i+1].Pos
	switch room := next - p.Data; {
	case p.Stored <= room:
		return nil
	case room < 0 || p.Compression != rosbag.CompressionNone:
		return wire.Corrupt(p.Pos, rosbag.OpChunk, "its %d bytes reach into the chunk at %d", p.Stored, next)
	default:
		p.Stored, p.Torn = room, p.Decrypter != nil
	}
	return nil
}

// readAt fills b from offset off for the segment at p.
func readAt(r io.ReaderAt, b []byte, off int64, p wire.ChunkPlace) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || wire.IsEnd(err): // the file shrank
		return wire.Torn(p.Pos, p.Op, "record", off-p.Pos+int64(n), off-p.Pos+int64(len(b)))
	}
	return wire.ReadError(off, err)
}

// data reads and unpacks segment i, into l.Memory or fresh memory.
func (l *Loader) data(bag *table.Table, i int) ([]byte, wire.ChunkPlace, error) {
	p, err := l.Place(bag, i)
	if err != nil {
		return nil, p, err
	}
	data, err := l.read(bag, l.from, &p)
	return data, p, err
}

// Read reads and unpacks the segment at p, into l.Memory or fresh memory, unless the cache
// has it.
func (l *Loader) Read(bag *table.Table, p *wire.ChunkPlace) ([]byte, error) {
	return l.read(bag, bag.File, p)
}

func (l *Loader) read(bag *table.Table, from io.ReaderAt, p *wire.ChunkPlace) ([]byte, error) {
	if err := p.CheckSize(bag.Options.MaxChunkBytes); err != nil {
		return nil, err
	}
	if p.Compression != rosbag.CompressionBZ2 {
		return l.readNew(bag, from, p)
	}
	return bag.Options.Cache.Chunk(table.Key{Bag: bag, Pos: p.Pos},
		func() ([]byte, error) { return l.readNew(bag, from, p) })
}

func (l *Loader) readNew(bag *table.Table, from io.ReaderAt, p *wire.ChunkPlace) ([]byte, error) {
	var stored []byte
	if p.Compression == rosbag.CompressionNone {
		if l.takeMemory(p.Stored); l.Memory == nil {
			l.Memory = make([]byte, p.Stored)
		}
		stored = l.Memory[:p.Stored] // messages will point into it
		l.Memory = nil
	} else {
		l.stored = slices.Grow(l.stored[:0], int(p.Stored))[:p.Stored]
		stored = l.stored
	}
	if err := readAt(from, stored, p.Data, *p); err != nil {
		return nil, err
	}
	if p.Compression != rosbag.CompressionNone {
		l.takeMemory(p.Size)
	}
	l.Unpack.Interrupted = bag.Options.Interrupted
	return l.open(p, stored)
}

// takeMemory makes Memory one of n bytes or more, or nil.
func (l *Loader) takeMemory(n int64) {
	if int64(cap(l.Memory)) >= n {
		return
	}
	l.Memory = nil
	if l.Take != nil {
		l.Memory = l.Take(int(n))
	}
}

// FromStream reads the chunk at p, whose stored data comes next in s, and unpacks it. ended says that s
// has ended, or failed, inside of the stored data: data is what is there of a chunk that is not
// compressed. Its whole messages are good, because records were appended in order; its checksum is of the
// whole chunk, and cannot be verified. With reuse the next call may use the memory of data.
func (l *Loader) FromStream(s *wire.Stream, p *wire.ChunkPlace, reuse bool) (data []byte, ended, err error) {
	if p.Compression != rosbag.CompressionNone {
		stored, ended := s.Grab(p.Stored, p.Pos, rosbag.OpChunk)
		if ended != nil {
			return nil, ended, nil
		}
		if data, err = l.open(p, stored); reuse {
			l.Memory = data
		}
		return data, nil, err
	}
	memory := l.Memory
	l.Memory = nil
	stored, ended := s.Bytes(p.Stored, p.Pos, rosbag.OpChunk, memory)
	if reuse {
		l.Memory = stored
	}
	if ended != nil {
		p.Torn = true
		data, err = p.Decrypter.OpenChunk(p, stored)
	} else {
		data, err = l.open(p, stored)
	}
	return data, ended, err
}

// open checks the stored data of a chunk and unpacks it, into l.Memory or fresh memory. With an error
// there is no data.
func (l *Loader) open(p *wire.ChunkPlace, stored []byte) ([]byte, error) {
	if p.Checked && !p.Torn && !p.MCAP {
		if crc := crc32.Checksum(stored, wire.Castagnoli); crc != p.CRC {
			return nil, wire.Corrupt(p.Pos, rosbag.OpChunk,
				"crc32c of its data is %08x, its header says %08x", crc, p.CRC)
		}
	}
	data, err := p.Decrypter.OpenChunk(p, stored)
	switch {
	case err != nil:
		return nil, err
	case p.Compression == rosbag.CompressionNone: // stock readers do not look at size
	case p.Compression == rosbag.CompressionZstd && !p.MCAP:
		return nil, wire.Corrupt(p.Pos, rosbag.OpChunk, "unknown compression %q", p.Compression)
	default:
		unpack := l.Unpack.Unpack
		if p.Checked && !p.Torn && !p.MCAP && !l.Strict {
			unpack = l.Unpack.UnpackSealed
		}
		data, err = unpack(p.Compression, data, p.Size, l.Memory)
		l.Memory = nil
		var stop *codec.InterruptionError
		switch {
		case errors.As(err, &stop):
			return nil, stop.Err
		case err != nil:
			return nil, wire.Corrupt(p.Pos, rosbag.OpChunk, "%v", err)
		}
	}
	if err := checkMCAP(p, data); err != nil {
		return nil, err
	}
	return data, nil
}

// Load reads the data of x and compares its entries with it. If they do not fit,
// or are damaged already, or there is no index, it makes new ones from the data. From
// then on they point at frames. An error without data says that the chunk is lost;
// one with data, that the index was bad, and whether messages are missing.
func (l *Loader) Load(bag *table.Table, x *Chunk, keep []bool, q rosbag.Query) error {
	if q.Chunks {
		l.stored = x.Stored[:0]
	}
	data, p, err := l.data(bag, x.Number)
	if q.Chunks {
		x.Stored, x.Place, l.stored = l.stored, p, nil
	}
	if err != nil {
		return err
	}
	var over *[]uint32
	if x.Overwritten = x.Overwritten[:0]; q.Chunks {
		over = &x.Overwritten
	}
	x.Shared = bag.Options.Cache != nil && p.Compression == rosbag.CompressionBZ2
	if x.evicted {
		remakeFrames(bag, x.Entries, data, over)
		if crc32.Checksum(data, wire.Castagnoli) != x.sum {
			return wire.Corrupt(p.Pos, p.Op, "its data has changed since it was first read")
		}
		x.evicted = false
		x.hold(data)
		return nil
	}
	bad := x.Damaged
	if bad == nil && !x.Derive {
		if err = l.resolve(bag, x.Entries, data, p.Checked, over); err == nil {
			x.hold(data)
			return nil
		}
		over = nil // frames that do not fit may have been made
		x.Overwritten = x.Overwritten[:0]
		bad = wire.Corrupt(p.Pos, rosbag.OpChunk, "index does not fit the chunk: %v", err)
	}
	kind := bag.Chunks[x.Number].Kind
	d := derivation{bag: bag, keep: keep, q: q, list: x.Entries[:0]}
	whole := d.run(kind, data)
	if d.stopped != nil {
		return d.stopped
	}
	x.Entries, x.Next, x.Damaged, x.Derive = d.list, 0, nil, false
	remakeFrames(bag, x.Entries, data, over)
	x.hold(data)
	promised := countKept(bag, x.Number, keep)
	if bad != nil {
		// What a checksum covers is what was written; else the chunk info has to agree.
		bad.Recovered = whole && (p.Checked || p.Compression != rosbag.CompressionNone || d.found >= promised)
		return bad
	}
	if d.found < promised { // the scan that found the segment reported what else is wrong with it
		return wire.Corrupt(p.Pos, p.Op, "%d of %d messages can be read", d.found, promised)
	}
	return nil
}

// derived makes the entries of segment i from its data. As those of index data they
// point at records.
func (l *Loader) derived(bag *table.Table, i int, keep []bool) ([]Entry, error) {
	data, _, err := l.data(bag, i)
	if err != nil {
		return nil, err
	}
	d := derivation{bag: bag, keep: keep, records: true}
	d.run(bag.Chunks[i].Kind, data)
	return d.list, d.stopped
}

// hold makes data, which entries point into, the data of x.
func (x *Chunk) hold(data []byte) {
	x.Data = data
	if n := len(x.Entries); n > 0 {
		x.Share = (len(data) + n - 1) / n
	}
}

// Release takes the data of x from it, and returns its memory. A checksum stays, which shows
// whether the entries are good for the data when that is loaded again.
func (x *Chunk) Release() []byte {
	data := x.Data
	x.sum, x.evicted, x.Data = crc32.Checksum(data, wire.Castagnoli), true, nil
	return data
}

// countKept returns the number of messages of chunk i in kept connections, according to
// its chunk info.
func countKept(bag *table.Table, i int, keep []bool) uint64 {
	var sum uint64
	for _, n := range bag.Chunks[i].Counts {
		if keep[bag.ByID[n.Conn.ID]] {
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
// the chunk has a checksum: then the time in the chunk is known to be right. over is as in remakeFrames.
func (l *Loader) resolve(
	bag *table.Table, entries []Entry, data []byte, checked bool, over *[]uint32,
) error {
	if bag.MCAP != nil {
		return makeFrames(bag, entries, data, over)
	}
	budget := maxHeaderFactor*len(data) + wire.MaxHeaderBytes
	for i := range entries {
		e := &entries[i]
		id, t, frame, parsed, err := wire.MessageAt(data, int64(e.Offset))
		budget -= parsed
		switch {
		case budget < 0:
			return errSharedRecords
		case err != nil:
			return fmt.Errorf("record at %d: %w", e.Offset, err)
		case id != bag.Conns[e.Conn].ID:
			return fmt.Errorf("message at %d is of connection %d, its index entry of %d", e.Offset, id,
				bag.Conns[e.Conn].ID)
		case checked && t != e.Time():
			return fmt.Errorf("message at %d is of time %s, its index entry of %s", e.Offset, t, e.Time())
		}
		e.Offset = uint32(frame)
	}
	return nil
}

// covers reports whether a message of that time is in the range of q.
func covers(q *rosbag.Query, key uint64) bool {
	return key >= TimeKey(q.Start) && (q.End.IsZero() || key <= TimeKey(q.End))
}

// Covered returns the entries of list, which is sorted, that are in the range of q.
func Covered(q *rosbag.Query, list []Entry) []Entry {
	if n := len(list); n == 0 || covers(q, list[0].Key) && covers(q, list[n-1].Key) {
		return list
	}
	return slices.DeleteFunc(list, func(e Entry) bool { return !covers(q, e.Key) })
}
