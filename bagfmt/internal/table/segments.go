package table

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// maxCleared is how large a map may be to be used again: clearing one costs as much as
// it ever held.
const maxCleared = 1 << 10

// Bytes is the size of segments that are no chunks.
const Bytes = 1 << 20

// List lists the segments of a file while that is read from front to back.
// Connections count by their id: which one that is may be known later.
type List struct {
	bag    *Table
	kind   Kind      // of ranges
	list   []Chunk   // without Counts
	counts []idCount // of all segments
	sizes  []int32   // how many of counts belong to each
	tally  Tally     // of the open range
	from   int64     // where the open range starts
	to     int64     // and ends
}

// New returns an empty List for bag. The ranges that it makes are of a kind.
func New(bag *Table, kind Kind) List { return List{bag: bag, kind: kind} }

// Message adds the message whose record is from one offset to another to a range.
func (x *List) Message(id rosbag.ConnID, t rosbag.Time, from, to int64) {
	x.Record(from, to)
	x.tally.Add(id, 1, t, t)
}

// Record adds a record to the range of the one before it, if they touch and there is
// room.
func (x *List) Record(from, to int64) {
	if from != x.to || to-x.from > min(Bytes, x.bag.Options.MaxChunkBytes) {
		x.Close()
		x.from = from
	}
	x.to = to
}

// Close ends the open range.
func (x *List) Close() {
	if x.tally.some {
		x.Segment(Chunk{Span: rosbag.Span{Pos: x.from}, Kind: x.kind, Bytes: x.to - x.from}, &x.tally)
	}
	x.tally.Reset()
	x.from, x.to = 0, 0
}

// Segment adds c with the messages of t.
func (x *List) Segment(c Chunk, t *Tally) {
	if t.some {
		c.Start, c.End = t.start, t.end
	}
	x.list = append(x.list, c)
	first := len(x.counts)
	for id, n := range t.ByID {
		x.counts = append(x.counts, idCount{id, n})
	}
	slices.SortFunc(x.counts[first:], func(a, b idCount) int { return cmp.Compare(a.id, b.id) })
	x.sizes = append(x.sizes, int32(len(x.counts)-first))
}

// Finish gives the segments to the Reader, which knows its connections now. Messages
// of unknown ones are damage.
func (x *List) Finish() {
	x.Close()
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
			if bag.Chunks[i].Kind == KindChunk {
				bag.Chunks[i].Kind = KindNoIndex // its index includes the lost messages
			}
		}
		bag.Chunks[i].Counts = slices.Clip(all[first:])
	}
	byPlace := func(a,
		b rosbag.ConnID,
	) int {
		return cmp.Or(cmp.Compare(lost[a].at, lost[b].at), cmp.Compare(a, b))
	}
	for _, id := range slices.SortedFunc(maps.Keys(lost), byPlace) {
		bag.Damaged(wire.Corrupt(lost[id].at, rosbag.OpMessage, "%d messages of unknown connection %d",
			lost[id].count, id))
	}
}

// orphan counts the messages of an unknown connection.
type orphan struct {
	at    int64
	count uint64
}
