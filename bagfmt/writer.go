package bagfmt

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// WriterOptions says how a Writer packs messages. The zero value is ready to use.
type WriterOptions struct {
	// of chunks that Write fills; zero means none
	Compression rosbag.Compression
	// such a chunk is sealed beyond this many bytes; zero means chunk.DefaultBytes
	ChunkBytes int
	// Workers goroutines at most seal the chunks of Write while it fills the
	// next one, in the memory of 2 more chunks than that; zero seals them within the
	// call, as does CompressionNone. The file is the same.
	Workers int
}

func (o WriterOptions) withDefaults() (WriterOptions, error) {
	if o.Compression == "" {
		o.Compression = rosbag.CompressionNone
	}
	if _, err := rosbag.ParseCompression(string(o.Compression)); err != nil {
		return o, err
	}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = chunk.DefaultBytes
	}
	if most := wire.MaxBuiltChunkBytes - wire.MaxAddedBytes; o.ChunkBytes < 0 || o.ChunkBytes > most {
		return o, &rosbag.LimitError{
			Op: rosbag.OpChunk, What: "chunk size", Got: int64(o.ChunkBytes),
			Limit: int64(most),
		}
	}
	if o.Workers < 0 || o.Workers > wire.MaxWorkers {
		return o, fmt.Errorf("option Workers is %d, want 0 to %d", o.Workers, wire.MaxWorkers)
	}
	return o, nil
}

// Writer writes one bag, front to back. It is a rosbag.Sink. Chunks come from Write, which fills
// them itself, or from WriteChunk. It is not for concurrent use.
//
// After a failed write the file ends inside a record. If the underlying writer has
// WriteAt, Close still makes a good bag of everything before: it puts the index
// section where the failed record began, after cutting the file there if the
// writer has Truncate.
//
// With Workers a chunk is written by a later call than the one that filled it, and
// so a failure is returned by a later call, at the latest by Close.
type Writer struct {
	w      io.Writer
	o      WriterOptions
	size   int64 // end of the last whole chunk
	conns  connSet
	stored map[rosbag.ConnID]struct{} // connections with messages in written chunks
	infos  []byte                     // encoded chunk info records
	chunks int

	repeated rosbag.Repeated
	old      *indexFields // of the bag that Append continues, nil for a new one

	open       *chunk.Builder // of Write
	records    chunk.Records
	compressor *chunk.Compressor
	packed     []byte
	ahead      *sealAhead // nil without Workers
	job        *sealJob   // what open belongs to, with Workers

	writeErr error // first failed write: the file ends with rubbish
	sealErr  error // of a worker: the chunks from there on are lost
	syncErr  error // a failed sync is final
	closed   bool
}

var _ rosbag.Sink = (*Writer)(nil)

// syncer is what Close uses to make the bag durable, if w has it.
type syncer interface{ Sync() error }

// truncater is what Close uses to cut off a torn record, if w has it.
type truncater interface{ Truncate(size int64) error }

// NewWriter writes the version line and an empty bag header to w. With io.WriterAt
// Close completes that header; without, the header stays empty and readers have to
// reindex the bag. With a Sync method Close makes the bag durable. An *os.File that
// is a pipe has these methods but cannot do what they say: hide them, for example
// in a struct{ io.Writer }.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	bw, err := newWriter(w, 0, o)
	if err != nil {
		return nil, err
	}
	head := wire.AppendBagHeader([]byte(wire.VersionLine), &wire.RecordHeader{})
	if err := bw.write(head); err != nil {
		return nil, err
	}
	return bw, nil
}

// newWriter returns a Writer for the chunks from size on.
func newWriter(w io.Writer, size int64, o WriterOptions) (*Writer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	bw := &Writer{
		w: w, o: o, size: size, open: new(chunk.Builder),
		conns:  newConnSet(),
		stored: make(map[rosbag.ConnID]struct{}),
	}
	// without packing, another core costs more than it gives
	if o.Workers == 0 || o.Compression == rosbag.CompressionNone {
		bw.compressor, err = chunk.NewCompressor(o.Compression)
	} else if bw.ahead, err = newSealAhead(o.Compression, o.Workers); err == nil {
		bw.job = bw.ahead.Job()
		bw.open = &bw.job.builder
	}
	if err != nil {
		return nil, err
	}
	bw.open.Reset(&bw.records)
	return bw, nil
}

