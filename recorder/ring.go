package recorder

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// ringChunk is a sealed chunk that waits in memory for a snapshot.
type ringChunk struct {
	*bagfmt.SealedChunk
	chunk   *memory.Chunk // that the record is part of; nil when it is in memory of its own
	memory  []byte        // of its own
	weight  int64         // bytes that the pool counts for it
	firstAt time.Time     // when its first message came
	lastAt  time.Time     // and its last

	latched []pinned   // the last message of each latching connection, until it has left the ring
	copied  int64      // bytes that the pool counts for copies of them
	held    *heldChunk // what those without a copy refer to; nil if there are none
}

// messages returns how many messages the chunk holds.
func (c *ringChunk) messages() uint64 {
	var n uint64
	for _, m := range c.Counts {
		n += uint64(m.Count)
	}
	return n
}

// ring holds what a snapshot would begin with: the latest chunks, the oldest first.
// Memory of the ring can be reclaimed at any time. It is guarded by intake.mu.
type ring struct {
	most   int64         // bytes
	window time.Duration // how far back it reaches at most; zero means as far as there is memory

	chunks []ringChunk
	bytes  int64
	spare  [][]byte // memory of chunks that fell out, to be used again
	short  bool     // a part of the window was reclaimed since warnShort looked
	start  ringStart
}

// maxSpare is how many pieces of memory the ring keeps to use again.
const maxSpare = 4

func (r *ring) push(c ringChunk) {
	r.chunks = append(r.chunks, c)
	r.bytes += c.weight + c.copied
}

// reach returns how far back the ring reaches.
func (r *ring) reach(now time.Time) time.Duration {
	if len(r.chunks) == 0 {
		return 0
	}
	return now.Sub(r.chunks[0].firstAt)
}

// takeAll empties the ring.
func (r *ring) takeAll() []ringChunk {
	all := slices.Clone(r.chunks)
	clear(r.chunks)
	r.chunks, r.bytes = r.chunks[:0], 0
	return all
}

// memoryFor returns spare memory that n bytes fill well, or nil.
func (r *ring) memoryFor(n int) []byte {
	for i, m := range r.spare {
		if cap(m) >= n && cap(m) <= n+n/2 {
			r.spare = slices.Delete(r.spare, i, i+1)
			return m[:0]
		}
	}
	return nil
}

// toRingChunk takes over a sealed chunk that the recording is done with. A record that does
// not fill its buffer well, because it is packed or was sealed young, gets memory of
// its own, so that the ring reaches far back.
func (in *intake) toRingChunk(c *memory.Chunk) ringChunk {
	all := in.latchedIn(c)
	rc := in.takeOver(c)
	rc.note(all)
	return rc
}

// takeOver is toRingChunk without the latched messages.
func (in *intake) takeOver(c *memory.Chunk) ringChunk {
	rc := ringChunk{SealedChunk: c.Sealed, chunk: c, firstAt: c.FirstAt, lastAt: c.LastAt}
	n := len(c.Sealed.Record)
	in.mu.Lock()
	rc.weight = c.Counted
	if 4*int64(n) >= 3*c.Counted {
		in.mu.Unlock()
		return rc
	}
	rc.memory = in.snaps.ring.memoryFor(n) // counted already
	if rc.memory == nil {
		// The chunks of a requested snapshot must not displace each other: this chunk comes back in a moment.
		if (in.snaps.pending == 0 || n > 2*in.pool.ChunkBytes) && !in.pool.MakeRoom(int64(n), memory.ForAny) {
			in.mu.Unlock()
			return rc // all memory waits for the disk
		}
		rc.memory = make([]byte, 0, n)
		in.pool.Use(int64(n))
	}
	in.mu.Unlock()
	own := *c.Sealed // which goes back with its chunk
	rc.memory = append(rc.memory, own.Record...)
	own.Record, own.Counts, own.PayloadBytes = rc.memory, slices.Clone(own.Counts), slices.Clone(own.PayloadBytes)
	rc.SealedChunk, rc.weight, rc.chunk = &own, int64(cap(rc.memory)), nil
	in.release(c)
	return rc
}

// recycle takes the memory of a chunk back. mu is held.
func (m *buffer) recycle(c ringChunk) {
	if c.held == nil || !m.keepHeld(c.held) {
		m.free(c)
	}
}

