package recovery

import (
	"bytes"

	"github.com/gorosbag/gorosbag/bagfmt/internal/search"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/bagfmt/recovery/internal/repeats"
	"github.com/gorosbag/gorosbag/rosbag"
)

// recoverWalker reads the top level records of the input in file order, and searches for
// the next one after damage.
type recoverWalker struct {
	in       *recoverInput
	out      *recoverOutput
	report   *Report
	progress *progressMeter
	decoder  *chunkDecoder
	stage    *chunkStage
	bag      *inputBag

	endBudget int64 // bytes that may still be searched for the ends of chunks
}

func newRecoverWalker(in *recoverInput, out *recoverOutput, decoder *chunkDecoder,
	progress *progressMeter,
) *recoverWalker {
	stage := &chunkStage{
		out: out, report: out.report,
		repeats: repeats.New(in.r),
	}
	return &recoverWalker{
		in: in, out: out, report: out.report, progress: progress,
		decoder: decoder, stage: stage, bag: newInputBag(out), endBudget: maxEndSearchFactor * in.size,
	}
}

// walk reads the whole file.
func (w *recoverWalker) walk() error {
	for w.in.s.Off < w.in.size {
		if err := w.progress.reached(w.in.s.Off); err != nil {
			return err
		}
		if w.versionLine() {
			continue
		}
		if err := w.record(); err != nil {
			return err
		}
	}
	if w.progress.err != nil { // the last chunk is not lost
		return w.progress.err
	}
	if err := w.stage.release(); err != nil {
		return err
	}
	if err := w.retryDeferred(); err != nil {
		return err
	}
	w.bag.counts.close()
	return nil
}

// versionLine skips the version line at the start of a bag. It reports false if there is
// none.
func (w *recoverWalker) versionLine() bool {
	b, _ := w.in.s.R.Peek(wire.MaxVersionLineBytes) // fewer at the end of the file
	start := w.in.s.Off
	end := start + int64(bytes.IndexByte(b, '\n')) + 1
	if end == start || !bytes.HasPrefix(b, []byte(wire.VersionPrefix)) || !w.in.bagHeaderAt(end) {
		return false
	}
	if start > 0 {
		w.report.repair(wire.Corrupt(start, 0, "another bag starts here"))
		w.stage.repeats.Possible = true
	}
	w.in.seek(end)
	return true
}

// beginBag ends the current bag and starts another one.
func (w *recoverWalker) beginBag() {
	w.bag.counts.close()
	w.bag = newInputBag(w.out)
}

// record handles the next top level record.
func (w *recoverWalker) record() error {
	start := w.in.s.Off
	var h wire.RecordHeader
	err := w.in.s.Next(&h)
	if err == nil && h.Op == rosbag.OpIndexData && h.Has&wire.HasCompression == 0 {
		return w.indexData(&h, start)
	}
	// The index data of the chunk before ends here.
	if failed := w.stage.release(); failed != nil {
		return failed
	}
	switch {
	case err != nil && !h.Framed:
		return w.lost(start, err)
	case h.Has&(wire.HasCompression|wire.HasCRC32C) != 0 || h.Op == rosbag.OpChunk:
		return w.chunk(&h, start, err)
	case err != nil:
		return w.damagedRecord(&h, start, err)
	}
	switch h.Op {
	case rosbag.OpMessage:
		return w.message(&h, start)
	case rosbag.OpConnection:
		w.bag.inIndex = w.bag.inIndex || !w.bag.unterminated
		return w.connection(&h, start)
	case rosbag.OpBagHeader:
		w.beginBag()
		w.bag.readIndex(w.in, start-int64(len(wire.VersionLine)), &h)
	case rosbag.OpChunkInfo:
		w.bag.chunkInfos++
		w.bag.inIndex = true
	case rosbag.OpChunk, rosbag.OpIndexData, rosbag.OpMessageDefinition: // handled above, or of no interest
	}
	return w.skipData(&h, start)
}

