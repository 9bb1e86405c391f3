package bagfmt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pierrec/lz4/v4"
)

// RecoverOptions limits what Recover does. The zero value is ready to use.
type RecoverOptions struct {
	MaxChunkBytes int64 // largest chunk, stored or unpacked; zero means 2 GiB - 1, which is the most
	// Progress, if not nil, is told every few MiB how far the input was read. An error
	// of it ends Recover.
	Progress func(offset int64) error
	// Workers compressed chunks are read ahead and unpacked on as many goroutines, up to
	// 16, of which none is left when Recover returns; zero does everything within it. The
	// result is the same. The input has to allow reading at several places at once.
	Workers int
}

// maxReports bounds each list of a Recovery.
const maxReports = 1000

// Recovery says what Recover kept, what it could not keep, and where.
type Recovery struct {
	Version     string // of the input, as its first line says
	Messages    uint64 // kept
	Connections int    // of them
	Chunks      int    // of the input, read wholly or in part
	Copied      int    // of these, copied as they were stored
	Repeated    int    // left out: the same chunk was there before, as in a tail written twice
	// Dropped counts the messages that are known to be lost: what the indexes promised
	// and the chunks did not give, and what belongs to no known connection.
	Dropped uint64
	// Skipped lists the ranges of the input that were not kept, Repairs the
	// damage that cost no message. Errors in them are typed as those of a Reader. Of
	// each, the first 1000 are kept; More counts the others.
	Skipped []SkippedRange
	Repairs []error
	More    int

	SkippedBytes int64 // all of them, also those of ranges beyond the list
	losses       int   // skipped ranges that may have held messages
}

// SkippedRange is a part of a bag that was not kept.
type SkippedRange struct {
	Offset, Bytes int64  // 0 bytes: something is missing in the record at Offset
	Dropped       uint64 // messages known to be lost with it; 0 if that cannot be told
	Trailing      bool   // in or behind the index section of the last bag: no message is lost with it
	Err           error
}

// Lossy reports whether messages were lost, or may have been.
func (r *Recovery) Lossy() bool { return r.Dropped > 0 || r.losses > 0 }

// Recover copies all that is good in the bag of size bytes into w, which it does not
// close. The bag may be of any version, and closed, unindexed, torn or damaged; it is
// only read. Good chunks are copied as they are stored, wherever they are. Of a chunk
// that is damaged or was never completed the whole messages are kept, unless a
// checksum of the chunk says that they may be wrong; they are packed again as w packs
// them. So is a chunk in which a connection has to get another id, because its id
// means two things: in bags that were written one behind the other.
//
//   - A chunk whose crc32c field, lz4 checksum or bz2 checksum is right is right.
//   - A chunk without a checksum, as stock writes without compression, gives every
//     message whose record can be read.
//   - A chunk that the end of the file cuts gives the messages before the cut: they
//     cannot be checked, but a cut changes no byte in front of it. That goes for
//     whole lz4 blocks, too, which have no checksum of their own; those of bz2 have.
//   - A chunk of which a checksum is wrong gives nothing.
//
// The error says that the input is no bag or the writer failed; everything else is
// in the Recovery. Memory is bounded by a chunk, as stored and unpacked, or the
// longest message, and what the Writer needs; Workers take 64 MiB more at most.
func Recover(r io.ReaderAt, size int64, w *Writer, o RecoverOptions) (Recovery, error) {
	limit, err := chunkLimit(o.MaxChunkBytes)
	if err != nil {
		return Recovery{}, err
	}
	o.MaxChunkBytes = limit
	v := &recovery{
		r: r, size: size, w: w, o: o,
		s:       newStream(io.NewSectionReader(r, 0, size), 0, streamBufferBytes),
		budget:  extentShare * size,
		claimed: make(map[ConnID]connDigest),
		same:    make(map[connDigest]*Connection),
		present: make(map[ConnID]struct{}),
		kept:    make(map[ConnID]struct{}),
		seen:    make(map[chunkKey]int64),
	}
	if o.Workers < 0 || o.Workers > maxWorkers {
		return Recovery{}, fmt.Errorf("bagfmt: option Workers is %d, want 0 to %d", o.Workers, maxWorkers)
	}
	if o.Workers > 0 {
		v.ahead = newRecoverAhead(r, size, o.Workers)
		defer v.ahead.close()
	}
	v.space = v.newSpace()
	scanner, err := v.identify()
	switch {
	case err != nil:
		return v.report, err
	case scanner != nil:
		err = v.convert(scanner)
	default:
		err = v.walk()
	}
	v.report.Connections = len(v.kept)
	return v.report, err
}