// free is recycle for a chunk that no latched message refers to. mu is held.
func (m *buffer) free(c ringChunk) {
	if c.chunk != nil {
		m.pool.Put(c.chunk)
		return
	}
	r := &m.snaps.ring
	if len(r.spare) == maxSpare || !m.pool.Fits(0) {
		m.pool.Unuse(c.weight)
		return
	}
	r.spare = append(r.spare, c.memory)
}

// addToRing adds a chunk that the recording is done with.
func (in *intake) addToRing(c ringChunk) {
	in.mu.Lock()
	in.keepInRing(c)
	in.pool.Signal() // what was queued is room now
	in.mu.Unlock()
}

// freshChunk returns a buffer for n bytes, or nil.
func (in *intake) freshChunk(n int) *memory.Chunk {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pool.Get(n, n)
}

// giveBack takes the memory of a chunk back.
func (in *intake) giveBack(c ringChunk) {
	in.mu.Lock()
	in.recycle(c)
	in.mu.Unlock()
}

// count brings the account of a chunk up to date that has grown.
func (in *intake) count(c *memory.Chunk) {
	in.mu.Lock()
	in.pool.Count(c)
	in.mu.Unlock()
}

// keepInRing adds a chunk, and lets go of what is too old or too much. mu is held.
func (m *buffer) keepInRing(c ringChunk) {
	r := &m.snaps.ring
	r.push(c)
	if c.chunk != nil {
		m.pool.Retire(c.chunk)
	}
	m.expire(c.lastAt)
	for r.bytes > r.most {
		r.short = true
		m.dropOldest()
	}
}

// expire lets go of chunks that came wholly before the window. mu is held.
func (m *buffer) expire(now time.Time) {
	r := &m.snaps.ring
	if at := m.snaps.requested; !at.IsZero() && now.After(at) {
		now = at
	}
	for r.window > 0 && len(r.chunks) > 0 && now.Sub(r.chunks[0].lastAt) > r.window {
		m.dropOldest()
	}
}

// reclaimRing gives up memory of the ring, and reports whether there was any. mu is held.
func (m *buffer) reclaimRing() bool {
	if m.snaps == nil {
		return false
	}
	r := &m.snaps.ring
	switch {
	case len(r.spare) > 0:
		last := len(r.spare) - 1
		m.pool.Unuse(int64(cap(r.spare[last])))
		r.spare[last] = nil
		r.spare = r.spare[:last]
	case len(r.chunks) > 0:
		r.short = true
		m.dropOldest()
	default:
		return false
	}
	return true
}

// ringReserve gives memory of the ring to the pool. intake.mu is held.
type ringReserve struct{ *buffer }

// reserveOf returns what the pool may reclaim; nil for nothing.
func (m *buffer) reserveOf() memory.Reserve {
	if m.snaps == nil {
		return nil
	}
	return ringReserve{m}
}

func (r ringReserve) Held() int64 { return r.snaps.ring.held() }

// Reclaimable implements reserve.
func (r ringReserve) Reclaimable() int64 {
	if r.snaps.pending > 0 && r.snaps.only() {
		return 0
	}
	return r.Held()
}

// Reclaim implements reserve. With OverflowBlock new messages get memory of the ring only while
// what they fill is within their own quarter: what waits for the compressors is as good as in the
// ring. The chunks of a snapshot that was just requested are not given up for what comes after it,
// unless there is a recording beside it, nor for a large message: that memory comes back when the
// snapshot is written.
func (r ringReserve) Reclaim(why memory.Purpose, filled int64) bool {
	s := r.snaps
	switch {
	case why == memory.ForLarge && s.pending > 0:
		return false
	case why == memory.ForMessages && r.pool.Blocks && filled > r.pool.Budget-s.ring.most:
		return false
	case why == memory.ForMessages && s.pending > 0 && (r.pool.Blocks || s.only()):
		return false
	}
	return r.reclaimRing()
}

// held returns the bytes that the pool counts for the ring.
func (r *ring) held() int64 {
	n := r.bytes
	for _, m := range r.spare {
		n += int64(cap(m))
	}
	return n
}

func (m *buffer) dropOldest() {
	r := &m.snaps.ring
	oldest := r.chunks[0]
	r.bytes -= oldest.weight + oldest.copied
	m.pass(&oldest)
	r.chunks[0] = ringChunk{}
	r.chunks = r.chunks[1:]
	m.recycle(oldest)
}
