// Package queue is the FIFO between the intake and the packages that work on its chunks.
package queue

import "sync"

// FIFO is a queue for concurrent use. It has no bound, so that Put never blocks under the lock of the
// intake; the memory of its chunks is bounded by the buffer.
type FIFO[T any] struct {
	mu     sync.Mutex
	filled sync.Cond
	items  []T
	head   int
	closed bool
}

// New returns an empty queue.
func New[T any]() *FIFO[T] {
	q := new(FIFO[T])
	q.filled.L = &q.mu
	return q
}

// Put adds an item.
func (q *FIFO[T]) Put(v T) {
	q.mu.Lock()
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:]) // reuse the places of items that were taken
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
	q.mu.Unlock()
	q.filled.Signal()
}

// Take waits for an item. ok is false when the queue is closed and empty.
func (q *FIFO[T]) Take() (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.items) {
		if q.closed {
			return v, false
		}
		q.filled.Wait()
	}
	var zero T
	v, q.items[q.head] = q.items[q.head], zero
	q.head++
	return v, true
}

// Close makes Take return false once the queue is empty.
func (q *FIFO[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.filled.Broadcast()
}
