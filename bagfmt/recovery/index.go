package recovery

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkIndex lists the messages and connections of one chunk, as Recover reads them from
// its records.
type chunkIndex struct {
	entries    []chunkMessage
	slots      []chunkConn
	byID       map[rosbag.ConnID]int32 // slot+1 by id in the input
	byOut      map[rosbag.ConnID]int32 // slot+1 by id in the output
	last       rosbag.ConnID           // of the message before
	lastSlot   int32                   // slot+1 of it
	start, end rosbag.Time
	orphans    uint64        // messages of unknown connections
	orphan     rosbag.ConnID // one of these connections
	sameIDs    bool          // all ids are the same in the output
	err        error         // of the first record that could not be read
	from, to   int           // range of the data lost with that record and later ones
	order      []int32       // memory of append: slots by id
}

// chunkMessage is a message of a chunk.
type chunkMessage struct {
	time       rosbag.Time
	record     uint32 // offset
	frame, end uint32
	slot       int32
}

// chunkConn is a connection in a chunk.
type chunkConn struct {
	out    *rosbag.Connection
	count  uint32
	record bool // its record is in the chunk, before its messages
	last   rosbag.Time
	mixed  bool // its messages are not in time order
	at     int  // while the index is built: offset of its next entry
}

// read reads the records of c. After a record that cannot be read it continues at the next
// message in the index data, if the chunk has no checksum.
func (x *chunkIndex) read(c *stagedChunk) {
	*x = chunkIndex{entries: x.entries[:0], slots: x.slots[:0], byID: x.byID, byOut: x.byOut, order: x.order, sameIDs: true}
	if x.byID == nil {
		x.byID, x.byOut = make(map[rosbag.ConnID]int32), make(map[rosbag.ConnID]int32)
	}
	clear(x.byID)
	clear(x.byOut)
	size, conns := len(c.data), &c.bag.conns
	for b := c.data; len(b) > 0; {
		at := size - len(b)
		if id, t, frame, rest, ok := wire.CutMessage(b); ok {
			x.message(conns, id, t, at, size-len(rest)-len(frame), size-len(rest))
			b = rest
			continue
		}
		var rec wire.RecordHeader
		tail, rest, err := wire.CutRecord(b, &rec)
		if err == nil {
			switch rec.Op {
			case rosbag.OpMessage:
				x.message(conns, rec.Conn, rec.Time, at, size-len(rest)-len(tail), size-len(rest))
			case rosbag.OpConnection:
				x.connection(conns.add(&rec, tail[4:], c.place.Pos), rec.Conn)
			case rosbag.OpBagHeader, rosbag.OpIndexData, rosbag.OpChunk, rosbag.OpChunkInfo, rosbag.OpMessageDefinition: // of no interest
			}
			b = rest
			continue
		}
		next := c.messageAfter(at)
		x.fail(c, at, next, err)
		b = c.data[next:]
	}
}

// fail records that the bytes from at to next cannot be read.
func (x *chunkIndex) fail(c *stagedChunk, at, next int, err error) {
	x.to = next
	if x.err == nil {
		x.from = at
		x.err = &rosbag.CorruptError{Offset: c.place.Pos, Op: rosbag.OpChunk, Reason: fmt.Sprintf("record at %d", at), Err: err}
	}
}

// messageAfter returns the offset of the next message after at according to the index
// data, or the end of the data.
func (c *stagedChunk) messageAfter(at int) int {
	i := sort.Search(len(c.offsets), func(i int) bool { return int64(c.offsets[i]) > int64(at) })
	for ; i < len(c.offsets) && int64(c.offsets[i]) < int64(len(c.data)); i++ {
		if _, _, _, _, ok := wire.CutMessage(c.data[c.offsets[i]:]); ok {
			return int(c.offsets[i])
		}
	}
	return len(c.data)
}

