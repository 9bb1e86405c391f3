package recovery

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/codec"
	"github.com/gorosbag/gorosbag/bagfmt/internal/search"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

const (
	// The bytes searched for the ends of chunks are at most this multiple of the file size.
	maxEndSearchFactor = 4
	maxEndCandidates   = 4 // index data records tried as the end of a chunk with a wrong length
)

// chunkData reads the data of the chunk record at start, whose header is h, also if its length is wrong,
// and seeks to its end. It passes the chunk to the stage.
func (w *recoverWalker) chunkData(h *wire.RecordHeader, start int64) error {
	p := h.ChunkPlace(start)
	n, err := w.in.s.Length(start, rosbag.OpChunk)
	if err != nil {
		return w.lost(start, err)
	}
	p.Stored, p.Data = n, w.in.s.Off
	if n == 0 && p.Size == 0 {
		return w.placeholder(&p)
	}
	end := p.Data + n
	if end > w.in.size {
		return w.unbounded(&p, wire.Torn(start, rosbag.OpChunk, "data", w.in.size-p.Data, n))
	}
	if err := wire.CheckChunkSize(start, p.Compression, p.Stored, p.Size, w.decoder.limit); err != nil {
		return w.reject(&p, err)
	}
	if c, ok := w.decoder.takeAhead(&p); ok {
		w.in.seek(end)
		w.hold(c)
		return nil
	}
	c, err := w.decoder.read(w.in.s, &p)
	if err != nil {
		return w.reject(&p, err)
	}
	whole := n > 0 && w.in.chunkCanEndHere()
	err = w.decoder.decode(&c)
	switch {
	case err == nil && (c.certain || whole):
		w.hold(c)
		return nil
	case whole && !w.in.containsChunk(&p, end):
		// else the length is wrong, and the record at end a coincidence
		return w.reject(&p, err)
	case err == nil:
		err = wire.Corrupt(start, rosbag.OpChunk, "no record follows its data of %d bytes", n)
	}
	return w.unbounded(&c.place, err)
}

// hold passes a complete chunk to the stage.
func (w *recoverWalker) hold(c decodedChunk) {
	w.stage.hold(stagedChunk{decodedChunk: c, bag: w.bag, end: c.place.Data + c.place.Stored})
}

// reject passes a lost chunk to the stage and seeks to its end.
func (w *recoverWalker) reject(p *wire.ChunkPlace, err error) error {
	end := p.Data + p.Stored
	w.stage.hold(stagedChunk{decodedChunk: decodedChunk{place: *p}, bag: w.bag, end: end, err: err})
	w.in.seek(end)
	if !w.in.recordAt(end) {
		return w.stage.release()
	}
	return nil
}

// placeholder handles a chunk whose length was never written: stock's recorder was killed
// while the chunk was open.
func (w *recoverWalker) placeholder(p *wire.ChunkPlace) error {
	w.report.repair(wire.Corrupt(p.Pos, rosbag.OpChunk, "was not completed"))
	if p.Compression == rosbag.CompressionNone || w.in.recordAt(p.Data) {
		w.bag.unterminated = true
		return nil
	}
	return w.unbounded(p, wire.Corrupt(p.Pos, rosbag.OpChunk, "was not completed"))
}

// unbounded handles a chunk whose length is wrong or unknown, as reason says.
func (w *recoverWalker) unbounded(p *wire.ChunkPlace, reason error) error {
	if _, err := rosbag.ParseCompression(string(p.Compression)); err != nil {
		var magic [4]byte
		n, _ := w.in.r.ReadAt(magic[:], p.Data) // unreadable bytes are not lz4
		p.Compression = codec.Guess(magic[:n])
	}
	if p.Compression == rosbag.CompressionNone {
		return w.unboundedNone(p, reason)
	}
	limit := w.decoder.limit
	most := max(min(p.Size, limit), p.Stored)
	if p.Size == 0 {
		most = limit
	}
	most = min(most+most/32+wire.StreamBufferBytes, w.in.size-p.Data)
	if w.endBudget -= most; w.endBudget < 0 {
		return w.lost(p.Pos, reason)
	}
	for end, tries := p.Data, 0; tries < maxEndCandidates; tries++ {
		var ok bool
		if end, ok = search.IndexData(w.in.r, end, p.Data+most); !ok {
			break
		}
		q := *p
		q.Stored = end - p.Data
		w.in.seek(p.Data)
		if c, err := w.decoder.read(w.in.s, &q); err == nil && w.decoder.decode(&c) == nil {
			w.report.repair(reason)
			w.hold(c)
			return nil
		}
		end++
	}
	c, err := w.decoder.decodeTorn(w.in.section(p.Data), p)
	if err != nil || len(c.data) == 0 {
		return w.lost(p.Pos, reason) // damaged, not only truncated: no part of it is certain
	}
	w.stage.hold(stagedChunk{decodedChunk: c, bag: w.bag, end: w.in.size, err: reason})
	w.in.seek(w.in.size)
	return nil
}

// unboundedNone finds the end of the records of an uncompressed chunk. If its checksum
// matches, it has none, or the file ends first, the walker reads the records one by one.
func (w *recoverWalker) unboundedNone(p *wire.ChunkPlace, reason error) error {
	end, torn, messages := w.in.extent(p)
	expected, known := w.bag.counts.take(p.Pos)
	if end == p.Data { // not even one record
		w.report.Dropped += expected
		return w.lost(p.Pos, reason)
	}
	if p.Checked && !torn && !w.in.checksumMatches(p, end) {
		if !known {
			expected = messages
		}
		w.report.skip(p.Pos, end-p.Pos, expected, reason)
		w.bag.unterminated, w.bag.counts.kept = true, expected // index data that follows counts them again
		w.in.seek(end)
		return nil
	}
	w.report.repair(reason)
	w.report.Chunks++
	w.bag.unterminated, w.bag.counts.open = true, expected
	w.in.seek(p.Data)
	return nil
}