// recovery is the state of Recover.
type recovery struct {
	r        io.ReaderAt
	size     int64
	w        *Writer
	o        RecoverOptions
	after    search
	report   Recovery
	s        *stream
	space    *connSpace
	told     int64         // offset of the last call of Progress
	budget   int64         // bytes that may be looked at to find where chunks end
	ahead    *recoverAhead // nil without Workers
	plain    []byte        // of unpackAll and unpack
	unpack   decompressor
	failures int // of it
	lz4      *lz4.Reader

	// Connections of the result.
	claimed map[ConnID]connDigest
	same    map[connDigest]*Connection
	present map[ConnID]struct{} // their records have been written
	kept    map[ConnID]struct{} // have messages

	held  heldChunk // read, and waits for its index data
	buf   []byte    // of held: headroom, then its data as stored
	build chunkIndex
	late  []lateChunk
	seen  map[chunkKey]int64 // where the data is of chunks written
	doubt int                // number of the last skipped range, if nothing is lost with it when a repeat follows
	seam  bool               // the walk was lost or passed the end of a bag: repeats may follow
}

// writeError marks errors of the Writer, after which nothing can go on.
type writeError struct{ error }

func (f writeError) Unwrap() error { return f.error }

// identify finds out what kind of file it is. For an old version it returns its
// Scanner.
func (v *recovery) identify() (*Scanner, error) {
	version, _, err := v.s.preamble(true)
	v.report.Version = version
	if errors.Is(err, ErrEncrypted) {
		return nil, err
	}
	v.seek(0)
	switch {
	case err == nil:
		return nil, nil //nolint:nilnil // no Scanner is needed
	case strings.HasPrefix(version, "2.") && errors.Is(err, ErrCorrupt):
		v.seek(int64(len(versionLine))) // the bag header is damaged
		return nil, nil                 //nolint:nilnil // as above
	}
	if v.bagHeaderAt(int64(len(versionLine))) {
		v.repair(corrupt(0, 0, "version line is damaged"))
		v.report.Version = "2.0"
		v.seek(int64(len(versionLine)))
		return nil, nil //nolint:nilnil // as above
	}
	s, scanErr := NewScanner(io.NewSectionReader(v.r, 0, v.size), ScannerOptions{MaxChunkBytes: v.o.MaxChunkBytes})
	if scanErr == nil && s.Version() != "0" { // what is not known is taken for version 0
		v.report.Version = s.Version()
		return s, nil
	}
	if errors.Is(scanErr, ErrNotBag) || errors.Is(scanErr, ErrCorrupt) || scanErr == nil {
		if at, ok := resync(v.r, 0, v.size); ok {
			if at > 0 {
				v.skip(0, at, corrupt(0, 0, "no version line"))
			}
			v.report.Version = "2.0"
			v.seek(at)
			return nil, nil //nolint:nilnil // as above
		}
	}
	if scanErr == nil {
		v.report.Version = s.Version()
	}
	return s, scanErr
}

// bagHeaderAt reports whether the header record of a bag of version 2.0 is at off.
func (v *recovery) bagHeaderAt(off int64) bool {
	if off >= v.size {
		return false
	}
	var buf [firstHeadBytes]byte
	n, _ := v.r.ReadAt(buf[:min(firstHeadBytes, v.size-off)], off) // as much as there is
	if n < 4 {
		return false
	}
	length := binary.LittleEndian.Uint32(buf[:])
	var h recordHeader
	return int64(length) <= int64(n-4) && h.parse(buf[4:4+length]) == nil && h.op == OpBagHeader
}

// seek continues the walk at off.
func (v *recovery) seek(off int64) {
	if off == v.s.off && v.s.r.Buffered() > 0 {
		return
	}
	v.s.reset(io.NewSectionReader(v.r, off, v.size-off), off)
}

// walk goes over the top level records of the file.
func (v *recovery) walk() error {
	for v.s.off < v.size {
		if err := v.progress(); err != nil {
			return err
		}
		if v.versionLine() {
			continue
		}
		if err := v.record(); err != nil {
			return err
		}
	}
	return v.finish()
}

// finish handles what had to wait for the end of the file.
func (v *recovery) finish() error {
	if err := v.release(); err != nil {
		return err
	}
	if err := v.retryLate(); err != nil {
		return err
	}
	v.space.close(v)
	return nil
}

func (v *recovery) progress() error {
	const step = 4 << 20
	if v.o.Progress == nil || v.s.off < v.told+step {
		return nil
	}
	v.told = v.s.off
	return v.o.Progress(v.s.off)
}

