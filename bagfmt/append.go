package bagfmt

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt/internal/opening"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// File is a closed bag that Append adds to. *os.File is one, unless it was opened with O_APPEND.
type File interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// sectorBytes is what disks write whole or not at all.
const sectorBytes = 512

// Append returns a Writer that adds messages to the closed bag of version 2.0 in f, of size bytes.
// Nothing that is in the file is moved: chunks with the messages go after it, and at Close an index
// section of everything, which is made durable. Only then the bag header gets the place of the new
// index section, in one write of a few bytes within one sector. So the bag is the old or the new one
// at any moment, whatever ends the process or the power.
//
// Writer.Connections returns the connections of the bag. New messages of one of them have to be later
// than its old ones, because stock readers expect the index of a connection to be in the order of time
// from chunk to chunk. New connections have no such limit. The old index section stays in the middle of
// the file, where readers pass over it. What follows the old index section, such as the rest of an
// interrupted Append, is not part of the bag, and is cut off first. What the bag says about its repeated
// messages stays, whatever Writer.SetRepeated says.
//
// The error for a bag without a good index matches ErrUnindexed or ErrCorrupt, that for a bag of another
// version ErrVersion. Such a bag is not touched: of the former recovery makes a good bag, of the latter a
// copy is one.
// See ADR 0093.
func Append(f File, size int64, o WriterOptions) (*Writer, error) {
	bag, err := opening.Open(f, size, table.Options{IndexOnly: true})
	switch {
	case err != nil:
		return nil, err
	case bag.Version != "2.0":
		return nil, &rosbag.VersionError{Version: bag.Version}
	case len(bag.Damage) > 0:
		return nil, bag.Damage[0]
	}
	old, err := readIndexFields(f, size)
	if err != nil {
		return nil, err
	}
	end := bag.IndexEnd
	w, err := newWriter(&appender{f, end}, end, o)
	if err != nil {
		return nil, err
	}
	old.end = end
	w.old = old
	for _, c := range bag.Conns {
		if err := w.Adopt(c); err != nil {
			return nil, err
		}
		w.stored[c.ID] = struct{}{} // also one without messages
	}
	for _, c := range bag.Chunks {
		w.noteChunk(c.Pos, c.Start, c.End, c.Counts)
	}
	if end < size {
		if err := f.Truncate(end); err != nil {
			return nil, fmt.Errorf("truncate at %d: %w", end, err)
		}
	}
	return w, nil
}

// appender writes after what a file holds already.
type appender struct {
	File
	at int64
}

// Write implements io.Writer.
func (a *appender) Write(b []byte) (int, error) {
	n, err := a.WriteAt(b, a.at)
	a.at += int64(n)
	return n, err
}

// indexFields is where the bag header says what the index section has.
type indexFields struct {
	end   int64 // of the bag before anything is added to it
	at    int64 // of b in the file
	b     []byte
	where map[string]int // of the values in b

	written bool // new values were, or may have been
}

// readIndexFields finds the fields in the bag header.
func readIndexFields(r io.ReaderAt, size int64) (*indexFields, error) {
	at := int64(len(wire.VersionLine))
	b := make([]byte, min(sectorBytes, size))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return nil, wire.ReadError(0, err)
	}
	n := int64(binary.LittleEndian.Uint32(b[at:]))
	if at+4+n > int64(len(b)) {
		return nil, wire.Corrupt(at, rosbag.OpBagHeader,
			"header of %d bytes, which cannot be replaced in one write", n)
	}
	x := &indexFields{at: at + 4, b: b[at+4 : at+4+n], where: map[string]int{}}
	for rest := x.b; len(rest) > 0; {
		key, value, next, err := fields.Next(rest)
		if err != nil {
			return nil, wire.Corrupt(at, rosbag.OpBagHeader, "%v", err)
		}
		x.where[string(key)] = len(x.b) - len(next) - len(value)
		rest = next
	}
	for key, size := range map[string]int{wire.KeyIndexPos: 8, wire.KeyConnCount: 4, wire.KeyChunkCount: 4} {
		if i, ok := x.where[key]; !ok || i+size > len(x.b) {
			return nil, wire.Corrupt(at, rosbag.OpBagHeader, "no field %s", key)
		}
	}
	return x, nil
}

// write writes new values in one call.
func (x *indexFields) write(f io.WriterAt, pos uint64, conns, chunks uint32) error {
	binary.LittleEndian.PutUint64(x.b[x.where[wire.KeyIndexPos]:], pos)
	binary.LittleEndian.PutUint32(x.b[x.where[wire.KeyConnCount]:], conns)
	binary.LittleEndian.PutUint32(x.b[x.where[wire.KeyChunkCount]:], chunks)
	x.written = true
	if _, err := f.WriteAt(x.b, x.at); err != nil {
		return fmt.Errorf("bag header at %d: %w", x.at, err)
	}
	return nil
}
