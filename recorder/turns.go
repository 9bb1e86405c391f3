package recorder

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

const (
	trusted = 1 << 20 // how much of a publisher's claim is counted before it arrives

	// reuseDivisor bounds the free buffers that are reused for announced bytes: to this part
	// of the whole buffer.
	reuseDivisor = 8

	// A large message keeps its lease while this much of it arrives in this time.
	leaseBytes = 1 << 20
	leaseTime  = time.Second
	leasePiece = leaseBytes / 4 // read at a time, so that progress is seen
)

// turns decides, where links wait for room instead of dropping, which large
// messages are received now and which wait. It is guarded by intake.mu.
//
// What has arrived of a large message stays in memory until it is complete. Two messages
// that are half received could wait for each other's memory forever, so each needs a
// lease: room for all of it must be left beside all others. Leases bind large messages
// only. Bytes that were announced and have not arrived count for nothing. A
// message that arrives slowly while others wait loses its lease; it counts with what has
// arrived, and waits for another lease when it needs more memory. The one that had a lease
// last can always have it again, and so all are completed one after the other.
type turns struct {
	active []*turn // that have a lease or hold memory, the oldest first
	queue  []*turn // waiting for a lease, in the order in which they get one
	short  int     // messages with a lease that wait for memory
	alone  int     // of them, those that need the memory of the shared chunks, too
}

// turn is a large message for which its link waits.
type turn struct {
	chunk   *chunk // that the message goes into; nil before it begins, and behind its end
	granted bool
	waiting bool         // for a lease or for memory
	need    int64        // bytes of memory for all of it, as the pool counts them
	proven  bool         // its publisher has sent a large message to the end before
	shared  int64        // bytes of a shared chunk when the lease was granted; zero: none is kept beside
	arrived atomic.Int64 // bytes; the link counts them without the lock
	seen    int64        // of them when it last moved as it should
	seenAt  time.Time
}

// enqueue puts f in the queue: first the messages that hold memory already, then those of
// publishers that have shown that they send what they announce.
func (l *turns) enqueue(f *turn) {
	after := func(o *turn) bool {
		if f.begun() != o.begun() {
			return f.begun()
		}
		return f.proven && !o.proven
	}
	i := slices.IndexFunc(l.queue, after)
	if i < 0 {
		i = len(l.queue)
	}
	l.queue = slices.Insert(l.queue, i, f)
}

// dequeue takes f out of the queue.
func (l *turns) dequeue(f *turn) { l.queue = without(l.queue, f) }

// without removes f from frames.
func without(frames []*turn, f *turn) []*turn {
	return slices.DeleteFunc(frames, func(o *turn) bool { return o == f })
}

// roomFunc returns how much of the buffer large messages may have together, if one of them
// needs so many bytes and others without a lease hold slow bytes.
type roomFunc func(need, slow int64) int64

