package recorder

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
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

// largeMessages decides, where links wait for room instead of dropping, which large
// messages are received now and which wait. It is guarded by intake.mu.
//
// What has arrived of a large message stays in memory until it is complete. Two messages
// that are half received could wait for each other's memory forever, so each needs a
// lease: room for all of it must be left beside all others. Leases bind large messages
// only. Bytes that were announced and have not arrived count for nothing. A
// message that arrives slowly while others wait loses its lease; it counts with what has
// arrived, and waits for another lease when it needs more memory. The one that had a lease
// last can always have it again, and so all are completed one after the other.
type largeMessages struct {
	active []*largeFrame // that have a lease or hold memory, the oldest first
	queue  []*largeFrame // waiting for a lease, in the order in which they get one
	short  int           // messages with a lease that wait for memory
	alone  int           // of them, those that need the memory of the shared chunks, too
}

// lease is the part of a largeFrame that largeMessages owns.
type lease struct {
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
func (l *largeMessages) enqueue(f *largeFrame) {
	after := func(o *largeFrame) bool {
		if f.begun() != o.begun() {
			return f.begun()
		}
		return f.lease.proven && !o.lease.proven
	}
	i := slices.IndexFunc(l.queue, after)
	if i < 0 {
		i = len(l.queue)
	}
	l.queue = slices.Insert(l.queue, i, f)
}

// dequeue takes f out of the queue.
func (l *largeMessages) dequeue(f *largeFrame) { l.queue = without(l.queue, f) }

// without removes f from frames.
func without(frames []*largeFrame, f *largeFrame) []*largeFrame {
	return slices.DeleteFunc(frames, func(o *largeFrame) bool { return o == f })
}

// roomFunc returns how much of the buffer large messages may have together, if one of them
// needs so many bytes and others without a lease hold slow bytes.
type roomFunc func(need, slow int64) int64

// grants reports whether f, which is in the queue, gets its lease now.
func (l *largeMessages) grants(f *largeFrame, room roomFunc) bool {
	for _, first := range l.queue {
		all, slow := l.claimed(first)
		need := first.lease.need
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
func (l *largeMessages) claimed(but *largeFrame) (all, slow int64) {
	for _, f := range l.active {
		switch {
		case f == but:
		case f.lease.granted:
			all += max(f.lease.need, f.held())
		default:
			all += f.held()
			slow += f.held()
		}
	}
	return all, slow
}

// held returns the memory that all messages hold.
func (l *largeMessages) held() (bytes int64) {
	for _, f := range l.active {
		bytes += f.held()
	}
	return bytes
}

// grant gives f a lease.
func (l *largeMessages) grant(f *largeFrame, shared int64, now time.Time) {
	if !slices.Contains(l.active, f) {
		l.active = append(l.active, f)
	}
	s := &f.lease
	s.granted, s.shared, s.seen, s.seenAt = true, shared, s.arrived.Load(), now
}

// end forgets f, which is complete or given up.
func (l *largeMessages) end(f *largeFrame) { l.active = without(l.active, f) }

// stuck reports whether all messages that hold memory wait for each other, so that f, the
// latest, has to be given up.
func (l *largeMessages) stuck(f *largeFrame, room roomFunc) bool {
	for _, o := range l.active {
		if !o.lease.waiting || o.lease.granted {
			return false
		}
	}
	granted := func(o *largeFrame) bool { return l.grants(o, room) }
	return l.active[len(l.active)-1] == f && !slices.ContainsFunc(l.queue, granted)
}

// expire ends the leases of messages that have not moved as they should while others wait
// for one, and reports whether there were any.
func (l *largeMessages) expire(now time.Time) (ended bool) {
	for _, f := range l.active {
		switch s := &f.lease; {
		case !s.granted:
		case s.waiting || s.arrived.Load()-s.seen >= leaseBytes:
			s.seen, s.seenAt = s.arrived.Load(), now // a wait for memory is not its fault
		case len(l.queue) > 0 && now.Sub(s.seenAt) >= leaseTime:
			s.granted, ended = false, true
		}
	}
	return ended
}

// largeRoom is a roomFunc: what is left beside the latched messages and the shared chunks
// or, if a message could never be received beside those, without the ones or the others.
// mu is held.
func (m *buffer) largeRoom(need, slow int64) int64 {
	budget := m.pool.budget
	if budget < 0 {
		return math.MaxInt64
	}
	for _, room := range []int64{budget - m.latched.held - m.keptShared(), budget - m.latched.held, budget - m.keptShared()} {
		if slow+need <= room {
			return room
		}
	}
	return budget
}

// keptShared returns the memory that shared chunks can always have. mu is held.
func (m *buffer) keptShared() int64 { return keptChunks * m.sharedChunk() }

// leftByLarge returns how much of the buffer is left beside the shared chunks and the large
// messages, those with a lease counted in whole. mu is held.
func (m *buffer) leftByLarge() int64 {
	if len(m.large.active) == 0 {
		return m.pool.budget
	}
	all, _ := m.large.claimed(nil)
	return m.pool.budget - all - m.keptShared()
}

// reusable returns the index of a free buffer for a large message, negative for none. It
// counts in whole although nothing has arrived, so only a publisher that has sent such a
// message before gets one, and only of a small part of the whole buffer. mu is held.
func (m *buffer) reusable(c *connection, size int) int {
	fit, _ := m.pool.find(size)
	if fit < 0 || m.pool.budget < 0 {
		return fit
	}
	counted := m.pool.free[fit].counted
	all, _ := m.large.claimed(nil)
	if !c.proven || counted > m.pool.budget/reuseDivisor || all+counted+m.keptShared()+m.latched.held > m.pool.budget {
		return -1
	}
	return fit
}

// awaitChunk waits until a large message may be received and returns its chunk, nil if
// it is not wanted any more. mu is held.
func (in *intake) awaitChunk(f *largeFrame, size, first int) *chunk {
	in.sealOpen() // so that its memory comes back
	defer in.endWait(f)
	if in.startWait(f); !in.awaitLease(f) {
		return nil
	}
	c := f.link.connection
	if fit := in.reusable(c, size); fit >= 0 {
		return in.pool.take(fit)
	}
	if !in.awaitMemory(f, in.pool.weight(first)) {
		in.large.end(f)
		in.room.Broadcast()
		return nil
	}
	return in.pool.get(first, first)
}

// awaitGrowth waits until a message that is received may take more bytes, and reports
// whether it may. mu is held.
func (in *intake) awaitGrowth(f *largeFrame, more int64) bool {
	defer in.endWait(f)
	in.startWait(f)
	if !f.lease.granted {
		in.room.Broadcast() // it may be the last that all others wait for
		if !in.awaitLease(f) {
			return false
		}
	}
	return in.awaitMemory(f, more)
}

// startWait notes that f may have to wait. mu is held.
func (m *buffer) startWait(f *largeFrame) {
	c := f.link.connection
	f.lease.waiting, f.lease.proven, f.blockage = true, c.proven, blockage{topic: c.topic}
}

// endWait ends that. mu is held.
func (m *buffer) endWait(f *largeFrame) {
	f.lease.waiting = false
	m.endBlockage(&f.blockage)
}

// awaitLease waits for the turn of a message, and reports whether it has a lease: not if
// it is not wanted any more, or if it is to be given up. mu is held.
func (in *intake) awaitLease(f *largeFrame) bool {
	in.large.enqueue(f)
	defer func() {
		in.large.dequeue(f)
		if len(in.large.queue) > 0 {
			in.room.Broadcast() // another may be the first now
		}
	}()
	for in.accepts(f.blockage.topic) {
		if in.large.grants(f, in.largeRoom) {
			shared := in.sharedChunk()
			if _, slow := in.large.claimed(f); in.pool.budget >= 0 && in.largeRoom(f.lease.need, slow) > in.pool.budget-in.keptShared() {
				shared = 0
			}
			in.large.grant(f, shared, time.Now())
			return true
		}
		if f.begun() && in.large.stuck(f, in.largeRoom) {
			return false
		}
		in.wait(&f.blockage)
	}
	return false
}

// awaitMemory waits until a large message with a lease may take more bytes, and reports
// whether it may; false means that it is not wanted any more. Shared chunks take no more
// than their minimum meanwhile, or none if the message needs that, too. mu is held.
func (in *intake) awaitMemory(f *largeFrame, more int64) bool {
	for {
		free := more + max(0, keptChunks-int64(in.pool.shared))*f.lease.shared
		if in.pool.reclaim(free, in.reclaimRingForLarge) {
			return true
		}
		if !in.accepts(f.blockage.topic) {
			return false
		}
		in.sealOpen() // it would hold on to its memory until it is old
		if f.lease.shared == 0 && in.dropEmptyChunk() || in.forgetLatchedFor(free) {
			continue
		}
		in.large.short++
		if f.lease.shared == 0 {
			in.large.alone++
		}
		in.wait(&f.blockage)
		in.large.short--
		if f.lease.shared == 0 {
			in.large.alone--
		}
	}
}

// reclaimRingForLarge is reclaimRing, but keeps what a requested snapshot is to hold: that memory
// comes back when the snapshot is written. mu is held.
func (m *buffer) reclaimRingForLarge() bool {
	return (m.snaps == nil || m.snaps.pending == 0) && m.reclaimRing()
}

// forgetLatchedFor lets the latched messages go if large messages, which alone hold memory
// beside them that does not come back by itself, could not have more bytes otherwise. It
// reports whether there were any. mu is held.
func (in *intake) forgetLatchedFor(more int64) bool {
	if in.large.held()+in.latched.held+more <= in.pool.budget {
		return false
	}
	before := in.latched.held
	for _, c := range in.connections.all {
		in.forgetLatched(c)
		in.forgetStart(c)
	}
	if in.latched.held == before {
		return false
	}
	in.warnLatched("latched messages are not repeated in the next file: a large message needs their memory")
	return true
}

// dropEmptyChunk gives the memory of the open chunk back if there is a connection record
// in it at most, and reports whether there was one. mu is held.
func (in *intake) dropEmptyChunk() bool {
	if in.open == nil || in.open.builder.Messages() > 0 {
		return false
	}
	in.pool.put(in.open)
	in.open, in.records = nil, new(bagfmt.ConnRecords) // which is written anew
	return true
}
