package recorder

import "sync"

// fifo is an unbounded queue: the byte budget of the pipeline bounds what is in
// it, so that put never blocks while the pipeline's lock is held.
type fifo[T any] struct {
	mu     sync.Mutex
	filled sync.Cond
	items  []T
	head   int
	closed bool
}

func newFIFO[T any]() *fifo[T] {
	q := new(fifo[T])
	q.filled.L = &q.mu
	return q
}

func (q *fifo[T]) put(v T) {
	q.mu.Lock()
	if q.head > 0 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:]) // reuse the room of what was taken
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
	q.mu.Unlock()
	q.filled.Signal()
}

// take waits for an item. ok is false when the queue is closed and empty.
func (q *fifo[T]) take() (v T, ok bool) {
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

// close lets take return false once the queue is empty.
func (q *fifo[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.filled.Broadcast()
}
