package recorder

const (
	keepFree = 64 << 20 // the most that free buffers hold when the budget has no limit

	leastChunks = 4 // that the budget has room for: one to fill, one to write, one kept free, and some choice
)

// pool hands out chunk buffers and holds all of them, used or free, within one
// number of bytes. Buffers are reused: in steady state nothing is allocated.
// It is guarded by intake.mu.
type pool struct {
	budget  int64 // negative means no limit
	twice   bool  // each buffer counts double: it will be compressed into a second one
	held    int64 // bytes of all buffers, in use and free
	idle    int64 // bytes of the free ones
	free    []*chunk
	reserve reserve // gives up memory that was only kept in case; nil for none
	grown   int     // the largest buffer that an ordinary chunk came to
	shared  int     // chunks for the messages of many that are in use

	waiting int64 // bytes of messages that wait for the disk
	waiters int   // topics that have some there

	chunkBytes int    // a chunk for the messages of many is sealed at this size
	blocks     bool   // links wait for room, rather than that messages are dropped
	limit      int64  // budget as long as it holds
	filling    *chunk // the chunk for the messages of many that is filled; nil for none
	latched    int64  // of held, for latched messages
	turns      turns  // of large messages, if links wait
	freed      func() // called when there may be room again; nil for nobody
}

// purpose says what memory of a reserve is for.
type purpose int

const (
	forAny      purpose = iota // whatever it costs
	forMessages                // new messages
	forLarge                   // a large message that is received already
)

// reserve is memory that is only kept in case.
type reserve interface {
	held() int64        // bytes, as the pool counts them
	reclaimable() int64 // of those, what new messages may displace
	// reclaim gives some up, and reports whether there was any for that purpose. filled is how
	// much of the buffer beside the reserve is used.
	reclaim(p purpose, filled int64) bool
}

// signal tells that there may be room again.
func (p *pool) signal() {
	if p.freed != nil {
		p.freed()
	}
}

// reserved returns the bytes that the reserve holds.
func (p *pool) reserved() int64 {
	if p.reserve == nil {
		return 0
	}
	return p.reserve.held()
}

// reclaimFor gives up memory of the reserve, and reports whether there was any.
func (p *pool) reclaimFor(why purpose) bool {
	if p.reserve == nil {
		return false
	}
	return p.reserve.reclaim(why, p.held-p.idle-p.reserve.held()-p.latched-p.turns.held())
}

// setBudget sets the bound of all buffers; negative means no limit.
func (p *pool) setBudget(n int64) {
	p.budget = n
	p.signal()
}

// use counts n bytes that are no chunk. The caller has made sure that they fit.
func (p *pool) use(n int64) { p.held += n }

// unuse takes that back.
func (p *pool) unuse(n int64) {
	p.held -= n
	p.signal()
}

// useLatched counts n bytes for latched messages. The caller has made sure that they fit.
func (p *pool) useLatched(n int64) {
	p.held += n
	p.latched += n
}

// unuseLatched takes that back.
func (p *pool) unuseLatched(n int64) {
	p.latched -= n
	p.unuse(n)
}

// toLatched counts n bytes, which are counted already, for latched messages.
func (p *pool) toLatched(n int64) { p.latched += n }

// latchedFits reports whether latched messages may have n bytes more: half of what shared chunks
// leave, and no more than large messages leave.
func (p *pool) latchedFits(n int64) bool {
	return p.budget < 0 || p.latched+n <= min((p.budget-p.sharedChunk())/2, p.leftByLarge())
}

// crowded reports whether much waits for the disk.
func (p *pool) crowded() bool {
	const share, some = 8, 32 << 20
	most := p.limit / share
	if p.limit < 0 {
		most = some
	}
	return p.waiting > most
}

// usual returns what a chunk that is sealed at n bytes is likely to hold: its last
// message goes beyond that, and memory grows in steps.
func (p *pool) usual(n int) int {
	size := max(n, p.grown)
	if p.budget >= 0 && p.weight(size) > p.budget {
		return n // at least this much always has room
	}
	return size
}

