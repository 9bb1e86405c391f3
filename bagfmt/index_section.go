package bagfmt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	minConnBytes      = 32 // of a connection record, so that a file bounds their number
	minChunkInfoBytes = 96 // of a chunk info record: all its fields
)

// indexSection reads the index section of a 2.0 bag.
type indexSection struct {
	r      *Reader
	table  connTable
	conns  int                // records, repeated ones included
	counts []rosbag.ConnCount // of all chunks, so that a big bag makes few allocations
}

// open opens the bag through its index section. s is behind the version line.
func (x *indexSection) open(s *stream) error {
	h, err := s.bagHeader()
	if err != nil {
		return err
	}
	x.r.repeated = h.repeats()
	if x.r.decrypter, err = newDecrypter(encryption(s.header), x.r.o.UnwrapKey); err != nil {
		return err
	}
	if err := x.checkHeader(&h); err != nil {
		return err
	}
	if err := x.read(int(h.connCount), int(h.chunkCount)); err != nil {
		return err
	}
	x.r.indexed = true
	return nil
}

// checkHeader checks the bag header against the size of the file.
func (x *indexSection) checkHeader(h *recordHeader) error {
	r, at := x.r, int64(len(versionLine))
	switch {
	case h.indexPos == 0:
		return rosbag.ErrUnindexed
	case h.indexPos > uint64(r.size):
		e := corrupt(at, rosbag.OpBagHeader, "the index section is at %d, the file ends at %d", h.indexPos, r.size)
		e.Err = io.ErrUnexpectedEOF
		return e
	case h.indexPos <= uint64(at):
		return corrupt(at, rosbag.OpBagHeader, "the index section is at %d, inside this record", h.indexPos)
	case int64(h.connCount) > r.size/minConnBytes || int64(h.chunkCount) > r.size/minRecordBytes:
		return corrupt(at, rosbag.OpBagHeader, "claims %d connections and %d chunks in a file of %d bytes",
			h.connCount, h.chunkCount, r.size)
	}
	r.indexPos = int64(h.indexPos)
	r.dataEnd = r.indexPos
	return nil
}

// read reads records until there are conns connections and chunks chunk infos, and more
// of them if the bag header is wrong and they follow. It ignores what follows then, as
// stock readers do.
func (x *indexSection) read(conns, chunks int) error {
	r := x.r
	r.prefetch(r.indexPos, maxPrefetchBytes)
	s := newStream(io.NewSectionReader(r.r, r.indexPos, r.size-r.indexPos), r.indexPos, streamBufferBytes)
	s.decrypter = r.decrypter
	x.table.most = conns
	if n := min(int64(chunks), (r.size-r.indexPos)/minChunkInfoBytes); n > 0 {
		r.chunks, x.counts = make([]ChunkInfo, 0, n), make([]rosbag.ConnCount, 0, n)
	}
	for x.conns < conns || len(r.chunks) < chunks {
		start := s.off
		if _, err := x.record(s); err != nil {
			if errors.Is(err, io.EOF) {
				e := corrupt(start, 0, "index section ends after %d of %d connections and %d of %d chunks",
					x.conns, conns, len(r.chunks), chunks)
				e.Err = io.ErrUnexpectedEOF
				return e
			}
			return err
		}
	}
	r.indexEnd = s.off
	for s.recordAhead() {
		if known, err := x.record(s); !known || err != nil {
			break
		}
		r.indexEnd = s.off
	}
	if s.bagAhead() {
		r.damaged(corrupt(s.off, 0, "another bag starts here"))
	}
	r.setConnections(x.table.all())
	return nil
}

// record reads one record. known is false if records of its kind do not belong in an index
// section.
func (x *indexSection) record(s *stream) (known bool, err error) {
	start := s.off
	var h recordHeader
	if err := s.next(&h); err != nil {
		return false, err
	}
	n, err := s.length(start, h.op)
	if err != nil {
		return false, err
	}
	if h.op != rosbag.OpConnection && h.op != rosbag.OpChunkInfo {
		return false, s.skip(n, start, h.op)
	}
	if left := x.r.size - s.off; n > left {
		return true, torn(start, h.op, "data", left, n)
	}
	if err := x.checkLength(&h, n, start); err != nil { // before it is in memory
		return true, err
	}
	data, err := s.grab(n, start, h.op)
	if err != nil {
		return true, err
	}
	if h.op == rosbag.OpConnection {
		x.conns++
		if data, err = x.r.decrypter.openConnection(&h, data, start); err != nil {
			return true, err
		}
		return true, x.table.add(&h, data, start)
	}
	return true, x.addChunk(&h, data, start)
}

// checkLength compares the length of the data of the record at offset at, n, with what it can have.
func (x *indexSection) checkLength(h *recordHeader, n, at int64) error {
	switch {
	case h.op == rosbag.OpConnection && n > maxConnectionBytes:
		return &rosbag.LimitError{Offset: at, Op: rosbag.OpConnection, What: "connection header", Got: n, Limit: maxConnectionBytes}
	case h.op == rosbag.OpChunkInfo && int64(h.count)*countEntryBytes != n:
		return corrupt(at, rosbag.OpChunkInfo, "claims %d connections in %d bytes", h.count, n)
	case h.op == rosbag.OpChunkInfo && int64(h.count) > int64(x.conns):
		return corrupt(at, rosbag.OpChunkInfo, "claims %d connections, %d are known", h.count, x.conns)
	}
	return nil
}

// addChunk adds the chunk of the chunk info record at offset at.
func (x *indexSection) addChunk(h *recordHeader, data []byte, at int64) error {
	r, all := x.r, x.counts
	last := int64(len(versionLine))
	if n := len(r.chunks); n > 0 {
		last = r.chunks[n-1].Pos
	}
	switch {
	case h.ver != indexVersion:
		return corrupt(at, rosbag.OpChunkInfo, "version %d, want %d", h.ver, indexVersion)
	case h.chunkPos > uint64(r.size-minRecordBytes):
		return corrupt(at, rosbag.OpChunkInfo, "chunk at %d in a file of %d bytes", h.chunkPos, r.size)
	case int64(h.chunkPos) >= r.indexPos:
		return corrupt(at, rosbag.OpChunkInfo, "chunk at %d, behind the start of the index section at %d", h.chunkPos, r.indexPos)
	case int64(h.chunkPos) <= last:
		return corrupt(at, rosbag.OpChunkInfo, "chunk at %d, not after %d", h.chunkPos, last)
	}
	first := len(all)
	for ; len(data) > 0; data = data[countEntryBytes:] {
		id := rosbag.ConnID(binary.LittleEndian.Uint32(data))
		c := x.table.get(id)
		if c == nil {
			return corrupt(at, rosbag.OpChunkInfo, "messages of unknown connection %d", id)
		}
		all = append(all, rosbag.ConnCount{Conn: c, Count: binary.LittleEndian.Uint32(data[4:])})
	}
	if id, twice := repeated(all[first:]); twice {
		return corrupt(at, rosbag.OpChunkInfo, "connection %d twice", id)
	}
	r.chunks = append(r.chunks, ChunkInfo{Pos: int64(h.chunkPos), Start: h.start, End: h.end, Counts: slices.Clip(all[first:])})
	x.counts = all
	return nil
}

// repeated finds a connection that is in counts more than once.
func repeated(counts []rosbag.ConnCount) (id rosbag.ConnID, found bool) {
	byID := func(a, b rosbag.ConnCount) int { return cmp.Compare(a.Conn.ID, b.Conn.ID) }
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