// skipData skips the data of a record.
func (w *recoverWalker) skipData(h *wire.RecordHeader, start int64) error {
	n, err := w.in.s.Length(start, h.Op)
	if err != nil {
		return w.lost(start, err)
	}
	if left := w.in.size - w.in.s.Off; n > left {
		return w.lost(start, wire.Torn(start, h.Op, "data", left, n))
	}
	if n > wire.StreamBufferBytes {
		w.in.seek(w.in.s.Off + n)
		return nil
	}
	if err := w.in.s.Skip(n, start, h.Op); err != nil {
		return w.lost(start, err)
	}
	return nil
}

// chunk handles a chunk record. headerErr is the damage of its header, if any.
func (w *recoverWalker) chunk(h *wire.RecordHeader, start int64, headerErr error) error {
	if _, known := w.bag.counts.find(start); w.bag.chunkInfos > 0 && !known { // the bag before is complete
		w.beginBag()
		w.stage.repeats.Possible = true
	}
	w.bag.beginChunk()
	w.bag.checksums = w.bag.checksums || h.Has&wire.HasCRC32C != 0
	if headerErr == nil && h.Op != rosbag.OpChunk {
		headerErr = wire.Corrupt(start, h.Op, "chunk with the op of another record")
	}
	if headerErr != nil {
		w.report.repair(headerErr)
	}
	return w.chunkData(h, start)
}

// indexData handles an index data record.
func (w *recoverWalker) indexData(h *wire.RecordHeader, start int64) error {
	count := uint64(h.Count)
	next, err := w.in.s.IndexData(h, start, w.stage.needsOffsets())
	switch {
	case err != nil && !next:
		return w.lostIndexData(start, err)
	case err != nil:
		w.report.repair(err)
	case !w.stage.addIndexData(count, w.in.s.Data):
		w.bag.counts.indexed += count
	}
	return nil
}

// lostIndexData continues after index data that cannot be read. No message is lost with
// it, except those of chunks after it that are not found.
func (w *recoverWalker) lostIndexData(start int64, err error) error {
	if failed := w.stage.release(); failed != nil {
		return failed
	}
	next, ok := w.in.nextChunk(start)
	if !ok && wire.IsEnd(err) {
		w.report.repair(err)
		w.in.seek(w.in.size)
		return nil
	}
	w.report.skip(start, next-start, 0, err)
	w.in.seek(next)
	w.stage.repeats.Possible = true
	return nil
}

// message keeps a message outside chunks: of a chunk that was never completed, or that has
// a wrong length.
func (w *recoverWalker) message(h *wire.RecordHeader, start int64) error {
	n, err := w.in.s.Length(start, rosbag.OpMessage)
	if err != nil {
		return w.lost(start, err)
	}
	if left := w.in.size - w.in.s.Off; n > left {
		return w.tornRecord(start, rosbag.OpMessage, left, n)
	}
	if err := wire.CheckMessageBytes(start, n); err != nil {
		return w.lost(start, err)
	}
	data, err := w.in.s.Grab(n, start, rosbag.OpMessage)
	if err != nil {
		return w.lost(start, err)
	}
	c := w.bag.conns.get(h.Conn)
	if c == nil {
		w.report.skip(start, w.in.s.Off-start, 1,
			wire.Corrupt(start, rosbag.OpMessage, "message of unknown connection %d", h.Conn))
		return nil
	}
	w.bag.conns.message(h.Conn)
	w.bag.counts.kept++
	return w.out.writeMessage(c, h.Time, data, start)
}

// connection handles a connection record outside chunks.
func (w *recoverWalker) connection(h *wire.RecordHeader, start int64) error {
	n, err := w.in.s.Length(start, rosbag.OpConnection)
	if err != nil {
		return w.lost(start, err)
	}
	if left := w.in.size - w.in.s.Off; n > left {
		return w.tornRecord(start, rosbag.OpConnection, left, n)
	}
	if err := wire.CheckConnectionBytes(start, n); err != nil {
		w.report.repair(err)
		w.in.seek(w.in.s.Off + n)
		return nil
	}
	data, err := w.in.s.Grab(n, start, rosbag.OpConnection)
	if err != nil {
		return w.lost(start, err)
	}
	if w.bag.inIndex {
		w.bag.conns.add(h, data, start)
	} else {
		w.bag.conns.addAlone(h, data, start)
	}
	return nil
}

