package recovery

import (
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt/internal/search"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkIndex lists the messages and connections of one chunk, as Recover reads them from
// its records.
type chunkIndex struct {
	wire.ChunkIndex
	// by slot: the record of the connection is in the chunk, before its messages
	inChunk []bool
	// slot+1 by id in the input
	byID map[rosbag.ConnID]int32
	// slot+1 by id in the output
	byOut map[rosbag.ConnID]int32
	// of the message before
	last rosbag.ConnID
	// slot+1 of it
	lastSlot   int32
	start, end rosbag.Time
	// messages of unknown connections
	orphans uint64
	// one of these connections
	orphan rosbag.ConnID
	// all ids and connections are the same in the output
	asStored bool
	// a message has the nanoseconds of a second or more
	oddTimes bool
	// of the first record that could not be read
	err error
	// range of the data lost with that record and later ones
	from, to int
}

// read reads the records of c. After a record that cannot be read it continues at the next
// message in the index data, if the chunk has no checksum.
func (x *chunkIndex) read(c *stagedChunk) {
	*x = chunkIndex{
		ChunkIndex: wire.ChunkIndex{Entries: x.Entries[:0], Slots: x.Slots[:0], Used: x.Used[:0]},
		inChunk:    x.inChunk[:0], byID: x.byID, byOut: x.byOut, asStored: true,
	}
	if x.byID == nil {
		x.byID, x.byOut = make(map[rosbag.ConnID]int32), make(map[rosbag.ConnID]int32)
	}
	clear(x.byID)
	clear(x.byOut)
	size, conns := len(c.data), &c.bag.conns
	for b := c.data; len(b) > 0; {
		at := size - len(b)
		if id, t, frame, rest, ok := wire.CutMessage(b); ok {
			x.message(conns, id, t, at, len(frame))
			b = rest
			continue
		}
		var rec wire.RecordHeader
		tail, rest, err := wire.CutRecord(b, &rec)
		if err == nil {
			switch rec.Op {
			case rosbag.OpMessage:
				x.message(conns, rec.Conn, rec.Time, at, len(tail))
			case rosbag.OpConnection:
				x.connection(conns, conns.add(&rec, tail[4:], c.place.Pos), rec.Conn, c.place.Pos)
			case rosbag.OpBagHeader, rosbag.OpIndexData, rosbag.OpChunk, rosbag.OpChunkInfo,
				rosbag.OpMessageDefinition:
				// of no interest
			}
			b = rest
			continue
		}
		next := search.NextMessage(c.data, c.offsets, at)
		x.fail(c, at, next, err)
		b = c.data[next:]
	}
}

// fail records that the bytes from at to next cannot be read.
func (x *chunkIndex) fail(c *stagedChunk, at, next int, err error) {
	x.to = next
	if x.err == nil {
		x.from = at
		x.err = &rosbag.CorruptError{
			Offset: c.place.Pos, Op: rosbag.OpChunk,
			Reason: fmt.Sprintf("record at %d", at), Err: err,
		}
	}
}

// message adds the message record at an offset, with a frame of so many bytes.
func (x *chunkIndex) message(conns *inputConns, id rosbag.ConnID, t rosbag.Time, offset, frameBytes int) {
	slot := x.lastSlot
	if slot == 0 || id != x.last {
		if slot = x.byID[id]; slot == 0 {
			c := conns.byID[id]
			if c.out == nil || frameBytes-4 > wire.MaxMessageBytes {
				x.orphans++
				x.orphan = id
				return
			}
			slot = x.slot(id, c)
		}
		x.last, x.lastSlot = id, slot
		conns.settle(id)
	}
	x.oddTimes = x.oddTimes || isOdd(t)
	c := &x.Slots[slot-1]
	c.Count++
	c.Bytes += uint64(frameBytes - 4)
	if len(x.Entries) == 0 || t.Before(x.start) {
		x.start = t
	}
	if len(x.Entries) == 0 || x.end.Before(t) {
		x.end = t
	}
	x.Entries = append(x.Entries, wire.IndexEntry{Time: t, Offset: uint32(offset), Slot: slot - 1})
}

// slot returns the slot of a connection of the output, and assigns it to id.
func (x *chunkIndex) slot(id rosbag.ConnID, c inputConn) int32 {
	out := c.out
	x.asStored = x.asStored && out.ID == id && !c.edited
	slot, ok := x.byOut[out.ID]
	if !ok {
		x.Used = append(x.Used, int32(len(x.Slots)))
		x.Slots, x.inChunk = append(x.Slots, wire.IndexSlot{Conn: out}), append(x.inChunk, false)
		slot = int32(len(x.Slots))
		x.byOut[out.ID] = slot
	}
	x.byID[id] = slot
	return slot
}

// connection adds a connection record of the chunk at offset at: from here on id means c.
func (x *chunkIndex) connection(conns *inputConns, c inputConn, id rosbag.ConnID, at int64) {
	if old := x.byID[id]; old > 0 && x.Slots[old-1].Count == 0 && c.out != nil &&
		x.Slots[old-1].Conn != c.out {
		conns.doubt(id, x.Slots[old-1].Conn, c.out, at)
	}
	delete(x.byID, id)
	x.lastSlot = 0
	if c.out == nil {
		x.asStored = false
		return
	}
	if s := x.slot(id, c) - 1; x.Slots[s].Count == 0 {
		x.inChunk[s] = true
	}
}

// complete reports whether the record of each connection of the chunk is in the chunk or
// in the output already, so that a sequential reader finds it before the messages.
func (x *chunkIndex) complete(out *recoverOutput) bool {
	for i, s := range x.Slots {
		if !x.inChunk[i] && !out.isRecorded(s.Conn.ID) {
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
		return wire.Corrupt(c.place.Pos, rosbag.OpChunk, "%d messages of unknown connections, one is %d",
			x.orphans, x.orphan)
	}
	return wire.Corrupt(c.place.Pos, rosbag.OpChunk, "holds %d messages, its index counts %d", len(x.Entries),
		expected)
}
