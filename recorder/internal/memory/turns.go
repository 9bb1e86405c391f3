package memory

import (
	"slices"
	"sync/atomic"
	"time"
)

const (
	// reuseDivisor bounds the size of a free buffer that is reused for announced bytes: to this part of
	// the whole buffer.
	reuseDivisor = 8

	leaseBytes = 1 << 20 // a large message keeps its lease if this many bytes of it arrive within LeaseTime

	// LeaseTime is how long a large message keeps its lease if too little of it arrives.
	LeaseTime = time.Second

	// LeasePiece is how many bytes are read at a time, so that progress is seen.
	LeasePiece = leaseBytes / 4
)

// Turns decides, where links wait for room instead of dropping, which large messages are
// received now and which wait.
//
// The bytes of a large message stay in memory until the message is complete. Two messages that are half
// received could wait for each other's memory forever, so each message needs a lease. A message gets one
// when the room for large messages, which is half of the buffer, has enough for the whole message beside
// all others. Leases bind large messages only: bytes that were announced and have not arrived take no
// memory from other topics. A message that arrives slowly while others wait loses its lease. From then on
// only the bytes that have arrived count, and the message waits for another lease when it needs more
// memory. The room never shrinks, and a message grows only while it has a lease. So the message that had a
// lease last can always have one again, and all messages are completed one after the other.
// See ADR 0050.
type Turns struct {
	mem    *Memory // whose buffer the messages go into
	active []*Turn // messages that have a lease or hold memory, the oldest first
	queue  []*Turn // messages that wait for a lease, in the order in which they get one
	short  int     // messages with a lease that wait for memory
}

// Turn is a large message for which its link waits.
type Turn struct {
	chunk   *Chunk       // of the message; nil before the message begins, and after its end
	granted bool         // the message has a lease
	waiting bool         // the link waits for a lease or for memory
	need    int64        // bytes of memory for the whole message, as Memory counts them
	proven  bool         // the publisher has sent a whole large message before
	shared  int64        // bytes that have to stay free for each reserved shared chunk that is not in use
	arrived atomic.Int64 // bytes that have arrived; the link counts them without the lock
	seen    int64        // Arrived when the message last moved fast enough to keep its lease
	seenAt  time.Time    // when seen was set
}

// NewTurn returns a message that will need so many bytes of memory, as Memory counts them.
func NewTurn(need int64) Turn { return Turn{need: need} }

// Need returns how many bytes of memory the whole message needs.
func (f *Turn) Need() int64 { return f.need }

// Begin notes that the message is received into c.
func (f *Turn) Begin(c *Chunk) { f.chunk = c }

// Chunk returns the chunk of the message; nil before Begin, and after Detach.
func (f *Turn) Chunk() *Chunk { return f.chunk }

// Detach takes the chunk from the message, which lives on with its link and must not keep a freed buffer
// alive.
func (f *Turn) Detach() *Chunk {
	c := f.chunk
	f.chunk = nil
	return c
}

// NoteArrived notes how much of the message is in its chunk. It needs no lock.
func (f *Turn) NoteArrived() { f.arrived.Store(int64(f.chunk.builder.Len())) }

// HasLease reports whether the message has a lease.
func (f *Turn) HasLease() bool { return f.granted }

// WaitBegan notes that the link waits for a lease or for memory. proven says that the publisher has sent
// a whole large message before.
func (f *Turn) WaitBegan(proven bool) { f.waiting, f.proven = true, proven }

// WaitEnded notes that the link waits no longer.
func (f *Turn) WaitEnded() { f.waiting = false }

// Waits reports whether the link waits for a lease or for memory.
func (f *Turn) Waits() bool { return f.waiting }

// Enqueue puts f in the queue for a lease: first the messages that hold memory already, then those of
// publishers that have shown that they send what they announce.
func (l *Turns) Enqueue(f *Turn) {
	after := func(o *Turn) bool {
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
			return all+first.need <= room
		case slow+first.need <= room:
			return false // first gets it as soon as those with a lease are complete
		}
	}
	return false
}

