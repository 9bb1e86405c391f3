package cursor

import (
	"errors"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/internal/queue/inorder"
	"github.com/gorosbag/gorosbag/rosbag"
)

// loadAhead reads chunks for one Cursor before it needs them, on other goroutines.
// It delivers sound chunks only. The others the Cursor loads itself when it comes to
// them, so that errors come at the same place with and without a loadAhead.
type loadAhead struct {
	bag  *table.Table
	keep []bool
	q    rosbag.Query
	// bytes of a chunk, stored or unpacked; larger ones are left to the Cursor
	limit int64
	// in the order of Cursor.pending
	queue *inorder.Queue[loadJob, *load.Loader]
	// chunks
	taken int
	// the chunk that was loaded last was not compressed
	plain bool
}

// loadJob is a chunk that is loaded ahead.
type loadJob struct {
	chunk  load.Chunk
	memory []byte // for its data, if it is enough
	good   bool   // chunk is as if it had been opened and filled
	plain  bool   // it is not compressed
}

// newLoadAhead shares CacheBytes: half of it is for what workers load, half for what
// the Cursor keeps.
func newLoadAhead(bag *table.Table, q rosbag.Query, keep []bool) *loadAhead {
	a := &loadAhead{bag: bag, keep: keep, q: q}
	loaders := make([]*load.Loader, min(q.Workers, wire.MaxWorkers))
	for i := range loaders {
		loaders[i] = new(load.Loader)
		if q.Memory != nil {
			loaders[i].Take = q.Memory.Take
		}
	}
	a.limit = bag.Options.CacheBytes / 2 / int64(len(loaders))
	a.queue = inorder.New(loaders, func(j *loadJob, l *load.Loader) {
		l.Memory = j.memory
		j.good = j.load(a, l)
		j.plain = l.Plain()
		j.memory, l.Memory = l.Memory, nil
	})
	return a
}

// start begins to load the first chunks of pending that are not in the queue: one at first, since after a
// seek few may be wanted, and one more with each that was taken, up to as many as there are workers.
// Small chunks that are not compressed are left to the Cursor, beginning with the first one: to hand them
// over costs more than to read them. buffers gives memory for their data.
func (a *loadAhead) start(pending []int, buffers *bufferPool) {
	most := min(max(a.taken, 1), a.queue.Workers())
	for n := a.queue.Len(); n < most && n < len(pending) &&
		(!a.plain || !load.Small(a.bag, pending[n])); n++ {
		j := a.queue.Job()
		j.chunk = j.chunk.Empty()
		j.chunk.Number = pending[n]
		j.memory = buffers.get()
		a.queue.Start(j)
	}
}

// load reads the index and the data of the chunk. It reports false after any error or
// damage.
func (j *loadJob) load(a *loadAhead, l *load.Loader) (good bool) {
	x := &j.chunk
	x.Derive = a.bag.Chunks[x.Number].Kind.Derived()
	if !x.Derive {
		var err error
		if x.Entries, err = l.Entries(a.bag, x.Number, a.keep, x.Entries); err != nil {
			return false
		}
		if x.Entries = load.Covered(&a.q, x.Entries); len(x.Entries) == 0 {
			return true
		}
	}
	p, err := l.Place(a.bag, x.Number)
	if err != nil || max(p.Stored, p.Size) > a.limit {
		return false
	}
	return l.Load(a.bag, x, a.keep, a.q) == nil
}

// await waits for the first chunk of the queue, which is the first of pending. It reports
// false if it was canceled.
func (a *loadAhead) await() bool { return a.queue.Wait(a.q.Cancel) }

// take moves the first chunk of the queue to x. It reports false if the Cursor has to
// load it itself.
func (a *loadAhead) take(x *load.Chunk, buffers, stored *bufferPool) (good bool) {
	j := a.queue.Take()
	a.taken++
	a.plain = j.plain
	buffers.put(j.memory) // it was not enough, or not needed
	if j.good {
		*x, j.chunk = j.chunk, *x
		j.chunk.Stored = stored.get()
	}
	j.chunk = j.chunk.Empty()
	j.memory = nil
	a.queue.Recycle(j)
	return j.good
}

var errCursorClosed = errors.New("cursor closed")

// Close ends what Query.Workers began: when it returns no goroutine of the Cursor
// is left. Next then returns an error. Close is harmless without Workers, and twice.
func (c *Cursor) Close() {
	c.closed, c.run = true, 0
	if c.ahead != nil {
		c.ahead.queue.Close()
		c.ahead = nil
	}
	c.heap, c.pending, c.free, c.buffers, c.stored = nil, nil, nil, bufferPool{}, bufferPool{}
}
