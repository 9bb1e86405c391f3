package tap

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/gorosbag/gorosbag/internal/live"
	"github.com/gorosbag/gorosbag/rosbag"
)

// latest keeps a copy of the latest message of one latching publisher. The goroutine of the link sets
// the copy and never waits; any goroutine may take it. Until somebody does, its memory is reused for the
// next message.
type latest struct {
	copy atomic.Pointer[copied]
}

// copied is a copy of a message.
type copied struct {
	state   atomic.Int32 // who may use the copy
	time    rosbag.Time
	payload []byte
	charge  int64 // bytes that the copy takes of the budget
}

// The states of a copy.
const (
	free         = iota // the link may write over it
	beingWritten        // by the link
	shared              // others have it: it does not change any more
)

// set keeps a copy of a message, if the memory for such copies has room for it, and reports whether
// it does.
func (l *latest) set(t rosbag.Time, payload []byte, memory *budget) bool {
	c := l.copy.Load()
	if c != nil && cap(c.payload) >= len(payload) && c.state.CompareAndSwap(free, beingWritten) {
		c.time, c.payload = t, append(c.payload[:0], payload...)
		c.state.Store(free)
		return true
	}
	l.drop(memory)
	charge := int64(len(payload))
	if !memory.take(charge) {
		return false
	}
	l.copy.Store(&copied{time: t, payload: slices.Clone(payload), charge: charge})
	return true
}

// share keeps a message whose payload does not change, as set does.
func (l *latest) share(t rosbag.Time, payload []byte, memory *budget) bool {
	l.drop(memory)
	charge := int64(cap(payload))
	if !memory.take(charge) {
		return false
	}
	c := &copied{time: t, payload: payload, charge: charge}
	c.state.Store(shared)
	l.copy.Store(c)
	return true
}

// drop frees the copy.
func (l *latest) drop(memory *budget) {
	if c := l.copy.Swap(nil); c != nil {
		memory.free(c.charge)
	}
}

// take returns the message, which does not change any more. It waits while the link copies one.
func (l *latest) take() (live.Frame, bool) {
	for {
		c := l.copy.Load()
		if c == nil {
			return live.Frame{}, false
		}
		if c.state.CompareAndSwap(free, shared) || c.state.Load() == shared {
			return live.Frame{Time: c.time, Payload: c.payload}, true
		}
		runtime.Gosched()
	}
}

// sortByTime sorts messages, the oldest first.
func sortByTime(all []live.Frame) {
	slices.SortStableFunc(all, func(a, b live.Frame) int { return a.Time.Compare(b.Time) })
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
