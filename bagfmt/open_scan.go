package bagfmt

import (
	"errors"
	"io"
)

// scan opens a 2.0 bag without its index section: it goes over the top level records
// once. Chunks are passed over, as the index data behind them tells times and counts;
// only one with unknown connections, or without good index data, is unpacked.
func (r *Reader) scan() error {
	x := bagScan{r: r, section: r.indexPos, seg: segmentScan{r: r, kind: segmentRecords}}
	r.indexPos, r.dataEnd, r.chunks = 0, r.size, nil
	x.s = newFileStream(r.r, r.size, scanBufferBytes)
	if _, err := x.s.version(r.o.FutureVersion); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = x.next(); err != nil {
			if err = x.note(err); err != nil {
				return err
			}
		}
	}
	if err := x.endChunk(); err != nil {
		return err
	}
	r.setConnections(x.table.all())
	x.seg.finish()
	r.scanned = x.complete() || x.section > 0
	return nil
}

// bagScan is the state of scan.
type bagScan struct {
	r        *Reader
	s        *stream
	seg      segmentScan
	table    connTable
	load     chunkLoader
	h        recordHeader
	chunk    openChunk
	chunks   int   // seen
	infos    int   // chunk infos seen
	bare     bool  // records follow a chunk header whose chunk was never completed, or is torn
	known    bool  // what tears the end of the file was reported
	searches int   // for the next chunk behind damage
	section  int64 // where the bag header says that the index section is, 0 if that cannot be
	lost     int64 // where a record was passed over that may have been a chunk, 0 if none
	wary     bool  // the place was lost once: what comes may be of another bag
	foreign  bool  // it is
}

// openChunk is a chunk whose index data is being read.
type openChunk struct {
	place   chunkPlace
	open    bool
	index   tally
	bad     error // what is wrong with its index data
	suspect bool  // some of its index data may be missing
	seen    map[ConnID]struct{}
}

// note keeps damage and returns any other error.
func (x *bagScan) note(err error) error {
	if !isDamage(err) {
		return err
	}
	x.r.damaged(err)
	return nil
}

// next reads one record. more is false at the end.
func (x *bagScan) next() (more bool, err error) {
	start := x.s.off
	if x.s.bagAhead() {
		return false, corrupt(start, 0, "another bag starts here")
	}
	h := &x.h
	err = x.s.next(h)
	switch {
	case errors.Is(err, io.EOF):
		x.chunk.suspect = true // the file may end before its last index data
		return false, nil
	case err != nil && !h.framed:
		return x.resync(start, err)
	}
	wrong := err
	n, err := x.s.length(start, h.op)
	if err != nil {
		return x.resync(start, err)
	}
	if wrong != nil { // the header alone is bad
		x.spoil(start)
		return x.skip(n, start, wrong)
	}
	switch h.op {
	case OpChunk:
		return x.startChunk(n, start)
	case OpIndexData:
		return x.indexData(n, start)
	case OpMessage:
		return x.message(n, start)
	case OpConnection:
		return x.connection(n, start)
	case OpChunkInfo:
		x.infos++
	case OpBagHeader, opMessageDefinition:
	default:
		x.spoil(start) // no fault as such
	}
	return x.skip(n, start, nil)
}

// complete reports whether the index section was read; what follows is no part of the
// bag.
func (x *bagScan) complete() bool { return x.chunks > 0 && x.infos == x.chunks }

// spoil notes that a record was passed over, which may have been a chunk, or index
// data of the one before it.
func (x *bagScan) spoil(start int64) {
	x.lost = start
	x.chunk.suspect = true
}

// skip passes over the data of the record at start. It returns wrong unless there is
// another error.
func (x *bagScan) skip(n, start int64, wrong error) (more bool, err error) {
	if err := x.s.skip(n, start, x.h.op); err != nil {
		if wrong != nil {
			err = wrong
		}
		return x.resync(start, err)
	}
	return true, wrong
}

