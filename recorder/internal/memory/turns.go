package memory

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (

	// reuseDivisor bounds the free buffers that are reused for announced bytes: to this part
	// of the whole buffer.
	reuseDivisor = 8

	leaseBytes = 1 << 20 // of a large message that arrive within LeaseTime keep its lease

	// LeaseTime is how long a large message keeps its lease if too little of it arrives.
	LeaseTime = time.Second

	// LeasePiece is how many bytes are read at a time, so that progress is seen.
	LeasePiece = leaseBytes / 4
)

// Turns decides, where links wait for room instead of dropping, which large messages are
// received now and which wait.
//
// What has arrived of a large message stays in memory until the message is complete. Two messages
// that are half received could wait for each other's memory forever, so each message needs a
// lease: of the room for large messages, which is half of the buffer, enough for all of the message
// must be left beside all others. Leases bind large messages only. Bytes that were announced and
// have not arrived take no memory from others. A message that arrives slowly while others wait
// loses its lease; from then on it counts with what has arrived, and it waits for another lease
// when it needs more memory. The room never shrinks, and memory grows under a lease only. So the
// message that had a lease last can always have one again, and all messages are completed one
// after the other.
type Turns struct {
	active []*Turn // messages that have a lease or hold memory, the oldest first
	queue  []*Turn // messages that wait for a lease, in the order in which they get one
	short  int     // messages with a lease that wait for memory
}

// Turn is a large message for which its link waits.
type Turn struct {
	Chunk   *Chunk // that the message goes into; nil before it begins, and behind its end
	Granted bool
	Waiting bool         // for a lease or for memory
	Need    int64        // bytes of memory for all of it, as the pool counts them
	Proven  bool         // its publisher has sent a large message to the end before
	Shared  int64        // bytes that stay free for each of the kept shared chunks that is not in use
	Arrived atomic.Int64 // bytes; the link counts them without the lock
	seen    int64        // of them when it last moved as it should
	seenAt  time.Time
}

// enqueue puts f in the queue: first the messages that hold memory already, then those of
// publishers that have shown that they send what they announce.
func (l *Turns) enqueue(f *Turn) {
	after := func(o *Turn) bool {
		if f.Begun() != o.Begun() {
			return f.Begun()
		}
		return f.Proven && !o.Proven
	}
	i := slices.IndexFunc(l.queue, after)
	if i < 0 {
		i = len(l.queue)
	}
	l.queue = slices.Insert(l.queue, i, f)
}

// dequeue takes f out of the queue.
func (l *Turns) dequeue(f *Turn) { l.queue = without(l.queue, f) }

// without removes f from frames.
func without(frames []*Turn, f *Turn) []*Turn {
	return slices.DeleteFunc(frames, func(o *Turn) bool { return o == f })
}

// grants reports whether f, which is in the queue, gets its lease now.
func (l *Turns) grants(f *Turn, room int64) bool {
	for _, first := range l.queue {
		all, slow := l.claimed(first)
		switch {
		case first == f:
			return all+first.Need <= room
		case slow+first.Need <= room:
			return false // first gets it as soon as those with a lease are complete
		}
	}
	return false
}

// claimed returns the memory of all messages but one, those with a lease counted in
// whole, and the part of it that those without a lease hold.
func (l *Turns) claimed(but *Turn) (all, slow int64) {
	for _, f := range l.active {
		switch {
		case f == but:
		case f.Granted:
			all += max(f.Need, f.HeldBytes())
		default:
			all += f.HeldBytes()
			slow += f.HeldBytes()
		}
	}
	return all, slow
}

// heldBytes returns the memory that all messages hold.
func (l *Turns) heldBytes() (bytes int64) {
	for _, f := range l.active {
		bytes += f.HeldBytes()
	}
	return bytes
}

// grant gives f a lease.
func (l *Turns) grant(f *Turn, shared int64, now time.Time) {
	if !slices.Contains(l.active, f) {
		l.active = append(l.active, f)
	}
	s := f
	s.Granted, s.Shared, s.seen, s.seenAt = true, shared, s.Arrived.Load(), now
}

// end forgets f, which is complete or given up.
func (l *Turns) end(f *Turn) { l.active = without(l.active, f) }

