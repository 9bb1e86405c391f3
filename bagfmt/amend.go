package bagfmt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/opening"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// AmendFile is a closed bag that Amend adds to. *os.File is one, unless it was opened with
// O_APPEND.
type AmendFile interface {
	AppendFile
	Sync() error
}

// Addition is a message that Amend adds. Those with the same topic and header share a new
// connection, also where the bag has such a one: stock readers take the index of a connection
// to be in the order of time from chunk to chunk, and an addition may be earlier than what is there.
type Addition struct {
	Topic  string
	Header rosbag.Header
	Time   rosbag.Time
	Data   []byte
}

// sectorBytes is what disks write whole or not at all.
const sectorBytes = 512

// Amend adds messages to the closed bag of version 2.0 in f, of size bytes. Nothing that is in
// the file is moved: a chunk with the messages and an index section of everything go behind
// it, and are made durable. Only then the bag header gets the place of the new index section,
// in one write of a few bytes within one sector. So the bag is the old or the new one at any
// moment, whatever ends the process or the power.
//
// The old index section stays in the middle of the file, where readers pass over it. What
// stands behind the index section is not part of a bag, such as the rest of an Amend that was
// interrupted: it is cut off first.
//
// A bag without a good index matches ErrUnindexed or ErrCorrupt, and one of another version
// ErrVersion; they are not touched. After another error the bag is the old one, unless it is
// from writing or syncing the bag header: then it is the old or the new one.
func Amend(f AmendFile, size int64, add []Addition) error {
	bag, err := opening.Open(f, size, table.Options{IndexOnly: true})
	switch {
	case err != nil:
		return err
	case bag.Version != "2.0":
		return &rosbag.VersionError{Version: bag.Version}
	case len(bag.Damage) > 0:
		return bag.Damage[0]
	}
	head, err := readIndexFields(f, size)
	if err != nil {
		return err
	}
	end := bag.IndexEnd
	if end < size {
		if err := f.Truncate(end); err != nil {
			return fmt.Errorf("truncate at %d: %w", end, err)
		}
	}
	w, err := newAmendWriter(f, bag, end)
	if err == nil {
		err = w.amend(add)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		if e := f.Truncate(end); e != nil {
			err = errors.Join(err, fmt.Errorf("truncate at %d: %w", end, e))
		}
		return err
	}
	if err := head.write(f, uint64(w.size), uint32(len(w.stored)), uint32(w.chunks)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// newAmendWriter returns a Writer that goes on at end and knows all that is in the bag.
func newAmendWriter(f AmendFile, bag *table.Table, end int64) (*Writer, error) {
	// Not the file itself: only Amend writes the header, syncs and cuts.
	w, err := newWriter(struct{ io.Writer }{&appender{f, end}}, end, WriterOptions{})
	if err != nil {
		return nil, err
	}
	for _, c := range bag.Conns {
		if err := w.Adopt(c); err != nil {
			return nil, err
		}
		w.stored[c.ID] = struct{}{} // also one without messages
	}
	for _, c := range bag.Chunks {
		w.noteChunk(c.Pos, c.Start, c.End, c.Counts)
	}
	return w, nil
}

// amend writes a chunk with the messages, and the index section.
func (w *Writer) amend(add []Addition) error {
	var added []*rosbag.Connection
	for _, a := range add {
		i := slices.IndexFunc(added, func(c *rosbag.Connection) bool { return c.Topic == a.Topic && slices.Equal(c.Header, a.Header) })
		if i < 0 {
			c, err := w.addLast(a.Topic, a.Header)
			if err != nil {
				return err
			}
			i, added = len(added), append(added, c)
		}
		if err := w.WriteMessage(added[i], a.Time, a.Data); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.writeIndexSection()
}

// addLast is AddConnection, whose id is one more than the highest.
func (w *Writer) addLast(topic string, h rosbag.Header) (*rosbag.Connection, error) {
	if _, used := w.conns[math.MaxUint32]; used {
		return nil, errors.New("the bag has no connection id left")
	}
	return w.AddConnection(topic, h)
}

// indexFields is where the bag header says what the index section has.
type indexFields struct {
	at    int64 // of b in the file
	b     []byte
	where map[string]int // of the values in b
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
		return nil, wire.Corrupt(at, rosbag.OpBagHeader, "header of %d bytes, which cannot be replaced in one write", n)
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
	if _, err := f.WriteAt(x.b, x.at); err != nil {
		return fmt.Errorf("bag header at %d: %w", x.at, err)
	}
	return nil
}
