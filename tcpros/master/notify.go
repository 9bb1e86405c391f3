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
	maxQueues    = 8192            // nodes with notices; those that need another are dropped
	maxCalls     = 1024            // calls to nodes under way at once, half of them to nodes that failed last time
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
	doubts chan struct{} // taken before a slot for a node that failed last time

	mu     sync.Mutex
	queues map[string]*queue   // by slave URI; only those with work
	failed map[string]struct{} // slave URIs that did not answer last time; some, if there are many
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
		doubts: make(chan struct{}, maxCalls/2),
		queues: map[string]*queue{},
		failed: map[string]struct{}{},
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
		if !n.room(uri, x) {
			return
		}
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

// room reports whether there may be one more queue. A node that registers with ever
// new URIs makes a shutdown notice for each old one: those fill no more than half.
func (n *notifier) room(uri string, x *notice) bool {
	if k := len(n.queues); k < maxQueues/2 || k < maxQueues && !x.once {
		return true
	}
	n.log.Warn("too many nodes wait to be told, some are not", zap.String("uri", uri), zap.String("what", x.key))
	return false
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

// call makes one call. Nodes that do not answer, each call to which takes the whole
// timeout, must not keep the others waiting.
func (n *notifier) call(uri string, x *notice) error {
	need := []chan struct{}{n.slots}
	if n.doubtful(uri) {
		need = []chan struct{}{n.doubts, n.slots}
	}
	for _, c := range need {
		select {
		case c <- struct{}{}:
			defer func() { <-c }()
		case <-n.ctx.Done():
			return n.ctx.Err()
		}
	}
	x.attempts++
	_, err := xmlrpc.Call(n.ctx, n.http, uri, x.method, x.args...)
	n.note(uri, errors.Is(err, xmlrpc.ErrTransport))
	return err
}

func (n *notifier) doubtful(uri string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, failed := n.failed[uri]
	return failed
}

// note remembers whether the node failed to answer.
func (n *notifier) note(uri string, failed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !failed {
		delete(n.failed, uri)
		return
	}
	n.failed[uri] = struct{}{}
	for other := range n.failed {
		if len(n.failed) <= maxQueues {
			break
		}
		delete(n.failed, other) // it gets the benefit of the doubt once more
	}
}

// worthRepeating tells a node that is stuck or cut off for a moment from one that
// is gone or that answered something: only the former may yet take the notice.
func worthRepeating(err error) bool {
	return errors.Is(err, xmlrpc.ErrTransport) && !errors.Is(err, syscall.ECONNREFUSED)
}
