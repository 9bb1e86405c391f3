package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// awaitChunk waits until a large message may be received and returns its chunk; nil if the topic is no longer
// recorded. mu is held.
func (f *LargeFrame) awaitChunk(size, first int) *memory.Chunk {
	in := f.link.in
	in.sealOpen() // so that the memory of the open chunk comes back
	defer f.endWait()
	if f.startWait(); !f.awaitLease() {
		return nil
	}
	c := f.link.connection
	if free := in.pool.Turns().Buffer(c.Proven(), size); free != nil {
		return free
	}
	if !f.awaitMemory(in.pool.Weight(first)) {
		in.pool.Turns().End(&f.turn)
		return nil
	}
	return in.pool.Get(first, first)
}

// awaitGrowth waits until a message may take more bytes while it is received. It returns false if the topic is no
// longer recorded. mu is held.
func (f *LargeFrame) awaitGrowth(more int64) bool {
	defer f.endWait()
	f.startWait()
	if !f.turn.HasLease() && !f.awaitLease() {
		return false
	}
	return f.awaitMemory(more)
}

// startWait notes that f may have to wait. mu is held.
func (f *LargeFrame) startWait() {
	f.turn.WaitBegan(f.link.connection.Proven())
}

// endWait notes that f waits no longer. mu is held.
func (f *LargeFrame) endWait() {
	f.turn.WaitEnded()
	if f.wait != nil {
		f.link.connection.Topic().EndWait(f.wait, time.Now())
		f.wait = nil
	}
}

// awaitLease waits until a message has a lease. It returns false if the topic is no longer recorded. mu is held.
func (f *LargeFrame) awaitLease() bool {
	in, t := f.link.in, f.link.connection.Topic()
	in.pool.Turns().Enqueue(&f.turn)
	defer in.pool.Turns().Dequeue(&f.turn)
	for in.accepts(t) {
		if in.pool.Turns().Grant(&f.turn, time.Now()) {
			return true
		}
		f.wait = in.wait(t, f.wait)
	}
	return false
}

// awaitMemory waits until a large message with a lease may take more bytes. Shared chunks take no more than their
// minimum meanwhile. It returns false if the topic is no longer recorded. mu is held.
func (f *LargeFrame) awaitMemory(more int64) bool {
	in, t := f.link.in, f.link.connection.Topic()
	for {
		free := in.pool.Turns().Beside(&f.turn, more)
		if in.pool.MakeRoom(free, memory.ForLarge) {
			return true
		}
		if !in.accepts(t) {
			return false
		}
		in.sealOpen()                              // otherwise the open chunk keeps its memory until it is old
		if c := in.filling.TakeEmpty(); c != nil { // a chunk with connection records at most
			in.pool.Put(c)
			continue
		}
		in.pool.Turns().SetShort(true)
		f.wait = in.wait(t, f.wait)
		in.pool.Turns().SetShort(false)
	}
}

// hasLease reports whether a message has a lease, or gets one without a wait. mu is held.
func (f *LargeFrame) hasLease() bool {
	in := f.link.in
	if f.turn.HasLease() {
		return true
	}
	in.pool.Turns().Enqueue(&f.turn)
	defer in.pool.Turns().Dequeue(&f.turn)
	return in.pool.Turns().Grant(&f.turn, time.Now())
}
