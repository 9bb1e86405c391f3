package cursor

import (
	"bytes"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Whole is a chunk of which the cursor gives out all messages, in the order of the chunk. It implements
// rosbag.Chunk.
type Whole struct {
	wire.ChunkIndex
	Recorded    []bool // by slot: the record of the connection is in the chunk, before its messages
	Compression rosbag.Compression
	Stored      []byte // what was read and checked
	Bytes       int64  // of the unpacked data

	cursor *Cursor
	mcap   chunk.MCAP  // of an MCAP file
	undone *load.Chunk // its frames are undone
	// number in Slots, by index in Table.Conns
	slots map[int32]int32
	// connection records that were found equal to what the bag says, by index in Table.Conns
	records map[int32][]byte
}

// read makes w the chunk x, which was loaded. It reports false unless the chunk holds what the cursor
// gives out, in its order, and nothing else but the records of these connections.
func (w *Whole) read(c *Cursor, x *load.Chunk) bool {
	bag, p := c.bag, &x.Place
	if bag.MCAP != nil {
		return w.readMCAP(c, x)
	}
	if bag.Chunks[x.Number].Kind != table.KindChunk || p.Decrypter != nil || p.Torn {
		return false
	}
	if !w.begin(c, x) {
		return false
	}
	rest := x.Entries
	for b := x.Data; len(b) > 0; {
		at := len(x.Data) - len(b)
		id, t, frame, next, ok := wire.CutMessage(b)
		if !ok {
			var h wire.RecordHeader
			tail, after, err := wire.CutRecord(b, &h)
			if err == nil && h.Op == rosbag.OpConnection &&
				w.connection(bag, &h, b[:len(b)-len(after)], tail[4:]) {
				b = after
				continue
			}
			if err != nil || h.Op != rosbag.OpMessage {
				return false
			}
			id, t, frame, next = h.Conn, h.Time, tail, after
		}
		if len(rest) == 0 || rest[0].Time() != t || int(rest[0].Offset) != len(x.Data)-len(next)-len(frame) ||
			bag.Conns[rest[0].Conn].ID != id ||
			t.Nsec >= 1e9 || len(frame)-4 > wire.MaxMessageBytes {
			return false
		}
		s := w.slot(bag, rest[0].Conn)
		w.Slots[s].Count++
		w.Slots[s].Bytes += uint64(len(frame) - 4)
		w.Entries = append(w.Entries, wire.IndexEntry{Time: t, Offset: uint32(at), Slot: s})
		b, rest = next, rest[1:]
	}
	return len(rest) == 0 &&
		!slices.ContainsFunc(w.Slots, func(s wire.IndexSlot) bool { return s.Count == 0 })
}

// begin makes w the chunk x, without messages so far. It reports false if what is stored was not read.
func (w *Whole) begin(c *Cursor, x *load.Chunk) bool {
	w.cursor, w.Compression, w.Stored, w.Bytes = c, x.Place.Compression, x.Stored, int64(len(x.Data))
	if w.Compression == rosbag.CompressionNone {
		w.Stored = x.Data
	}
	if w.slots == nil {
		w.slots, w.records = make(map[int32]int32), make(map[int32][]byte)
	}
	clear(w.slots)
	w.Entries, w.Slots, w.Used, w.Recorded = w.Entries[:0], w.Slots[:0], w.Used[:0], w.Recorded[:0]
	return int64(len(w.Stored)) == x.Place.Stored // Options.Cache may have had the data
}

// slot returns the slot of a connection.
func (w *Whole) slot(bag *table.Table, conn int32) int32 {
	s, ok := w.slots[conn]
	if !ok {
		s = int32(len(w.Slots))
		w.slots[conn] = s
		w.Slots, w.Used, w.Recorded = append(w.Slots, wire.IndexSlot{Conn: bag.Conns[conn]}),
			append(w.Used, s), append(w.Recorded, false)
	}
	return s
}

// connection notes a connection record. It reports false if the record is not that of a connection of the
// bag.
func (w *Whole) connection(bag *table.Table, h *wire.RecordHeader, record, data []byte) bool {
	conn, ok := bag.ByID[h.Conn]
	if !ok {
		return false
	}
	if !bytes.Equal(record, w.records[conn]) {
		c, err := wire.ParseConnection(h, data)
		if err != nil || c.Topic != bag.Conns[conn].Topic || !slices.Equal(c.Header, bag.Conns[conn].Header) {
			return false
		}
		w.records[conn] = bytes.Clone(record)
	}
	s := w.slot(bag, conn)
	w.Recorded[s] = w.Recorded[s] || w.Slots[s].Count == 0
	return true
}

// Counts implements rosbag.Chunk.
func (w *Whole) Counts() (list []rosbag.ConnCount, payload uint64) {
	for i := range w.Slots {
		list = append(list, rosbag.ConnCount{Conn: w.Slots[i].Conn, Count: w.Slots[i].Count})
		payload += w.Slots[i].Bytes
	}
	return list, payload
}

// Start implements rosbag.Chunk.
func (w *Whole) Start() rosbag.Time { return w.Entries[0].Time }

// End implements rosbag.Chunk.
func (w *Whole) End() rosbag.Time { return w.Entries[len(w.Entries)-1].Time }

// Pass implements rosbag.Chunk.
func (w *Whole) Pass() {
	x := w.cursor.heap[0]
	x.Next, w.cursor.run, w.undone = len(x.Entries), 0, nil
}
