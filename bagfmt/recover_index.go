package bagfmt

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// chunkIndex is what the records of one chunk say about it.
type chunkIndex struct {
	entries    []chunkMessage
	slots      []chunkConn
	byID       map[ConnID]int32 // slot+1 that an id means now
	byOut      map[ConnID]int32 // the same by id in the result
	last       ConnID           // of the message before
	lastSlot   int32            // slot+1 of it
	start, end Time
	orphans    uint64 // messages of unknown connections
	orphan     ConnID // one of these
	same       bool   // all ids mean the same in the result
	wrong      error  // of the first record that could not be read
	from, to   int    // the bytes lost with it and what was lost later
	order      []int32
}

// chunkMessage is a message of a chunk.
type chunkMessage struct {
	time       Time
	record     uint32 // offset
	frame, end uint32
	slot       int32
}

// chunkConn is a connection of a chunk.
type chunkConn struct {
	out    *Connection
	count  uint32
	record bool // its record is in the chunk, before its messages
	last   Time
	mixed  bool // its messages are not in time order
	at     int  // while the index is built: where its next entry goes
}

// read goes over the records of h. Where one cannot be read it goes on at the next
// message that the index data knows, if the chunk has no checksum.
func (x *chunkIndex) read(v *recovery, h *heldChunk) {
	*x = chunkIndex{entries: x.entries[:0], slots: x.slots[:0], byID: x.byID, byOut: x.byOut, order: x.order, same: true}
	if x.byID == nil {
		x.byID, x.byOut = make(map[ConnID]int32), make(map[ConnID]int32)
	}
	clear(x.byID)
	clear(x.byOut)
	size := len(h.data)
	for b := h.data; len(b) > 0; {
		at := size - len(b)
		if id, t, frame, rest, ok := cutMessage(b); ok {
			x.message(h.space, id, t, at, size-len(rest)-len(frame), size-len(rest))
			b = rest
			continue
		}
		var rec recordHeader
		tail, rest, err := cutRecord(b, &rec)
		if err == nil {
			switch rec.op {
			case OpMessage:
				x.message(h.space, rec.conn, rec.time, at, size-len(rest)-len(tail), size-len(rest))
			case OpConnection:
				x.learn(h.space.learn(v, &rec, tail[4:], h.place.pos), rec.conn)
			case OpBagHeader, OpIndexData, OpChunk, OpChunkInfo, opMessageDefinition: // of no interest
			}
			b = rest
			continue
		}
		next := x.resume(h, at)
		x.fail(h, at, next, err)
		b = h.data[next:]
	}
}

// fail notes that the bytes from at to next cannot be read.
func (x *chunkIndex) fail(h *heldChunk, at, next int, err error) {
	x.to = next
	if x.wrong == nil {
		x.from = at
		x.wrong = &CorruptError{Offset: h.place.pos, Op: OpChunk, Reason: fmt.Sprintf("record at %d", at), Err: err}
	}
}

// resume returns where the next message is that index data points at.
func (x *chunkIndex) resume(h *heldChunk, at int) int {
	i := sort.Search(len(h.offsets), func(i int) bool { return int64(h.offsets[i]) > int64(at) })
	for ; i < len(h.offsets) && int64(h.offsets[i]) < int64(len(h.data)); i++ {
		if _, _, _, _, ok := cutMessage(h.data[h.offsets[i]:]); ok {
			return int(h.offsets[i])
		}
	}
	return len(h.data)
}

// message adds a message record.
func (x *chunkIndex) message(s *connSpace, id ConnID, t Time, record, frame, end int) {
	slot := x.lastSlot
	if slot == 0 || id != x.last {
		if slot = x.byID[id]; slot == 0 {
			out := s.get(id)
			if out == nil || end-frame-4 > maxMessageBytes {
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

// slot makes the slot of a connection that the id means from now on.
func (x *chunkIndex) slot(id ConnID, out *Connection) int32 {
	x.same = x.same && out.ID == id
	slot, ok := x.byOut[out.ID]
	if !ok {
		x.slots = append(x.slots, chunkConn{out: out})
		slot = int32(len(x.slots))
		x.byOut[out.ID] = slot
	}
	x.byID[id] = slot
	return slot
}

// learn takes in a connection record of the chunk.
func (x *chunkIndex) learn(c spaceConn, id ConnID) {
	delete(x.byID, id)
	x.lastSlot = 0
	if c.out == nil {
		x.same = false
		return
	}
	if s := &x.slots[x.slot(id, c.out)-1]; s.count == 0 {
		s.record = true
	}
}

// present reports whether the records of all connections of the chunk are in it or
// in the result already, so that a reader from front to back knows them.
func (x *chunkIndex) present(v *recovery) bool {
	for i := range x.slots {
		s := &x.slots[i]
		if _, ok := v.present[s.out.ID]; !ok && !s.record {
			return false
		}
	}
	return true
}

// lostAt and lostBytes say what part of the record was lost.
func (x *chunkIndex) lostAt(h *heldChunk) int64 {
	if x.wrong == nil || len(h.stored) != len(h.data) {
		return 0
	}
	return h.place.data - h.place.pos + int64(x.from)
}

func (x *chunkIndex) lostBytes(h *heldChunk) int64 {
	switch {
	case x.wrong == nil: // the file ends too early: what is missing is not in it
		return 0
	case len(h.stored) != len(h.data):
		return h.end - h.place.pos
	}
	return int64(x.to - x.from)
}

// why says why messages are missing in a chunk that could be read.
func (x *chunkIndex) why(h *heldChunk, promised uint64) error {
	if x.orphans > 0 {
		return corrupt(h.place.pos, OpChunk, "%d messages of unknown connections, one is %d", x.orphans, x.orphan)
	}
	return corrupt(h.place.pos, OpChunk, "holds %d messages, its index counts %d", len(x.entries), promised)
}

// append adds the index data records of the chunk, by ascending id.
func (x *chunkIndex) append(out []byte) ([]byte, []ConnCount) {
	x.order = x.order[:0]
	for i := range x.slots {
		if x.slots[i].count > 0 {
			x.order = append(x.order, int32(i))
		}
	}
	slices.SortFunc(x.order, func(a, b int32) int { return cmp.Compare(x.slots[a].out.ID, x.slots[b].out.ID) })
	counts := make([]ConnCount, 0, len(x.order))
	out = slices.Grow(out, len(x.order)*indexHeaderBytes+len(x.entries)*indexEntryBytes)
	for _, i := range x.order {
		s := &x.slots[i]
		out = appendIndexHeader(out, s.out.ID, int(s.count))
		s.at = len(out)
		out = out[:len(out)+int(s.count)*indexEntryBytes]
		counts = append(counts, ConnCount{s.out, s.count})
	}
	for _, e := range x.entries {
		s := &x.slots[e.slot]
		putTime(out[s.at:], e.time)
		binary.LittleEndian.PutUint32(out[s.at+8:], e.record)
		s.at += indexEntryBytes
	}
	for _, i := range x.order {
		if s := &x.slots[i]; s.mixed {
			sortIndex(out[s.at-int(s.count)*indexEntryBytes : s.at])
		}
	}
	return out, counts
}
