package bagfmt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

const (
	defaultCacheBytes = 128 << 20
	minConnBytes      = 32 // of a connection record, so that a file bounds their number
	minChunkInfoBytes = 96 // of a chunk info record: all its fields
)

// ReaderOptions limits what a Reader does. The zero value is ready to use.
type ReaderOptions struct {
	MaxChunkBytes int64 // largest chunk, stored or unpacked; zero means 2 GiB - 1, which is the most
	CacheBytes    int64 // unpacked chunks that one Cursor keeps beside the current one; zero means 128 MiB
	FutureVersion bool  // read any version 2.x as if it were 2.0
	IndexOnly     bool  // refuse a bag without a good index instead of reading it from front to back
}

func (o ReaderOptions) withDefaults() (ReaderOptions, error) {
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	var err error
	o.MaxChunkBytes, err = chunkLimit(o.MaxChunkBytes)
	return o, err
}

// chunkLimit fills in and checks an option MaxChunkBytes.
func chunkLimit(n int64) (int64, error) {
	if n == 0 {
		return defaultMaxChunkBytes, nil
	}
	if n < 0 || n > hardMaxChunkBytes {
		return 0, &LimitError{Op: OpChunk, What: "option MaxChunkBytes", Got: n, Limit: hardMaxChunkBytes}
	}
	return n, nil
}

// Reader reads a bag of any version, through its index if it has a good one. Its
// methods may be called from several goroutines if the underlying io.ReaderAt may.
type Reader struct {
	r        io.ReaderAt
	size     int64
	o        ReaderOptions
	version  string
	indexPos int64
	dataEnd  int64 // where the records of chunks and their index data end
	elapsed  bool
	indexed  bool
	damage   []error
	scanned  bool          // the scan met the end of the messages: the index section, or where it should be
	old      *oldFormat    // of a bag of a version before 2.0
	conns    []*Connection // by id
	byID     map[ConnID]int32
	chunks   []ChunkInfo
	start    Time
	end      Time
	messages uint64

	lists *chunkLists
	cache *usedCache
}

// ChunkInfo says where a segment of a bag is and what is in it. In a 2.0 bag that is a
// chunk. Bags of older versions, and the end of a recording that was killed, have
// messages without chunks: there it is a range of the file of about 1 MiB.
type ChunkInfo struct {
	Pos        int64 // of its record, or its first one, in the file
	Start, End Time  // of its earliest and latest message
	Counts     []ConnCount

	kind  segmentKind
	bytes int64 // of a segment that is not a chunk record: its length
}

// ChunkHeader says how a chunk is stored.
type ChunkHeader struct {
	Compression       Compression // as the bag says, possibly unknown
	StoredBytes       int64
	UncompressedBytes int64
}

// checkHeader checks the bag header against the size of the file.
func (r *Reader) checkHeader(h *recordHeader) error {
	at := int64(len(versionLine))
	switch {
	case h.indexPos == 0:
		return ErrUnindexed
	case h.indexPos > uint64(r.size):
		e := corrupt(at, OpBagHeader, "the index section is at %d, the file ends at %d", h.indexPos, r.size)
		e.Err = io.ErrUnexpectedEOF
		return e
	case h.indexPos <= uint64(at):
		return corrupt(at, OpBagHeader, "the index section is at %d, inside this record", h.indexPos)
	case int64(h.connCount) > r.size/minConnBytes || int64(h.chunkCount) > r.size/minRecordBytes:
		return corrupt(at, OpBagHeader, "claims %d connections and %d chunks in a file of %d bytes",
			h.connCount, h.chunkCount, r.size)
	}
	r.indexPos = int64(h.indexPos)
	r.dataEnd = r.indexPos
	return nil
}

// readIndexSection reads records until there are conns connections and chunks
// chunk infos, and more of them if the bag header is wrong and they follow. What
// comes then is of no interest: stock readers ignore it, too.
func (r *Reader) readIndexSection(conns, chunks int) error {
	s := newStream(io.NewSectionReader(r.r, r.indexPos, r.size-r.indexPos), r.indexPos, streamBufferBytes)
	x := indexSection{}
	if n := min(int64(chunks), (r.size-r.indexPos)/minChunkInfoBytes); n > 0 {
		r.chunks, x.counts = make([]ChunkInfo, 0, n), make([]ConnCount, 0, n)
	}
	for x.conns < conns || len(r.chunks) < chunks {
		start := s.off
		if _, err := r.readIndexRecord(s, &x); err != nil {
			if errors.Is(err, io.EOF) {
				e := corrupt(start, 0, "index section ends after %d of %d connections and %d of %d chunks",
					x.conns, conns, len(r.chunks), chunks)
				e.Err = io.ErrUnexpectedEOF
				return e
			}
			return err
		}
	}
	for s.recordAhead() {
		if known, err := r.readIndexRecord(s, &x); !known || err != nil {
			break
		}
	}
	if s.bagAhead() {
		r.damaged(corrupt(s.off, 0, "another bag starts here"))
	}
	r.setConnections(x.table.all())
	return nil
}

// indexSection is what grows while the index section is read.
type indexSection struct {
	table  connTable
	conns  int         // records, repeated ones included
	counts []ConnCount // of all chunks, so that a big bag makes few allocations
}

// readIndexRecord reads one record of the index section. known is false if its kind
// does not belong there.
func (r *Reader) readIndexRecord(s *stream, x *indexSection) (known bool, err error) {
	start := s.off
	var h recordHeader
	if err := s.next(&h); err != nil {
		return false, err
	}
	n, err := s.length(start, h.op)
	if err != nil {
		return false, err
	}
	if h.op != OpConnection && h.op != OpChunkInfo {
		return false, s.skip(n, start, h.op)
	}
	if n > r.size-s.off {
		return true, torn(start, h.op, "data", r.size-s.off, n)
	}
	data, err := s.grab(n, start, h.op)
	if err != nil {
		return true, err
	}
	if h.op == OpConnection {
		x.conns++
		return true, x.table.add(&h, data, start)
	}
	counts, err := r.addChunk(&h, data, start, &x.table, x.counts)
	if err == nil {
		x.counts = counts
	}
	return true, err
}

