package bagfmt

import (
	"cmp"
	"errors"
	"io"
	"slices"
)

// Cursor walks over the messages of a Query in time order, messages of the same
// time in file order. It reads the index of a chunk when the time comes to the
// chunk's start, and its data with the first message that is wanted from it.
//
// It believes the chunk infos about which times and connections a chunk holds.
type Cursor struct {
	r       *Reader
	q       Query
	keep    []bool // by index in r.conns
	load    chunkLoader
	pending []int          // chunks to open, by start time and place
	heap    []*cursorChunk // open chunks, the one with the next message first
	free    []*cursorChunk
	cached  int64  // bytes of data in heap
	tick    uint64 // counts messages
	msg     Message
}

// cursorChunk is an open chunk of a Cursor.
type cursorChunk struct {
	number  int
	entries []indexEntry
	next    int // in entries
	data    []byte
	share   int           // Message.Share of its messages, once data was loaded
	damaged *CorruptError // why the index could not be read: entries come with the data
	used    uint64        // tick of its last message
}

// before orders open chunks by their next message.
func (x *cursorChunk) before(y *cursorChunk) bool {
	a, b := x.key(), y.key()
	return a < b || a == b && x.number < y.number
}

func (x *cursorChunk) key() uint64 {
	if x.damaged != nil {
		return 0 // at once: only its data can tell
	}
	return x.entries[x.next].key
}

// Cursor returns a Cursor at the start of what q selects. It reads nothing yet.
func (r *Reader) Cursor(q Query) *Cursor {
	c := &Cursor{r: r, q: q, keep: make([]bool, len(r.conns))}
	kept := make(map[*Connection]bool)
	for i, conn := range r.conns {
		if c.keep[i] = q.Keep == nil || q.Keep(conn); c.keep[i] {
			kept[conn] = true
		}
	}
	for i := range r.chunks {
		info := &r.chunks[i]
		if info.End.Before(q.Start) || !q.End.IsZero() && q.End.Before(info.Start) {
			continue
		}
		if len(kept) == len(r.conns) || slices.ContainsFunc(info.Counts, func(n ConnCount) bool { return kept[n.Conn] }) {
			c.pending = append(c.pending, i)
		}
	}
	slices.SortStableFunc(c.pending, func(a, b int) int {
		return cmp.Or(r.chunks[a].Start.Compare(r.chunks[b].Start), cmp.Compare(a, b))
	})
	return c
}

// Next returns the next message, io.EOF at the end. The Message is valid until the
// next call; its Frame must not be modified and stays valid for as long as it is
// referenced, because chunk memory is never reused.
//
// Another error says what could not be read; the next call goes on with what is
// left. Each fault is reported once, so that the end is always reached. A
// *CorruptError with Recovered set lost nothing: all messages of the chunk follow.
func (c *Cursor) Next() (*Message, error) {
	for {
		if err := c.openDue(); err != nil {
			return nil, err
		}
		if len(c.heap) == 0 {
			return nil, io.EOF
		}
		x := c.heap[0]
		if x.data == nil {
			if err := c.fill(x); err != nil {
				return nil, err
			}
			continue // its place in the heap may be another one
		}
		e := x.entries[x.next]
		share := x.share
		_, _, frame, _, err := messageAt(x.data, int64(e.offset))
		c.tick++
		x.used = c.tick
		x.next++
		c.settle()
		if err != nil { // fill checked it: the memory would have to be broken
			return nil, corrupt(c.r.chunks[x.number].Pos, OpChunk, "record at %d: %v", e.offset, err)
		}
		c.msg = Message{Conn: c.r.conns[e.conn], Time: e.time(), Frame: frame, Share: share}
		return &c.msg, nil
	}
}

// openDue opens the chunks that may hold the next message.
func (c *Cursor) openDue() error {
	for len(c.pending) > 0 {
		i := c.pending[0]
		if len(c.heap) > 0 && c.heap[0].key() < timeKey(c.r.chunks[i].Start) {
			return nil
		}
		c.pending = c.pending[1:]
		x := c.alloc(i)
		var err error
		x.entries, err = c.load.entries(c.r, i, c.keep, x.entries)
		var bad *CorruptError
		switch {
		case errors.As(err, &bad):
			// The chunk itself may be sound, and then it knows what its index should say.
			// Only then can be told what is lost: fill reports it.
			x.damaged, x.entries = bad, x.entries[:0]
			c.push(x)
			continue
		case err != nil:
			c.drop(x)
			return err
		}
		x.entries = slices.DeleteFunc(x.entries, func(e indexEntry) bool { return !c.q.covers(e.key) })
		if len(x.entries) == 0 {
			c.drop(x)
			continue
		}
		c.push(x)
	}
	return nil
}

// fill loads the data of x, which is the first of the heap.
func (c *Cursor) fill(x *cursorChunk) error {
	err := c.load.load(c.r, x, c.keep, c.q)
	if x.data == nil {
		x.entries, x.next, x.damaged = x.entries[:0], 0, nil
		c.settle()
		return err
	}
	c.cached += int64(len(x.data))
	c.tick++
	x.used = c.tick
	c.settle()
	c.evict(x)
	return err
}

// evict forgets the data of chunks that were not used for longest, until the cache
// is within its limit or holds nothing but x.
func (c *Cursor) evict(x *cursorChunk) {
	for c.cached > c.r.o.CacheBytes {
		var oldest *cursorChunk
		for _, y := range c.heap {
			if y != x && y.data != nil && (oldest == nil || y.used < oldest.used) {
				oldest = y
			}
		}
		if oldest == nil {
			return
		}
		c.cached -= int64(len(oldest.data))
		oldest.data = nil
	}
}

// settle puts the first chunk of the heap, whose next message has changed, in its
// place, or removes it when it has none left.
func (c *Cursor) settle() {
	if x := c.heap[0]; x.damaged == nil && x.next >= len(x.entries) {
		last := len(c.heap) - 1
		c.heap[0] = c.heap[last]
		c.heap = c.heap[:last]
		c.drop(x)
	}
	for i := 0; ; {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(c.heap); k++ {
			if c.heap[k].before(c.heap[least]) {
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
func (c *Cursor) push(x *cursorChunk) {
	c.heap = append(c.heap, x)
	for i := len(c.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !c.heap[i].before(c.heap[up]) {
			return
		}
		c.heap[i], c.heap[up] = c.heap[up], c.heap[i]
		i = up
	}
}

// alloc returns a cursorChunk for chunk i, with the memory of a dropped one.
func (c *Cursor) alloc(i int) *cursorChunk {
	if n := len(c.free); n > 0 {
		x := c.free[n-1]
		c.free = c.free[:n-1]
		x.number = i
		return x
	}
	return &cursorChunk{number: i}
}

// drop ends the use of x.
func (c *Cursor) drop(x *cursorChunk) {
	c.cached -= int64(len(x.data))
	*x = cursorChunk{entries: x.entries[:0]}
	c.free = append(c.free, x)
}
