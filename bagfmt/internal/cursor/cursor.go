package cursor

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/gorosbag/gorosbag/bagfmt/internal/load"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/bagfmt/internal/wire"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Cursor walks over the messages of a Query in time order, messages of the same
// time in file order. It reads the index of a chunk when the time comes to the
// chunk's start, and its data with the first message that is wanted from it.
//
// It believes the chunk infos about which times and connections a chunk holds.
type Cursor struct {
	bag       *table.Table
	q         rosbag.Query
	keep      []bool // by index in Table.Conns
	load      load.Loader
	pending   []int         // chunks to open, by start time and place
	heap      []*load.Chunk // open chunks, the one with the next message first
	free      []*load.Chunk
	cached    int64 // bytes of data, unpacked and stored, in heap
	maxCached int64
	run       int // the next entries of the first chunk that come before those of all others
	tick      uint64
	ahead     *loadAhead // nil without Workers, and before the first Next
	prefetch  prefetcher
	buffers   bufferPool
	stored    bufferPool // for load.Chunk.Stored
	whole     Whole
	closed    bool
	msg       rosbag.Message
}

// New returns a Cursor at the start of what q selects. It reads nothing yet.
func New(bag *table.Table, q rosbag.Query) *Cursor {
	q.Reuse = q.Reuse && bag.Options.Cache == nil
	c := &Cursor{
		bag: bag, q: q, keep: make([]bool, len(bag.Conns)), maxCached: bag.Options.CacheBytes,
		prefetch: newPrefetcher(bag),
	}
	kept := make(map[*rosbag.Connection]bool)
	for i, conn := range bag.Conns {
		if c.keep[i] = q.Keep == nil || q.Keep(conn); c.keep[i] {
			kept[conn] = true
		}
	}
	for i := range bag.Chunks {
		info := &bag.Chunks[i]
		if info.End.Before(q.Start) || !q.End.IsZero() && q.End.Before(info.Start) {
			continue
		}
		if len(kept) == len(bag.Conns) ||
			slices.ContainsFunc(info.Counts, func(n rosbag.ConnCount) bool { return kept[n.Conn] }) {
			c.pending = append(c.pending, i)
		}
	}
	slices.SortStableFunc(c.pending, func(a, b int) int {
		return cmp.Or(bag.Chunks[a].Start.Compare(bag.Chunks[b].Start), cmp.Compare(a, b))
	})
	if q.Chunks {
		c.stored.max = q.Workers + 2
	}
	switch {
	case q.Memory != nil:
		c.load.Take = q.Memory.Take
	case q.Reuse:
		c.buffers.max = q.Workers + 2
	}
	return c
}

// Next returns the next message, io.EOF at the end. The Message is valid until the
// next call; its Frame must not be modified and, without Query.Reuse and Query.Memory, stays valid for
// as long as it is referenced, because chunk memory is never reused.
//
// Another error says what could not be read; the next call goes on with what is
// left. Each fault is reported once, so that the end is always reached. A
// *CorruptError with Recovered set lost nothing: all messages of the chunk follow.
func (c *Cursor) Next() (*rosbag.Message, error) {
	if c.whole.undone != nil {
		c.whole.redo()
	}
	if c.run == 0 {
		if err := c.advance(); err != nil {
			return nil, err
		}
	}
	x := c.heap[0]
	e := &x.Entries[x.Next]
	x.Next++
	c.run--
	c.msg = rosbag.Message{
		Conn: c.bag.Conns[e.Conn], Time: e.Time(), Frame: wire.FrameAt(x.Data, e.Offset),
		Share: x.Share, Order: uint64(x.Number)<<32 | uint64(e.Offset),
	}
	if c.q.Chunks && x.Next == 1 && c.run == len(x.Entries)-1 && !load.Small(c.bag, x.Number) &&
		c.whole.read(c, x) {
		c.msg.Chunk = &c.whole
	}
	return &c.msg, nil
}

