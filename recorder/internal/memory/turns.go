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

// Turns decides, where links wait for room instead of dropping, which large
// messages are received now and which wait. It is guarded by intake.mu.
//
// What has arrived of a large message stays in memory until it is complete. Two messages
// that are half received could wait for each other's memory forever, so each needs a
// lease: room for all of it must be left beside all others. Leases bind large messages
// only. Bytes that were announced and have not arrived count for nothing. A
// message that arrives slowly while others wait loses its lease; it counts with what has
// arrived, and waits for another lease when it needs more memory. The one that had a lease
// last can always have it again, and so all are completed one after the other.
type Turns struct {
	active []*Turn // that have a lease or hold memory, the oldest first
	queue  []*Turn // waiting for a lease, in the order in which they get one
	short  int     // messages with a lease that wait for memory
	alone  int     // of them, those that need the memory of the shared chunks, too
}

// Turn is a large message for which its link waits.
type Turn struct {
	Chunk   *Chunk // that the message goes into; nil before it begins, and behind its end
	Granted bool
	Waiting bool         // for a lease or for memory
	Need    int64        // bytes of memory for all of it, as the pool counts them
	Proven  bool         // its publisher has sent a large message to the end before
	Shared  int64        // bytes of a shared chunk when the lease was granted; zero: none is kept beside
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

// roomFunc returns how much of the buffer large messages may have together, if one of them
// needs so many bytes and others without a lease hold slow bytes.
type roomFunc func(need, slow int64) int64

// grants reports whether f, which is in the queue, gets its lease now.
func (l *Turns) grants(f *Turn, room roomFunc) bool {
	for _, first := range l.queue {
		all, slow := l.claimed(first)
		need := first.Need
		most := room(need, slow)
		switch {
		case first == f:
			return all+need <= most
		case slow+need <= most:
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

// stuck reports whether all messages that hold memory wait for each other, so that f, the
// latest, has to be given up.
func (l *Turns) stuck(f *Turn, room roomFunc) bool {
	for _, o := range l.active {
		if !o.Waiting || o.Granted {
			return false
		}
	}
	granted := func(o *Turn) bool { return l.grants(o, room) }
	return l.active[len(l.active)-1] == f && !slices.ContainsFunc(l.queue, granted)
}

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

// largeRoom is a roomFunc: what is left beside the latched messages and the shared chunks
// or, if a message could never be received beside those, without the ones or the others.
func (p *Memory) largeRoom(need, slow int64) int64 {
	budget := p.Budget
	if budget < 0 {
		return math.MaxInt64
	}
	for _, room := range []int64{budget - p.Latched - p.keptShared(), budget - p.Latched, budget - p.keptShared()} {
		if slow+need <= room {
			return room
		}
	}
	return budget
}

// keptShared returns the memory that shared chunks can always have.
func (p *Memory) keptShared() int64 { return KeptChunks * p.SharedChunk() }

// LeftByLarge returns how much of the buffer is left beside the shared chunks and the large
// messages, those with a lease counted in whole.
func (p *Memory) LeftByLarge() int64 {
	if len(p.turns.active) == 0 {
		return p.Budget
	}
	all, _ := p.turns.claimed(nil)
	return p.Budget - all - p.keptShared()
}

// reusable returns the index of a free buffer for a large message, negative for none. It
// counts in whole although nothing has arrived, so only a publisher that has sent such a
// message before gets one, and only of a small part of the whole buffer.
func (p *Memory) reusable(proven bool, size int) int {
	fit, _ := p.find(size)
	if fit < 0 || p.Budget < 0 {
		return fit
	}
	counted := p.Free[fit].Counted
	all, _ := p.turns.claimed(nil)
	if !proven || counted > p.Budget/reuseDivisor || all+counted+p.keptShared()+p.Latched > p.Budget {
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
	if !p.turns.grants(f, p.largeRoom) {
		return false
	}
	shared := p.SharedChunk()
	if _, slow := p.turns.claimed(f); p.Budget >= 0 && p.largeRoom(f.Need, slow) > p.Budget-p.keptShared() {
		shared = 0
	}
	p.turns.grant(f, shared, now)
	return true
}

// StuckTurn reports whether f has to be given up, so that others can be received.
func (p *Memory) StuckTurn(f *Turn) bool { return f.Begun() && p.turns.stuck(f, p.largeRoom) }

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

// NeverFits reports whether large messages, which alone hold memory beside the latched ones that
// does not come back by itself, could not have more bytes.
func (p *Memory) NeverFits(more int64) bool { return p.turns.heldBytes()+p.Latched+more > p.Budget }

// SetShort notes that f, which has a lease, waits for memory, or does not wait any more.
func (p *Memory) SetShort(f *Turn, waits bool) {
	by := 1
	if !waits {
		by = -1
	}
	p.turns.short += by
	if f.Shared == 0 {
		p.turns.alone += by
	}
}

// Waits returns how many large messages wait for a lease, how many with one wait for memory, and
// how many of those need the memory of the shared chunks, too.
func (p *Memory) Waits() (queued, short, alone int) {
	return len(p.turns.queue), p.turns.short, p.turns.alone
}