// write sends b in one call and moves the end of the good part of the file.
func (w *Writer) write(b []byte) error {
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.writeErr = fmt.Errorf("write at %d: %w", w.size, err)
		return w.writeErr
	}
	w.size += int64(len(b))
	return nil
}

// Size returns the bytes up to the end of the last whole chunk and its index. What
// follows in the file is not part of the bag.
func (w *Writer) Size() int64 { return w.size }

// IndexBytes returns the most bytes that Close will write after the chunks so far and, unless
// it is nil, after c. Who records to a disk that fills keeps that much room for the index.
func (w *Writer) IndexBytes(c *chunk.Sealed) int64 {
	n := w.conns.bytes + int64(len(w.infos))
	if c == nil {
		return n
	}
	for _, count := range c.Counts {
		if w.conns.byID[count.Conn.ID] == nil {
			n += int64(wire.ConnectionBytes(count.Conn))
		}
	}
	return n + wire.ChunkInfoBytes + int64(len(c.Counts)*wire.CountEntryBytes)
}

// SetRepeated says what Close writes into the bag header about messages that repeat latched
// ones. A bag that was never closed says nothing about them.
func (w *Writer) SetRepeated(r rosbag.Repeated) { w.repeated = r }

// Write adds a message of c, received at t. c comes from AddConnection or Connections; one of another
// recording becomes a connection of the bag with its first message, under the same id if that is free.
// Write keeps no reference to data.
func (w *Writer) Write(c *rosbag.Connection, t rosbag.Time, data []byte) error {
	switch {
	case w.closed:
		return rosbag.ErrClosed
	case w.failed() != nil:
		return w.failed()
	case len(data) > wire.MaxMessageBytes:
		return &rosbag.LimitError{
			Offset: w.size, Op: rosbag.OpMessage, What: "message",
			Got: int64(len(data)), Limit: wire.MaxMessageBytes,
		}
	}
	c, err := w.conns.own(c)
	if err != nil {
		return err
	}
	w.open.AppendMessage(c, t, data)
	if w.open.Len() > w.o.ChunkBytes {
		return w.flush()
	}
	return nil
}

// failed returns the error after which the bag takes no more chunks.
func (w *Writer) failed() error {
	if w.writeErr != nil {
		return w.writeErr
	}
	return w.sealErr
}

// flush seals and writes the chunk of Write. With Workers the writing, and
// its errors, may be left to a later call, at the latest drain.
func (w *Writer) flush() error {
	switch {
	case w.open.Messages() == 0:
		return nil
	case w.ahead != nil:
		return w.flushAhead()
	}
	c, err := w.open.Seal(w.compressor, w.packed)
	if err != nil {
		return err
	}
	if c.Compression != rosbag.CompressionNone {
		w.packed = c.Record[:0]
	}
	err = w.writeChunk(c)
	w.open.Reset(&w.records)
	return err
}

// WriteChunk appends a chunk built elsewhere in one Write call. Its connections
// become part of the bag.
func (w *Writer) WriteChunk(c *chunk.Sealed) error {
	switch {
	case w.closed:
		return rosbag.ErrClosed
	case w.failed() != nil:
		return w.failed()
	}
	for _, n := range c.Counts {
		if err := w.Adopt(n.Conn); err != nil {
			return err
		}
	}
	// Messages of Write came before these.
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.drain(); err != nil {
		return err
	}
	return w.writeChunk(c)
}

func (w *Writer) writeChunk(c *chunk.Sealed) error {
	pos := w.size
	if err := w.write(c.Record); err != nil {
		return err
	}
	w.noteChunk(pos, c.Start, c.End, c.Counts)
	return nil
}

// noteChunk puts the chunk at pos into the index section.
func (w *Writer) noteChunk(pos int64, start, end rosbag.Time, counts []rosbag.ConnCount) {
	w.infos = wire.AppendChunkInfo(w.infos, pos, start, end, counts)
	w.chunks++
	for _, n := range counts {
		w.stored[n.Conn.ID] = struct{}{}
	}
}

