package player

import (
	"context"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// Bounds of the read-ahead. Whichever is reached first stops the reader.
const (
	maxAheadBytes    = 32 << 20
	maxAheadMessages = 32 << 10
)

// item is one message on its way from the reader to the pacer.
type item struct {
	route *route
	frame []byte
	stamp bagfmt.Time
	share int           // bytes of memory that the frame keeps, see bagfmt.Message.Share
	pos   time.Duration // since the first message of the pass
	pass  int
}

// queue is the read-ahead: one goroutine pushes, one pops.
type queue struct {
	maxBytes, maxItems int

	mu       sync.Mutex
	items    []item // ring
	head     int
	count    int
	bytes    int
	closed   bool
	starved  uint64
	notEmpty chan struct{} // holds a token after a push or close
	notFull  chan struct{} // holds a token after a pop
}

func newQueue(maxBytes, maxItems int) *queue {
	return &queue{
		maxBytes: maxBytes, maxItems: maxItems,
		notEmpty: make(chan struct{}, 1), notFull: make(chan struct{}, 1),
	}
}

// push waits for room and reports whether it got some before ctx ended. A message
// bigger than the bound gets in when the queue is empty.
func (q *queue) push(ctx context.Context, it item) bool {
	cost := it.cost()
	for {
		q.mu.Lock()
		if q.count == 0 || q.count < q.maxItems && q.bytes+cost <= q.maxBytes {
			q.append(it)
			q.bytes += cost
			q.mu.Unlock()
			signal(q.notEmpty)
			return true
		}
		q.mu.Unlock()
		select {
		case <-q.notFull:
		case <-ctx.Done():
			return false
		}
	}
}

// cost is what an item counts against maxBytes. A frame keeps its whole chunk in
// memory, so of a topic that is rare in its bag each message costs more.
func (it *item) cost() int { return max(len(it.frame), it.share) }

func (q *queue) append(it item) {
	if q.count == len(q.items) {
		grown := make([]item, max(64, 2*len(q.items)))
		n := copy(grown, q.items[q.head:])
		copy(grown[n:], q.items[:q.head])
		q.items, q.head = grown, 0
	}
	q.items[(q.head+q.count)%len(q.items)] = it
	q.count++
}

// pop waits for an item. It reports false at the end, or when ctx ended.
func (q *queue) pop(ctx context.Context) (item, bool) {
	return q.take(ctx, true)
}

// peek waits for the first item and leaves it.
func (q *queue) peek(ctx context.Context) (item, bool) {
	return q.take(ctx, false)
}

func (q *queue) take(ctx context.Context, remove bool) (item, bool) {
	for waited := false; ; waited = true {
		q.mu.Lock()
		if q.count > 0 {
			it := q.items[q.head]
			if remove {
				q.items[q.head] = item{} // frees the chunk
				q.head = (q.head + 1) % len(q.items)
				q.count--
				q.bytes -= it.cost()
			}
			q.mu.Unlock()
			signal(q.notFull)
			return it, true
		}
		closed := q.closed
		if !waited && !closed && remove {
			q.starved++
		}
		q.mu.Unlock()
		if closed {
			return item{}, false
		}
		select {
		case <-q.notEmpty:
		case <-ctx.Done():
			return item{}, false
		}
	}
}

// close ends the queue: pop gives out what is left, then reports false.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.notEmpty)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a token is there already
	}
}

// timesStarved returns how often pop had to wait.
func (q *queue) timesStarved() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.starved
}
