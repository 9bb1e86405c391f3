// Package memory decides about all bytes of the buffer of a recording: which chunks there are, which
// topics get room when little is left, and which large message is received next. The package is pure: the
// caller has the lock of the intake. Only the intake and the packages that it calls use the package. A
// Chunk belongs to the goroutine that took it from a queue.
package memory

import (
	"math"
	"slices"
)

const (
	keepFree = 64 << 20 // the most that free buffers hold when the budget has no limit

	// LeastChunks is how many chunks the budget has room for at least: one to fill, one to write, one
	// in reserve, and one more, so that none of these has to wait for another.
	LeastChunks = 4
)

// Options of a Memory.
type Options struct {
	Limit      int64  // bytes of all buffers together; negative means no limit
	ChunkBytes int    // a shared chunk is sealed at this size
	Twice      bool   // each buffer counts twice, because it is compressed into a second one
	Blocks     bool   // links wait for room; otherwise messages are dropped
	Freed      func() // called when there may be room again; nil for nobody
}

// Usage is how much of the buffer is used, and what for.
type Usage struct {
	Held    int64 // bytes of all buffers, in use and free, and those counted by Use and UseLatched
	Idle    int64 // bytes of Held that are free buffers
	Latched int64 // bytes of Held that are for latched messages
	Waiting int64 // bytes of messages that wait for the disk
	Waiters int   // topics with messages that wait for the disk
	Shared  int   // shared chunks in use
	Grown   int   // bytes of the largest buffer of a shared chunk so far
}

// Crowded reports whether many bytes wait for the disk, for a buffer of limit bytes; negative means no limit.
func (u Usage) Crowded(limit int64) bool {
	const share, some = 8, 32 << 20
	most := limit / share
	if limit < 0 {
		most = some
	}
	return u.Waiting > most
}

// Memory gives out chunk buffers, and keeps all of them together, used or free, within one number of bytes.
// Buffers are reused: in steady state nothing is allocated. The caller has the lock.
type Memory struct {
	o       Options
	used    Usage
	budget  int64    // the bound now: Options.Limit until SetBudget changes it; negative means no limit
	free    []*Chunk // buffers that are not in use
	reserve Reserve  // memory that can be reclaimed; nil for none
	filling *Chunk   // the open shared chunk; nil for none
	turns   Turns    // which large messages are received now, where links wait
}

// New returns a Memory without buffers.
func New(o Options) *Memory {
	p := &Memory{o: o, budget: o.Limit}
	p.turns.mem = p
	return p
}

// KeepReserve sets the memory that can be reclaimed. It is called before the first Get.
func (p *Memory) KeepReserve(r Reserve) { p.reserve = r }

// Usage returns how much of the buffer is used now.
func (p *Memory) Usage() Usage { return p.used }

// Limit returns the bound that the recording began with; negative means no limit.
func (p *Memory) Limit() int64 { return p.o.Limit }

// Budget returns the bound now; negative means no limit.
func (p *Memory) Budget() int64 { return p.budget }

// ChunkBytes returns the size at which shared chunks are sealed.
func (p *Memory) ChunkBytes() int { return p.o.ChunkBytes }

// Blocks reports whether links wait for room; otherwise messages are dropped.
func (p *Memory) Blocks() bool { return p.o.Blocks }

// Turns returns the turns of large messages, where links wait.
func (p *Memory) Turns() *Turns { return &p.turns }

// Purpose says what reclaimed memory is for.
type Purpose int

// The purposes.
const (
	ForAny      Purpose = iota // anything: the reserve must give up what it can
	ForMessages                // new messages
	ForLarge                   // a large message that is received already
)

// Reserve is memory that is kept only as long as nothing else needs it, such as the ring for snapshots.
type Reserve interface {
	Held() int64        // bytes, as the Memory counts them
	Reclaimable() int64 // bytes of Held that new messages may displace
	// Reclaim gives up some memory, and reports whether there was any for that purpose. filled is how
	// many bytes of the buffer beside the reserve are used.
	Reclaim(p Purpose, filled int64) bool
}

// Signal calls Options.Freed: there may be room again.
func (p *Memory) Signal() {
	if p.o.Freed != nil {
		p.o.Freed()
	}
}