// message adds a message record.
func (x *chunkIndex) message(conns *inputConns, id rosbag.ConnID, t rosbag.Time, record, frame, end int) {
	slot := x.lastSlot
	if slot == 0 || id != x.last {
		if slot = x.byID[id]; slot == 0 {
			out := conns.get(id)
			if out == nil || end-frame-4 > wire.MaxMessageBytes {
				x.orphans++
				x.orphan = id
				return
			}
			slot = x.slot(id, out)
		}
		x.last, x.lastSlot = id, slot
	}
	c := &x.slots[slot-1]
	c.mixed = c.mixed || t.Before(c.last)
	c.last = t
	c.count++
	if len(x.entries) == 0 || t.Before(x.start) {
		x.start = t
	}
	if len(x.entries) == 0 || x.end.Before(t) {
		x.end = t
	}
	x.entries = append(x.entries, chunkMessage{t, uint32(record), uint32(frame), uint32(end), slot - 1})
}

// slot returns the slot of a connection of the output, and assigns it to id.
func (x *chunkIndex) slot(id rosbag.ConnID, out *rosbag.Connection) int32 {
	x.sameIDs = x.sameIDs && out.ID == id
	slot, ok := x.byOut[out.ID]
	if !ok {
		x.slots = append(x.slots, chunkConn{out: out})
		slot = int32(len(x.slots))
		x.byOut[out.ID] = slot
	}
	x.byID[id] = slot
	return slot
}

// connection adds a connection record: from here on id means c.
func (x *chunkIndex) connection(c inputConn, id rosbag.ConnID) {
	delete(x.byID, id)
	x.lastSlot = 0
	if c.out == nil {
		x.sameIDs = false
		return
	}
	if s := &x.slots[x.slot(id, c.out)-1]; s.count == 0 {
		s.record = true
	}
}

// complete reports whether the record of each connection of the chunk is in the chunk or
// in the output already, so that a sequential reader finds it before the messages.
func (x *chunkIndex) complete(out *recoverOutput) bool {
	for i := range x.slots {
		if s := &x.slots[i]; !s.record && !out.isRecorded(s.out.ID) {
			return false
		}
	}
	return true
}

// lostAt and lostBytes return the range of the chunk record that was lost.
func (x *chunkIndex) lostAt(c *stagedChunk) int64 {
	if x.err == nil || len(c.stored) != len(c.data) {
		return 0
	}
	return c.place.Data - c.place.Pos + int64(x.from)
}

func (x *chunkIndex) lostBytes(c *stagedChunk) int64 {
	switch {
	case x.err == nil: // the file is truncated: it does not contain the missing part
		return 0
	case len(c.stored) != len(c.data):
		return c.end - c.place.Pos
	}
	return int64(x.to - x.from)
}

// missing returns the reason why messages are missing in a chunk that could be read.
func (x *chunkIndex) missing(c *stagedChunk, expected uint64) error {
	if x.orphans > 0 {
		return wire.Corrupt(c.place.Pos, rosbag.OpChunk, "%d messages of unknown connections, one is %d", x.orphans, x.orphan)
	}
	return wire.Corrupt(c.place.Pos, rosbag.OpChunk, "holds %d messages, its index counts %d", len(x.entries), expected)
}

// append appends the index data records of the chunk, by ascending id.
func (x *chunkIndex) append(out []byte) ([]byte, []rosbag.ConnCount) {
	x.order = x.order[:0]
	for i := range x.slots {
		if x.slots[i].count > 0 {
			x.order = append(x.order, int32(i))
		}
	}
	slices.SortFunc(x.order, func(a, b int32) int { return cmp.Compare(x.slots[a].out.ID, x.slots[b].out.ID) })
	counts := make([]rosbag.ConnCount, 0, len(x.order))
	out = slices.Grow(out, len(x.order)*wire.IndexHeaderBytes+len(x.entries)*wire.IndexEntryBytes)
	for _, i := range x.order {
		s := &x.slots[i]
		out = wire.AppendIndexHeader(out, s.out.ID, int(s.count))
		s.at = len(out)
		out = out[:len(out)+int(s.count)*wire.IndexEntryBytes]
		counts = append(counts, rosbag.ConnCount{Conn: s.out, Count: s.count})
	}
	for _, e := range x.entries {
		s := &x.slots[e.slot]
		wire.PutTime(out[s.at:], e.time)
		binary.LittleEndian.PutUint32(out[s.at+8:], e.record)
		s.at += wire.IndexEntryBytes
	}
	for _, i := range x.order {
		if s := &x.slots[i]; s.mixed {
			wire.SortIndex(out[s.at-int(s.count)*wire.IndexEntryBytes : s.at])
		}
	}
	return out, counts
}
