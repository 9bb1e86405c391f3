// Package notify tells nodes of changes: one ordered queue for each node, so that a dead or slow
// node delays nobody else. It reads the state at the time of sending, so that nodes get the latest
// values. Package master calls it; nothing else does.
package notify

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master/internal/outgoing"
)

// Bounds of the queues to nodes.
const (
	maxPending  = 10_000                 // queued notices for one node; a further notice drops the oldest
	maxQueues   = 8192                   // nodes with queued notices; notices for further nodes are dropped
	maxCalls    = 1024                   // concurrent calls; at most half of them to suspect nodes
	callTimeout = 5 * time.Second        // for one call
	maxAttempts = 4                      // to deliver one notice
	minBackoff  = 500 * time.Millisecond // after the first attempt; doubles with each further attempt
)

// Notice is one call to a node, or to several. A later notice with the same key replaces an earlier
// notice that still waits.
type Notice struct {
	Key    string
	Method string
	// Args is called when the call is made, with the lock of the state held: nodes get the latest state, and
	// waiting notices have no copy of it.
	Args func() []any
	Once bool // a shutdown, which is not retried
}

// queued is a notice that waits for one node.
type queued struct {
	*Notice
	attempts int
}

// Notifier sends notices to nodes. Each node has its own queue and, while the queue is not empty,
// its own goroutine: notices to one node stay in order, and nodes do not delay each other.
type Notifier struct {
	ctx          context.Context //nolint:containedctx // the lifetime of all queues; ends in close
	cancel       context.CancelFunc
	http         *http.Client
	log          *zap.Logger
	state        sync.Locker    // of the master
	version      *atomic.Uint64 // of the state
	requests     *outgoing.Budget
	callSlots    chan struct{}
	suspectSlots chan struct{} // acquired before a call slot for suspect nodes

	mu     sync.Mutex
	queues map[string]*queue   // by slave URI; only queues with notices
	failed map[string]struct{} // slave URIs of suspect nodes: the last call got no answer; bounded
	closed bool
	wg     sync.WaitGroup
}

// queue has the notices for one node. Notifier.mu guards it.
type queue struct {
	pending *list.List // of *queued
	byKey   map[string]*list.Element
}

// New returns a notifier of a state that a lock guards, and whose changes are counted.
func New(log *zap.Logger, state sync.Locker, version *atomic.Uint64) *Notifier {
	ctx, cancel := context.WithCancel(context.Background())
	return &Notifier{
		ctx: ctx, cancel: cancel,
		http:         xmlrpc.NewHTTPClient(callTimeout),
		log:          log,
		state:        state,
		version:      version,
		requests:     outgoing.New(),
		callSlots:    make(chan struct{}, maxCalls),
		suspectSlots: make(chan struct{}, maxCalls/2),
		queues:       map[string]*queue{},
		failed:       map[string]struct{}{},
	}
}

// Close ends all calls and waits for the goroutines.
func (n *Notifier) Close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.cancel()
	n.wg.Wait()
	n.http.CloseIdleConnections()
}

// Send queues a notice and returns at once. Call Send with the lock of the state held, so that
// notices are in the order of the changes.
func (n *Notifier) Send(uri string, x *Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	q, running := n.queues[uri]
	if !running {
		if !n.admits(uri, x) {
			return
		}
		q = &queue{pending: list.New(), byKey: map[string]*list.Element{}}
		n.queues[uri] = q
	}
	if old, ok := q.byKey[x.Key]; ok {
		q.pending.Remove(old)
	}
	q.byKey[x.Key] = q.pending.PushBack(&queued{Notice: x})
	if q.pending.Len() > maxPending {
		n.log.Warn("too many notices for a node, notice dropped", zap.String("uri", uri),
			zap.String("what", q.pop().Key))
	}
	if !running {
		// owner: notifier.close; ends when the queue is empty or ctx is done.
		n.wg.Go(func() { n.run(uri, q) })
	}
}

// admits reports whether there may be one more queue. A node that registers with ever new URIs
// causes a shutdown notice for each old URI: shutdown notices may use at most half of the queues.
func (n *Notifier) admits(uri string, x *Notice) bool {
	if k := len(n.queues); k < maxQueues/2 || k < maxQueues && !x.Once {
		return true
	}
	n.log.Warn("too many nodes to notify, notice dropped", zap.String("uri", uri), zap.String("what", x.Key))
	return false
}

func (q *queue) pop() *queued {
	x, _ := q.pending.Remove(q.pending.Front()).(*queued)
	delete(q.byKey, x.Key)
	return x
}

// next returns the next notice. If the queue is empty, it removes the queue and returns nil.
func (n *Notifier) next(uri string, q *queue) *queued {
	n.mu.Lock()
	defer n.mu.Unlock()
	if q.pending.Len() == 0 {
		delete(n.queues, uri)
		return nil
	}
	return q.pop()
}

// requeue puts x back to the front of the queue, unless a newer notice with the same key is queued.
func (n *Notifier) requeue(q *queue, x *queued) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, newer := q.byKey[x.Key]; !newer {
		q.byKey[x.Key] = q.pending.PushFront(x)
	}
}

func (n *Notifier) run(uri string, q *queue) {
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
		case !retryable(err) || x.Once || x.attempts >= maxAttempts:
			n.log.Warn("node not notified", zap.String("uri", uri), zap.String("what", x.Key), zap.Error(err))
			continue
		}
		n.requeue(q, x)
		select {
		case <-time.After(minBackoff << (x.attempts - 1)):
		case <-n.ctx.Done():
			return
		}
	}
}

// call makes one call. Suspect nodes, where each call may take the whole timeout, must not use
// all call slots.
func (n *Notifier) call(uri string, x *queued) error {
	need := []chan struct{}{n.callSlots}
	if n.isSuspect(uri) {
		need = []chan struct{}{n.suspectSlots, n.callSlots}
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
	request, err := n.request(x.Notice)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	defer request.Begin(cancel)()
	_, err = xmlrpc.Post(ctx, n.http, uri, request.Body)
	n.recordResult(uri, errors.Is(err, xmlrpc.ErrTransport))
	return err
}

// request encodes a notice. Nodes that get the same notice share its bytes.
func (n *Notifier) request(x *Notice) (*outgoing.Message, error) {
	identity := func() string { return fmt.Sprint(n.version.Load(), x.Key) }
	return n.requests.Get(n.ctx, identity, func(room int64) ([]byte, error) {
		n.state.Lock()
		defer n.state.Unlock()
		return xmlrpc.EncodeRequest(room, x.Method, x.Args()...)
	})
}

func (n *Notifier) isSuspect(uri string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, failed := n.failed[uri]
	return failed
}

// recordResult records whether a node is suspect.
func (n *Notifier) recordResult(uri string, failed bool) {
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
		delete(n.failed, other) // the node is no longer suspect
	}
}

// retryable reports whether a retry may succeed: the node did not answer, but neither refused the
// connection nor returned an error.
func retryable(err error) bool {
	return errors.Is(err, xmlrpc.ErrTransport) && !errors.Is(err, syscall.ECONNREFUSED)
}
