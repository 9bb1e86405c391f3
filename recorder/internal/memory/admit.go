package memory

const (
	// FairnessFactor bounds what a topic may hold of a memory limit, in multiples of what is free. The
	// limits are the buffer, for its queued messages, and account.HeaderBytes, for its connection headers. A
	// single topic can take 4/5 of the limit. If n topics would each take more than their share, each gets
	// 4/(4n+1): the shares are equal, and some memory is always free.
	FairnessFactor = 4

	// A topic is light if it has less waiting than the mean of all topics divided by lightTopicDivisor. All
	// light topics together have less waiting than this part of the whole.
	lightTopicDivisor = 4

	// KeptChunks is the number of shared chunks whose memory is reserved, for light topics only.
	KeptChunks = 2
)

// Admits decides, with OverflowDrop, whether n bytes of an account go into the buffer. It compares the
// bytes that the topic has waiting with the free bytes, which are the same for all topics. So a topic
// that is refused has more waiting than every topic that is admitted: the newest messages of the heaviest
// topics are dropped first. A topic has as many bytes waiting as its rate times the time to the disk, so
// a topic below its fair share of the disk's rate never reaches the limit, whatever the others do.
//
// The memory of two shared chunks, or of one beside the open chunk, is reserved, so that light topics
// find room when the open chunk is full or old. See ADR 0005.
func (p *Memory) Admits(a *Account, n int64, shared bool) bool {
	if p.o.Blocks || p.budget < 0 {
		return true
	}
	after := a.waiting + n
	if shared && after*int64(p.used.Waiters)*lightTopicDivisor <= p.used.Waiting {
		return true
	}
	return after <= FairnessFactor*p.spare() && p.FitsBeside(n, n)
}

// FitsBeside reports whether more bytes, for a message of size bytes, leave room for the reserved shared
// chunks. A message that does not fit into the buffer beside them may use their memory, too.
func (p *Memory) FitsBeside(size, more int64) bool {
	return more <= p.spare() || size+KeptChunks*p.SharedChunk() > p.budget
}

// spare returns how many bytes of the buffer are free beside the reserved shared chunks. The number is
// negative when light topics have used the reserve.
func (p *Memory) spare() int64 {
	kept := int64(KeptChunks)
	if p.filling != nil {
		kept-- // the open chunk has its memory already
	}
	reclaimable := int64(0)
	if p.reserve != nil {
		reclaimable = p.reserve.Reclaimable()
	}
	return p.budget - (p.used.Held - p.used.Idle - reclaimable) - kept*p.SharedChunk()
}

// SharedChunk returns how many bytes a shared chunk takes: the usual size of such chunks, but at most
// 1/LeastChunks of the buffer.
func (p *Memory) SharedChunk() int64 {
	return min(p.Weight(p.Usual(p.o.ChunkBytes)), p.budget/LeastChunks)
}

// Charge counts the messages in c as waiting for the disk.
func (p *Memory) Charge(c *Chunk) {
	for i := range c.usage {
		u := &c.usage[i]
		if u.account.waiting == 0 {
			p.used.Waiters++
		}
		u.account.waiting += u.bytes
		p.used.Waiting += u.bytes
		u.account.closeEntry(c)
	}
	c.charged = true
}

// discharge ends Charge: the messages in c do not wait for the disk any more. The chunk keeps them.
func (p *Memory) discharge(c *Chunk) {
	for i := range c.usage {
		u := &c.usage[i]
		u.account.closeEntry(c)
		if !c.charged {
			continue
		}
		p.used.Waiting -= u.bytes
		u.account.waiting -= u.bytes
		if u.account.waiting == 0 {
			p.used.Waiters--
		}
	}
	c.charged = false
}

// Open returns an empty shared chunk; nil if there is no room for one.
func (p *Memory) Open() *Chunk {
	size := p.Usual(p.o.ChunkBytes)
	c := p.Get(size, size)
	if c != nil {
		c.shared = true
		p.used.Shared++
		p.filling = c
	}
	return c
}

// LargeFirst reports whether a large message with a lease waits for memory, and shared chunks, which have
// their minimum, must leave the rest of the buffer to it.
func (p *Memory) LargeFirst() bool {
	return p.turns.short > 0 && p.used.Shared >= KeptChunks
}
