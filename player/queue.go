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

// What is kept for who seeks or steps back: chunks, of which those that the queue holds
// cost nothing more, and latched messages.
const (
	cacheChunkBytes = maxAheadBytes + 16<<20
	cacheFrameBytes = 16 << 20
)

// When who waits for what is not read yet is told of it, and how often.
const (
	slowReport = 3 * time.Second
	slowAgain  = 30 * time.Second
)

// item is one message on its way from the reader to the pacer, or a jump.
type item struct {
	route *route
	frame []byte
	stamp bagfmt.Time
	share int           // bytes of memory that the frame keeps, see bagfmt.Message.Share
	pos   time.Duration // since the first selected message
	rank  int           // how many messages with the same stamp come before
	epoch uint64        // of the order that it was read for
	jump  *jump         // nil if it is a message
}

// jump is where play goes on elsewhere: after an order to do so, or at the end of a
// pass. There the item's pos is where the pass ends.
type jump struct {
	turn  bool          // the end of a pass
	end   time.Duration // which is there
	to    time.Duration
	step  bool             // the message there is to be published, even while paused
	shift time.Duration    // what is added to stamps from here on, see Options.LoopShift
	state []latchedMessage // valid at to, oldest first; who is not in it has published nothing yet
}

// place is a place in the merged bags: of the messages with this stamp, that with so
// many before it.
type place struct {
	stamp bagfmt.Time
	rank  int
}

// queue is the read-ahead: one goroutine pushes, one pops. An order to read from
// elsewhere begins a new epoch: what was read before is of no use any more.
type queue struct {
	maxBytes, maxItems int
	slow               func(waits time.Duration) // is told now and then while pop or peek waits for long; may be nil
	waited             time.Duration             // by the last pop; only for who pops

	mu       sync.Mutex
	items    []item // ring
	head     int
	count    int
	bytes    int
	epoch    uint64
	closed   bool // nothing more comes in this epoch
	fresh    bool // nothing was popped in this epoch
	starved  uint64
	dry      time.Time     // since when pop waits for what is not read yet; zero if it does not
	hungry   bool          // somebody waits for notEmpty
	stuck    bool          // push waits for notFull
	notEmpty chan struct{} // holds a token after a push to the hungry, close or restart
	notFull  chan struct{} // holds a token after a pop that has made room, or restart
}

func newQueue(maxBytes, maxItems int) *queue {
	return &queue{
		maxBytes: maxBytes, maxItems: maxItems,
		notEmpty: make(chan struct{}, 1), notFull: make(chan struct{}, 1),
	}
}

// push waits for room and reports whether it got some before ctx or the epoch of the
// item ended. A message bigger than the bound gets in when the queue is empty.
func (q *queue) push(ctx context.Context, it item) bool {
	cost := it.cost()
	for {
		q.mu.Lock()
		if it.epoch != q.epoch {
			q.mu.Unlock()
			return false
		}
		if q.count == 0 || q.count < q.maxItems && q.bytes+cost <= q.maxBytes {
			q.append(it)
			q.bytes += cost
			wake := q.hungry
			q.hungry = false
			q.mu.Unlock()
			if wake {
				signal(q.notEmpty)
			}
			return true
		}
		q.stuck = true
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
func (it *item) cost() int {
	if it.jump != nil {
		return jumpCost
	}
	return max(len(it.frame), it.share)
}

// jumpCost is what the end of a pass counts: of a loop of a second not an hour is read
// ahead, for nothing when somebody seeks.
const jumpCost = maxAheadBytes / 8

func (q *queue) append(it item) {
	if q.count == len(q.items) {
		grown := make([]item, max(64, 2*len(q.items)))
		n := copy(grown, q.items[q.head:])
		copy(grown[n:], q.items[:q.head])
		q.items, q.head = grown, 0
	}
	at := q.head + q.count
	if at >= len(q.items) {
		at -= len(q.items)
	}
	q.items[at] = it
	q.count++
}

// What pop gives out at a time at most, so that who pushes and who pops do not meet for
// each message.
const (
	runItems = 64
	runBytes = 256 << 10
)

// pop waits for items, moves the first ones to the end of run, as far as that has
// room, and returns it. It reports false at the end of the epoch, or when ctx ended.
func (q *queue) pop(ctx context.Context, run []item) ([]item, bool) {
	if !q.await(ctx, true) {
		return run, false
	}
	for cost := 0; q.count > 0 && len(run) < cap(run) && (cost == 0 || cost < runBytes); {
		it := &q.items[q.head]
		cost += it.cost()
		run = append(run, *it)
		q.drop()
	}
	q.fresh = false
	// Only when half is free: else the two would wake each other for each message.
	wake := q.stuck && q.count <= q.maxItems/2 && q.bytes <= q.maxBytes/2
	q.stuck = q.stuck && !wake
	q.mu.Unlock()
	if wake {
		signal(q.notFull)
	}
	return run, true
}

// peek waits for the first item and leaves it.
func (q *queue) peek(ctx context.Context) (item, bool) {
	if !q.await(ctx, false) {
		return item{}, false
	}
	defer q.mu.Unlock()
	return q.items[q.head], true
}

// await returns with mu held when there is an item, or without when it reports false.
func (q *queue) await(ctx context.Context, play bool) bool {
	var began time.Time
	var report *time.Timer // when to tell that it takes long
	defer func() {
		q.waited = 0
		if report != nil {
			report.Stop()
			q.waited = time.Since(began)
		}
	}()
	for {
		q.mu.Lock()
		if q.count > 0 || q.closed {
			q.dry = time.Time{}
		}
		if q.count > 0 {
			return true
		}
		closed := q.closed
		if report == nil && !closed && play {
			q.dry = time.Now()
			if !q.fresh {
				q.starved++
			}
		}
		q.hungry = true
		q.mu.Unlock()
		if closed {
			return false
		}
		if report == nil {
			began, report = time.Now(), time.NewTimer(slowReport)
		}
		select {
		case <-q.notEmpty:
		case <-report.C:
			if q.slow != nil {
				q.slow(time.Since(began))
			}
			report.Reset(slowAgain)
		case <-ctx.Done():
			return false
		}
	}
}

// drop removes the first item.
func (q *queue) drop() {
	q.bytes -= q.items[q.head].cost()
	q.items[q.head] = item{} // frees the chunk
	if q.head++; q.head == len(q.items) {
		q.head = 0
	}
	q.count--
}

// close ends an epoch: pop gives out what is left, then reports false.
func (q *queue) close(epoch uint64) {
	q.mu.Lock()
	q.closed = q.closed || q.epoch == epoch
	q.mu.Unlock()
	signal(q.notEmpty)
}

// restart forgets what was read and begins a new epoch, which it returns.
func (q *queue) restart() uint64 {
	q.mu.Lock()
	for q.count > 0 {
		q.drop()
	}
	q.epoch++
	q.closed, q.fresh = false, true
	epoch := q.epoch
	q.mu.Unlock()
	signal(q.notEmpty)
	signal(q.notFull)
	return epoch
}

// reopened waits for the end of an epoch that everything was popped of. It reports false
// when ctx ended.
func (q *queue) reopened(ctx context.Context, epoch uint64) bool {
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

// timesStarved returns how often pop had to wait.
func (q *queue) timesStarved() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.starved
}

// dryFor returns how long pop has been waiting for what is not read yet.
func (q *queue) dryFor() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dry.IsZero() {
		return 0
	}
	return time.Since(q.dry)
}

// ahead returns how many bytes are waiting.
func (q *queue) ahead() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// done reports whether the epoch has ended and all was popped.
func (q *queue) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && q.count == 0
}
