package cursor

import (
	"errors"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// loadAhead reads chunks for one Cursor before it needs them, on other goroutines.
// It delivers sound chunks only: what is wrong with the others the Cursor finds out
// when it comes to them, as without it. So errors come at the same place.
type loadAhead struct {
	bag     *table.Table
	keep    []bool
	q       rosbag.Query
	limit   int64             // bytes of a chunk, stored or unpacked; larger ones are left to the Cursor
	loaders chan *load.Loader // the idle ones
	queue   []*loadJob        // started and not yet taken, in the order of Cursor.pending
	free    []*loadJob
	taken   int // chunks
}

// loadJob is a chunk that is loaded ahead.
type loadJob struct {
	chunk  load.Chunk
	memory []byte        // for its data, if it is enough
	good   bool          // chunk is as if it had been opened and filled
	done   chan struct{} // gets one token
}

// newLoadAhead shares CacheBytes: half of it is for what workers load, half for what
// the Cursor keeps.
func newLoadAhead(bag *table.Table, q rosbag.Query, keep []bool) *loadAhead {
	n := min(q.Workers, wire.MaxWorkers)
	a := &loadAhead{bag: bag, keep: keep, q: q, loaders: make(chan *load.Loader, n)}
	a.limit = bag.Options.CacheBytes / 2 / int64(n)
	for range n {
		a.loaders <- new(load.Loader)
	}
	return a
}

// start begins to load the first chunks of pending that are not in the queue: one at
// first, since after a seek few may be wanted, and one more with each that was taken,
// up to as many as there are workers. buffers gives memory for their data.
func (a *loadAhead) start(pending []int, buffers *bufferPool) {
	most := min(max(a.taken, 1), cap(a.loaders))
	for n := len(a.queue); n < most && n < len(pending); n++ {
		var j *loadJob
		if last := len(a.free) - 1; last >= 0 {
			j, a.free = a.free[last], a.free[:last]
		} else {
			j = &loadJob{done: make(chan struct{}, 1)}
		}
		j.chunk = load.Chunk{Number: pending[n], Entries: j.chunk.Entries[:0]}
		j.memory = buffers.get()
		a.queue = append(a.queue, j)
		// owner: Cursor; ends when the chunk is loaded, and take or Close waits for that.
		go func() {
			l := <-a.loaders
			l.Memory = j.memory
			j.good = j.load(a, l)
			j.memory, l.Memory = l.Memory, nil
			a.loaders <- l
			j.done <- struct{}{}
		}()
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
func (a *loadAhead) await() bool {
	j := a.queue[0]
	select {
	case <-j.done:
		j.done <- struct{}{} // for take
		return true
	case <-a.q.Cancel:
		return false
	}
}

// take moves the first chunk of the queue to x. It reports false if the Cursor has to
// load it itself.
func (a *loadAhead) take(x *load.Chunk, buffers *bufferPool) (good bool) {
	j := a.queue[0]
	a.queue = a.queue[:copy(a.queue, a.queue[1:])]
	a.taken++
	<-j.done
	buffers.put(j.memory) // it was not enough, or not needed
	if j.good {
		entries := x.Entries
		*x = j.chunk
		j.chunk.Entries = entries
	}
	j.chunk = load.Chunk{Entries: j.chunk.Entries[:0]}
	j.memory = nil
	a.free = append(a.free, j)
	return j.good
}

var errCursorClosed = errors.New("cursor closed")

// Close ends what Query.Workers began: when it returns no goroutine of the Cursor
// is left. Next then returns an error. Close is harmless without Workers, and twice.
func (c *Cursor) Close() {
	c.closed, c.run = true, 0
	if c.ahead != nil {
		for _, j := range c.ahead.queue {
			<-j.done
		}
		c.ahead = nil
	}
	c.heap, c.pending, c.free, c.buffers = nil, nil, nil, bufferPool{}
}