// expire ends the leases of messages that have not moved as they should while others wait
// for one, and reports whether there were any.
func (l *Turns) expire(now time.Time) (ended bool) {
	for _, f := range l.active {
		switch s := f; {
		case !s.Granted:
		case s.Waiting || s.Arrived.Load()-s.seen >= leaseBytes:
			s.seen, s.seenAt = s.Arrived.Load(), now // a wait for memory is not its fault
		case len(l.queue) > 0 && now.Sub(s.seenAt) >= LeaseTime:
			s.Granted, ended = false, true
		}
	}
	return ended
}

// Begun reports whether the message has a chunk.
func (f *Turn) Begun() bool { return f.Chunk != nil }

// HeldBytes returns the memory that counts for the message.
func (f *Turn) HeldBytes() int64 {
	if !f.Begun() {
		return 0
	}
	return f.Chunk.Counted
}

// MostLarge returns how much of the buffer a large message may take at most, negative for no
// bound. Where links wait, that is the room for all large messages together: half of the buffer.
// Latched messages and shared chunks have the other half.
func (p *Memory) MostLarge() int64 { return p.largeShare(p.Limit) }

// LimitFor returns the limit of the buffer with which a large message is received that takes n bytes.
func (p *Memory) LimitFor(n int64) int64 {
	if p.Blocks {
		return 2 * n
	}
	return n
}

// largeRoom returns how much of the buffer all large messages may take together where links wait.
func (p *Memory) largeRoom() int64 {
	if p.Budget < 0 {
		return math.MaxInt64
	}
	return p.largeShare(p.Budget)
}

func (p *Memory) largeShare(of int64) int64 {
	if p.Blocks && of >= 0 {
		return of / 2
	}
	return of
}

// keptShared returns the memory that shared chunks can always have.
func (p *Memory) keptShared() int64 { return KeptChunks * p.SharedChunk() }

// reusable returns the index of a free buffer for a large message, negative for none. It
// counts in whole although nothing has arrived, so only a publisher that has sent such a
// message before gets one, and only of a small part of the whole buffer.
func (p *Memory) reusable(proven bool, size int) int {
	fit, _ := p.find(size)
	if fit < 0 || p.Budget < 0 {
		return fit
	}
	counted := p.Free[fit].Counted
	room := p.Budget - p.keptShared() - p.Latched
	if p.Blocks {
		room = p.largeRoom()
	}
	all, _ := p.turns.claimed(nil)
	if !proven || counted > p.Budget/reuseDivisor || all+counted > room {
		return -1
	}
	return fit
}

// GetReusable takes a free buffer for a large message, or returns nil.
func (p *Memory) GetReusable(proven bool, size int) *Chunk {
	if fit := p.reusable(proven, size); fit >= 0 {
		return p.take(fit)
	}
	return nil
}

// GrantTurn gives f, which is in the queue, its lease if it can have one, and reports whether it
// has.
func (p *Memory) GrantTurn(f *Turn, now time.Time) bool {
	if !p.turns.grants(f, p.largeRoom()) {
		return false
	}
	// Latched messages do not give memory back by themselves, so what they have cannot stay free.
	beside := p.Budget - p.largeRoom() - p.Latched
	p.turns.grant(f, max(min(p.SharedChunk(), beside/KeptChunks), 0), now)
	return true
}

// EnqueueTurn puts f in the queue for a lease.
func (p *Memory) EnqueueTurn(f *Turn) { p.turns.enqueue(f) }

// DequeueTurn takes f out of the queue.
func (p *Memory) DequeueTurn(f *Turn) {
	p.turns.dequeue(f)
	if len(p.turns.queue) > 0 {
		p.Signal() // another may be the first now
	}
}

// EndTurn forgets f, which is complete or given up.
func (p *Memory) EndTurn(f *Turn) {
	p.turns.end(f)
	p.Signal() // others may have a lease now
}

// ExpireTurns ends the leases of messages that have not moved as they should.
func (p *Memory) ExpireTurns(now time.Time) {
	if p.turns.expire(now) {
		p.Signal()
	}
}

// BesideShared returns how many bytes have to be free before f, which has a lease, may take more.
func (p *Memory) BesideShared(f *Turn, more int64) int64 {
	return more + max(0, KeptChunks-int64(p.Shared))*f.Shared
}

// SetShort notes that a message with a lease waits for memory, or that it goes on.
func (p *Memory) SetShort(waits bool) {
	if waits {
		p.turns.short++
	} else {
		p.turns.short--
	}
}

// Waits returns how many large messages wait for a lease, and how many with one wait for memory.
func (p *Memory) Waits() (queued, short int) { return len(p.turns.queue), p.turns.short }
