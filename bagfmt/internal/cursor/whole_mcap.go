package cursor

import (
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/mcap"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxDefinitionBytes limits the records of schemas and channels in a chunk that is given out whole. They are
// remembered, and take up to ten times their size: a few kB that unpack to a chunk full of them would fill
// the memory.
const maxDefinitionBytes = 1 << 20

// readMCAP is read for a chunk of an MCAP file. A chunk without message indexes is as good as one with
// them: its entries are made from the records, and new indexes are made from the entries.
func (w *Whole) readMCAP(c *Cursor, x *load.Chunk) bool {
	bag := c.bag
	if bag.Chunks[x.Number].Kind.Raw() || x.Place.Torn || len(x.Overwritten) != len(x.Entries) ||
		!w.begin(c, x) {
		return false
	}
	m := &w.mcap
	m.Last, m.Schemas, m.Channels = m.Last[:0], m.Schemas[:0], m.Channels[:0]
	rest, definitions := x.Entries, 0
	for walk := (mcap.Walk{Data: x.Data}); ; {
		at := walk.At
		op, content, err := walk.Next()
		switch {
		case errors.Is(err, io.EOF):
			return len(rest) == 0
		case err != nil:
			return false
		case op == mcap.OpMessage:
		default:
			if definitions += walk.At - at; definitions > maxDefinitionBytes || !w.definition(op, content) {
				return false
			}
			continue
		}
		found, err := mcap.MessageAt(x.Data, int64(at))
		t, ok := mcap.TimeOf(found.LogTime)
		payload := len(content) - mcap.MessageHeadBytes
		if err != nil || !ok || len(rest) == 0 || rest[0].Time() != t || int(rest[0].Offset) != found.Frame ||
			bag.Conns[rest[0].Conn].ID != rosbag.ConnID(found.Channel) || payload > wire.MaxMessageBytes {
			return false
		}
		s := w.slot(bag, rest[0].Conn)
		if int(s) == len(m.Last) {
			m.Last = append(m.Last, 0)
		}
		w.Slots[s].Count++
		w.Slots[s].Bytes += uint64(payload)
		m.Last[s] = found.Sequence
		w.Entries = append(w.Entries, wire.IndexEntry{Time: t, Offset: uint32(at), Slot: s})
		rest = rest[1:]
	}
}

// definition notes the record of a schema or a channel. It reports false if it is none of these, or has
// anything that is not known.
func (w *Whole) definition(op mcap.Op, content []byte) (ok bool) {
	m := &w.mcap
	switch op { //nolint:exhaustive // the others do not belong there, or are not known
	case mcap.OpSchema:
		var s chunk.MCAPSchema
		s, ok = mcap.ParseSchema(content)
		m.Schemas = append(m.Schemas, s)
	case mcap.OpChannel:
		var ch chunk.MCAPChannel
		ch, ok = mcap.ParseChannel(content)
		m.Channels = append(m.Channels, ch)
	}
	return ok
}

// OfMCAP reports whether the chunk is one of an MCAP file.
func (w *Whole) OfMCAP() bool { return w.cursor.bag.MCAP != nil }

// MCAP returns what is stored of a chunk of an MCAP file, nil of any other.
func (w *Whole) MCAP() *chunk.MCAP {
	if !w.OfMCAP() {
		return nil
	}
	m, x := &w.mcap, w.cursor.heap[0]
	m.Compression, m.Stored, m.Bytes, m.CRC = w.Compression, w.Stored, w.Bytes, x.Place.CRC
	m.Entries = slices.Grow(m.Entries[:0], len(w.Entries))
	for i := range w.Entries {
		e := &w.Entries[i]
		m.Entries = append(m.Entries,
			rosbag.Entry{Conn: w.Slots[e.Slot].Conn, Time: e.Time, Offset: e.Offset})
	}
	if w.undone == nil && (w.Compression == rosbag.CompressionNone || !x.Place.Checked) {
		w.undone = x
		for i := range x.Entries {
			mcap.UndoFrame(x.Data, x.Entries[i].Offset, x.Overwritten[i])
		}
	}
	if !x.Place.Checked {
		m.CRC = crc32.ChecksumIEEE(x.Data)
	}
	return m
}

// redo makes the frames again that MCAP has undone.
func (w *Whole) redo() {
	x := w.undone
	for i := range x.Entries {
		mcap.MakeFrame(x.Data, x.Entries[i].Offset)
	}
	w.undone = nil
}
