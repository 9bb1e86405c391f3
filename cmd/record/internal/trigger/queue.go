package trigger

import (
	"encoding/binary"
	"sync"
	"time"
)

// Limits of one batch. There are two batches: one that links fill, and one that is evaluated.
const (
	batchBytes = 3 << 19 // 1.5 MiB
	batchItems = 4096
)

// item is a message that waits for evaluation or, with length 0, a link that has opened.
type item struct {
	link              *link
	end               int // end of its frame in the bytes of the batch
	bagTime, received time.Time
}

// batch is a list of messages back to back.
type batch struct {
	bytes []byte
	items []item
}

// frame returns the frame of item i, empty for a link that has opened.
func (b *batch) frame(i int) []byte {
	begin := 0
	if i > 0 {
		begin = b.items[i-1].end
	}
	return b.bytes[begin:b.items[i].end:b.items[i].end]
}

// reset empties the batch for use.
func (b *batch) reset() {
	clear(b.items) // so that the garbage collector can free closed links
	b.items, b.bytes = b.items[:0], b.bytes[:0]
}

// queue has copies of messages of all links that wait for evaluation. Adding never waits: messages
// that do not fit are left out.
type queue struct {
	wake chan struct{} // has a token when the queue has items

	mu   sync.Mutex
	fill *batch
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), fill: newBatch()}
}

func newBatch() *batch {
	return &batch{bytes: make([]byte, 0, batchBytes), items: make([]item, 0, batchItems)}
}

// put adds a run of count frames, and returns how many frames did not fit; these are the last
// frames of the run.
func (q *queue) put(l *link, run []byte, count int, bagTime, received time.Time) (left int) {
	q.mu.Lock()
	b := q.fill
	empty := len(b.items) == 0
	for count > 0 && len(b.items) < batchItems {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if len(b.bytes)+size > batchBytes {
			break
		}
		b.bytes = append(b.bytes, run[:size]...)
		b.items = append(b.items, item{l, len(b.bytes), bagTime, received})
		run, count = run[size:], count-1
	}
	wake := empty && len(b.items) > 0
	q.mu.Unlock()
	if wake {
		q.awake()
	}
	return count
}

// announce adds a link that has opened, if there is room. Otherwise the first message of the link
// makes it known.
func (q *queue) announce(l *link) {
	q.mu.Lock()
	if b := q.fill; len(b.items) < batchItems {
		b.items = append(b.items, item{link: l, end: len(b.bytes)})
	}
	q.mu.Unlock()
	q.awake()
}

func (q *queue) awake() {
	select {
	case q.wake <- struct{}{}:
	default: // the evaluator is awake already
	}
}

// swap returns the waiting batch, and makes the queue fill b, which is empty, from now on.
func (q *queue) swap(b *batch) *batch {
	if cap(b.items) == 0 {
		b = newBatch()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	full := q.fill
	q.fill = b
	return full
}
