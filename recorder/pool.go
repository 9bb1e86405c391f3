package recorder

// keepFree is the most that free buffers hold when the budget has no limit.
const keepFree = 64 << 20

// trusted is how much of a new buffer is counted before anything is in it.
const trusted = 1 << 20

// pool hands out chunk buffers and holds all of them, used or free, within one
// number of bytes. Buffers are reused: in steady state nothing is allocated.
// It is guarded by pipeline.mu.
type pool struct {
	budget int64 // negative means no limit
	held   int64 // bytes of all buffers, in use and free
	idle   int64 // bytes of the free ones
	free   []*chunk
}

// get returns a buffer for a chunk of about size bytes, or nil if that would go
// beyond the budget.
func (p *pool) get(size int) *chunk {
	best := -1 // the smallest that is large enough
	for i, c := range p.free {
		if c.builder.Cap() >= size && (best < 0 || c.builder.Cap() < p.free[best].builder.Cap()) {
			best = i
		}
	}
	if best >= 0 {
		return p.take(best)
	}
	for !p.fits(int64(size)) && len(p.free) > 0 {
		p.forget() // too small for this use, and its memory is needed
	}
	if !p.fits(int64(size)) {
		return nil
	}
	// A large size is only a claim of the publisher so far: it counts as it arrives.
	c := &chunk{ready: make(chan struct{}, 1), counted: int64(min(size, trusted))}
	p.held += c.counted
	return c
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

// forget leaves one free buffer to the garbage collector.
func (p *pool) forget() { p.held -= p.take(len(p.free) - 1).counted }

func (p *pool) fits(more int64) bool { return p.budget < 0 || p.held+more <= p.budget }

// count brings the account up to date after the buffers of c have grown.
func (p *pool) count(c *chunk) {
	now := int64(c.builder.Cap() + cap(c.out))
	p.held += now - c.counted
	c.counted = now
}

// put takes a buffer back. Buffers that grew past the budget with one large
// message, or pile up after a burst, are let go.
func (p *pool) put(c *chunk) {
	c.sealed, c.err = nil, nil
	p.count(c)
	p.free = append(p.free, c)
	p.idle += c.counted
	for len(p.free) > 0 && (!p.fits(0) || p.budget < 0 && p.idle > keepFree) {
		p.forget()
	}
}
