package intake

import (
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
)

// awaitChunk waits until a large message may be received and returns its chunk, nil if
// it is not wanted any more. mu is held.
func (in *Intake) awaitChunk(f *LargeFrame, size, first int) *memory.Chunk {
	in.SealOpen() // so that its memory comes back
	defer in.endWait(f)
	if in.startWait(f); !in.awaitLease(f) {
		return nil
	}
	c := f.link.Connection
	if free := in.Pool.Turns.Buffer(c.Proven, size); free != nil {
		return free
	}
	if !in.awaitMemory(f, in.Pool.Weight(first)) {
		in.Pool.Turns.End(&f.Turn)
		return nil
	}
	return in.Pool.Get(first, first)
}

// awaitGrowth waits until a message that is received may take more bytes, and reports
// whether it may. mu is held.
func (in *Intake) awaitGrowth(f *LargeFrame, more int64) bool {
	defer in.endWait(f)
	in.startWait(f)
	if !f.Turn.Granted && !in.awaitLease(f) {
		return false
	}
	return in.awaitMemory(f, more)
}

// startWait notes that f may have to wait. mu is held.
func (in *Intake) startWait(f *LargeFrame) {
	c := f.link.Connection
	f.Turn.Waiting, f.Turn.Proven, f.wait = true, c.Proven, account.Wait{Topic: c.Topic}
}

// endWait ends that. mu is held.
func (in *Intake) endWait(f *LargeFrame) {
	f.Turn.Waiting = false
	in.Account.EndWait(&f.wait)
}

// awaitLease waits for the turn of a message, and reports whether it has a lease: not if
// it is not wanted any more. mu is held.
func (in *Intake) awaitLease(f *LargeFrame) bool {
	in.Pool.Turns.Enqueue(&f.Turn)
	defer in.Pool.Turns.Dequeue(&f.Turn)
	for in.accepts(f.wait.Topic) {
		if in.Pool.Turns.Grant(&f.Turn, time.Now()) {
			return true
		}
		in.wait(&f.wait)
	}
	return false
}

// awaitMemory waits until a large message with a lease may take more bytes, and reports
// whether it may; false means that it is not wanted any more. Shared chunks take no more
// than their minimum meanwhile. mu is held.
func (in *Intake) awaitMemory(f *LargeFrame, more int64) bool {
	for {
		free := in.Pool.Turns.Beside(&f.Turn, more)
		if in.Pool.MakeRoom(free, memory.ForLarge) {
			return true
		}
		if !in.accepts(f.wait.Topic) {
			return false
		}
		in.SealOpen() // it would hold on to its memory until it is old
		if in.dropEmptyChunk() {
			continue
		}
		in.Pool.Turns.SetShort(true)
		in.wait(&f.wait)
		in.Pool.Turns.SetShort(false)
	}
}

// dropEmptyChunk gives the memory of the open chunk back if there is a connection record
// in it at most, and reports whether there was one. mu is held.
func (in *Intake) dropEmptyChunk() bool {
	if in.Open == nil || in.Open.Builder.Messages() > 0 {
		return false
	}
	in.Pool.Put(in.Open)
	in.Open, in.records = nil, new(chunk.Records) // which is written anew
	return true
}

// hasLease reports whether a message has a lease, or gets one without a wait. mu is held.
func (in *Intake) hasLease(f *LargeFrame) bool {
	if f.Turn.Granted {
		return true
	}
	in.Pool.Turns.Enqueue(&f.Turn)
	defer in.Pool.Turns.Dequeue(&f.Turn)
	return in.Pool.Turns.Grant(&f.Turn, time.Now())
}
