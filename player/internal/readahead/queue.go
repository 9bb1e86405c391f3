package readahead

import (
	"context"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// Bounds of the read-ahead. Whichever is reached first stops the reader.
const (
	maxAheadBytes    = 32 << 20
	minAheadBytes    = 1 << 20 // for bags in a store, before play has gone on
	maxAheadMessages = 32 << 10
)

// When a wait for the reader is first reported, and how often the report is repeated.
const (
	firstSlowReport    = 3 * time.Second
	slowReportInterval = 30 * time.Second
)

// Item is one message on its way from the reader to the pacer, or a jump, or memory that may be used again
// once the items before it are no longer in use.
type Item struct {
	Route    *plan.Route // nil if it is no message
	Frame    []byte      // of a message; or the memory
	retained int         // bytes of memory that the frame retains, see rosbag.Message.Share
	At       transport.Place
	Pos      time.Duration // since the first selected message
	Epoch    uint64        // of the read request that it belongs to
	Jump     *Jump         // nil if it is a message
}

// Memory reports whether it is memory.
func (it *Item) Memory() bool { return it.Route == nil && it.Jump == nil }

// Jump moves play to another position: after a seek or a step back, or at the end of a
// pass. At the end of a pass, Pos of the item is the position where the pass ends.
type Jump struct {
	// the jump begins the next pass of a loop
	EndOfPass bool
	// the position where play continues
	To time.Duration
	// publish the message there even while paused
	Step bool
	// what is added to stamps from here on, see Options.LoopShift
	Shift time.Duration
	// latched messages valid at To, oldest first; other publishers have no latched message there
	Latched []plan.Latched
}

// Queue holds the items that are read ahead: one goroutine pushes, one pops. A new read
// request begins a new epoch, which discards all items of the epoch before.
type Queue struct {
	maxBytes, maxItems int
	// bytes that Push may fill at the beginning of an epoch, up to maxBytes
	firstBytes int
	// called after 3 s of waiting in Pop or Peek, and every 30 s; may be nil
	OnSlow func(waits time.Duration)
	// how long the last Pop waited; only for the goroutine that pops
	LastWait time.Duration

	mu   sync.Mutex
	ring ring
	// bytes that Push may fill: firstBytes plus the bytes that were popped in this epoch, up to maxBytes
	window int
	epoch  uint64
	// no more items come in this epoch
	closed bool
	// nothing was popped yet in this epoch
	epochStart bool
	starved    uint64
	// when Pop began to wait for the reader; zero while Pop does not wait
	starvedSince time.Time
	// Pop, Peek or AwaitRestart waits for notEmpty
	popWaiting bool
	// Push waits for notFull
	pushWaiting bool
	// gets a token by a Push while popWaiting is set, by Close and by restart
	notEmpty chan struct{}
	// gets a token by a Pop that has made room, and by restart
	notFull chan struct{}
}

// NewQueue returns a queue that is full when it has maxItems items, or when their cost is maxBytes.
func NewQueue(maxBytes, maxItems int) *Queue {
	return &Queue{
		maxBytes: maxBytes, maxItems: maxItems, firstBytes: maxBytes, window: maxBytes,
		notEmpty: make(chan struct{}, 1), notFull: make(chan struct{}, 1),
	}
}

// Push waits for room and adds the item. It reports false if ctx or the epoch of the item ended before. A
// message larger than the bound is accepted when no other is queued. Memory ends no wait of Pop.
func (q *Queue) Push(ctx context.Context, it Item) bool {
	cost := it.cost()
	for {
		q.mu.Lock()
		if it.Epoch != q.epoch {
			q.mu.Unlock()
			return false
		}
		if q.ring.bytes == 0 || q.ring.count < q.maxItems && q.ring.bytes+cost <= q.window {
			q.ring.append(it, cost)
			wake := q.popWaiting && !it.Memory()
			q.popWaiting = q.popWaiting && !wake
			q.mu.Unlock()
			if wake {
				signal(q.notEmpty)
			}
			return true
		}
		q.pushWaiting = true
		q.mu.Unlock()
		select {
		case <-q.notFull:
		case <-ctx.Done():
			return false
		}
	}
}

// The most that one pop returns. Popping several items at once saves lock operations.
const (
	RunItems = 64
	runBytes = 256 << 10
)

// Pop waits for items, appends the first ones to run up to its capacity, and returns it.
// It reports false at the end of the epoch, or when ctx ended.
func (q *Queue) Pop(ctx context.Context, run []Item) ([]Item, bool) {
	if !q.await(ctx, true) {
		return run, false
	}
	for cost := 0; q.ring.count > 0 && len(run) < cap(run) && (cost == 0 || cost < runBytes); {
		it := q.ring.first()
		cost += it.cost()
		run = append(run, *it)
		q.window = min(q.window+it.cost(), q.maxBytes)
		q.ring.removeFirst()
	}
	q.epochStart = false
	// Only when half is free: otherwise reader and pacer would wake each other for each message.
	wake := q.pushWaiting && q.ring.count <= q.maxItems/2 && q.ring.bytes <= q.window/2
	q.pushWaiting = q.pushWaiting && !wake
	q.mu.Unlock()
	if wake {
		signal(q.notFull)
	}
	return run, true
}

// Peek waits for the first item and returns it without removing it.
func (q *Queue) Peek(ctx context.Context) (Item, bool) {
	if !q.await(ctx, false) {
		return Item{}, false
	}
	defer q.mu.Unlock()
	return *q.ring.first(), true
}

// await waits for an item. It returns true with mu held, and false without mu at the end of the
// epoch or of ctx. Only waits with popping set count as starvation.
func (q *Queue) await(ctx context.Context, popping bool) bool {
	var began time.Time
	var report *time.Timer // when to report the wait
	defer func() {
		q.LastWait = 0
		if report != nil {
			report.Stop()
			q.LastWait = time.Since(began)
		}
	}()
	for {
		q.mu.Lock()
		if q.ring.count > 0 || q.closed {
			q.starvedSince = time.Time{}
		}
		if q.ring.count > 0 {
			return true
		}
		closed := q.closed
		if report == nil && !closed && popping {
			q.starvedSince = time.Now()
			if !q.epochStart {
				q.starved++
			}
		}
		q.popWaiting = true
		q.mu.Unlock()
		if closed {
			return false
		}
		if report == nil {
			began, report = time.Now(), time.NewTimer(firstSlowReport)
		}
		select {
		case <-q.notEmpty:
		case <-report.C:
			if q.OnSlow != nil {
				q.OnSlow(time.Since(began))
			}
			report.Reset(slowReportInterval)
		case <-ctx.Done():
			return false
		}
	}
}

// Close ends an epoch: Pop returns the remaining items, then reports false.
func (q *Queue) Close(epoch uint64) {
	q.mu.Lock()
	q.closed = q.closed || q.epoch == epoch
	q.mu.Unlock()
	signal(q.notEmpty)
}

// restart discards all items and begins a new epoch, which it returns.
func (q *Queue) restart() uint64 {
	q.mu.Lock()
	for q.ring.count > 0 {
		q.ring.removeFirst()
	}
	q.epoch++
	q.window = q.firstBytes
	q.closed, q.epochStart = false, true
	epoch := q.epoch
	q.mu.Unlock()
	signal(q.notEmpty)
	signal(q.notFull)
	return epoch
}

// AwaitRestart waits until restart ends an epoch whose items were all popped. It reports
// false when ctx ended.
func (q *Queue) AwaitRestart(ctx context.Context, epoch uint64) bool {
	for {
		q.mu.Lock()
		same := q.epoch == epoch
		q.mu.Unlock()
		if !same {
			return ctx.Err() == nil
		}
		select {
		case <-q.notEmpty:
		case <-ctx.Done():
			return false
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a token is there already
	}
}

// StarvedCount returns how often Pop had to wait for the reader.
func (q *Queue) StarvedCount() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.starved
}

// StarvedFor returns how long Pop has been waiting for the reader, 0 while Pop does not wait.
func (q *Queue) StarvedFor() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.starvedSince.IsZero() {
		return 0
	}
	return time.Since(q.starvedSince)
}

// QueuedBytes returns the cost of all queued items.
func (q *Queue) QueuedBytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ring.bytes
}

// Drained reports whether the epoch has ended and all its items were popped.
func (q *Queue) Drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && q.ring.count == 0
}
