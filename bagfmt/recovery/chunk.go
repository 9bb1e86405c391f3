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

// chunkFinder finds the data of chunk records, also of those with a wrong length, and
// passes the chunks to the stage.
type chunkFinder struct {
	in      *recoverInput
	report  *Report
	decoder *chunkDecoder
	stage   *chunkStage
	budget  int64 // bytes that may still be searched for the ends of chunks
}

func newChunkFinder(in *recoverInput, decoder *chunkDecoder, stage *chunkStage) *chunkFinder {
	return &chunkFinder{in: in, report: decoder.report, decoder: decoder, stage: stage, budget: maxEndSearchFactor * in.size}
}

// lostError means that the end of the record at start cannot be determined.
type lostError struct {
	start int64
	err   error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// find reads the chunk record at start, whose header is h, and seeks to its end. It returns
// a lostError if there is no known end.
func (f *chunkFinder) find(bag *inputBag, h *wire.RecordHeader, start int64) error {
	p := h.ChunkPlace(start)
	n, err := f.in.s.Length(start, rosbag.OpChunk)
	if err != nil {
		return &lostError{start, err}
	}
	p.Stored, p.Data = n, f.in.s.Off
	if n == 0 && p.Size == 0 {
		return f.placeholder(bag, &p)
	}
	end := p.Data + n
	if end > f.in.size {
		return f.unbounded(bag, &p, wire.Torn(start, rosbag.OpChunk, "data", f.in.size-p.Data, n))
	}
	if err := wire.CheckChunkSize(start, p.Compression, p.Stored, p.Size, f.decoder.limit); err != nil {
		return f.reject(bag, &p, err)
	}
	if c, ok := f.decoder.takeAhead(&p); ok {
		f.in.seek(end)
		f.hold(bag, c)
		return nil
	}
	c, err := f.decoder.read(f.in.s, &p)
	if err != nil {
		return f.reject(bag, &p, err)
	}
	whole := n > 0 && f.in.chunkCanEndHere()
	err = f.decoder.decode(&c)
	switch {
	case err == nil && (c.certain || whole):
		f.hold(bag, c)
		return nil
	case whole && !f.in.containsChunk(&p, end): // else the length is wrong, and the record at end a coincidence
		return f.reject(bag, &p, err)
	case err == nil:
		err = wire.Corrupt(start, rosbag.OpChunk, "no record follows its data of %d bytes", n)
	}
	return f.unbounded(bag, &c.place, err)
}

// hold passes a complete chunk to the stage.
func (f *chunkFinder) hold(bag *inputBag, c decodedChunk) {
	f.stage.hold(stagedChunk{decodedChunk: c, bag: bag, end: c.place.Data + c.place.Stored})
}

// reject passes a lost chunk to the stage and seeks to its end.
func (f *chunkFinder) reject(bag *inputBag, p *wire.ChunkPlace, err error) error {
	end := p.Data + p.Stored
	f.stage.hold(stagedChunk{decodedChunk: decodedChunk{place: *p}, bag: bag, end: end, err: err})
	f.in.seek(end)
	if !f.in.recordAt(end) {
		return f.stage.release()
	}
	return nil
}

// placeholder handles a chunk whose length was never written: stock's recorder was killed
// while the chunk was open.
func (f *chunkFinder) placeholder(bag *inputBag, p *wire.ChunkPlace) error {
	f.report.repair(wire.Corrupt(p.Pos, rosbag.OpChunk, "was not completed"))
	if p.Compression == rosbag.CompressionNone || f.in.recordAt(p.Data) {
		bag.unterminated = true
		return nil
	}
	return f.unbounded(bag, p, wire.Corrupt(p.Pos, rosbag.OpChunk, "was not completed"))
}

// unbounded handles a chunk whose length is wrong or unknown, as reason says.
func (f *chunkFinder) unbounded(bag *inputBag, p *wire.ChunkPlace, reason error) error {
	if _, err := rosbag.ParseCompression(string(p.Compression)); err != nil {
		var magic [4]byte
		n, _ := f.in.r.ReadAt(magic[:], p.Data) // unreadable bytes are not lz4
		p.Compression = codec.Guess(magic[:n])
	}
	if p.Compression == rosbag.CompressionNone {
		return f.unboundedNone(bag, p, reason)
	}
	limit := f.decoder.limit
	most := max(min(p.Size, limit), p.Stored)
	if p.Size == 0 {
		most = limit
	}
	most = min(most+most/32+wire.StreamBufferBytes, f.in.size-p.Data)
	if f.budget -= most; f.budget < 0 {
		return &lostError{p.Pos, reason}
	}
	for end, tries := p.Data, 0; tries < maxEndCandidates; tries++ {
		var ok bool
		if end, ok = search.IndexData(f.in.r, end, p.Data+most); !ok {
			break
		}
		q := *p
		q.Stored = end - p.Data
		f.in.seek(p.Data)
		if c, err := f.decoder.read(f.in.s, &q); err == nil && f.decoder.decode(&c) == nil {
			f.report.repair(reason)
			f.hold(bag, c)
			return nil
		}
		end++
	}
	c, err := f.decoder.decodeTorn(f.in.section(p.Data), p)
	if err != nil || len(c.data) == 0 {
		return &lostError{p.Pos, reason} // damaged, not only truncated: no part of it is certain
	}
	f.stage.hold(stagedChunk{decodedChunk: c, bag: bag, end: f.in.size, err: reason})
	f.in.seek(f.in.size)
	return nil
}

// unboundedNone finds the end of the records of an uncompressed chunk. If its checksum
// matches, it has none, or the file ends first, the walker reads the records one by one.
func (f *chunkFinder) unboundedNone(bag *inputBag, p *wire.ChunkPlace, reason error) error {
	end, torn, messages := f.in.extent(p)
	expected, known := bag.counts.take(p.Pos)
	if end == p.Data { // not even one record
		f.report.Dropped += expected
		return &lostError{p.Pos, reason}
	}
	if p.Checked && !torn && !f.in.checksumMatches(p, end) {
		if !known {
			expected = messages
		}
		f.report.skip(p.Pos, end-p.Pos, expected, reason)
		bag.unterminated, bag.counts.kept = true, expected // index data that follows counts them again
		f.in.seek(end)
		return nil
	}
	f.report.repair(reason)
	f.report.Chunks++
	bag.unterminated, bag.counts.open = true, expected
	f.in.seek(p.Data)
	return nil
}