// advance makes the chunk with the next message the first of the heap, loads it, and
// counts how many messages of it can be taken before another chunk has to be looked at.
func (c *Cursor) advance() error {
	if c.closed {
		return errCursorClosed
	}
	c.prepare()
	if len(c.heap) > 0 {
		c.fixFirst()
	}
	for {
		if err := c.openDue(); err != nil {
			return err
		}
		if len(c.heap) == 0 {
			return io.EOF
		}
		x := c.heap[0]
		if x.Data != nil {
			c.tick++
			x.Used = c.tick
			c.run = c.count(x)
			return nil
		}
		if err := c.fill(x); err != nil {
			return err
		}
	}
}

// Begin makes a worker load what the first Next needs, if there are workers.
func (c *Cursor) Begin() {
	if c.closed || c.ahead != nil {
		return
	}
	if c.prepare(); c.ahead != nil {
		c.prefetch.next(c.bag, c.pending)
		c.ahead.start(c.pending, &c.buffers)
	}
}

// prepare makes the workers.
func (c *Cursor) prepare() {
	if c.q.Workers > 0 && c.ahead == nil {
		c.ahead = newLoadAhead(c.bag, c.q, c.keep)
		c.maxCached /= 2
	}
}

// count returns how many messages of x, the first of the heap, come before those of
// all other chunks: at least the next one.
func (c *Cursor) count(x *load.Chunk) int {
	limit := uint64(math.MaxUint64)
	for _, y := range c.heap[1:min(3, len(c.heap))] { // the least of the others is one of these
		limit = min(limit, y.Key())
	}
	if len(c.pending) > 0 {
		limit = min(limit, load.TimeKey(c.bag.Chunks[c.pending[0]].Start))
	}
	rest := x.Entries[x.Next+1:]
	if len(rest) == 0 || rest[0].Key >= limit {
		return 1
	}
	n, _ := slices.BinarySearchFunc(rest, limit,
		func(e load.Entry, key uint64) int { return cmp.Compare(e.Key, key) })
	return 1 + n
}

// openDue opens the chunks that may hold the next message.
func (c *Cursor) openDue() error {
	for len(c.pending) > 0 {
		i := c.pending[0]
		if len(c.heap) > 0 && c.heap[0].Key() < load.TimeKey(c.bag.Chunks[i].Start) {
			return nil
		}
		x := c.alloc(i)
		c.prefetch.next(c.bag, c.pending)
		good := false
		if c.ahead != nil {
			c.ahead.start(c.pending, &c.buffers)
		}
		if c.ahead != nil && c.ahead.queue.Len() > 0 {
			if !c.ahead.await() {
				c.drop(x)
				return rosbag.ErrCanceled
			}
			good = c.ahead.take(x, &c.buffers, &c.stored)
		}
		c.pending = c.pending[1:]
		c.prefetch.open(c.bag, i)
		c.prefetch.next(c.bag, c.pending)
		if c.ahead != nil {
			c.ahead.start(c.pending, &c.buffers)
		}
		if good {
			c.add(x)
			continue
		}
		if c.bag.Chunks[i].Kind.Derived() {
			x.Derive = true
			c.push(x)
			continue
		}
		var err error
		x.Entries, err = c.load.Entries(c.bag, i, c.keep, x.Entries)
		if c.ahead != nil {
			c.ahead.plain = c.load.Plain()
		}
		var bad *rosbag.CorruptError
		switch {
		case errors.As(err, &bad):
			// The chunk itself may be intact, and then its messages replace the index. What is
			// lost is known only when it was read: fill reports it.
			x.Damaged, x.Entries = bad, x.Entries[:0]
			c.push(x)
			continue
		case err != nil:
			c.drop(x)
			return err
		}
		x.Entries = load.Covered(&c.q, x.Entries)
		if len(x.Entries) == 0 {
			c.drop(x)
			continue
		}
		c.push(x)
	}
	return nil
}

// add adds x, which was loaded ahead, to the heap.
func (c *Cursor) add(x *load.Chunk) {
	c.cached += x.Bytes()
	if len(x.Entries) == 0 {
		c.drop(x)
		return
	}
	c.tick++
	x.Used = c.tick
	c.push(x)
	c.evict(x)
}