// ReclaimFor makes the reserve give up some memory, and reports whether it did.
func (p *Memory) ReclaimFor(why Purpose) bool {
	if p.reserve == nil {
		return false
	}
	return p.reserve.Reclaim(why, p.used.Held-p.used.Idle-p.reserve.Held()-p.used.Latched-p.turns.heldBytes())
}

// SetBudget sets the bound of all buffers; negative means no limit.
func (p *Memory) SetBudget(n int64) {
	p.budget = n
	p.Signal()
}

// Use counts n bytes that belong to no chunk. The caller has made sure that they fit.
func (p *Memory) Use(n int64) { p.used.Held += n }

// Unuse gives back n bytes that Use has counted.
func (p *Memory) Unuse(n int64) {
	p.used.Held -= n
	p.Signal()
}

// UseLatched counts n bytes for latched messages. The caller has made sure that they fit.
func (p *Memory) UseLatched(n int64) {
	p.used.Held += n
	p.used.Latched += n
}

// UnuseLatched gives back n bytes that UseLatched has counted.
func (p *Memory) UnuseLatched(n int64) {
	p.used.Latched -= n
	p.Unuse(n)
}

// ToLatched counts n bytes, which are counted already, for latched messages.
func (p *Memory) ToLatched(n int64) { p.used.Latched += n }

// LatchedFits reports whether latched messages may have n bytes more. They may have half of what a shared
// chunk leaves of the buffer. If links wait for room, half of the buffer is for large messages, and
// latched messages may have what the reserved shared chunks leave of the other half, but at least an
// eighth of the buffer.
func (p *Memory) LatchedFits(n int64) bool {
	const least = 8 // part of the buffer
	most := (p.budget - p.SharedChunk()) / 2
	if p.o.Blocks {
		most = max(p.budget-p.largeRoom()-p.keptShared(), p.budget/least)
	}
	return p.budget < 0 || p.used.Latched+n <= most
}

// MostLarge returns how much of the buffer a large message may take at most; negative for no
// bound. If links wait for room, that is the room for all large messages together: half of the buffer.
// Latched messages and shared chunks have the other half.
func (p *Memory) MostLarge() int64 { return p.largeShare(p.o.Limit) }

// LimitFor returns the smallest limit of the buffer that admits a large message of n bytes.
func (p *Memory) LimitFor(n int64) int64 {
	if p.o.Blocks {
		return 2 * n
	}
	return n
}

// largeRoom returns how much of the buffer all large messages may take together if links wait for room.
func (p *Memory) largeRoom() int64 {
	if p.budget < 0 {
		return math.MaxInt64
	}
	return p.largeShare(p.budget)
}

// ADR 0126: messages that wait share half of the buffer.
func (p *Memory) largeShare(of int64) int64 {
	if p.o.Blocks && of >= 0 {
		return of / 2
	}
	return of
}

// keptShared returns the bytes that are reserved for shared chunks.
func (p *Memory) keptShared() int64 { return KeptChunks * p.SharedChunk() }

// Usual returns the likely size of the buffer of a chunk that is sealed at n bytes: the last message goes
// beyond n, and buffers grow in steps.
func (p *Memory) Usual(n int) int {
	size := max(n, p.used.Grown)
	if p.budget >= 0 && p.Weight(size) > p.budget {
		return n // at least this much always has room
	}
	return size
}

// Settle counts the size that the buffer of a shared chunk has grown to, in place of the size that was
// expected.
func (p *Memory) Settle(c *Chunk) {
	n := c.builder.Cap()
	p.used.Grown = max(p.used.Grown, n)
	p.used.Held += p.Weight(n) - c.counted
	c.counted = p.Weight(n)
	if p.filling == c {
		p.filling = nil
	}
}

