// Package memory decides about all bytes of the buffer of a recording: which chunks there are, which
// topics get room when little is left, and which large message is received next. The package is pure: the
// caller has the lock of the intake. Only the intake and the packages that it calls use the package. A
// Chunk belongs to the goroutine that took it from a queue.
package memory

import "math"

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
	Options
	Usage
	Budget  int64    // the bound now: Options.Limit until SetBudget changes it; negative means no limit
	Free    []*Chunk // buffers that are not in use
	Reserve Reserve  // memory that can be reclaimed; nil for none
	filling *Chunk   // the open shared chunk; nil for none
	Turns   Turns    // which large messages are received now, where links wait
}

// New returns a Memory without buffers.
func New(o Options) *Memory {
	p := &Memory{Options: o, Budget: o.Limit}
	p.Turns.mem = p
	return p
}

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
	if p.Freed != nil {
		p.Freed()
	}
}

// ReclaimFor makes the reserve give up some memory, and reports whether it did.
func (p *Memory) ReclaimFor(why Purpose) bool {
	if p.Reserve == nil {
		return false
	}
	return p.Reserve.Reclaim(why, p.Held-p.Idle-p.Reserve.Held()-p.Latched-p.Turns.heldBytes())
}

// SetBudget sets the bound of all buffers; negative means no limit.
func (p *Memory) SetBudget(n int64) {
	p.Budget = n
	p.Signal()
}

// Use counts n bytes that belong to no chunk. The caller has made sure that they fit.
func (p *Memory) Use(n int64) { p.Held += n }

// Unuse gives back n bytes that Use has counted.
func (p *Memory) Unuse(n int64) {
	p.Held -= n
	p.Signal()
}

// UseLatched counts n bytes for latched messages. The caller has made sure that they fit.
func (p *Memory) UseLatched(n int64) {
	p.Held += n
	p.Latched += n
}

// UnuseLatched gives back n bytes that UseLatched has counted.
func (p *Memory) UnuseLatched(n int64) {
	p.Latched -= n
	p.Unuse(n)
}

// ToLatched counts n bytes, which are counted already, for latched messages.
func (p *Memory) ToLatched(n int64) { p.Latched += n }

// LatchedFits reports whether latched messages may have n bytes more. They may have half of what a shared chunk
// leaves of the buffer. If links wait for room, half of the buffer is for large messages, and latched messages
// may have what the reserved shared chunks leave of the other half, but at least an eighth of the buffer.
func (p *Memory) LatchedFits(n int64) bool {
	const least = 8 // part of the buffer
	most := (p.Budget - p.SharedChunk()) / 2
	if p.Blocks {
		most = max(p.Budget-p.largeRoom()-p.keptShared(), p.Budget/least)
	}
	return p.Budget < 0 || p.Latched+n <= most
}

// MostLarge returns how much of the buffer a large message may take at most; negative for no
// bound. If links wait for room, that is the room for all large messages together: half of the buffer.
// Latched messages and shared chunks have the other half.
func (p *Memory) MostLarge() int64 { return p.largeShare(p.Limit) }

// LimitFor returns the smallest limit of the buffer that admits a large message of n bytes.
func (p *Memory) LimitFor(n int64) int64 {
	if p.Blocks {
		return 2 * n
	}
	return n
}

// largeRoom returns how much of the buffer all large messages may take together if links wait for room.
func (p *Memory) largeRoom() int64 {
	if p.Budget < 0 {
		return math.MaxInt64
	}
	return p.largeShare(p.Budget)
}

// ADR 0126: messages that wait share half of the buffer.
func (p *Memory) largeShare(of int64) int64 {
	if p.Blocks && of >= 0 {
		return of / 2
	}
	return of
}

// keptShared returns the bytes that are reserved for shared chunks.
func (p *Memory) keptShared() int64 { return KeptChunks * p.SharedChunk() }

// Usual returns the likely size of the buffer of a chunk that is sealed at n bytes: the last message goes beyond
// n, and buffers grow in steps.
func (p *Memory) Usual(n int) int {
	size := max(n, p.Grown)
	if p.Budget >= 0 && p.Weight(size) > p.Budget {
		return n // at least this much always has room
	}
	return size
}

// Settle counts the size that the buffer of a shared chunk has grown to, in place of the size that was expected.
func (p *Memory) Settle(c *Chunk) {
	n := c.Builder.Cap()
	p.Grown = max(p.Grown, n)
	p.Held += p.Weight(n) - c.Counted
	c.Counted = p.Weight(n)
	if p.filling == c {
		p.filling = nil
	}
}

