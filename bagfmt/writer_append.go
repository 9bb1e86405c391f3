package bagfmt

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/opening"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// AppendFile is a bag that NewAppendWriter continues. *os.File is one, unless it was
// opened with O_APPEND.
type AppendFile interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
}

// NewAppendWriter continues the bag in f, of size bytes: one of version 2.0 that was
// closed, or that its recorder left between two chunks. Writer.Connections gives its
// connections, for more messages of theirs; Close makes the index of the old and the
// new messages.
//
// Before the first new byte the bag header is marked as unindexed and the index
// section cut off, as stock does: a crash costs the index, no message. A bag that is
// torn or damaged is refused with an error that matches ErrCorrupt, and not touched:
// Recover makes a good one of it. If f has a Sync method Close makes the bag durable.
func NewAppendWriter(f AppendFile, size int64, o WriterOptions) (*Writer, error) {
	bag, err := opening.Open(f, size, table.Options{})
	if err != nil {
		return nil, err
	}
	if bag.Version != "2.0" {
		return nil, &rosbag.VersionError{Version: bag.Version}
	}
	end, err := appendPos(bag)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(&appender{f, end}, end, o)
	if err != nil {
		return nil, err
	}
	for _, c := range bag.Conns {
		if err := w.Adopt(c); err != nil {
			return nil, err
		}
	}
	for _, c := range bag.Chunks {
		w.noteChunk(c.Pos, c.Start, c.End, c.Counts)
	}
	w.repeated = bag.Repeated
	if _, err := f.WriteAt(wire.AppendBagHeader(nil, &wire.RecordHeader{Repeated: w.repeated}), int64(len(wire.VersionLine))); err != nil {
		return nil, fmt.Errorf("bag header at %d: %w", len(wire.VersionLine), err)
	}
	if err := f.Truncate(end); err != nil {
		return nil, fmt.Errorf("truncate at %d: %w", end, err)
	}
	return w, nil
}

// appendPos returns the offset of the end of the last chunk and its index data in the bag
// of r, where more chunks can be appended.
func appendPos(bag *table.Table) (int64, error) {
	end, err := checkBagHeader(bag)
	if err != nil {
		return 0, err
	}
	for _, err := range bag.Damage {
		if !errors.Is(err, rosbag.ErrUnindexed) {
			return 0, err
		}
	}
	for i := range bag.Chunks {
		if bag.Chunks[i].Kind.Derived() {
			return 0, wire.Corrupt(bag.Chunks[i].Pos, rosbag.OpChunk, "it has no index data")
		}
	}
	if n := len(bag.Chunks); n > 0 {
		var l load.Loader
		p, err := l.Place(bag, n-1)
		if err != nil {
			return 0, err
		}
		end = p.Data + p.Stored
	}
	if end, err = skipIndexData(bag, end); err != nil {
		return 0, err
	}
	// Records between here and the index section would be truncated.
	if bag.Indexed && end != bag.IndexPos {
		return 0, wire.Corrupt(int64(len(wire.VersionLine)), rosbag.OpBagHeader,
			"the index section is at %d, the last chunk and its index data end at %d", bag.IndexPos, end)
	}
	return end, nil
}

// skipIndexData returns the offset of the first record at or behind end that is not index
// data, or the end of the file.
func skipIndexData(bag *table.Table, end int64) (int64, error) {
	s := wire.NewStream(io.NewSectionReader(bag.File, end, bag.Size-end), end, wire.SmallBufferBytes)
	for {
		start := s.Off
		var h wire.RecordHeader
		err := s.Next(&h)
		switch {
		case errors.Is(err, io.EOF):
			return start, nil
		case err != nil:
			return 0, err
		case h.Op != rosbag.OpIndexData:
			return start, nil
		}
		if _, err := s.IndexData(&h, start, false); err != nil {
			return 0, err
		}
	}
}

// checkBagHeader checks that the bag header can be overwritten, and returns its end.
func checkBagHeader(bag *table.Table) (end int64, err error) {
	s := wire.NewFileStream(bag.File, bag.Size, wire.SmallBufferBytes)
	_, h, err := s.Preamble(false)
	if err != nil {
		return 0, err
	}
	at := int64(len(wire.VersionLine))
	n, err := s.Length(at, h.Op)
	if err != nil {
		return 0, err
	}
	if got, want := s.Off+n-at, int64(wire.BagHeaderBytes+wire.MinRecordBytes); got != want {
		return 0, wire.Corrupt(at, h.Op, "record of %d bytes, one of %d cannot be written over it", got, want)
	}
	return s.Off + n, nil
}

// Connections returns the connections of the bag so far, by ascending id: those of
// AddConnection, of chunks, and of the bag that NewAppendWriter continues.
func (w *Writer) Connections() []*rosbag.Connection {
	out := make([]*rosbag.Connection, 0, len(w.conns))
	for _, c := range w.conns {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *rosbag.Connection) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// appender writes behind what a file holds already.
type appender struct {
	AppendFile
	at int64
}

// Write implements io.Writer.
func (a *appender) Write(b []byte) (int, error) {
	n, err := a.WriteAt(b, a.at)
	a.at += int64(n)
	return n, err
}

// Sync makes the file durable if it can be.
func (a *appender) Sync() error {
	if s, ok := a.AppendFile.(syncer); ok {
		return s.Sync()
	}
	return nil
}
