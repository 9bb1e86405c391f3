package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// awaitChunkLocked waits until a large message may be received and returns its chunk; nil if the topic is
// no longer recorded.
func (f *LargeFrame) awaitChunkLocked(size, first int) *memory.Chunk {
	in := f.link.in
	in.sealOpenLocked() // so that the memory of the open chunk comes back
	defer f.endWaitLocked()
	if f.startWaitLocked(); !f.awaitLeaseLocked() {
		return nil
	}
	c := f.link.connection
	if free := in.Buffers.pool.Turns().Buffer(c.Proven(), size); free != nil {
		return free
	}
	if !f.awaitMemoryLocked(in.Buffers.pool.Weight(first)) {
		in.Buffers.pool.Turns().End(&f.turn)
		return nil
	}
	return in.Buffers.pool.Get(first, first)
}

// awaitGrowthLocked waits until a message may take more bytes while it is received. It returns false if
// the topic is no longer recorded.
func (f *LargeFrame) awaitGrowthLocked(more int64) bool {
	defer f.endWaitLocked()
	f.startWaitLocked()
	if !f.turn.HasLease() && !f.awaitLeaseLocked() {
		return false
	}
	return f.awaitMemoryLocked(more)
}

// startWaitLocked notes that f may have to wait.
func (f *LargeFrame) startWaitLocked() {
	f.turn.WaitBegan(f.link.connection.Proven())
}

// endWaitLocked notes that f waits no longer.
func (f *LargeFrame) endWaitLocked() {
	f.turn.WaitEnded()
	if f.wait != nil {
		f.link.connection.Topic().EndWait(f.wait, time.Now())
		f.wait = nil
	}
}

// awaitLeaseLocked waits until a message has a lease. It returns false if the topic is no longer recorded.
func (f *LargeFrame) awaitLeaseLocked() bool {
	in, t := f.link.in, f.link.connection.Topic()
	in.Buffers.pool.Turns().Enqueue(&f.turn)
	defer in.Buffers.pool.Turns().Dequeue(&f.turn)
	for in.mode.Accepts(t) {
		if in.Buffers.pool.Turns().Grant(&f.turn, time.Now()) {
			return true
		}
		f.wait = in.waitLocked(t, f.wait)
	}
	return false
}

// awaitMemoryLocked waits until a large message with a lease may take more bytes. Shared chunks take no
// more than their minimum meanwhile. It returns false if the topic is no longer recorded.
func (f *LargeFrame) awaitMemoryLocked(more int64) bool {
	in, t := f.link.in, f.link.connection.Topic()
	for {
		free := in.Buffers.pool.Turns().Beside(&f.turn, more)
		if in.Buffers.pool.MakeRoom(free, memory.ForLarge) {
			return true
		}
		if !in.mode.Accepts(t) {
			return false
		}
		// otherwise the open chunk keeps its memory until it is old
		in.sealOpenLocked()
		if c := in.filling.TakeEmpty(); c != nil { // a chunk with connection records at most
			in.Buffers.pool.Put(c)
			continue
		}
		in.Buffers.pool.Turns().SetShort(true)
		f.wait = in.waitLocked(t, f.wait)
		in.Buffers.pool.Turns().SetShort(false)
	}
}

// hasLeaseLocked reports whether a message has a lease, or gets one without a wait.
func (f *LargeFrame) hasLeaseLocked() bool {
	in := f.link.in
	if f.turn.HasLease() {
		return true
	}
	in.Buffers.pool.Turns().Enqueue(&f.turn)
	defer in.Buffers.pool.Turns().Dequeue(&f.turn)
	return in.Buffers.pool.Turns().Grant(&f.turn, time.Now())
}