// Get returns a buffer for a chunk of about size bytes, of which counted bytes are
// counted from the start; nil if that would exceed the budget. A free buffer
// that is much too large is not used for a small chunk.
func (p *Memory) Get(size, counted int) *Chunk {
	fit, small := fitting(p.Free, size)
	if fit >= 0 {
		return p.take(fit)
	}
	need := p.Weight(size)
	if small >= 0 && p.Fits(need-p.Free[small].Counted) {
		c := p.take(small) // too small, because it was sealed early: it will grow
		p.Grow(c, p.Weight(counted))
		return c
	}
	for !p.Fits(need) {
		if !p.freeSome(ForMessages) {
			return nil
		}
		if fit, _ := fitting(p.Free, size); fit >= 0 {
			return p.take(fit) // the reserve has given up a buffer that fits
		}
	}
	c := &Chunk{ready: make(chan struct{}, 1)}
	p.Grow(c, p.Weight(counted))
	return c
}

// fitting returns the index of the smallest free buffer that is large enough, but not much too large, and of the
// largest that is too small; negative for none.
func fitting(free []*Chunk, size int) (fit, small int) {
	fit, small = -1, -1
	for i, c := range free {
		n := c.Builder.Cap()
		switch {
		case n >= size && n <= 4*size && (fit < 0 || n < free[fit].Builder.Cap()):
			fit = i
		case n < size && (small < 0 || n > free[small].Builder.Cap()):
			small = i
		}
	}
	return fit, small
}

// Weight returns how many bytes are counted for a buffer of n bytes.
func (p *Memory) Weight(n int) int64 {
	if p.Twice {
		return 2 * int64(n)
	}
	return int64(n)
}

// take removes entry i from the free buffers.
func (p *Memory) take(i int) *Chunk {
	c := p.Free[i]
	last := len(p.Free) - 1
	p.Free[i], p.Free[last] = p.Free[last], nil
	p.Free = p.Free[:last]
	p.Idle -= c.Counted
	return c
}

// dropFree gives up the last free buffer.
func (p *Memory) dropFree() { p.Held -= p.take(len(p.Free) - 1).Counted }

// Fits reports whether more bytes fit into the budget.
func (p *Memory) Fits(more int64) bool { return p.Budget < 0 || p.Held+more <= p.Budget }

// MakeRoom gives up free buffers, and then the reserve, until more bytes fit. It reports whether they do.
func (p *Memory) MakeRoom(more int64, why Purpose) bool {
	for !p.Fits(more) {
		if !p.freeSome(why) {
			return false
		}
	}
	return true
}

// freeSome gives up a free buffer or, if there is none, memory of the reserve. It reports whether there was any.
func (p *Memory) freeSome(why Purpose) bool {
	if len(p.Free) > 0 {
		p.dropFree()
		return true
	}
	return p.ReclaimFor(why)
}

// Count updates the count after the buffer of c has grown.
func (p *Memory) Count(c *Chunk) { p.Grow(c, p.Weight(c.Builder.Cap())) }

// Grow makes c count at least now bytes.
func (p *Memory) Grow(c *Chunk, now int64) {
	if now > c.Counted {
		p.Held += now - c.Counted
		c.Counted = now
	}
}

// Retire notes that c does not wait for the disk any more.
func (p *Memory) Retire(c *Chunk) {
	p.discharge(c)
	if c.shared {
		c.shared = false
		p.Shared--
	}
}

// Put takes back a buffer. Free buffers that exceed the budget are given up, and without a budget those
// beyond keepFree, which a burst may leave.
func (p *Memory) Put(c *Chunk) {
	c.Sealed = nil
	if p.filling == c {
		p.filling = nil
	}
	p.Retire(c)
	if c.Builder.Cap() > 0 {
		c.Builder.Reset(nil) // it holds on to connections
	}
	clear(c.usage)
	c.usage = c.usage[:0]
	p.Held -= c.Counted // more than the capacity, if the expected bytes have not arrived
	c.Counted = 0
	p.Count(c)
	p.Free = append(p.Free, c)
	p.Idle += c.Counted
	for len(p.Free) > 0 && (!p.Fits(0) || p.Budget < 0 && p.Idle > keepFree) {
		p.dropFree()
	}
	p.Signal()
}