// fill loads the data of x, which is the first of the heap.
func (c *Cursor) fill(x *load.Chunk) error {
	if c.load.Memory == nil {
		c.load.Memory = c.buffers.get()
	}
	if c.q.Chunks {
		x.Stored = c.stored.get()
	}
	err := c.load.Load(c.bag, x, c.keep, c.q)
	if x.Data == nil {
		c.leaveStored(x)
		x.Entries, x.Next, x.Damaged, x.Derive = x.Entries[:0], 0, nil, false
		c.fixFirst()
		return err
	}
	c.cached += x.Bytes()
	c.tick++
	x.Used = c.tick
	c.fixFirst()
	c.evict(x)
	return err
}

// evict releases the data of the least recently used chunks, until the cache is within
// its limit or contains only x.
func (c *Cursor) evict(x *load.Chunk) {
	for c.cached > c.maxCached {
		var oldest *load.Chunk
		for _, y := range c.heap {
			if y != x && y.Data != nil && (oldest == nil || y.Used < oldest.Used) {
				oldest = y
			}
		}
		if oldest == nil {
			return
		}
		c.cached -= oldest.Bytes()
		c.leaveStored(oldest)
		c.leave(oldest.Release(), oldest.Shared)
	}
}

// fixFirst restores the order of the heap after the next message of its first chunk has
// changed, and removes that chunk if it has none left.
func (c *Cursor) fixFirst() {
	if x := c.heap[0]; !x.EntriesUnknown() && x.Next >= len(x.Entries) {
		last := len(c.heap) - 1
		c.heap[0] = c.heap[last]
		c.heap = c.heap[:last]
		c.drop(x)
	}
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(c.heap); k++ {
			if c.heap[k].Before(c.heap[least]) {
				least = k
			}
		}
		if least == i {
			return
		}
		c.heap[i], c.heap[least] = c.heap[least], c.heap[i]
		i = least
	}
}

// push adds x to the heap.
func (c *Cursor) push(x *load.Chunk) {
	c.heap = append(c.heap, x)
	for i := len(c.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !c.heap[i].Before(c.heap[up]) {
			return
		}
		c.heap[i], c.heap[up] = c.heap[up], c.heap[i]
		i = up
	}
}

// alloc returns a load.Chunk for chunk i, with the memory of a dropped one.
func (c *Cursor) alloc(i int) *load.Chunk {
	if n := len(c.free); n > 0 {
		x := c.free[n-1]
		c.free = c.free[:n-1]
		x.Number = i
		return x
	}
	return &load.Chunk{Number: i}
}

// drop ends the use of x.
func (c *Cursor) drop(x *load.Chunk) {
	c.cached -= x.Bytes()
	c.leaveStored(x)
	c.leave(x.Data, x.Shared)
	*x = x.Empty()
	c.free = append(c.free, x)
}

// leave ends the use of the data of a chunk.
func (c *Cursor) leave(data []byte, shared bool) {
	switch {
	case data == nil || shared:
	case c.q.Memory != nil:
		c.q.Memory.Left(data)
	default:
		c.buffers.put(data)
	}
}

// leaveStored ends the use of the stored data of a chunk: a chunk that waits for its turn holds no memory
// for it.
func (c *Cursor) leaveStored(x *load.Chunk) {
	c.stored.put(x.Stored)
	x.Stored = nil
}

// bufferPool keeps the memory of chunks for reuse, if that is allowed.
type bufferPool struct {
	max  int // zero keeps none
	free [][]byte
}

func (p *bufferPool) put(b []byte) {
	if cap(b) > 0 && len(p.free) < p.max {
		p.free = append(p.free, b[:0])
	}
}

// get returns memory, or nil.
func (p *bufferPool) get() []byte {
	n := len(p.free) - 1
	if n < 0 {
		return nil
	}
	b := p.free[n]
	p.free[n] = nil
	p.free = p.free[:n]
	return b
}
