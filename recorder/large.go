package recorder

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// awaitChunk waits until a large message may be received and returns its chunk, nil if
// it is not wanted any more. mu is held.
func (in *intake) awaitChunk(f *largeFrame, size, first int) *memory.Chunk {
	in.sealOpen() // so that its memory comes back
	defer in.endWait(f)
	if in.startWait(f); !in.awaitLease(f) {
		return nil
	}
	c := f.link.connection
	if free := in.pool.GetReusable(c.proven, size); free != nil {
		return free
	}
	if !in.awaitMemory(f, in.pool.Weight(first)) {
		in.pool.EndTurn(&f.turn)
		return nil
	}
	return in.pool.Get(first, first)
}

// awaitGrowth waits until a message that is received may take more bytes, and reports
// whether it may. mu is held.
func (in *intake) awaitGrowth(f *largeFrame, more int64) bool {
	defer in.endWait(f)
	in.startWait(f)
	if !f.turn.Granted {
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
	f.turn.Waiting, f.turn.Proven, f.blockage = true, c.proven, blockage{topic: c.topic}
}

// endWait ends that. mu is held.
func (m *buffer) endWait(f *largeFrame) {
	f.turn.Waiting = false
	m.endBlockage(&f.blockage)
}

// awaitLease waits for the turn of a message, and reports whether it has a lease: not if
// it is not wanted any more, or if it is to be given up. mu is held.
func (in *intake) awaitLease(f *largeFrame) bool {
	in.pool.EnqueueTurn(&f.turn)
	defer in.pool.DequeueTurn(&f.turn)
	for in.accepts(f.blockage.topic) {
		if in.pool.GrantTurn(&f.turn, time.Now()) {
			return true
		}
		if in.pool.StuckTurn(&f.turn) {
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
		free := in.pool.BesideShared(&f.turn, more)
		if in.pool.MakeRoom(free, memory.ForLarge) {
			return true
		}
		if !in.accepts(f.blockage.topic) {
			return false
		}
		in.sealOpen() // it would hold on to its memory until it is old
		if f.turn.Shared == 0 && in.dropEmptyChunk() || in.forgetLatchedFor(free) {
			continue
		}
		in.pool.SetShort(&f.turn, true)
		in.wait(&f.blockage)
		in.pool.SetShort(&f.turn, false)
	}
}

// forgetLatchedFor lets the latched messages go if large messages, which alone hold memory
// beside them that does not come back by itself, could not have more bytes otherwise. It
// reports whether there were any. mu is held.
func (in *intake) forgetLatchedFor(more int64) bool {
	if !in.pool.NeverFits(more) {
		return false
	}
	return in.latched.forgetAll(in.sources(), "latched messages are not repeated in the next file: a large message needs their memory")
}

// dropEmptyChunk gives the memory of the open chunk back if there is a connection record
// in it at most, and reports whether there was one. mu is held.
func (in *intake) dropEmptyChunk() bool {
	if in.open == nil || in.open.Builder.Messages() > 0 {
		return false
	}
	in.pool.Put(in.open)
	in.open, in.records = nil, new(bagfmt.ConnRecords) // which is written anew
	return true
}
