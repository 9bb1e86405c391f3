package viewing

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// latest keeps a copy of the latest message of one latching publisher. The goroutine of the link sets
// the copy, and any goroutine may take it. Until somebody does, its memory is reused for the next message.
type latest struct {
	mu     sync.Mutex // held while a message is copied
	kept   bool       // there is a copy
	shared bool       // the copy was taken, so it must not change any more
	time   rosbag.Time
	copy   []byte
	charge int64 // bytes that the copy takes of the budget
}

// set keeps a copy of a message, if the memory for such copies has room for it, and reports whether
// it does.
func (l *latest) set(t rosbag.Time, payload []byte, memory *budget) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept && !l.shared && cap(l.copy) >= len(payload) {
		l.time, l.copy = t, append(l.copy[:0], payload...)
		return true
	}
	l.free(memory)
	if l.kept = memory.take(int64(len(payload))); l.kept {
		l.time, l.copy, l.charge = t, slices.Clone(payload), int64(len(payload))
	}
	return l.kept
}

// share keeps a message whose payload does not change, as set does.
func (l *latest) share(t rosbag.Time, payload []byte, memory *budget) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free(memory)
	if l.kept = memory.take(int64(cap(payload))); l.kept {
		l.time, l.copy, l.charge, l.shared = t, payload, int64(cap(payload)), true
	}
	return l.kept
}

// drop frees the copy.
func (l *latest) drop(memory *budget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free(memory)
}

// free is drop for a caller that holds mu.
func (l *latest) free(memory *budget) {
	memory.free(l.charge)
	l.kept, l.shared, l.copy, l.charge = false, false, nil, 0
}

// take returns the message, which does not change any more.
func (l *latest) take() (live.Frame, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = true
	return live.Frame{Time: l.time, Payload: l.copy}, l.kept
}

// budget is an amount of memory.
type budget struct {
	limit    int64
	forSmall int64 // part of limit for copies of at most largeCopy bytes
	used     atomic.Int64
}

const largeCopy = 64 << 10

// take takes n bytes, if that many are left.
func (b *budget) take(n int64) bool {
	limit := b.limit
	if n > largeCopy {
		limit -= b.forSmall
	}
	if b.used.Add(n) > limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// free gives n bytes back.
func (b *budget) free(n int64) { b.used.Add(-n) }