// settle counts what an ordinary chunk has come to, in place of what was claimed.
func (p *pool) settle(c *chunk) {
	n := c.builder.Cap()
	p.grown = max(p.grown, n)
	p.held += p.weight(n) - c.counted
	c.counted = p.weight(n)
	if p.filling == c {
		p.filling = nil
	}
}

// get returns a buffer for a chunk of about size bytes, of which counted are
// counted from the start, or nil if that would go beyond the budget. A free buffer
// that is much too large is not spent on a small chunk.
func (p *pool) get(size, counted int) *chunk {
	fit, small := p.find(size)
	if fit >= 0 {
		return p.take(fit)
	}
	need := p.weight(size)
	if small >= 0 && p.fits(need-p.free[small].counted) {
		c := p.take(small) // sealed young, before it had grown
		p.grow(c, p.weight(counted))
		return c
	}
	for !p.fits(need) {
		if len(p.free) > 0 {
			p.dropFree()
		} else if !p.reclaimFor(forMessages) {
			return nil
		} else if fit, _ := p.find(size); fit >= 0 {
			return p.take(fit) // what was given up is as good as new
		}
	}
	c := &chunk{ready: make(chan struct{}, 1)}
	p.grow(c, p.weight(counted))
	return c
}

// find returns the smallest free buffer that is large enough, and the largest that is
// not; negative for none.
func (p *pool) find(size int) (fit, small int) {
	fit, small = -1, -1
	for i, c := range p.free {
		n := c.builder.Cap()
		switch {
		case n >= size && n <= 4*size && (fit < 0 || n < p.free[fit].builder.Cap()):
			fit = i
		case n < size && (small < 0 || n > p.free[small].builder.Cap()):
			small = i
		}
	}
	return fit, small
}

// weight is what a buffer of n bytes counts.
func (p *pool) weight(n int) int64 {
	if p.twice {
		return 2 * int64(n)
	}
	return int64(n)
}

// take removes entry i from the free buffers.
func (p *pool) take(i int) *chunk {
	c := p.free[i]
	last := len(p.free) - 1
	p.free[i], p.free[last] = p.free[last], nil
	p.free = p.free[:last]
	p.idle -= c.counted
	return c
}

// dropFree leaves one free buffer to the garbage collector.
func (p *pool) dropFree() { p.held -= p.take(len(p.free) - 1).counted }

func (p *pool) fits(more int64) bool { return p.budget < 0 || p.held+more <= p.budget }

// makeRoom lets go of free buffers, and of what was only kept in case, until more bytes
// fit. It reports whether they do.
func (p *pool) makeRoom(more int64, why purpose) bool {
	for !p.fits(more) {
		if len(p.free) > 0 {
			p.dropFree()
		} else if !p.reclaimFor(why) {
			return false
		}
	}
	return true
}

// count brings the account up to date after the buffer of c has grown.
func (p *pool) count(c *chunk) { p.grow(c, p.weight(c.builder.Cap())) }

// grow makes c count at least now.
func (p *pool) grow(c *chunk, now int64) {
	if now > c.counted {
		p.held += now - c.counted
		c.counted = now
	}
}

// unshare makes c none of the chunks for the messages of many that are in use.
func (p *pool) unshare(c *chunk) {
	if c.shared {
		c.shared = false
		p.shared--
	}
}

// retire notes that c does not wait for the disk any more.
func (p *pool) retire(c *chunk) {
	p.discharge(c)
	p.unshare(c)
}

// put takes a buffer back. Buffers that grew past the budget with one large
// message, or pile up after a burst, are let go.
func (p *pool) put(c *chunk) {
	c.sealed, c.err = nil, nil
	if p.filling == c {
		p.filling = nil
	}
	p.retire(c)
	if c.builder.Cap() > 0 {
		c.builder.Reset(nil) // it holds on to connections
	}
	clear(c.usage)
	c.usage = c.usage[:0]
	p.held -= c.counted // what was claimed may not have come
	c.counted = 0
	p.count(c)
	p.free = append(p.free, c)
	p.idle += c.counted
	for len(p.free) > 0 && (!p.fits(0) || p.budget < 0 && p.idle > keepFree) {
		p.dropFree()
	}
	p.signal()
}