// Close writes what is open, then the index section, syncs, completes the bag
// header and syncs again. It does not close the underlying writer. After a failed
// write it makes a good bag of what came before, as described at Writer, and
// returns nil if that worked: the failed write was reported by its own call. An
// error of Close about the last chunk of Write means the same: everything
// before it is a good bag if a second Close returns nil. A failed sync is final.
func (w *Writer) Close() error {
	switch {
	case w.syncErr != nil:
		return w.syncErr
	case w.closed:
		return nil
	}
	var lost error // what the last flush lost: nobody else reports it
	if w.failed() == nil {
		if lost = w.flush(); lost != nil && w.failed() == nil {
			return lost
		}
		if err := w.drain(); lost == nil {
			lost = err
		}
	}
	if err := w.writeIndexSection(); err != nil {
		return errors.Join(lost, err)
	}
	if at, ok := w.w.(io.WriterAt); ok {
		// Sync before the header rewrite: a header pointing at an index that is not yet
		// durable makes stock tools refuse a bag they could otherwise reindex.
		if err := w.sync(); err != nil {
			return err
		}
		if err := w.writeHeader(at); err != nil {
			return err
		}
	}
	if err := w.sync(); err != nil {
		return err
	}
	w.closed = true
	return lost
}

// writeHeader writes a bag header that says where the index section is.
func (w *Writer) writeHeader(at io.WriterAt) error {
	if w.old != nil {
		return w.old.write(at, uint64(w.size), uint32(len(w.stored)), uint32(w.chunks))
	}
	head := wire.AppendBagHeader(nil, &wire.RecordHeader{
		IndexPos: uint64(w.size), ConnCount: uint32(len(w.stored)), ChunkCount: uint32(w.chunks),
		Repeated: w.repeated,
	})
	if _, err := at.WriteAt(head, int64(len(wire.VersionLine))); err != nil {
		return fmt.Errorf("bag header at %d: %w", len(wire.VersionLine), err)
	}
	return nil
}

// Abort ends the work on a bag that will not be used: it writes no more, and no goroutine of the Writer
// is left. It is called instead of Close, or after that has failed. A bag that Append continues is the
// old one then, unless Close has failed to write or to sync the bag header: then it is the old or the
// new one.
func (w *Writer) Abort() {
	if w.closed {
		return
	}
	w.closed = true
	if w.sealErr == nil {
		w.sealErr = rosbag.ErrClosed
	}
	_ = w.drain() // of what is given up
	if t, ok := w.w.(truncater); ok && w.old != nil && !w.old.written {
		_ = t.Truncate(w.old.end) // what stays is after the bag, and no part of it
	}
}

func (w *Writer) sync() error {
	s, ok := w.w.(syncer)
	if !ok {
		return nil
	}
	if err := s.Sync(); err != nil {
		w.syncErr = fmt.Errorf("sync: %w", err)
	}
	return w.syncErr
}

// writeIndexSection writes all connection and chunk info records after the last
// whole chunk. size stays there: it is the index position.
func (w *Writer) writeIndexSection() error {
	ids := slices.Sorted(maps.Keys(w.stored))
	write := w.write
	if w.writeErr != nil {
		at, ok := w.w.(io.WriterAt)
		if !ok {
			return w.writeErr
		}
		if t, ok := w.w.(truncater); ok {
			if err := t.Truncate(w.size); err != nil {
				return fmt.Errorf("truncate at %d: %w", w.size, err)
			}
		}
		end := w.size
		write = func(b []byte) error {
			if _, err := at.WriteAt(b, end); err != nil {
				return fmt.Errorf("index section at %d: %w", end, err)
			}
			end += int64(len(b))
			return nil
		}
	}
	pos := w.size
	defer func() { w.size = pos }()
	var piece []byte
	for _, id := range ids {
		if piece = wire.AppendConnection(piece, w.conns.byID[id]); len(piece) < indexPiece {
			continue
		}
		if err := write(piece); err != nil {
			return err
		}
		piece = piece[:0]
	}
	if len(piece)+len(w.infos) <= indexPiece {
		return write(append(piece, w.infos...))
	}
	if err := write(piece); err != nil {
		return err
	}
	return write(w.infos)
}

// indexPiece is about how much of the index section is encoded at a time: the headers of
// many connections are not held twice.
const indexPiece = 1 << 20
