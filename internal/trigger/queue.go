package trigger

import (
	"encoding/binary"
	"sync"
	"time"
)

// Limits of one batch. There are two, the one that is filled and the one that is evaluated.
const (
	batchBytes = 3 << 19 // 1.5 MiB
	batchItems = 4096
)

// item is a message that waits to be evaluated, or with length 0 a link that has opened.
type item struct {
	link            *link
	end             int // of its frame in the bytes of the batch
	stamp, received time.Time
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
	clear(b.items) // links that have gone are not kept
	b.items, b.bytes = b.items[:0], b.bytes[:0]
}

// queue takes copies of messages from all links. It never waits: what does not fit is left out.
type queue struct {
	wake chan struct{} // there is something to evaluate

	mu   sync.Mutex
	fill *batch
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), fill: newBatch()}
}

func newBatch() *batch {
	return &batch{bytes: make([]byte, 0, batchBytes), items: make([]item, 0, batchItems)}
}

// put adds a run of count frames, and returns how many of them did not fit: the last ones.
func (q *queue) put(l *link, run []byte, count int, stamp, received time.Time) (left int) {
	q.mu.Lock()
	b := q.fill
	empty := len(b.items) == 0
	for count > 0 && len(b.items) < batchItems {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		if len(b.bytes)+size > batchBytes {
			break
		}
		b.bytes = append(b.bytes, run[:size]...)
		b.items = append(b.items, item{l, len(b.bytes), stamp, received})
		run, count = run[size:], count-1
	}
	wake := empty && len(b.items) > 0
	q.mu.Unlock()
	if wake {
		q.awake()
	}
	return count
}

// announce adds a link that has opened, if there is room: otherwise its first message does.
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
	default: // it is going to look
	}
}

// swap returns what waits, and fills b, which is empty, from now on.
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
