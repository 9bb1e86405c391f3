package memory

const (
	// FairnessFactor bounds what a topic may hold of a memory limit, in multiples of what is free:
	// of the buffer by its queued messages, and of account.HeaderBytes by its connection headers. One topic
	// alone can take 4/5 of the limit. Of n topics that each would take more, each gets 4/(4n+1):
	// equal shares, and some memory is always free.
	FairnessFactor = 4

	// lightTopicDivisor makes a topic light that has less waiting than the mean of all topics,
	// divided by this. All light topics together have less than that part of it all.
	lightTopicDivisor = 4

	// KeptChunks is for how many shared chunks only light topics may take the last memory.
	KeptChunks = 2
)

// Admits decides, with OverflowDrop, whether n bytes of an account go into the buffer. It compares
// what the topic has waiting with what is free, which is the same for all topics. A topic
// that is refused therefore has more waiting than every topic that is admitted: the newest
// messages of the heaviest topics are dropped first. What a topic has waiting is its rate
// times the time to the disk, so a topic below its fair share of the disk's rate never
// reaches the limit, whatever the others do.
//
// Two shared chunks are reserved, or one beside the open one, so that light topics find
// room when the open chunk is full or old. Only light topics may use them.
func (p *Memory) Admits(a *Account, n int64, shared bool) bool {
	if p.Blocks || p.Budget < 0 {
		return true
	}
	after := a.Waiting + n
	if shared && after*int64(p.Waiters)*lightTopicDivisor <= p.Waiting {
		return true
	}
	return after <= FairnessFactor*p.spare() && p.FitsBeside(n, n)
}

// FitsBeside reports whether the shared chunks have room beside more bytes for a message
// of size bytes. A message for which the whole buffer is too small with them may have all
// of that.
func (p *Memory) FitsBeside(size, more int64) bool {
	return more <= p.spare() || size+KeptChunks*p.SharedChunk() > p.Budget
}

// spare returns how much of the buffer is left beside the shared chunks, less than zero
// when light topics have used that.
func (p *Memory) spare() int64 {
	kept := int64(KeptChunks)
	if p.filling != nil {
		kept-- // it is taken already: to open a chunk changes nothing
	}
	reclaimable := int64(0)
	if p.Reserve != nil {
		reclaimable = p.Reserve.Reclaimable()
	}
	return p.Budget - (p.Held - p.Idle - reclaimable) - kept*p.SharedChunk()
}

// SharedChunk returns how many bytes of the buffer a chunk for many messages takes: the usual size of
// such chunks, but at most an equal share of LeastChunks chunks.
func (p *Memory) SharedChunk() int64 {
	return min(p.Weight(p.Usual(p.ChunkBytes)), p.Budget/LeastChunks)
}

// Charge notes that the messages in c wait for the disk.
func (p *Memory) Charge(c *Chunk) {
	for i := range c.usage {
		u := &c.usage[i]
		if u.account.Waiting == 0 {
			p.Waiters++
		}
		u.account.Waiting += u.bytes
		p.Waiting += u.bytes
		u.account.sealFill(c)
	}
	c.charged = true
}

// discharge notes that the messages in c do not wait for the disk any more. The chunk keeps its messages.
func (p *Memory) discharge(c *Chunk) {
	for i := range c.usage {
		u := &c.usage[i]
		u.account.sealFill(c)
		if !c.charged {
			continue
		}
		p.Waiting -= u.bytes
		u.account.Waiting -= u.bytes
		if u.account.Waiting == 0 {
			p.Waiters--
		}
	}
	c.charged = false
}

// Open returns a chunk for the messages of many, or nil if there is no room for one.
func (p *Memory) Open() *Chunk {
	size := p.Usual(p.ChunkBytes)
	c := p.Get(size, size)
	if c != nil {
		c.shared = true
		p.Shared++
		p.filling = c
	}
	return c
}

// LargeFirst reports whether a large message waits for memory, and has all that is left of the buffer because
// shared chunks have their minimum.
func (p *Memory) LargeFirst() bool {
	return p.Turns.short > 0 && p.Shared >= KeptChunks
}
