package opening

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	minConnBytes      = 32 // of a connection record, so that a file bounds their number
	minChunkInfoBytes = 96 // of a chunk info record: all its fields
)

// indexSection reads the index section of a 2.0 bag.
type indexSection struct {
	bag    *table.Table
	table  wire.ConnTable
	conns  int                // records, repeated ones included
	counts []rosbag.ConnCount // of all chunks, so that a big bag makes few allocations
}

// open opens the bag through its index section. s is after the version line.
func (x *indexSection) open(s *wire.Stream) error {
	h, err := s.BagHeader()
	if err != nil {
		return err
	}
	x.bag.Repeated = h.Repeats()
	if x.bag.Decrypter, err = wire.NewDecrypter(wire.ParseEncryption(s.Header),
		x.bag.Options.UnwrapKey); err != nil {
		return err
	}
	if err := x.checkHeader(&h, s.Off); err != nil {
		return err
	}
	if err := x.read(int(h.ConnCount), int(h.ChunkCount)); err != nil {
		return err
	}
	x.bag.Indexed = true
	return nil
}

// checkHeader checks the bag header, which ends at end, against the size of the file.
func (x *indexSection) checkHeader(h *wire.RecordHeader, end int64) error {
	bag, at := x.bag, int64(len(wire.VersionLine))
	switch {
	case h.IndexPos == 0:
		return rosbag.ErrUnindexed
	case h.IndexPos > uint64(bag.Size):
		e := wire.Corrupt(at, rosbag.OpBagHeader, "the index section is at %d, the file ends at %d",
			h.IndexPos, bag.Size)
		e.Err = io.ErrUnexpectedEOF
		return e
	case h.IndexPos < uint64(end)+4: // the length of its data follows
		return wire.Corrupt(at, rosbag.OpBagHeader, "the index section is at %d, inside this record",
			h.IndexPos)
	case int64(h.ConnCount) > bag.Size/minConnBytes || int64(h.ChunkCount) > bag.Size/wire.MinRecordBytes:
		return wire.Corrupt(at, rosbag.OpBagHeader,
			"claims %d connections and %d chunks in a file of %d bytes",
			h.ConnCount, h.ChunkCount, bag.Size)
	}
	bag.IndexPos = int64(h.IndexPos)
	bag.DataEnd = bag.IndexPos
	return nil
}

// read reads records until there are conns connections and chunks chunk infos, and more
// of them if the bag header is wrong and they follow. It ignores what follows then, as
// stock readers do.
func (x *indexSection) read(conns, chunks int) error {
	bag := x.bag
	bag.Prefetch(bag.IndexPos, table.MaxPrefetchBytes)
	s := wire.NewStream(io.NewSectionReader(bag.File, bag.IndexPos, bag.Size-bag.IndexPos), bag.IndexPos,
		wire.StreamBufferBytes)
	s.Decrypter = bag.Decrypter
	x.table.Most = conns
	if n := min(int64(chunks), (bag.Size-bag.IndexPos)/minChunkInfoBytes); n > 0 {
		bag.Chunks, x.counts = make([]table.Chunk, 0, n), make([]rosbag.ConnCount, 0, n)
	}
	for x.conns < conns || len(bag.Chunks) < chunks {
		start := s.Off
		if _, err := x.record(s); err != nil {
			if errors.Is(err, io.EOF) {
				e := wire.Corrupt(start, 0,
					"index section ends after %d of %d connections and %d of %d chunks",
					x.conns, conns, len(bag.Chunks), chunks)
				e.Err = io.ErrUnexpectedEOF
				return e
			}
			return err
		}
	}
	bag.IndexEnd = s.Off
	for s.RecordAhead() {
		if known, err := x.record(s); !known || err != nil {
			break
		}
		bag.IndexEnd = s.Off
	}
	if s.BagAhead() {
		bag.Damaged(wire.Corrupt(s.Off, 0, "another bag starts here"))
	}
	bag.SetConnections(x.table.All())
	return nil
}

