package recorder

const (
	// fairnessFactor bounds what a topic may hold of a memory limit, in multiples of what is free:
	// of the buffer by its queued messages, and of headerBytes by its connection headers. One topic
	// alone can take 4/5 of the limit. Of n topics that each would take more, each gets 4/(4n+1):
	// equal shares, and some memory is always free.
	fairnessFactor = 4

	// lightTopicDivisor makes a topic light that has less waiting than the mean of all topics,
	// divided by this. All light topics together have less than that part of it all.
	lightTopicDivisor = 4

	keptChunks = 2 // shared chunks that only light topics may take the last memory for
)

// topicUsage is how much of the buffer the messages of a topic take while they wait for the
// disk. It is guarded by intake.mu.
type topicUsage struct {
	waiting int64 // bytes, as the pool counts them
}

// chunkUsage is what one connection has in one chunk.
type chunkUsage struct {
	connection *connection
	bytes      int64
}

// fill is the place of a connection in the shared chunk that its latest message went into.
type fill struct {
	chunk *chunk
	at    int // among the usage of it
}

// admits decides, with OverflowDrop, whether n bytes of t go into the buffer. It compares
// what the topic has waiting with what is free, which is the same for all topics. A topic
// that is refused therefore has more waiting than every topic that is admitted: the newest
// messages of the heaviest topics are dropped first. What a topic has waiting is its rate
// times the time to the disk, so a topic below its fair share of the disk's rate never
// reaches the limit, whatever the others do.
//
// Two shared chunks are reserved, or one beside the open one, so that light topics find
// room when the open chunk is full or old. Only light topics may use them. mu is held.
func (m *buffer) admits(t *topic, n int64, shared bool) bool {
	if m.overflow != OverflowDrop || m.pool.budget < 0 {
		return true
	}
	after := t.waiting + n
	if shared && after*int64(m.pool.waiters)*lightTopicDivisor <= m.pool.waiting {
		return true
	}
	return after <= fairnessFactor*m.spare() && m.fitsBeside(n, n)
}

// fitsBeside reports whether the shared chunks have room beside more bytes for a message
// of size bytes. A message for which the whole buffer is too small with them may have all
// of that. mu is held.
func (m *buffer) fitsBeside(size, more int64) bool {
	return more <= m.spare() || size+keptChunks*m.sharedChunk() > m.pool.budget
}

// spare returns how much of the buffer is left beside the shared chunks, less than zero
// when light topics have used that. mu is held.
func (m *buffer) spare() int64 {
	kept := int64(keptChunks)
	if m.open != nil {
		kept-- // it is taken already: to open a chunk changes nothing
	}
	return m.pool.budget - (m.pool.held - m.pool.idle - m.snaps.reclaimable()) - kept*m.sharedChunk()
}

// sharedChunk returns what a chunk for many messages takes of the buffer. A buffer that is
// too small for what is usual is not kept free for nothing.
func (m *buffer) sharedChunk() int64 {
	return min(m.pool.weight(m.pool.usual(m.chunkBytes)), m.pool.budget/leastChunks)
}

// queueCrowded reports whether much waits for the disk.
func (in *intake) queueCrowded() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	const share, some = 8, 32 << 20
	most := in.budget / share
	if in.budget < 0 {
		most = some
	}
	return in.pool.waiting > most
}

// waitForChunk gets a buffer for the open chunk. false means that there is no room,
// or that the waiting for some is over.
func (in *intake) waitForChunk(t *topic) bool {
	var b *blockage
	for in.open == nil && in.accepts(t) { // another link may open one while we wait
		// What is left is for a large message that waits for memory, but for a minimum.
		if in.large.alone == 0 && (in.large.short == 0 || in.pool.shared < keptChunks) && in.openChunk() {
			break
		}
		if in.overflow == OverflowDrop {
			return false
		}
		if b == nil {
			b = &blockage{topic: t}
			defer in.endBlockage(b)
		}
		in.wait(b)
	}
	return in.open != nil && in.accepts(t)
}

// openChunk makes sure of an open chunk if there is room for one. mu is held.
func (in *intake) openChunk() bool {
	if in.open == nil {
		size := in.pool.usual(in.chunkBytes)
		c := in.pool.get(size, size)
		if c == nil {
			return false
		}
		c.builder.Reset(in.records)
		c.shared = true
		in.pool.shared++
		in.open, in.sealAt = c, in.sealLimit()
	}
	return true
}

// add notes that n bytes in c are of a connection, which shares it with others.
func (c *chunk) add(conn *connection, n int64) {
	f := &conn.fill
	if f.chunk != c {
		f.chunk, f.at = c, len(c.usage)
		c.usage = append(c.usage, chunkUsage{connection: conn})
	}
	c.usage[f.at].bytes += n
}

// seal makes the next message of the connection begin anew, if it has not gone on in
// another chunk.
func (f *fill) seal(c *chunk) {
	if f.chunk == c {
		f.chunk = nil
	}
}

// charge makes what is in c wait for the disk.
func (p *pool) charge(c *chunk) {
	for i := range c.usage {
		u := &c.usage[i]
		t := &u.connection.topic.topicUsage
		if t.waiting == 0 {
			p.waiters++
		}
		t.waiting += u.bytes
		p.waiting += u.bytes
		u.connection.fill.seal(c)
	}
	c.charged = true
}

// discharge ends that. What is in the chunk does not change.
func (p *pool) discharge(c *chunk) {
	for i := range c.usage {
		u := &c.usage[i]
		u.connection.fill.seal(c)
		if !c.charged {
			continue
		}
		t := &u.connection.topic.topicUsage
		p.waiting -= u.bytes
		t.waiting -= u.bytes
		if t.waiting == 0 {
			p.waiters--
		}
	}
	c.charged = false
}
