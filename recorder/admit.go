package recorder

const (
	// greed is how many times as much as is left of the buffer a topic may have waiting in
	// it. One topic alone comes to 4/5 of the buffer with it. Of n topics that are all too
	// much for the disk each comes to 4/(4n+1): equal shares, and a little is always left.
	greed = 4

	// lightShare makes a topic light that has less waiting than the mean of all topics,
	// divided by this. All light topics together have less than that part of it all.
	lightShare = 4

	keptChunks = 2 // shared chunks that only light topics may take the last memory for
)

// stake is how much of the buffer the messages of a topic take while they wait for the
// disk. It is guarded by pipeline.mu.
type stake struct {
	waiting int64  // bytes, as the pool counts them
	in      *chunk // the shared chunk that its latest message went into
	at      int    // and the place of the topic among the holdings of it
}

// holding is what one topic has in one chunk.
type holding struct {
	topic *topic
	bytes int64
}

// admits decides, where overload drops, whether n bytes of t go into the buffer. What the
// topic has waiting is compared with what is left, which is the same for all. So whoever
// is refused has more waiting than everybody who is let in: the newest messages of the
// heaviest topics are dropped first. What a topic has waiting is its rate times the time
// to the disk. With less than its fair share of what the disk takes it never comes to the
// limit, whatever the others do.
//
// Two shared chunks are kept free beside all that, or one beside the open one, so that
// light topics find room when that is full or old. Only they may use it up. mu is held.
func (p *pipeline) admits(t *topic, n int64, shared bool) bool {
	if p.overflow != OverflowDrop || p.pool.budget < 0 {
		return true
	}
	after := t.waiting + n
	if shared && after*int64(p.pool.waiters)*lightShare <= p.pool.waiting {
		return true
	}
	return after <= greed*p.spare() && p.fitsBeside(n, n)
}

// fitsBeside reports whether the shared chunks have room beside more bytes for a message
// of size bytes. A message for which the whole buffer is too small with them may have all
// of that. mu is held.
func (p *pipeline) fitsBeside(size, more int64) bool {
	return more <= p.spare() || size+keptChunks*p.sharedChunk() > p.pool.budget
}

// spare returns how much of the buffer is left beside the shared chunks, less than zero
// when light topics have used that. mu is held.
func (p *pipeline) spare() int64 {
	kept := int64(keptChunks)
	if p.open != nil {
		kept-- // it is taken already: to open a chunk changes nothing
	}
	return p.pool.budget - (p.pool.held - p.pool.idle - p.snaps.yields()) - kept*p.sharedChunk()
}

// sharedChunk returns what a chunk for many messages takes of the buffer. A buffer that is
// too small for what is usual is not kept free for nothing.
func (p *pipeline) sharedChunk() int64 {
	return min(p.pool.weight(p.pool.usual(p.chunkBytes)), p.pool.budget/leastChunks)
}

// waitForChunk gets a buffer for the open chunk. false means that there is no room,
// or that the waiting for some is over.
func (p *pipeline) waitForChunk(t *topic) bool {
	for p.open == nil && p.wants(t) { // another link may open one while we wait
		if p.largeWaits == 0 && p.openChunk() {
			return true
		}
		if p.overflow == OverflowDrop {
			return false
		}
		p.room.Wait()
	}
	return p.open != nil && p.wants(t)
}

// openChunk makes sure of an open chunk if there is room for one. mu is held.
func (p *pipeline) openChunk() bool {
	if p.open == nil {
		size := p.pool.usual(p.chunkBytes)
		c := p.pool.get(size, size)
		if c == nil {
			return false
		}
		c.builder.Reset(p.records)
		p.open, p.fill = c, p.fillTo()
	}
	return true
}

// share notes that n bytes in c are of t, which shares it with other topics.
func (c *chunk) share(t *topic, n int64) {
	s := &t.stake
	if s.in != c {
		s.in, s.at = c, len(c.holdings)
		c.holdings = append(c.holdings, holding{topic: t})
	}
	c.holdings[s.at].bytes += n
}

// leave ends the sharing of c, if the topic has not gone on in another chunk.
func (s *stake) leave(c *chunk) {
	if s.in == c {
		s.in = nil
	}
}

// charge makes what is in c wait for the disk.
func (p *pool) charge(c *chunk) {
	for _, h := range c.holdings {
		s := &h.topic.stake
		if s.waiting == 0 {
			p.waiters++
		}
		s.waiting += h.bytes
		p.waiting += h.bytes
		s.leave(c)
	}
	c.charged = true
}

// discharge ends that, or forgets what was in a chunk that is given up before.
func (p *pool) discharge(c *chunk) {
	for _, h := range c.holdings {
		s := &h.topic.stake
		s.leave(c)
		if !c.charged {
			continue
		}
		p.waiting -= h.bytes
		s.waiting -= h.bytes
		if s.waiting == 0 {
			p.waiters--
		}
	}
	c.holdings, c.charged = c.holdings[:0], false
}