// resync goes on at the next chunk behind the record at start, which err is about.
func (x *bagScan) resync(start int64, err error) (more bool, _ error) {
	if !isDamage(err) {
		return false, err
	}
	if x.complete() {
		return false, nil
	}
	if x.known && errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	x.spoil(start)
	// Each search reads a block at least: what looks like a thousand torn chunks is none.
	if x.searches++; int64(x.searches) > maxDamage+x.r.size/segmentBytes {
		return false, err
	}
	from := &notingReader{ReaderAt: x.r.r}
	at, ok := resync(from, start+1, x.r.size)
	switch {
	case from.err != nil: // what could not be read may have been a chunk
		return false, from.err
	case ok && x.startsBag(at):
		if err != nil {
			x.r.damaged(err)
		}
		return false, corrupt(at-firstChunkPos, 0, "another bag starts here")
	case !ok:
		if bad := asCorrupt(err); bad != nil && x.section > 0 && start >= x.section {
			bad.Recovered = true // no messages come there
		}
		return false, err
	}
	x.lost, x.wary = 0, true // found
	x.s.seek(at)
	return true, err
}

// startChunk handles a chunk record up to its data.
func (x *bagScan) startChunk(n, start int64) (more bool, err error) {
	if err := x.endChunk(); err != nil || x.foreign {
		return false, err
	}
	h := &x.h
	x.seg.close()
	x.chunks++
	x.bare, x.known, x.lost = false, false, 0
	p := chunkPlace{
		pos: start, data: x.s.off, stored: n, size: int64(h.size), compression: Compression(h.compression),
		crc: h.crc, checked: h.has&hasCRC32C != 0, op: OpChunk,
	}
	if n == 0 && p.size == 0 {
		// Stock's recorder starts a chunk like this and completes the header when the
		// chunk is full. If it was killed before, the records follow bare.
		x.bare = true
		return true, nil
	}
	if left := x.r.size - p.data; n > left {
		err := torn(start, OpChunk, "data", left, n)
		if p.compression != CompressionNone {
			return x.resync(start, err)
		}
		// Its whole messages are good: records were appended in order. If it is its length
		// that is wrong, its index data and other chunks follow.
		x.bare, x.known = true, true
		return true, err
	}
	if _, err := ParseCompression(string(p.compression)); err != nil {
		return x.skip(n, start, corrupt(start, OpChunk, "unknown compression %q", p.compression))
	}
	if err := checkChunkSize(start, p.compression, n, p.size, x.r.o.MaxChunkBytes); err != nil {
		return x.skip(n, start, err)
	}
	x.chunk.place, x.chunk.open, x.chunk.suspect = p, true, x.wary
	return x.skip(n, start, nil)
}

