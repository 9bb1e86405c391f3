package master

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
)

// Bounds of the queues to nodes.
const (
	maxPending   = 10_000          // notices that wait for one node; the oldest is dropped
	maxCalls     = 1024            // calls to nodes under way at once
	callTimeout  = 5 * time.Second // for one call
	maxAttempts  = 4               // to deliver one notice
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 4 * time.Second
)

// notice is one call to a node. A later notice with the same key replaces an
// earlier one that still waits.
type notice struct {
	key      string
	method   string
	args     []any
	once     bool // a shutdown: not worth repeating
	attempts int
}

// notifier calls nodes. Each node has its own queue and, while that is not empty,
// its own goroutine: notices to one node are in order, and nodes do not wait for
// each other.
type notifier struct {
	ctx    context.Context //nolint:containedctx // the lifetime of all queues; ends in close
	cancel context.CancelFunc
	http   *http.Client
	log    *zap.Logger
	slots  chan struct{}

	mu     sync.Mutex
	queues map[string]*queue // by slave URI; only those with work
	closed bool
	wg     sync.WaitGroup
}

// queue is what one node has yet to be told; guarded by notifier.mu.
type queue struct {
	pending *list.List // of *notice
	byKey   map[string]*list.Element
	dropped uint64
}

func newNotifier(log *zap.Logger) *notifier {
	ctx, cancel := context.WithCancel(context.Background())
	return &notifier{
		ctx: ctx, cancel: cancel,
		http:   xmlrpc.NewHTTPClient(callTimeout),
		log:    log,
		slots:  make(chan struct{}, maxCalls),
		queues: map[string]*queue{},
	}
}

// close ends all calls and waits for the goroutines.
func (n *notifier) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.cancel()
	n.wg.Wait()
	n.http.CloseIdleConnections()
}

// send queues a notice and returns at once. It is called with Master's lock held,
// so that notices have the order of the changes they tell of.
func (n *notifier) send(uri string, x *notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	q, running := n.queues[uri]
	if !running {
		q = &queue{pending: list.New(), byKey: map[string]*list.Element{}}
		n.queues[uri] = q
	}
	if old, ok := q.byKey[x.key]; ok {
		q.pending.Remove(old)
	}
	q.byKey[x.key] = q.pending.PushBack(x)
	if q.pending.Len() > maxPending {
		q.pop()
		q.dropped++
	}
	if !running {
		// owner: notifier.close; ends when the queue is empty or ctx is done.
		n.wg.Go(func() { n.run(uri, q) })
	}
}

func (q *queue) pop() *notice {
	x, _ := q.pending.Remove(q.pending.Front()).(*notice)
	delete(q.byKey, x.key)
	return x
}

// next returns the next notice, or nil after taking the empty queue off the table.
func (n *notifier) next(uri string, q *queue) *notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	if q.pending.Len() == 0 {
		delete(n.queues, uri)
		return nil
	}
	return q.pop()
}

// again puts x back in front, unless a later one with its key waits already.
func (n *notifier) again(q *queue, x *notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, newer := q.byKey[x.key]; !newer {
		q.byKey[x.key] = q.pending.PushFront(x)
	}
}

func (n *notifier) run(uri string, q *queue) {
	for {
		x := n.next(uri, q)
		if x == nil {
			return
		}
		err := n.call(uri, x)
		switch {
		case n.ctx.Err() != nil:
			return
		case err == nil:
			continue
		case !worthRepeating(err) || x.once || x.attempts >= maxAttempts:
			n.log.Warn("node not told", zap.String("uri", uri), zap.String("what", x.key), zap.Error(err))
			continue
		}
		n.again(q, x)
		select {
		case <-time.After(min(firstBackoff<<(x.attempts-1), maxBackoff)):
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *notifier) call(uri string, x *notice) error {
	select {
	case n.slots <- struct{}{}:
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
	defer func() { <-n.slots }()
	x.attempts++
	_, err := xmlrpc.Call(n.ctx, n.http, uri, x.method, x.args...)
	return err
}

// worthRepeating tells a node that is stuck or cut off for a moment from one that
// is gone or that answered something: only the former may yet take the notice.
func worthRepeating(err error) bool {
	return errors.Is(err, xmlrpc.ErrTransport) && !errors.Is(err, syscall.ECONNREFUSED)
}
