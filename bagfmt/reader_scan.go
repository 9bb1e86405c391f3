package bagfmt

import (
	"errors"
	"io"

	"github.com/gorosbag/gorosbag/rosbag"
)

// scanBag opens a 2.0 bag without its index section: it reads the top level records once.
// It skips the data of chunks, because the index data behind has the times and counts. It
// unpacks only chunks with unknown connections or without valid index data.
func scanBag(r *Reader) error {
	x := bagScan{r: r, section: r.indexPos, seg: segmentScan{r: r, kind: segmentRecords}}
	r.indexPos, r.dataEnd, r.chunks = 0, r.size, nil
	x.s = newFileStream(r.r, r.size, scanBufferBytes)
	x.s.decrypter = r.decrypter
	if _, err := x.s.version(r.o.FutureVersion); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = x.next(); err != nil {
			if err = x.recordDamage(err); err != nil {
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

// bagScan is the state of scanBag.
type bagScan struct {
	r        *Reader
	s        *stream
	seg      segmentScan
	table    connTable
	load     chunkLoader
	h        recordHeader
	chunk    openChunk
	chunks   int   // chunk records read
	infos    int   // chunk info records read
	searches int   // for the next chunk behind damage
	section  int64 // position of the index section according to the bag header, 0 if that is invalid

	unchunked    bool  // the records that follow are in no chunk: the last one was never completed, or is truncated
	tornReported bool  // the truncation of the file was reported
	skippedAt    int64 // position of a skipped record that may have been a chunk, 0 if none
	resynced     bool  // records were skipped to find a chunk, which may belong to another bag
	otherBag     bool  // the records that follow belong to another bag
}

// openChunk is a chunk whose index data is being read.
type openChunk struct {
	place     chunkPlace
	open      bool
	index     tally
	bad       error // damage of its index data
	uncertain bool  // some of its index data may be missing
	seen      map[rosbag.ConnID]struct{}
}

// recordDamage adds damage to that of the Reader, and returns any other error.
func (x *bagScan) recordDamage(err error) error {
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
		x.chunk.uncertain = true // the file may end before its last index data
		return false, nil
	case err != nil && !h.framed:
		return x.resync(start, err)
	}
	wrong := err
	n, err := x.s.length(start, h.op)
	if err != nil {
		return x.resync(start, err)
	}
	if wrong != nil { // only the header is damaged
		x.markSkipped(start)
		return x.skip(n, start, wrong)
	}
	switch h.op {
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
	if err := x.s.skip(n, start, x.h.op); err != nil {
		if wrong != nil {
			err = wrong
		}
		return x.resync(start, err)
	}
	return true, wrong
}

// resync continues at the next chunk behind the record at start, whose error is err.
func (x *bagScan) resync(start int64, err error) (more bool, _ error) {
	if !isDamage(err) {
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
	if x.searches++; int64(x.searches) > maxDamage+x.r.size/segmentBytes {
		return false, err
	}
	from := &errorKeeper{ReaderAt: x.r.r}
	at, ok := resync(from, start+1, x.r.size)
	switch {
	case from.err != nil: // the unreadable part may have been a chunk
		return false, from.err
	case ok && x.startsBag(at):
		if err != nil {
			x.r.damaged(err)
		}
		return false, corrupt(at-firstChunkPos, 0, "another bag starts here")
	case !ok:
		if bad := asCorrupt(err); bad != nil && x.section > 0 && start >= x.section {
			bad.Recovered = true // behind the start of the index section are no messages
		}
		return false, err
	}
	x.skippedAt, x.resynced = 0, true // found
	x.s.seek(at)
	return true, err
}

// startChunk handles a chunk record and skips its data.
func (x *bagScan) startChunk(n, start int64) (more bool, err error) {
	if err := x.endChunk(); err != nil || x.otherBag {
		return false, err
	}
	h := &x.h
	x.seg.close()
	x.chunks++
	x.unchunked, x.tornReported, x.skippedAt = false, false, 0
	p := chunkPlace{
		pos: start, data: x.s.off, stored: n, size: int64(h.size), compression: rosbag.Compression(h.compression),
		crc: h.crc, checked: h.has&hasCRC32C != 0, op: rosbag.OpChunk, decrypter: x.r.decrypter,
	}
	if n == 0 && p.size == 0 {
		// Stock's recorder starts a chunk like this and completes the header when the
		// chunk is full. If it was killed before, the records follow outside of chunks.
		x.unchunked = true
		return true, nil
	}
	if left := x.r.size - p.data; n > left {
		err := torn(start, rosbag.OpChunk, "data", left, n)
		switch {
		case p.compression != rosbag.CompressionNone:
			return x.resync(start, err)
		case p.decrypter != nil:
			return x.tornSealed(&p, left, err)
		}
		// Its whole messages are intact: records were appended in order. If the length is
		// wrong instead, its index data and other chunks follow.
		x.unchunked, x.tornReported = true, true
		return true, err
	}
	if _, err := rosbag.ParseCompression(string(p.compression)); err != nil {
		return x.skip(n, start, corrupt(start, rosbag.OpChunk, "unknown compression %q", p.compression))
	}
	if err := p.checkSize(x.r.o.MaxChunkBytes); err != nil {
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
			err = corrupt(start, rosbag.OpIndexData, "index of a chunk that was passed over at %d", lost)
		}
		return true, err
	}
	if h.ver != indexVersion && c.bad == nil {
		c.bad = corrupt(start, rosbag.OpIndexData, "version %d, want %d", h.ver, indexVersion)
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
		c.bad = corrupt(start, rosbag.OpIndexData, "connection %d again", h.conn)
	}
	if c.seen == nil {
		c.seen = make(map[rosbag.ConnID]struct{})
	}
	c.seen[h.conn] = struct{}{}
	c.index.entries(h.conn, x.s.data)
	return true, nil
}

// skipIndex skips index data that belongs to no chunk.
func (x *bagScan) skipIndex(n, start int64) error {
	x.seg.close()
	_, err := x.s.indexEntries(&x.h, n, start, false)
	return err
}

// entries counts index entries.
func (t *tally) entries(id rosbag.ConnID, b []byte) {
	var first rosbag.Time
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
	if err := x.endChunk(); err != nil || x.otherBag {
		return false, err
	}
	id, t := x.h.conn, x.h.time
	if n > maxMessageBytes {
		return x.skip(n, start, &rosbag.LimitError{Offset: start, Op: rosbag.OpMessage, What: "message", Got: n, Limit: maxMessageBytes})
	}
	if err := x.s.skip(n, start, rosbag.OpMessage); err != nil {
		return x.resync(start, err)
	}
	x.seg.message(id, t, start, x.s.off)
	return true, nil
}

// connection adds a connection outside chunks.
func (x *bagScan) connection(n, start int64) (more bool, err error) {
	if n > maxConnectionBytes {
		return x.skip(n, start, &rosbag.LimitError{Offset: start, Op: rosbag.OpConnection, What: "connection header", Got: n, Limit: maxConnectionBytes})
	}
	h := x.h
	data, err := x.s.grab(n, start, rosbag.OpConnection)
	if err != nil {
		return x.resync(start, err)
	}
	if data, err = x.r.decrypter.openConnection(&h, data, start); err != nil {
		return true, err
	}
	if err := x.table.add(&h, data, start); err != nil {
		foreign := x.contradicts(&h, data)
		if foreign {
			x.r.damaged(err)
			err = x.endChunk() // of this bag
		}
		return !foreign, err
	}
	if x.unchunked {
		x.seg.record(start, x.s.off)
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
		c.index.reset()
		if len(c.seen) > maxCleared {
			c.seen = nil
		}
		clear(c.seen)
	}()
	indexed := len(c.seen) > 0 && c.bad == nil
	info := ChunkInfo{Pos: c.place.pos}
	if indexed && !c.uncertain && x.knows(c.index.byID) {
		x.seg.segment(info, &c.index)
		return nil
	}
	data, err := x.load.read(x.r, &c.place)
	switch {
	case err != nil && indexed && isDamage(err):
		x.seg.segment(info, &c.index) // reading the chunk returns the error
		return nil
	case err != nil:
		return x.recordDamage(err)
	}
	var found tally
	wrong := x.walk(data, &found)
	x.load.memory = data // no slice of it is kept
	switch {
	case wrong != nil && !isDamage(wrong): // interrupted
		return wrong
	case x.otherBag:
		x.r.damaged(wrong)
		x.r.damaged(corrupt(info.Pos, rosbag.OpChunk, "it is of another bag, as is what follows"))
		return nil
	case c.place.torn: // that was told
		info.kind = segmentTorn
		x.seg.segment(info, &found)
		return nil
	case wrong != nil:
		x.r.damaged(wrong)
	case indexed && !found.equal(&c.index):
		c.bad = corrupt(info.Pos, rosbag.OpChunk, "its index data counts other messages")
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
func (x *bagScan) knows(counts map[rosbag.ConnID]uint32) bool {
	for id := range counts {
		if x.table.get(id) == nil {
			return false
		}
	}
	return true
}

// walk counts the messages in chunk data and adds its connections. It returns the first
// error.
func (x *bagScan) walk(data []byte, found *tally) error {
	w := chunkWalk{data: data}
	pause := interruptionPause{f: x.r.o.Interrupted}
	pos := x.chunk.place.pos
	var wrong error
	for {
		if err := pause.reached(w.at); err != nil {
			return err
		}
		h, tail, err := w.next()
		switch {
		case errors.Is(err, io.EOF):
			return wrong
		case err != nil:
			err = corrupt(pos, rosbag.OpChunk, "%v", err)
		case h.op == rosbag.OpConnection:
			err = x.table.add(h, tail[4:], pos)
			x.otherBag = x.otherBag || err != nil && x.contradicts(h, tail[4:])
		case h.op == rosbag.OpMessage:
			found.add(h.conn, 1, h.time, h.time)
		}
		if wrong == nil {
			wrong = err
		}
	}
}
