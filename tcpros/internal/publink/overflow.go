package publink

import "sync/atomic"

// Overflow says what a publication does with a frame when a subscriber's queue is full.
type Overflow int

const (
	// OverflowDrop drops the oldest frame of a queue that already has AdvertiseOptions.QueueFrames
	// frames, and counts the drop, as stock does.
	OverflowDrop Overflow = iota
	// OverflowBlock drops nothing. Publish still never blocks: the caller has to check Room first
	// and to wait for AdvertiseOptions.Freed, otherwise queues grow without bound. QueueFrames has
	// no effect: a queue is full at blockBytes, so that memory is bounded.
	OverflowBlock
)

// With OverflowBlock, a queue is full at blockBytes, but accepts blockFrames of any size, so that
// the next frame is ready when one has been written. A full queue has room again at half of
// blockBytes, so that not every small frame causes a wake-up.
const (
	blockBytes  = 2 << 20
	blockFrames = 2
	frameCost   = 64 // bytes of memory of a queued frame besides its own bytes
)

// room counts the full queues of a publication.
type room struct {
	block bool
	full  atomic.Int32 // links whose queue is full
	freed func()
}

// filled adds a link whose queue has become full.
func (r *room) filled() { r.full.Add(1) }

// release removes a link whose queue is no longer full, or that has ended.
func (r *room) release() {
	if r.full.Add(-1) == 0 && r.freed != nil {
		r.freed()
	}
}

// isFull reports whether a queue is full. before says whether it was full before.
func (r *room) isFull(before bool, frames, bytes int) bool {
	if before {
		return frames >= blockFrames && bytes > blockBytes/2
	}
	return r.block && frames >= blockFrames && bytes >= blockBytes
}

// Room reports whether the queue of every subscriber has room for another frame: one atomic
// load. With OverflowDrop it is always true.
// See ADR 0040.
func (p *Publication) Room() bool { return p.room.full.Load() == 0 }
