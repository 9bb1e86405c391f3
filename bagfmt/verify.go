package bagfmt

import (
	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Verifier compares chunks with the index: it finds in each what a Cursor over all messages and
// Reader.Index find. It is not for concurrent use, but a Reader may have several.
type Verifier struct {
	bag  *table.Table
	load load.Loader
	keep []bool
	x    load.Chunk
}

// Verifier returns a Verifier of the chunks of r.
func (r *Reader) Verifier() *Verifier {
	keep := make([]bool, len(r.t.Conns))
	for i := range keep {
		keep[i] = true
	}
	return &Verifier{bag: r.t, keep: keep, load: load.Loader{Strict: true}}
}

// VerifiedChunk is what a Verifier found.
type VerifiedChunk struct {
	Messages    uint64      // that a Cursor gives out
	First, Last rosbag.Time // of the index data, zero Times if there is none
	Err         error       // of Cursor.Next
	IndexErr    error       // of Reader.Index
}

// Verify reads chunk i of a bag with an index.
func (v *Verifier) Verify(i int) (out VerifiedChunk) {
	x := &v.x
	x.Entries, out.IndexErr = v.load.Entries(v.bag, i, v.keep, x.Entries)
	*x = load.Chunk{Number: i, Entries: x.Entries, Damaged: wire.AsCorrupt(out.IndexErr)}
	switch n := len(x.Entries); {
	case x.Damaged != nil:
		x.Entries = x.Entries[:0]
	case out.IndexErr != nil:
		out.Err = out.IndexErr
		return out
	case n == 0:
		return out // a Cursor does not look at such a chunk
	default:
		out.First, out.Last = x.Entries[0].Time(), x.Entries[n-1].Time()
	}
	if out.Err = v.load.Load(v.bag, x, v.keep, rosbag.Query{}); x.Data != nil {
		out.Messages = uint64(len(x.Entries))
		if v.bag.Options.Cache == nil {
			v.load.Memory = x.Data
		}
		x.Data = nil
	}
	return out
}

// ExtentEnd returns where what belongs to chunk i ends in the file: its data and its index.
func (r *Reader) ExtentEnd(i int) int64 { return r.t.ExtentEnd(i) }
