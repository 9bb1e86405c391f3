package opening

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/search"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// scanBag opens a 2.0 bag without its index section: it reads the top level records once.
// It skips the data of chunks, because the index data after each chunk has the times and counts. It
// unpacks only chunks with unknown connections or without valid index data. complete reports whether
// it met the end of the messages: the index section, or where that should be.
// See ADR 0018.
func scanBag(bag *table.Table) (complete bool, err error) {
	x := bagScan{bag: bag, section: bag.IndexPos, seg: table.New(bag, table.KindRecords)}
	bag.IndexPos, bag.DataEnd, bag.Chunks = 0, bag.Size, nil
	x.s = wire.NewFileStream(bag.File, bag.Size, wire.ScanBufferBytes)
	x.s.Decrypter = bag.Decrypter
	if _, err := x.s.Version(bag.Options.FutureVersion); err != nil {
		return false, err
	}
	for more := true; more; {
		if more, err = x.next(); err != nil {
			if err = bag.Tolerate(err); err != nil {
				return false, err
			}
		}
	}
	if err := x.endChunk(); err != nil {
		return false, err
	}
	bag.SetConnections(x.table.All())
	x.seg.Finish()
	return x.complete() || x.section > 0, nil
}

// bagScan is the state of scanBag.
type bagScan struct {
	bag      *table.Table
	s        *wire.Stream
	seg      table.List
	table    wire.ConnTable
	load     load.Loader
	h        wire.RecordHeader
	chunk    openChunk
	chunks   int   // chunk records read
	infos    int   // chunk info records read
	searches int   // searches for the next chunk after damage
	section  int64 // position of the index section according to the bag header, 0 if that is invalid

	// the records that follow are in no chunk: the last one was never completed, or is truncated
	unchunked bool
	// the truncation of the file was reported
	tornReported bool
	// position of a skipped record that may have been a chunk, 0 if none
	skippedAt int64
	// records were skipped to find a chunk, which may belong to another bag
	resynced bool
	// the records that follow belong to another bag
	otherBag bool
}

// openChunk is a chunk whose index data is being read.
type openChunk struct {
	place     wire.ChunkPlace
	open      bool
	index     table.Tally
	bad       error // damage of its index data
	uncertain bool  // some of its index data may be missing
}

// next reads one record. more is false at the end.
func (x *bagScan) next() (more bool, err error) {
	start := x.s.Off
	if x.s.BagAhead() {
		return false, wire.Corrupt(start, 0, "another bag starts here")
	}
	h := &x.h
	err = x.s.Next(h)
	switch {
	case errors.Is(err, io.EOF):
		x.chunk.uncertain = true // the file may end before its last index data
		return false, nil
	case err != nil && !h.Framed:
		return x.resync(start, err)
	}
	wrong := err
	n, err := x.s.Length(start, h.Op)
	if err != nil {
		return x.resync(start, err)
	}
	if wrong != nil { // only the header is damaged
		x.markSkipped(start)
		return x.skip(n, start, wrong)
	}
	switch h.Op {
	case rosbag.OpChunk:
		return x.startChunk(n, start)
	case rosbag.OpIndexData:
		return x.indexData(n, start)
	case rosbag.OpMessage:
		return x.message(n, start)
	case rosbag.OpConnection:
		return x.connection(n, start)
	case rosbag.OpChunkInfo:
		x.infos++
	case rosbag.OpBagHeader, rosbag.OpMessageDefinition:
	default:
		x.markSkipped(start) // not damage in itself
	}
	return x.skip(n, start, nil)
}

// complete reports whether the index section was read. What follows is not part of the
// bag.
func (x *bagScan) complete() bool { return x.chunks > 0 && x.infos == x.chunks }

// markSkipped records that the record at start was skipped. It may have been a chunk, or
// index data of the chunk before it.
func (x *bagScan) markSkipped(start int64) {
	x.skippedAt = start
	x.chunk.uncertain = true
}

// skip skips the data of the record at start. It returns wrong unless there is another
// error.
func (x *bagScan) skip(n, start int64, wrong error) (more bool, err error) {
	if err := x.s.Skip(n, start, x.h.Op); err != nil {
		if wrong != nil {
			err = wrong
		}
		return x.resync(start, err)
	}
	return true, wrong
}

