package readahead

import (
	"slices"
	"sync"
)

// Memory is where chunks are unpacked into memory that is used again: the cursors of the reader leave it, the
// reader queues it behind the messages that may lie in it, and play gives it back with Put. Memory that is
// not given back is freed by the garbage collector, which is always right: after a seek, for example.
// See ADR 0016.
type Memory struct {
	mu     sync.Mutex
	free   [][]byte // the one that was used last is the last
	bytes  int      // of free
	closed bool     // nothing is read any more

	left [][]byte // what cursors have left and is not queued yet; only for the goroutine of the reader
}

// Bounds of the memory that waits to be used again. For less than minReused the allocator is fast.
const (
	minReused    = 64 << 10
	maxFreeBytes = maxAheadBytes
)

// Mangle makes Put overwrite what it gets, memory of any size, so that tests find messages that are used
// too long.
var Mangle bool

// Take implements rosbag.Memory. It does not return memory that is far too large: the bounds of the queue are
// about the bytes of messages.
func (m *Memory) Take(n int) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.free) - 1; i >= 0; i-- {
		if b := m.free[i]; cap(b) >= n && cap(b) <= 2*n {
			m.remove(i)
			return b
		}
	}
	return nil
}

// remove removes a free one.
func (m *Memory) remove(i int) {
	m.bytes -= cap(m.free[i])
	m.free = slices.Delete(m.free, i, i+1)
}

// Left implements rosbag.Memory.
func (m *Memory) Left(b []byte) {
	if Mangle || isKept(b) {
		m.left = append(m.left, b)
	}
}

// isKept reports whether memory is of a size that is worth to be used again.
func isKept(b []byte) bool { return cap(b) >= minReused && cap(b) <= maxFreeBytes/4 }

// Put gives memory back that nobody uses any more: no message in it is queued for a subscriber, or latched.
func (m *Memory) Put(b []byte) {
	if Mangle {
		for i := range b {
			b[i] = 0xdb
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || !isKept(b) {
		return
	}
	m.free = append(m.free, b)
	for m.bytes += cap(b); m.bytes > maxFreeBytes; {
		m.remove(0)
	}
}

// open makes Put keep memory for Take.
func (m *Memory) open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = false
}

// close frees what waits: nothing is read any more.
func (m *Memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free, m.bytes, m.closed = nil, 0, true
}