// Get returns a buffer for a chunk of about size bytes, of which counted bytes are
// counted from the start; nil if that would exceed the budget. A free buffer
// that is much too large is not used for a small chunk.
func (p *Memory) Get(size, counted int) *Chunk {
	fit, small := fitting(p.free, size)
	if fit >= 0 {
		return p.take(fit)
	}
	need := p.Weight(size)
	if small >= 0 && p.Fits(need-p.free[small].counted) {
		c := p.take(small) // too small, because it was sealed early: it will grow
		p.Grow(c, p.Weight(counted))
		return c
	}
	for !p.Fits(need) {
		if len(p.free) > 0 {
			p.dropFree(len(p.free) - 1)
			continue
		}
		if !p.ReclaimFor(ForMessages) {
			return nil
		}
		if fit, _ := fitting(p.free, size); fit >= 0 {
			return p.take(fit) // the reserve has given up a buffer that fits
		}
	}
	c := &Chunk{ready: make(chan struct{}, 1)}
	p.Grow(c, p.Weight(counted))
	return c
}

// fitting returns the index of a free buffer that is large enough, and of the largest that is too small;
// negative for none. It is the smallest that is large enough, or the latest that is at most a quarter too
// large: the latest is most likely still in the processor's caches, and a queue of small chunks leaves
// tens of thousands of free buffers, which must not all be looked at for each chunk.
func fitting(free []*Chunk, size int) (fit, small int) {
	fit, small = -1, -1
	for i, c := range slices.Backward(free) {
		n := c.builder.Cap()
		switch {
		case n >= size && n <= size+size/4:
			return i, small
		case n >= size && n <= 4*size && (fit < 0 || n < free[fit].builder.Cap()):
			fit = i
		case n < size && (small < 0 || n > free[small].builder.Cap()):
			small = i
		}
	}
	return fit, small
}

// Weight returns how many bytes are counted for a buffer of n bytes.
func (p *Memory) Weight(n int) int64 {
	if p.o.Twice {
		return 2 * int64(n)
	}
	return int64(n)
}

// take removes entry i from the free buffers.
func (p *Memory) take(i int) *Chunk {
	c := p.free[i]
	last := len(p.free) - 1
	p.free[i], p.free[last] = p.free[last], nil
	p.free = p.free[:last]
	p.used.Idle -= c.counted
	return c
}

// dropFree gives up free buffer i.
func (p *Memory) dropFree(i int) { p.used.Held -= p.take(i).counted }

// Fits reports whether more bytes fit into the budget.
func (p *Memory) Fits(more int64) bool { return p.budget < 0 || p.used.Held+more <= p.budget }

// MakeRoom gives up free buffers, and then the reserve, until more bytes fit. It reports whether they do.
func (p *Memory) MakeRoom(more int64, why Purpose) bool {
	for !p.Fits(more) {
		if !p.freeSome(why) {
			return false
		}
	}
	return true
}

// freeSome gives up a free buffer or, if there is none, memory of the reserve. It reports whether there
// was any.
func (p *Memory) freeSome(why Purpose) bool {
	if len(p.free) > 0 {
		p.dropFree(len(p.free) - 1)
		return true
	}
	return p.ReclaimFor(why)
}

// Count updates the count after the buffer of c has grown.
func (p *Memory) Count(c *Chunk) { p.Grow(c, p.Weight(c.builder.Cap())) }

// Grow makes c count at least now bytes.
func (p *Memory) Grow(c *Chunk, now int64) {
	if now > c.counted {
		p.used.Held += now - c.counted
		c.counted = now
	}
}

// Retire notes that c does not wait for the disk any more.
func (p *Memory) Retire(c *Chunk) {
	p.discharge(c)
	if c.shared {
		c.shared = false
		p.used.Shared--
	}
}

// Put takes back a buffer. Free buffers that exceed the budget are given up, and without a budget those
// beyond keepFree, which a burst may leave.
func (p *Memory) Put(c *Chunk) {
	c.sealed = nil
	if p.filling == c {
		p.filling = nil
	}
	p.Retire(c)
	if c.builder.Cap() > 0 {
		c.builder.Reset(nil) // it holds on to connections
	}
	clear(c.usage)
	c.usage = c.usage[:0]
	p.used.Held -= c.counted // more than the capacity, if the expected bytes have not arrived
	c.counted = 0
	p.Count(c)
	p.free = append(p.free, c)
	p.used.Idle += c.counted
	for len(p.free) > 0 && !p.Fits(0) {
		p.dropFree(len(p.free) - 1)
	}
	for p.budget < 0 && p.used.Idle > keepFree {
		// the latest serve the usual chunks; the first may be of sizes that no chunk needs any more
		p.dropFree(0)
	}
	p.Signal()
}