// resync continues at the next chunk after the record at start, whose error is err.
func (x *bagScan) resync(start int64, err error) (more bool, _ error) {
	if !wire.IsDamage(err) {
		return false, err
	}
	if x.complete() {
		return false, nil
	}
	if x.tornReported && errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	x.markSkipped(start)
	// Each search reads at least one block. This limits them in a file that imitates
	// thousands of truncated chunks.
	if x.searches++; int64(x.searches) > table.MaxDamage+x.bag.Size/table.Bytes {
		return false, err
	}
	from := &errorKeeper{ReaderAt: x.bag.File}
	at, ok := search.Chunk(from, start+1, x.bag.Size)
	switch {
	case from.err != nil: // the unreadable part may have been a chunk
		return false, from.err
	case ok && x.startsBag(at):
		if err != nil {
			x.bag.Damaged(err)
		}
		return false, wire.Corrupt(at-firstChunkPos, 0, "another bag starts here")
	case !ok:
		if bad := wire.AsCorrupt(err); bad != nil && x.section > 0 && start >= x.section {
			bad.Recovered = true // no messages follow the start of the index section
		}
		return false, err
	}
	x.skippedAt, x.resynced = 0, true // found
	x.s.SeekTo(at)
	return true, err
}

// startChunk handles a chunk record and skips its data.
func (x *bagScan) startChunk(n, start int64) (more bool, err error) {
	if err := x.endChunk(); err != nil || x.otherBag {
		return false, err
	}
	x.seg.Close()
	x.chunks++
	x.unchunked, x.tornReported, x.skippedAt = false, false, 0
	p := x.h.ChunkPlace(start)
	p.Data, p.Stored, p.Decrypter = x.s.Off, n, x.bag.Decrypter
	if n == 0 && p.Size == 0 {
		// Stock's recorder starts a chunk like this and completes the header when the
		// chunk is full. If it was killed before, the records follow outside of chunks.
		x.unchunked = true
		return true, nil
	}
	if left := x.bag.Size - p.Data; n > left {
		err := wire.Torn(start, rosbag.OpChunk, "data", left, n)
		switch {
		case p.Compression != rosbag.CompressionNone:
			return x.resync(start, err)
		case p.Decrypter != nil:
			return x.tornSealed(&p, left, err)
		}
		// Its whole messages are intact: records were appended in order. If the length is
		// wrong instead, its index data and other chunks follow.
		x.unchunked, x.tornReported = true, true
		return true, err
	}
	if _, err := rosbag.ParseCompression(string(p.Compression)); err != nil {
		return x.skip(n, start, wire.Corrupt(start, rosbag.OpChunk, "unknown compression %q", p.Compression))
	}
	if err := p.CheckSize(x.bag.Options.MaxChunkBytes); err != nil {
		return x.skip(n, start, err)
	}
	x.chunk.place, x.chunk.open, x.chunk.uncertain = p, true, x.resynced
	return x.skip(n, start, nil)
}

// indexData adds an index data record to the chunk before it.
func (x *bagScan) indexData(n, start int64) (more bool, err error) {
	h, c := &x.h, &x.chunk
	if !c.open {
		lost := x.skippedAt
		x.skippedAt = 0
		if err := x.skipIndex(n, start); err != nil {
			return x.resync(start, err)
		}
		if !x.unchunked && lost != 0 {
			err = wire.Corrupt(start, rosbag.OpIndexData, "index of a chunk that was passed over at %d", lost)
		}
		return true, err
	}
	if h.Ver != wire.IndexVersion && c.bad == nil {
		c.bad = wire.Corrupt(start, rosbag.OpIndexData, "version %d, want %d", h.Ver, wire.IndexVersion)
	}
	if h.Ver != wire.IndexVersion {
		return x.skip(n, start, nil)
	}
	next, err := x.s.IndexEntries(h, n, start, true)
	if err != nil {
		if !wire.IsDamage(err) {
			return false, err
		}
		if c.bad == nil {
			c.bad = err
		}
		if next {
			return true, nil
		}
		return x.resync(start, err)
	}
	if _, twice := c.index.ByID[h.Conn]; twice && c.bad == nil {
		c.bad = wire.Corrupt(start, rosbag.OpIndexData, "connection %d again", h.Conn)
	}
	c.index.Entries(h.Conn, x.s.Data)
	return true, nil
}

// skipIndex skips index data that belongs to no chunk.
func (x *bagScan) skipIndex(n, start int64) error {
	x.seg.Close()
	_, err := x.s.IndexEntries(&x.h, n, start, false)
	return err
}