// indexData adds an index data record to what is known of the chunk before it.
func (x *bagScan) indexData(n, start int64) (more bool, err error) {
	h, c := &x.h, &x.chunk
	if !c.open {
		lost := x.lost
		x.lost = 0
		if err := x.passIndex(n, start); err != nil {
			return x.resync(start, err)
		}
		if !x.bare && lost != 0 {
			err = corrupt(start, OpIndexData, "index of a chunk that was passed over at %d", lost)
		}
		return true, err
	}
	if h.ver != indexVersion && c.bad == nil {
		c.bad = corrupt(start, OpIndexData, "version %d, want %d", h.ver, indexVersion)
	}
	if h.ver != indexVersion {
		return x.skip(n, start, nil)
	}
	next, err := x.s.indexEntries(h, n, start, true)
	if err != nil {
		if !isDamage(err) {
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
	if _, twice := c.seen[h.conn]; twice && c.bad == nil {
		c.bad = corrupt(start, OpIndexData, "connection %d again", h.conn)
	}
	if c.seen == nil {
		c.seen = make(map[ConnID]struct{})
	}
	c.seen[h.conn] = struct{}{}
	c.index.entries(h.conn, x.s.data)
	return true, nil
}

// passIndex passes over index data that is of no use.
func (x *bagScan) passIndex(n, start int64) error {
	x.seg.close()
	_, err := x.s.indexEntries(&x.h, n, start, false)
	return err
}

// entries counts index entries.
func (t *tally) entries(id ConnID, b []byte) {
	var first Time
	if len(b) >= indexEntryBytes {
		first = getTime(b)
	}
	last := first
	n := uint32(len(b) / indexEntryBytes)
	for ; len(b) >= indexEntryBytes; b = b[indexEntryBytes:] {
		at := getTime(b)
		if at.Before(first) {
			first = at
		}
		if last.Before(at) {
			last = at
		}
	}
	t.add(id, n, first, last)
}

// message adds a message outside chunks.
func (x *bagScan) message(n, start int64) (more bool, err error) {
	if err := x.endChunk(); err != nil || x.foreign {
		return false, err
	}
	id, t := x.h.conn, x.h.time
	if n > maxMessageBytes {
		return x.skip(n, start, &LimitError{Offset: start, Op: OpMessage, What: "message", Got: n, Limit: maxMessageBytes})
	}
	if err := x.s.skip(n, start, OpMessage); err != nil {
		return x.resync(start, err)
	}
	x.seg.message(id, t, start, x.s.off)
	return true, nil
}

// connection learns a connection outside chunks.
func (x *bagScan) connection(n, start int64) (more bool, err error) {
	if n > maxConnectionBytes {
		return x.skip(n, start, &LimitError{Offset: start, Op: OpConnection, What: "connection header", Got: n, Limit: maxConnectionBytes})
	}
	h := x.h
	data, err := x.s.grab(n, start, OpConnection)
	if err != nil {
		return x.resync(start, err)
	}
	if err := x.table.add(&h, data, start); err != nil {
		foreign := x.contradicts(&h, data)
		if foreign {
			x.r.damaged(err)
			err = x.endChunk() // of this bag
		}
		return !foreign, err
	}
	if x.bare {
		x.seg.record(start, x.s.off)
	}
	return true, nil
}

// endChunk adds the chunk whose index data was read. It unpacks the chunk if that
// does not tell all.
func (x *bagScan) endChunk() error {
	c := &x.chunk
	if !c.open {
		return nil
	}
	defer func() {
		c.open, c.bad = false, nil
		c.index.reset()
		if len(c.seen) > maxCleared {
			c.seen = nil
		}
		clear(c.seen)
	}()
	indexed := len(c.seen) > 0 && c.bad == nil
	info := ChunkInfo{Pos: c.place.pos}
	if indexed && !c.suspect && x.knows(c.index.byID) {
		x.seg.segment(info, &c.index)
		return nil
	}
	data, err := x.load.read(x.r, &c.place)
	switch {
	case err != nil && indexed && isDamage(err):
		x.seg.segment(info, &c.index) // reading it tells the error
		return nil
	case err != nil:
		return x.note(err)
	}
	var found tally
	wrong := x.walk(data, &found)
	x.load.memory = data // nobody keeps any of it
	switch {
	case x.foreign:
		x.r.damaged(wrong)
		x.r.damaged(corrupt(info.Pos, OpChunk, "it is of another bag, as is what follows"))
		return nil
	case wrong != nil:
		x.r.damaged(wrong)
	case indexed && !found.equal(&c.index):
		c.bad = corrupt(info.Pos, OpChunk, "its index data counts other messages")
	}
	if bad := asCorrupt(c.bad); bad != nil && wrong == nil {
		bad.Recovered = true
		x.r.damaged(bad)
	}
	if !indexed || wrong != nil || c.bad != nil {
		info.kind = segmentNoIndex
		x.seg.segment(info, &found)
		return nil
	}
	x.seg.segment(info, &c.index)
	return nil
}

// equal reports whether both have counted the same messages, as far as numbers tell.
func (t *tally) equal(u *tally) bool {
	for id, n := range u.byID {
		if t.byID[id] != n {
			return false
		}
	}
	for id, n := range t.byID {
		if u.byID[id] != n {
			return false
		}
	}
	return true
}

// knows reports whether all connections of counts are known.
func (x *bagScan) knows(counts map[ConnID]uint32) bool {
	for id := range counts {
		if x.table.get(id) == nil {
			return false
		}
	}
	return true
}

// walk counts the messages in chunk data and learns its connections. It returns the
// first thing wrong with it.
func (x *bagScan) walk(data []byte, found *tally) error {
	w := chunkWalk{data: data}
	pos := x.chunk.place.pos
	var wrong error
	for {
		h, tail, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return wrong
		case err != nil:
			err = corrupt(pos, OpChunk, "%v", err)
		case h.op == OpConnection:
			err = x.table.add(h, tail[4:], pos)
			x.foreign = x.foreign || err != nil && x.contradicts(h, tail[4:])
		case h.op == OpMessage:
			found.add(h.conn, 1, h.time, h.time)
		}
		if wrong == nil {
			wrong = err
		}
	}
}
