package wire

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// ChunkIndex lists the messages of a chunk in the order of their records, for the index data after it.
type ChunkIndex struct {
	Entries []IndexEntry
	Slots   []IndexSlot
	Used    []int32 // the slots that the chunk uses
}

// IndexEntry is an index entry before it is sorted into the index data of its connection.
type IndexEntry struct {
	Time   rosbag.Time
	Offset uint32 // of the message record
	Slot   int32
}

// IndexSlot is a connection, with its messages in the chunk.
type IndexSlot struct {
	Conn  *rosbag.Connection // nil: not in the chunk
	Count uint32             // messages
	Bytes uint64             // of their payload

	at    int         // while the index data is appended: where the next entry goes
	last  rosbag.Time // and the time of the entry before
	mixed bool        // and whether entries are not in time order
}

// Append appends one index data record for each connection with messages to dst, by ascending id, the number
// of these messages to counts, and the bytes of their payload to payload. It sorts Used.
func (x *ChunkIndex) Append(
	dst []byte, counts []rosbag.ConnCount, payload []uint64,
) ([]byte, []rosbag.ConnCount, []uint64) {
	slices.SortFunc(x.Used,
		func(a, b int32) int { return cmp.Compare(x.Slots[a].Conn.ID, x.Slots[b].Conn.ID) })
	dst = slices.Grow(dst, len(x.Used)*IndexHeaderBytes+len(x.Entries)*IndexEntryBytes)
	for _, s := range x.Used {
		slot := &x.Slots[s]
		if slot.Count == 0 {
			continue
		}
		dst = AppendIndexHeader(dst, slot.Conn.ID, int(slot.Count))
		slot.at, slot.last, slot.mixed = len(dst), rosbag.Time{}, false
		dst = dst[:len(dst)+int(slot.Count)*IndexEntryBytes]
		counts = append(counts, rosbag.ConnCount{Conn: slot.Conn, Count: slot.Count})
		payload = append(payload, slot.Bytes)
	}
	x.put(dst)
	for _, s := range x.Used {
		if slot := &x.Slots[s]; slot.mixed && slot.Count > 0 {
			sortIndex(dst[slot.at-int(slot.Count)*IndexEntryBytes : slot.at])
		}
	}
	return dst, counts, payload
}

// put writes each entry to its place in dst.
func (x *ChunkIndex) put(dst []byte) {
	slots := x.Slots
	for _, e := range x.Entries {
		slot := &slots[e.Slot]
		PutTime(dst[slot.at:], e.Time)
		binary.LittleEndian.PutUint32(dst[slot.at+8:], e.Offset)
		slot.at += IndexEntryBytes
		slot.mixed = slot.mixed || e.Time.Before(slot.last)
		slot.last = e.Time
	}
}

// IndexHeaderBytes is the length of what AppendIndexHeader adds.
const IndexHeaderBytes = 55

// AppendIndexHeader adds the header of an index data record and the length of its data.
func AppendIndexHeader(dst []byte, id rosbag.ConnID, count int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendU32(dst, KeyConn, uint32(id))
	dst = appendU32(dst, KeyCount, uint32(count))
	dst = appendOp(dst, rosbag.OpIndexData)
	dst = appendU32(dst, KeyVer, IndexVersion)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return binary.LittleEndian.AppendUint32(dst, uint32(count*IndexEntryBytes))
}

// sortIndex sorts encoded index entries by time, entries of the same time by offset.
func sortIndex(b []byte) {
	type entry struct {
		time   rosbag.Time
		offset uint32
	}
	entries := make([]entry, 0, len(b)/IndexEntryBytes)
	for i := 0; i < len(b); i += IndexEntryBytes {
		entries = append(entries, entry{GetTime(b[i:]), binary.LittleEndian.Uint32(b[i+8:])})
	}
	slices.SortStableFunc(entries, func(x, y entry) int { return x.time.Compare(y.time) })
	for i, e := range entries {
		PutTime(b[i*IndexEntryBytes:], e.time)
		binary.LittleEndian.PutUint32(b[i*IndexEntryBytes+8:], e.offset)
	}
}