// message adds a message outside chunks.
func (x *bagScan) message(n, start int64) (more bool, err error) {
	if err := x.endChunk(); err != nil || x.otherBag {
		return false, err
	}
	id, t := x.h.Conn, x.h.Time
	if err := wire.CheckMessageBytes(start, n); err != nil {
		return x.skip(n, start, err)
	}
	if err := x.s.Skip(n, start, rosbag.OpMessage); err != nil {
		return x.resync(start, err)
	}
	x.seg.Message(id, t, start, x.s.Off)
	return true, nil
}

// connection adds a connection outside chunks.
func (x *bagScan) connection(n, start int64) (more bool, err error) {
	if err := wire.CheckConnectionBytes(start, n); err != nil {
		return x.skip(n, start, err)
	}
	h := x.h
	data, err := x.s.Grab(n, start, rosbag.OpConnection)
	if err != nil {
		return x.resync(start, err)
	}
	if data, err = x.bag.Decrypter.OpenConnection(&h, data, start); err != nil {
		return true, err
	}
	if err := x.table.Add(&h, data, start); err != nil {
		foreign := x.contradicts(&h, data)
		if foreign {
			x.bag.Damaged(err)
			err = x.endChunk() // of this bag
		}
		return !foreign, err
	}
	if x.unchunked {
		x.seg.Record(start, x.s.Off)
	}
	return true, nil
}

// endChunk adds the chunk whose index data was read. It unpacks the chunk if the index data
// is incomplete.
func (x *bagScan) endChunk() error {
	c := &x.chunk
	if !c.open {
		return nil
	}
	defer func() {
		c.open, c.bad = false, nil
		c.index.Reset()
	}()
	indexed := len(c.index.ByID) > 0 && c.bad == nil
	info := table.Chunk{Span: rosbag.Span{Pos: c.place.Pos}}
	if indexed && !c.uncertain && x.knows(c.index.ByID) {
		x.seg.Segment(info, &c.index)
		return nil
	}
	data, err := x.load.Read(x.bag, &c.place)
	switch {
	case err != nil && indexed && wire.IsDamage(err):
		x.seg.Segment(info, &c.index) // reading the chunk returns the error
		return nil
	case err != nil:
		return x.bag.Tolerate(err)
	}
	var found table.Tally
	wrong := x.walk(data, &found)
	x.load.Memory = data // no slice of it is kept
	switch {
	case wrong != nil && !wire.IsDamage(wrong): // interrupted
		return wrong
	case x.otherBag:
		x.bag.Damaged(wrong)
		x.bag.Damaged(wire.Corrupt(info.Pos, rosbag.OpChunk, "it is of another bag, as is what follows"))
		return nil
	case c.place.Torn: // that was reported
		info.Kind = table.KindTorn
		x.seg.Segment(info, &found)
		return nil
	case wrong != nil:
		x.bag.Damaged(wrong)
	case indexed && !found.Equal(&c.index):
		c.bad = wire.Corrupt(info.Pos, rosbag.OpChunk, "its index data counts other messages")
	}
	if bad := wire.AsCorrupt(c.bad); bad != nil && wrong == nil {
		bad.Recovered = true
		x.bag.Damaged(bad)
	}
	if !indexed || wrong != nil || c.bad != nil {
		info.Kind = table.KindNoIndex
		x.seg.Segment(info, &found)
		return nil
	}
	x.seg.Segment(info, &c.index)
	return nil
}

// knows reports whether all connections of counts are known.
func (x *bagScan) knows(counts map[rosbag.ConnID]uint32) bool {
	for id := range counts {
		if x.table.Get(id) == nil {
			return false
		}
	}
	return true
}

// walk counts the messages in chunk data and adds its connections. It returns the first
// error.
func (x *bagScan) walk(data []byte, found *table.Tally) error {
	w := wire.ChunkWalk{Data: data}
	pause := codec.Pause{Interrupted: x.bag.Options.Interrupted}
	pos := x.chunk.place.Pos
	var wrong error
	for {
		if err := pause.Reached(w.At); err != nil {
			return err
		}
		h, tail, err := w.Next()
		switch {
		case errors.Is(err, io.EOF):
			return wrong
		case err != nil:
			err = wire.Corrupt(pos, rosbag.OpChunk, "%v", err)
		case h.Op == rosbag.OpConnection:
			err = x.table.Add(h, tail[4:], pos)
			x.otherBag = x.otherBag || err != nil && x.contradicts(h, tail[4:])
		case h.Op == rosbag.OpMessage:
			found.Add(h.Conn, 1, h.Time, h.Time)
		}
		if wrong == nil {
			wrong = err
		}
	}
}
