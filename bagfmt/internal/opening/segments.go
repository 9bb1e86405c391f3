package opening

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxCleared is how large a map may be to be used again: clearing one costs as much as
// it ever held.
const maxCleared = 1 << 10

// segmentBytes is the size of segments that are no chunks.
const segmentBytes = 1 << 20

// segmentScan lists the segments of a file while that is read from front to back.
// Connections count by their id: which one that is may be known later.
type segmentScan struct {
	bag    *table.Table
	kind   table.Kind    // of ranges
	list   []table.Chunk // without Counts
	counts []idCount     // of all segments
	sizes  []int32       // how many of counts belong to each
	tally  tally         // of the open range
	from   int64         // where the open range starts
	to     int64         // and ends
}

// message adds the message whose record is from one offset to another to a range.
func (x *segmentScan) message(id rosbag.ConnID, t rosbag.Time, from, to int64) {
	x.record(from, to)
	x.tally.add(id, 1, t, t)
}

// record adds a record to the range of the one before it, if they touch and there is
// room.
func (x *segmentScan) record(from, to int64) {
	if from != x.to || to-x.from > min(segmentBytes, x.bag.Options.MaxChunkBytes) {
		x.close()
		x.from = from
	}
	x.to = to
}

// close ends the open range.
func (x *segmentScan) close() {
	if x.tally.some {
		x.segment(table.Chunk{Span: rosbag.Span{Pos: x.from}, Kind: x.kind, Bytes: x.to - x.from}, &x.tally)
	}
	x.tally.reset()
	x.from, x.to = 0, 0
}

// segment adds c with the messages of t.
func (x *segmentScan) segment(c table.Chunk, t *tally) {
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
	bag := x.bag
	bag.Chunks = x.list
	all := make([]rosbag.ConnCount, 0, len(x.counts))
	lost := make(map[rosbag.ConnID]*orphan)
	for i := range bag.Chunks {
		own := x.counts[:x.sizes[i]]
		x.counts = x.counts[x.sizes[i]:]
		first := len(all)
		for _, n := range own {
			if at, ok := bag.ByID[n.id]; ok {
				all = append(all, rosbag.ConnCount{Conn: bag.Conns[at], Count: n.n})
				continue
			}
			if bag.MCAP != nil && bag.MCAP.Channels.Foreign(uint16(n.id)) {
				continue
			}
			if lost[n.id] == nil {
				lost[n.id] = &orphan{at: bag.Chunks[i].Pos}
			}
			lost[n.id].count += uint64(n.n)
			if bag.Chunks[i].Kind == table.KindChunk {
				bag.Chunks[i].Kind = table.KindNoIndex // its index tells about them, too
			}
		}
		bag.Chunks[i].Counts = slices.Clip(all[first:])
	}
	for _, id := range slices.SortedFunc(maps.Keys(lost), func(a, b rosbag.ConnID) int { return cmp.Compare(lost[a].at, lost[b].at) }) {
		bag.Damaged(wire.Corrupt(lost[id].at, rosbag.OpMessage, "%d messages of unknown connection %d", lost[id].count, id))
	}
}

// orphan counts the messages of an unknown connection.
type orphan struct {
	at    int64
	count uint64
}