// addChunk adds the chunk of a chunk info record. Its counts are appended to all.
func (r *Reader) addChunk(h *recordHeader, data []byte, at int64, table *connTable, all []ConnCount) ([]ConnCount, error) {
	last := int64(len(versionLine))
	if n := len(r.chunks); n > 0 {
		last = r.chunks[n-1].Pos
	}
	switch {
	case h.ver != indexVersion:
		return nil, corrupt(at, OpChunkInfo, "version %d, want %d", h.ver, indexVersion)
	case int64(h.count)*countEntryBytes != int64(len(data)):
		return nil, corrupt(at, OpChunkInfo, "claims %d connections in %d bytes", h.count, len(data))
	case h.chunkPos > uint64(r.size-minRecordBytes):
		return nil, corrupt(at, OpChunkInfo, "chunk at %d in a file of %d bytes", h.chunkPos, r.size)
	case int64(h.chunkPos) >= r.indexPos:
		return nil, corrupt(at, OpChunkInfo, "chunk at %d, behind the start of the index section at %d", h.chunkPos, r.indexPos)
	case int64(h.chunkPos) <= last:
		return nil, corrupt(at, OpChunkInfo, "chunk at %d, not after %d", h.chunkPos, last)
	}
	first := len(all)
	for ; len(data) > 0; data = data[countEntryBytes:] {
		id := ConnID(binary.LittleEndian.Uint32(data))
		c := table.get(id)
		if c == nil {
			return nil, corrupt(at, OpChunkInfo, "messages of unknown connection %d", id)
		}
		all = append(all, ConnCount{c, binary.LittleEndian.Uint32(data[4:])})
	}
	if id, twice := repeated(all[first:]); twice {
		return nil, corrupt(at, OpChunkInfo, "connection %d twice", id)
	}
	r.chunks = append(r.chunks, ChunkInfo{Pos: int64(h.chunkPos), Start: h.start, End: h.end, Counts: slices.Clip(all[first:])})
	return all, nil
}

// repeated finds a connection that is in counts more than once.
func repeated(counts []ConnCount) (id ConnID, found bool) {
	byID := func(a, b ConnCount) int { return cmp.Compare(a.Conn.ID, b.Conn.ID) }
	if !slices.IsSortedFunc(counts, byID) { // C++ and we sort, Python does not
		counts = slices.Clone(counts)
		slices.SortFunc(counts, byID)
	}
	for i := 1; i < len(counts); i++ {
		if id = counts[i].Conn.ID; id == counts[i-1].Conn.ID {
			return id, true
		}
	}
	return 0, false
}

// summarize computes what covers all chunks.
func (r *Reader) summarize() {
	first := true
	for i := range r.chunks {
		c := &r.chunks[i]
		for _, n := range c.Counts {
			r.messages += uint64(n.Count)
		}
		if !r.indexed && len(c.Counts) == 0 {
			continue // a scan found no times in it
		}
		if first || c.Start.Before(r.start) {
			r.start = c.Start
		}
		if first || r.end.Before(c.End) {
			r.end = c.End
		}
		first = false
	}
}

// Version returns the version of the bag: "0", "1.0", "1.1", "1.2" or "2.0", and with
// FutureVersion any "2.x".
func (r *Reader) Version() string { return r.version }

// Elapsed reports whether the times of messages count from the start of the recording,
// as in bags of the versions 0, 1.0 and, of the first recorder, 1.1.
func (r *Reader) Elapsed() bool { return r.elapsed }

// Indexed reports whether the bag has a good index. A 2.0 bag was opened through it; a
// 1.2 bag was read from front to back all the same, because its index does not tell
// which messages were latched, and agrees with its index.
func (r *Reader) Indexed() bool { return r.indexed }

// Damage returns what NewReader met: why the index was not used, if there should be
// one, and what could not be read, in that order. Nothing is lost by ErrUnindexed and
// by a CorruptError with Recovered set. At most 1000 errors are kept. What a
// segment hides comes from Cursor.Next. The caller must not modify the slice.
//
// A bag that starts behind the end of this one is damage, too: a Reader does not read
// it, Recover does.
func (r *Reader) Damage() []error { return r.damage }

// Connections returns all connections by ascending id. The caller must not modify
// the slice.
func (r *Reader) Connections() []*Connection { return r.conns }

// Chunks returns the segments in file order. The caller must not modify the slice.
func (r *Reader) Chunks() []ChunkInfo { return r.chunks }

// Start returns the time of the earliest message, the zero Time if there is none.
func (r *Reader) Start() Time { return r.start }

// End returns the time of the latest message, the zero Time if there is none.
func (r *Reader) End() Time { return r.end }

// Messages returns the number of messages as the chunk infos say, or a scan has found.
func (r *Reader) Messages() uint64 { return r.messages }

// IndexPos returns where the index section starts, 0 if the bag was not opened through it.
func (r *Reader) IndexPos() int64 { return r.indexPos }

// Size returns the size of the file.
func (r *Reader) Size() int64 { return r.size }

// ChunkHeader reads the header of chunk i.
func (r *Reader) ChunkHeader(i int) (ChunkHeader, error) {
	var l chunkLoader
	p, err := l.place(r, i)
	if err != nil {
		return ChunkHeader{}, err
	}
	return ChunkHeader{p.compression, p.stored, p.size}, nil
}