// record reads one record. known is false if records of its kind do not belong in an index
// section.
func (x *indexSection) record(s *wire.Stream) (known bool, err error) {
	start := s.Off
	var h wire.RecordHeader
	if err := s.Next(&h); err != nil {
		return false, err
	}
	n, err := s.Length(start, h.Op)
	if err != nil {
		return false, err
	}
	if h.Op != rosbag.OpConnection && h.Op != rosbag.OpChunkInfo {
		return false, s.Skip(n, start, h.Op)
	}
	if left := x.bag.Size - s.Off; n > left {
		return true, wire.Torn(start, h.Op, "data", left, n)
	}
	if err := x.checkLength(&h, n, start); err != nil { // before it is in memory
		return true, err
	}
	data, err := s.Grab(n, start, h.Op)
	if err != nil {
		return true, err
	}
	if h.Op == rosbag.OpConnection {
		x.conns++
		if data, err = x.bag.Decrypter.OpenConnection(&h, data, start); err != nil {
			return true, err
		}
		return true, x.table.Add(&h, data, start)
	}
	return true, x.addChunk(&h, data, start)
}

// checkLength compares the length of the data of the record at offset at, n, with what it can have.
func (x *indexSection) checkLength(h *wire.RecordHeader, n, at int64) error {
	switch {
	case h.Op == rosbag.OpConnection:
		return wire.CheckConnectionBytes(at, n)
	case int64(h.Count)*wire.CountEntryBytes != n:
		return wire.Corrupt(at, rosbag.OpChunkInfo, "claims %d connections in %d bytes", h.Count, n)
	case int64(h.Count) > int64(x.conns):
		return wire.Corrupt(at, rosbag.OpChunkInfo, "claims %d connections, %d are known", h.Count, x.conns)
	}
	return nil
}

// addChunk adds the chunk of the chunk info record at offset at.
func (x *indexSection) addChunk(h *wire.RecordHeader, data []byte, at int64) error {
	bag, all := x.bag, x.counts
	last := int64(len(wire.VersionLine))
	if n := len(bag.Chunks); n > 0 {
		last = bag.Chunks[n-1].Pos
	}
	switch {
	case h.Ver != wire.IndexVersion:
		return wire.Corrupt(at, rosbag.OpChunkInfo, "version %d, want %d", h.Ver, wire.IndexVersion)
	case h.ChunkPos > uint64(bag.Size-wire.MinRecordBytes):
		return wire.Corrupt(at, rosbag.OpChunkInfo, "chunk at %d in a file of %d bytes", h.ChunkPos, bag.Size)
	case int64(h.ChunkPos) >= bag.IndexPos:
		return wire.Corrupt(at, rosbag.OpChunkInfo, "chunk at %d, after the start of the index section at %d",
			h.ChunkPos, bag.IndexPos)
	case int64(h.ChunkPos) <= last:
		return wire.Corrupt(at, rosbag.OpChunkInfo, "chunk at %d, not after %d", h.ChunkPos, last)
	}
	first := len(all)
	for ; len(data) > 0; data = data[wire.CountEntryBytes:] {
		id := rosbag.ConnID(binary.LittleEndian.Uint32(data))
		c := x.table.Get(id)
		if c == nil {
			return wire.Corrupt(at, rosbag.OpChunkInfo, "messages of unknown connection %d", id)
		}
		all = append(all, rosbag.ConnCount{Conn: c, Count: binary.LittleEndian.Uint32(data[4:])})
	}
	if id, twice := repeated(all[first:]); twice {
		return wire.Corrupt(at, rosbag.OpChunkInfo, "connection %d twice", id)
	}
	bag.Chunks = append(bag.Chunks,
		table.Chunk{Span: rosbag.Span{
			Pos: int64(h.ChunkPos), Start: h.Start, End: h.End,
			Counts: slices.Clip(all[first:]),
		}})
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
