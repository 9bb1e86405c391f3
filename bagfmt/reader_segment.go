package bagfmt

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/rosbag"
)

// segmentKind says what a segment of a bag is: where its data is and where its index
// comes from.
type segmentKind uint8

const (
	segmentChunk   segmentKind = iota // a chunk record, with index data behind it
	segmentNoIndex                    // a chunk record without good index data
	segmentTorn                       // an encrypted chunk that is not compressed, cut by the end of the file
	segmentRecords                    // records of format V2.0 that are in no chunk
	segmentOld                        // records of an older version
)

// raw reports whether the data of the segment is the bytes of the file.
func (k segmentKind) raw() bool { return k >= segmentRecords }

// derived reports whether the index of the segment has to be made from its data.
func (k segmentKind) derived() bool { return k != segmentChunk }

// rawPlace is chunkLoader.place for a range of a file of size bytes.
func (c *ChunkInfo) rawPlace(size int64) (chunkPlace, error) {
	p := chunkPlace{pos: c.Pos, data: c.Pos, stored: c.bytes, size: c.bytes, compression: rosbag.CompressionNone, op: rosbag.OpMessage}
	if left := size - c.Pos; c.bytes > left {
		return p, torn(c.Pos, p.op, "segment", left, c.bytes)
	}
	return p, nil
}

// derivation makes index entries from the data of a segment.
type derivation struct {
	r       *Reader
	keep    []bool
	q       rosbag.Query
	records bool // entries shall point at records, not at frames

	list    []indexEntry // sorted by time and place
	found   uint64       // messages of kept connections, at any time
	stopped error        // of ReaderOptions.Interrupted
}

// run goes over data as far as it can be read. whole says that it was read wholly.
func (d *derivation) run(kind segmentKind, data []byte) (whole bool) {
	if kind == segmentOld {
		whole = d.old(d.r.old, data)
	} else {
		whole = d.chunk(data)
	}
	if d.stopped != nil {
		return false
	}
	sortEntries(d.list)
	return whole
}

// chunk goes over records of format V2.0.
func (d *derivation) chunk(data []byte) (whole bool) {
	w := chunkWalk{data: data}
	pause := interruptionPause{f: d.r.o.Interrupted}
	for whole = true; ; {
		at := w.at
		if d.stopped = pause.reached(at); d.stopped != nil {
			return false
		}
		h, frame, err := w.next()
		if errors.Is(err, io.EOF) {
			return whole
		}
		if err != nil {
			whole = false
			continue
		}
		if h.op != rosbag.OpMessage {
			continue
		}
		conn, ok := d.r.byID[h.conn]
		if !ok {
			whole = false
			continue
		}
		d.add(conn, h.time, at, w.at-len(frame))
	}
}

// add notes one message.
func (d *derivation) add(conn int32, t rosbag.Time, record, frame int) {
	if !d.keep[conn] {
		return
	}
	d.found++
	if !covers(&d.q, timeKey(t)) {
		return
	}
	if d.records {
		frame = record
	}
	d.list = append(d.list, indexEntry{timeKey(t), uint32(frame), conn})
}

// maxCleared is how large a map may be to be used again: clearing one costs as much as
// it ever held.
const maxCleared = 1 << 10

// segmentBytes is the size of segments that are no chunks.
const segmentBytes = 1 << 20

// segmentScan lists the segments of a file while that is read from front to back.
// Connections count by their id: which one that is may be known later.
type segmentScan struct {
	r      *Reader
	kind   segmentKind // of ranges
	list   []ChunkInfo // without Counts
	counts []idCount   // of all segments
	sizes  []int32     // how many of counts belong to each
	tally  tally       // of the open range
	from   int64       // where the open range starts
	to     int64       // and ends
}

// idCount is a ConnCount without the connection.
type idCount struct {
	id rosbag.ConnID
	n  uint32
}

// tally counts messages.
type tally struct {
	byID       map[rosbag.ConnID]uint32
	start, end rosbag.Time
	some       bool
}

// add counts n messages from time start to end.
func (t *tally) add(id rosbag.ConnID, n uint32, start, end rosbag.Time) {
	if t.byID == nil {
		t.byID = make(map[rosbag.ConnID]uint32)
	}
	t.byID[id] += n
	if n == 0 {
		return // its index data is there all the same
	}
	if !t.some || start.Before(t.start) {
		t.start = start
	}
	if !t.some || t.end.Before(end) {
		t.end = end
	}
	t.some = true
}

func (t *tally) reset() {
	if len(t.byID) > maxCleared {
		t.byID = nil
	}
	clear(t.byID)
	t.some = false
}

// message adds the message whose record is from one offset to another to a range.
func (x *segmentScan) message(id rosbag.ConnID, t rosbag.Time, from, to int64) {
	x.record(from, to)
	x.tally.add(id, 1, t, t)
}

// record adds a record to the range of the one before it, if they touch and there is
// room.
func (x *segmentScan) record(from, to int64) {
	if from != x.to || to-x.from > min(segmentBytes, x.r.o.MaxChunkBytes) {
		x.close()
		x.from = from
	}
	x.to = to
}

// close ends the open range.
func (x *segmentScan) close() {
	if x.tally.some {
		x.segment(ChunkInfo{Pos: x.from, kind: x.kind, bytes: x.to - x.from}, &x.tally)
	}
	x.tally.reset()
	x.from, x.to = 0, 0
}

// segment adds c with the messages of t.
func (x *segmentScan) segment(c ChunkInfo, t *tally) {
	if t.some {
		c.Start, c.End = t.start, t.end
	}
	x.list = append(x.list, c)
	first := len(x.counts)
	for id, n := range t.byID {
		x.counts = append(x.counts, idCount{id, n})
	}
	slices.SortFunc(x.counts[first:], func(a, b idCount) int { return cmp.Compare(a.id, b.id) })
	x.sizes = append(x.sizes, int32(len(x.counts)-first))
}

// finish gives the segments to the Reader, which knows its connections now. Messages
// of unknown ones are damage.
func (x *segmentScan) finish() {
	x.close()
	r := x.r
	r.chunks = x.list
	all := make([]rosbag.ConnCount, 0, len(x.counts))
	lost := make(map[rosbag.ConnID]*orphan)
	for i := range r.chunks {
		own := x.counts[:x.sizes[i]]
		x.counts = x.counts[x.sizes[i]:]
		first := len(all)
		for _, n := range own {
			if at, ok := r.byID[n.id]; ok {
				all = append(all, rosbag.ConnCount{Conn: r.conns[at], Count: n.n})
				continue
			}
			if lost[n.id] == nil {
				lost[n.id] = &orphan{at: r.chunks[i].Pos}
			}
			lost[n.id].count += uint64(n.n)
			if r.chunks[i].kind == segmentChunk {
				r.chunks[i].kind = segmentNoIndex // its index tells about them, too
			}
		}
		r.chunks[i].Counts = slices.Clip(all[first:])
	}
	for _, id := range slices.SortedFunc(maps.Keys(lost), func(a, b rosbag.ConnID) int { return cmp.Compare(lost[a].at, lost[b].at) }) {
		r.damaged(corrupt(lost[id].at, rosbag.OpMessage, "%d messages of unknown connection %d", lost[id].count, id))
	}
}

// orphan counts the messages of an unknown connection.
type orphan struct {
	at    int64
	count uint64
}