// grants reports whether f, which is in the queue, gets its lease now.
func (l *turns) grants(f *turn, room roomFunc) bool {
	for _, first := range l.queue {
		all, slow := l.claimed(first)
		need := first.need
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
func (l *turns) claimed(but *turn) (all, slow int64) {
	for _, f := range l.active {
		switch {
		case f == but:
		case f.granted:
			all += max(f.need, f.held())
		default:
			all += f.held()
			slow += f.held()
		}
	}
	return all, slow
}

// held returns the memory that all messages hold.
func (l *turns) held() (bytes int64) {
	for _, f := range l.active {
		bytes += f.held()
	}
	return bytes
}

// grant gives f a lease.
func (l *turns) grant(f *turn, shared int64, now time.Time) {
	if !slices.Contains(l.active, f) {
		l.active = append(l.active, f)
	}
	s := f
	s.granted, s.shared, s.seen, s.seenAt = true, shared, s.arrived.Load(), now
}

// end forgets f, which is complete or given up.
func (l *turns) end(f *turn) { l.active = without(l.active, f) }

// stuck reports whether all messages that hold memory wait for each other, so that f, the
// latest, has to be given up.
func (l *turns) stuck(f *turn, room roomFunc) bool {
	for _, o := range l.active {
		if !o.waiting || o.granted {
			return false
		}
	}
	granted := func(o *turn) bool { return l.grants(o, room) }
	return l.active[len(l.active)-1] == f && !slices.ContainsFunc(l.queue, granted)
}

// expire ends the leases of messages that have not moved as they should while others wait
// for one, and reports whether there were any.
func (l *turns) expire(now time.Time) (ended bool) {
	for _, f := range l.active {
		switch s := f; {
		case !s.granted:
		case s.waiting || s.arrived.Load()-s.seen >= leaseBytes:
			s.seen, s.seenAt = s.arrived.Load(), now // a wait for memory is not its fault
		case len(l.queue) > 0 && now.Sub(s.seenAt) >= leaseTime:
			s.granted, ended = false, true
		}
	}
	return ended
}

// begun reports whether the message has a chunk.
func (f *turn) begun() bool { return f.chunk != nil }

// held returns the memory that counts for the message.
func (f *turn) held() int64 {
	if !f.begun() {
		return 0
	}
	return f.chunk.counted
}

// largeRoom is a roomFunc: what is left beside the latched messages and the shared chunks
// or, if a message could never be received beside those, without the ones or the others.
func (p *pool) largeRoom(need, slow int64) int64 {
	budget := p.budget
	if budget < 0 {
		return math.MaxInt64
	}
	for _, room := range []int64{budget - p.latched - p.keptShared(), budget - p.latched, budget - p.keptShared()} {
		if slow+need <= room {
			return room
		}
	}
	return budget
}

// keptShared returns the memory that shared chunks can always have.
func (p *pool) keptShared() int64 { return keptChunks * p.sharedChunk() }

// leftByLarge returns how much of the buffer is left beside the shared chunks and the large
// messages, those with a lease counted in whole.
func (p *pool) leftByLarge() int64 {
	if len(p.turns.active) == 0 {
		return p.budget
	}
	all, _ := p.turns.claimed(nil)
	return p.budget - all - p.keptShared()
}

// reusable returns the index of a free buffer for a large message, negative for none. It
// counts in whole although nothing has arrived, so only a publisher that has sent such a
// message before gets one, and only of a small part of the whole buffer.
func (p *pool) reusable(proven bool, size int) int {
	fit, _ := p.find(size)
	if fit < 0 || p.budget < 0 {
		return fit
	}
	counted := p.free[fit].counted
	all, _ := p.turns.claimed(nil)
	if !proven || counted > p.budget/reuseDivisor || all+counted+p.keptShared()+p.latched > p.budget {
		return -1
	}
	return fit
}

// getReusable takes a free buffer for a large message, or returns nil.
func (p *pool) getReusable(proven bool, size int) *chunk {
	if fit := p.reusable(proven, size); fit >= 0 {
		return p.take(fit)
	}
	return nil
}

// grantTurn gives f, which is in the queue, its lease if it can have one, and reports whether it
// has.
func (p *pool) grantTurn(f *turn, now time.Time) bool {
	if !p.turns.grants(f, p.largeRoom) {
		return false
	}
	shared := p.sharedChunk()
	if _, slow := p.turns.claimed(f); p.budget >= 0 && p.largeRoom(f.need, slow) > p.budget-p.keptShared() {
		shared = 0
	}
	p.turns.grant(f, shared, now)
	return true
}

// stuckTurn reports whether f has to be given up, so that others can be received.
func (p *pool) stuckTurn(f *turn) bool { return f.begun() && p.turns.stuck(f, p.largeRoom) }

// enqueueTurn puts f in the queue for a lease.
func (p *pool) enqueueTurn(f *turn) { p.turns.enqueue(f) }

// dequeueTurn takes f out of the queue.
func (p *pool) dequeueTurn(f *turn) {
	p.turns.dequeue(f)
	if len(p.turns.queue) > 0 {
		p.signal() // another may be the first now
	}
}

// endTurn forgets f, which is complete or given up.
func (p *pool) endTurn(f *turn) {
	p.turns.end(f)
	p.signal() // others may have a lease now
}

// expireTurns ends the leases of messages that have not moved as they should.
func (p *pool) expireTurns(now time.Time) {
	if p.turns.expire(now) {
		p.signal()
	}
}

// besideShared returns how many bytes have to be free before f, which has a lease, may take more.
func (p *pool) besideShared(f *turn, more int64) int64 {
	return more + max(0, keptChunks-int64(p.shared))*f.shared
}

// neverFits reports whether large messages, which alone hold memory beside the latched ones that
// does not come back by itself, could not have more bytes.
func (p *pool) neverFits(more int64) bool { return p.turns.held()+p.latched+more > p.budget }

// setShort notes that f, which has a lease, waits for memory, or does not wait any more.
func (p *pool) setShort(f *turn, waits bool) {
	by := 1
	if !waits {
		by = -1
	}
	p.turns.short += by
	if f.shared == 0 {
		p.turns.alone += by
	}
}
