package recorder

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// ringChunk is a sealed chunk that waits in memory for a snapshot.
type ringChunk struct {
	*bagfmt.SealedChunk
	chunk  *chunk    // that the record is part of; nil when it is in memory of its own
	memory []byte    // of its own
	weight int64     // bytes that the pool counts for it
	born   time.Time // when its first message came
	until  time.Time // and its last
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
// Whoever needs memory may take it from the ring. It is guarded by pipeline.mu.
type ring struct {
	most   int64         // bytes
	window time.Duration // how far back it reaches at most; zero means as far as there is memory

	chunks []ringChunk
	bytes  int64
	spare  [][]byte // memory of chunks that fell out, to be used again
	short  bool     // something of the window had to go since anybody looked
}

// maxSpare is how many pieces of memory the ring keeps to use again.
const maxSpare = 4

func (r *ring) push(c ringChunk) {
	r.chunks = append(r.chunks, c)
	r.bytes += c.weight
}

// reach returns how far back the ring reaches.
func (r *ring) reach(now time.Time) time.Duration {
	if len(r.chunks) == 0 {
		return 0
	}
	return now.Sub(r.chunks[0].born)
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

// hold takes over a sealed chunk that the recording is done with. A record that does
// not fill its buffer well, because it is packed or was sealed young, gets memory of
// its own, so that the ring reaches far back.
func (p *pipeline) hold(c *chunk) ringChunk {
	rc := ringChunk{SealedChunk: c.sealed, chunk: c, born: c.born, until: c.until}
	n := len(c.sealed.Record)
	p.mu.Lock()
	rc.weight = c.counted
	if 4*int64(n) >= 3*c.counted {
		p.mu.Unlock()
		return rc
	}
	rc.memory = p.snaps.ring.memoryFor(n) // counted already
	if rc.memory == nil {
		// What a snapshot was asked for must not make room for itself: a chunk is given back in a moment.
		if (p.snaps.asked == 0 || n > 2*p.chunkBytes) && !p.pool.reclaim(int64(n), p.yield) {
			p.mu.Unlock()
			return rc // all memory waits for the disk
		}
		rc.memory = make([]byte, 0, n)
		p.pool.held += int64(n)
	}
	p.mu.Unlock()
	own := *c.sealed // which goes back with its chunk
	rc.memory = append(rc.memory, own.Record...)
	own.Record, own.Counts = rc.memory, slices.Clone(own.Counts)
	rc.SealedChunk, rc.weight, rc.chunk = &own, int64(cap(rc.memory)), nil
	p.release(c)
	return rc
}

// recycle takes the memory of a chunk back. mu is held.
func (p *pipeline) recycle(c ringChunk) {
	if c.chunk != nil {
		p.pool.put(c.chunk)
		return
	}
	r := &p.snaps.ring
	if len(r.spare) == maxSpare || !p.pool.fits(0) {
		p.pool.held -= c.weight
		return
	}
	r.spare = append(r.spare, c.memory)
}

// keepInRing adds a chunk, and lets go of what is too old or too much. mu is held.
func (p *pipeline) keepInRing(c ringChunk) {
	r := &p.snaps.ring
	r.push(c)
	if c.chunk != nil {
		p.pool.discharge(c.chunk)
	}
	p.expire(c.until)
	for r.bytes > r.most {
		r.short = true
		p.dropOldest()
	}
}

// expire lets go of chunks that came wholly before the window. mu is held.
func (p *pipeline) expire(now time.Time) {
	r := &p.snaps.ring
	for r.window > 0 && len(r.chunks) > 0 && now.Sub(r.chunks[0].until) > r.window {
		p.dropOldest()
	}
}

// yield gives up memory of the ring, and reports whether there was any. mu is held.
func (p *pipeline) yield() bool {
	if p.snaps == nil {
		return false
	}
	r := &p.snaps.ring
	switch {
	case len(r.spare) > 0:
		last := len(r.spare) - 1
		p.pool.held -= int64(cap(r.spare[last]))
		r.spare[last] = nil
		r.spare = r.spare[:last]
	case len(r.chunks) > 0:
		r.short = true
		p.dropOldest()
	default:
		return false
	}
	return true
}

// concede is yield for the intake. Where links wait for memory they get that of the
// ring only while what they have filled is within their own quarter: what waits for the
// compressors is as good as in the ring. And what a snapshot was asked for a moment ago
// is not given up for what comes after it, unless there is a recording to think of. mu is
// held.
func (p *pipeline) concede() bool {
	s := p.snaps
	if s == nil {
		return false
	}
	wait := p.overflow == OverflowBlock
	filled := p.pool.held - p.pool.idle - s.ring.held() - p.latched.held
	switch {
	case wait && filled > p.pool.budget-s.ring.most:
		return false
	case s.asked > 0 && (wait || s.only()):
		return false
	}
	return p.yield()
}

// yields returns how much memory the intake may take from the ring. mu is held.
func (s *snapshots) yields() int64 {
	if s == nil || s.asked > 0 && s.only() {
		return 0
	}
	return s.ring.held()
}

// held returns the bytes that the pool counts for the ring.
func (r *ring) held() int64 {
	n := r.bytes
	for _, m := range r.spare {
		n += int64(cap(m))
	}
	return n
}

func (p *pipeline) dropOldest() {
	r := &p.snaps.ring
	oldest := r.chunks[0]
	r.bytes -= oldest.weight
	r.chunks[0] = ringChunk{}
	r.chunks = r.chunks[1:]
	p.recycle(oldest)
}