// claimed returns the memory of all messages but one, and the part of it that messages without a lease
// have. A message with a lease counts in whole.
func (l *Turns) claimed(but *Turn) (all, slow int64) {
	for _, f := range l.active {
		switch {
		case f == but:
		case f.granted:
			all += max(f.need, f.heldBytes())
		default:
			all += f.heldBytes()
			slow += f.heldBytes()
		}
	}
	return all, slow
}

// heldBytes returns the memory that all messages hold.
func (l *Turns) heldBytes() (bytes int64) {
	for _, f := range l.active {
		bytes += f.heldBytes()
	}
	return bytes
}

// grant gives f a lease.
func (l *Turns) grant(f *Turn, shared int64, now time.Time) {
	if !slices.Contains(l.active, f) {
		l.active = append(l.active, f)
	}
	f.granted, f.shared, f.seen, f.seenAt = true, shared, f.arrived.Load(), now
}

// Expire ends the leases of messages that arrive too slowly while others wait for a lease.
func (l *Turns) Expire(now time.Time) {
	for _, s := range l.active {
		switch {
		case !s.granted:
		case s.waiting || s.arrived.Load()-s.seen >= leaseBytes:
			s.seen, s.seenAt = s.arrived.Load(), now // the message waits for memory, not for its publisher
		case len(l.queue) > 0 && now.Sub(s.seenAt) >= LeaseTime:
			s.granted = false
			l.mem.Signal()
		}
	}
}

// begun reports whether the message has a chunk.
func (f *Turn) begun() bool { return f.chunk != nil }

// heldBytes returns the memory that counts for the message.
func (f *Turn) heldBytes() int64 {
	if !f.begun() {
		return 0
	}
	return f.chunk.counted
}

// Buffer takes a free buffer for a large message, or returns nil. The buffer counts in whole although
// nothing has arrived, so only a publisher that has sent a large message before gets one, and only one of
// a small part of the whole buffer.
func (l *Turns) Buffer(proven bool, size int) *Chunk {
	p := l.mem
	fit, _ := fitting(p.free, size)
	switch {
	case fit < 0:
		return nil
	case p.budget < 0:
		return p.take(fit)
	}
	counted := p.free[fit].counted
	room := p.budget - p.keptShared() - p.used.Latched
	if p.o.Blocks {
		room = p.largeRoom()
	}
	all, _ := l.claimed(nil)
	if !proven || counted > p.budget/reuseDivisor || all+counted > room {
		return nil
	}
	return p.take(fit)
}

// Grant gives f, which is in the queue, its lease if it can have one, and reports whether it has.
func (l *Turns) Grant(f *Turn, now time.Time) bool {
	p := l.mem
	room := p.largeRoom()
	if !l.grants(f, room) {
		return false
	}
	// Latched messages do not give memory back by themselves, so what they have cannot stay free.
	beside := p.budget - room - p.used.Latched
	l.grant(f, max(min(p.SharedChunk(), beside/KeptChunks), 0), now)
	return true
}

// Dequeue takes f out of the queue.
func (l *Turns) Dequeue(f *Turn) {
	l.queue = without(l.queue, f)
	if len(l.queue) > 0 {
		l.mem.Signal() // another may be the first now
	}
}

// End forgets f, which is complete or given up.
func (l *Turns) End(f *Turn) {
	l.active = without(l.active, f)
	l.mem.Signal() // others may have a lease now
}

// Beside returns how many bytes have to be free so that f, which has a lease, may take more bytes.
func (l *Turns) Beside(f *Turn, more int64) int64 {
	return more + max(0, KeptChunks-int64(l.mem.used.Shared))*f.shared
}

// SetShort notes that a message with a lease waits for memory, or that it goes on.
func (l *Turns) SetShort(waits bool) {
	if waits {
		l.short++
	} else {
		l.short--
	}
}

// Waits returns how many large messages wait for a lease, and how many with one wait for memory.
func (l *Turns) Waits() (queued, short int) { return len(l.queue), l.short }