// tornRecord ends the walk at a record that is truncated by the end of the file. It does
// not search it for chunks: those would be part of the message.
func (w *recoverWalker) tornRecord(start int64, op rosbag.Op, left, want int64) error {
	w.report.addSkipped(SkippedRange{
		Offset: start, Bytes: w.in.size - start, Err: wire.Torn(start, op, "data", left, want),
		Trailing: op == rosbag.OpConnection && w.bag.inIndex,
	})
	w.in.seek(w.in.size)
	return nil
}

// damagedRecord skips a record whose length is known but whose header is damaged, as err
// says.
func (w *recoverWalker) damagedRecord(h *wire.RecordHeader, start int64, err error) error {
	n, failed := w.in.s.Length(start, h.Op)
	end := w.in.s.Off + n
	if failed != nil || !w.in.recordAt(end) {
		return w.lost(start, err)
	}
	if h.Op == rosbag.OpMessage || h.Op == rosbag.OpConnection {
		w.report.skip(start, end-start, 0, err)
	} else {
		w.report.repair(err)
	}
	w.in.seek(end)
	return nil
}

// lost continues after the record at start, whose end is unknown: at the next record of an
// uncompressed chunk if there is one, else at the next chunk.
func (w *recoverWalker) lost(start int64, err error) error {
	if w.progress.err != nil { // a chunk whose unpacking was interrupted is not lost
		return w.progress.err
	}
	if failed := w.stage.release(); failed != nil {
		return failed
	}
	next, ok := w.in.nextChunk(start)
	if at, found := w.nextRecord(start, next, ok); found {
		w.report.skip(start, at-start, 0, err)
		w.in.seek(at)
		return nil
	}
	w.in.seek(next)
	w.stage.repeats.Possible = true
	if at := int64(len(wire.VersionLine)); start == at && next == at+wire.BagHeaderBytes+wire.MinRecordBytes {
		w.report.repair(err) // the bag header: recovery of the chunks does not need it
		return nil
	}
	// Of the first record of the index section the file may have too few bytes to tell what it is.
	cut := start == w.bag.index && wire.IsEnd(err)
	position := w.report.addSkipped(SkippedRange{
		Offset: start, Bytes: next - start, Err: err,
		Trailing: !ok && (w.bag.inIndex || cut),
	})
	w.stage.retractable = 0
	if ok && w.bag.inIndex && w.report.More == 0 {
		w.stage.retractable = position
	}
	return nil
}

// nextRecord searches the range from start to end for the next record of an uncompressed
// chunk. At end is the next chunk, if isChunk, or the end of the file. In a bag with
// checksums it does not search: what it found could not be checked.
func (w *recoverWalker) nextRecord(start, end int64, isChunk bool) (next int64, ok bool) {
	if w.bag.inIndex || w.bag.checksums || isChunk && w.in.hasChecksumAt(end) {
		return 0, false
	}
	next, ok = search.Message(w.in.r, start+1, end, w.in.size,
		func(id rosbag.ConnID) bool { return w.bag.conns.get(id) != nil })
	if !ok {
		return 0, false
	}
	if expected, known := w.bag.counts.take(start); known { // the header of a chunk was lost
		w.bag.beginChunk()
		w.bag.counts.open = expected
	}
	w.bag.unterminated = true
	return next, true
}

// retryDeferred reads the deferred chunks again: by now more connections are known.
func (w *recoverWalker) retryDeferred() error {
	for _, d := range w.stage.deferred {
		p := d.place
		w.in.seek(p.Data)
		c, err := w.decoder.read(w.in.s, &p)
		if err != nil {
			w.report.skip(p.Pos, p.Data+p.Stored-p.Pos, d.indexed, err)
			continue
		}
		err = w.decoder.decode(&c)
		if w.progress.err != nil { // the chunk is not lost
			return w.progress.err
		}
		w.stage.hold(stagedChunk{
			decodedChunk: c, bag: d.bag, end: p.Data + p.Stored, err: err,
			indexed: d.indexed, offsets: d.offsets, retried: true,
		})
		if err := w.stage.release(); err != nil {
			return err
		}
	}
	return nil
}