// versionLine passes over the first line of a bag, of the only one or of one that
// was appended.
func (v *recovery) versionLine() bool {
	b, _ := v.s.r.Peek(maxVersionLineBytes) // at the end of the file there are less
	end := bytes.IndexByte(b, '\n')
	if end < 0 || !bytes.HasPrefix(b, []byte(versionPrefix)) || !v.bagHeaderAt(v.s.off+int64(end)+1) {
		return false
	}
	if start := v.s.off; start > 0 {
		v.repair(corrupt(start, 0, "another bag starts here"))
		v.seam = true
	}
	v.seek(v.s.off + int64(end) + 1)
	return true
}

// record handles the next top level record.
func (v *recovery) record() error {
	start := v.s.off
	var h recordHeader
	err := v.s.next(&h)
	if err == nil && h.op == OpIndexData && h.has&hasCompression == 0 {
		return v.indexData(&h, start)
	}
	// What comes now is not the index of the chunk before it.
	if failed := v.release(); failed != nil {
		return failed
	}
	switch {
	case err != nil && !h.framed:
		return v.lost(start, err)
	case h.has&(hasCompression|hasCRC32C) != 0 || h.op == OpChunk:
		return v.chunk(&h, start, err)
	case err != nil:
		return v.damagedRecord(&h, start, err)
	}
	switch h.op {
	case OpMessage:
		return v.bareMessage(&h, start)
	case OpConnection:
		v.space.ended = v.space.ended || !v.space.open
		return v.bareConnection(&h, start)
	case OpBagHeader:
		v.space.close(v)
		v.space = v.newSpace()
		v.space.readIndex(v, start-int64(len(versionLine)), &h)
	case OpChunkInfo:
		v.space.section++
		v.space.ended = true
	case OpChunk, OpIndexData, opMessageDefinition: // handled above, or of no interest
	}
	return v.pass(&h, start)
}

// pass passes over the data of a record.
func (v *recovery) pass(h *recordHeader, start int64) error {
	n, err := v.s.length(start, h.op)
	if err != nil {
		return v.lost(start, err)
	}
	if left := v.size - v.s.off; n > left {
		return v.lost(start, torn(start, h.op, "data", left, n))
	}
	if n > streamBufferBytes {
		v.seek(v.s.off + n)
		return nil
	}
	if err := v.s.skip(n, start, h.op); err != nil {
		return v.lost(start, err)
	}
	return nil
}

// damagedRecord passes over a record that has its extent but not its fields.
func (v *recovery) damagedRecord(h *recordHeader, start int64, wrong error) error {
	n, err := v.s.length(start, h.op)
	end := v.s.off + n
	if err != nil || !v.recordAt(end) {
		return v.lost(start, wrong)
	}
	if h.op == OpMessage || h.op == OpConnection {
		v.skip(start, end-start, wrong)
	} else {
		v.repair(wrong)
	}
	v.seek(end)
	return nil
}

// recordAt reports whether a record can start at off, or the file ends there.
func (v *recovery) recordAt(off int64) bool {
	var buf [firstHeadBytes]byte
	return off == v.size || off < v.size && plausibleRecord(v.r, off, v.size, buf[:])
}

// lost looks for the next chunk behind the record at start, which says no longer
// where it ends, or for the next record of a chunk without end.
func (v *recovery) lost(start int64, err error) error {
	if failed := v.release(); failed != nil {
		return failed
	}
	next, ok := v.nextChunk(start)
	if at, found := v.nextBare(start, next, ok); found {
		v.skip(start, at-start, err)
		v.seek(at)
		return nil
	}
	v.seek(next)
	v.seam = true
	if at := int64(len(versionLine)); start == at && next == at+bagHeaderBytes+minRecordBytes {
		v.repair(err) // the bag header: the chunks do not need it
		return nil
	}
	v.note(SkippedRange{Offset: start, Bytes: next - start, Err: err, Trailing: !ok && v.space.ended})
	v.doubt = 0
	if ok && v.space.ended && v.report.More == 0 {
		v.doubt = len(v.report.Skipped)
	}
	return nil
}

// skip notes that nothing of a range was kept.
func (v *recovery) skip(offset, n int64, err error) { v.skipCounted(offset, n, 0, err) }

func (v *recovery) skipCounted(offset, n int64, dropped uint64, err error) {
	v.note(SkippedRange{Offset: offset, Bytes: n, Dropped: dropped, Err: err})
}

func (v *recovery) note(x SkippedRange) {
	v.report.SkippedBytes += x.Bytes
	v.report.Dropped += x.Dropped
	if !x.Trailing {
		v.report.losses++
	}
	if len(v.report.Skipped) == maxReports {
		v.report.More++
		return
	}
	v.report.Skipped = append(v.report.Skipped, x)
}

// repair notes damage that cost no message.
func (v *recovery) repair(err error) {
	if len(v.report.Repairs) == maxReports {
		v.report.More++
		return
	}
	v.report.Repairs = append(v.report.Repairs, err)
}
