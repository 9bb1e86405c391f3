// Package registrar makes the registrations of a node at its master equal to the desired ones, for
// as long as the node lives: a master may be away, restart, forget the node, or give its name to
// another. One goroutine, that of Run, makes all calls; others only change the desired state,
// under the lock of the book. Package tcpros calls it; nothing else does.
package registrar

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// Limits of the registrar. Its intervals are in Timing.
const (
	contactMinWait = 50 * time.Millisecond
	contactMaxWait = time.Second
	// publisherUpdates of one topic that are confirmed without delay.
	updateBurst = 10
	// comparisons use at most 1/reconcileShare of the time: in a large graph each lasts long.
	reconcileShare = 100
	// topics with unreached publishers whose lists are requested in one round.
	refreshMost = 10
)

// Listener receives the master's list of publishers for a topic.
type Listener interface {
	SetPublishers(p rosapi.Publishers)
	AllUp() bool // no link is waiting for its publisher
}

// Timing has the intervals of a registrar.
type Timing struct {
	// between checks that the master is the same
	IdentifyEvery time.Duration
	// between comparisons of all registrations and publishers: does the master know us?
	ReconcileEvery time.Duration
	// the longest interval between comparisons, when each lasts long
	ReconcileMost time.Duration
	// wait after the master answered a registration with an error
	refusedWait time.Duration
	// interval of confirmed publisherUpdates of a topic, after the first updateBurst
	UpdateEvery time.Duration
}

// DefaultTiming returns the intervals of every node outside tests.
func DefaultTiming() Timing {
	return Timing{
		IdentifyEvery:  2 * time.Second,
		ReconcileEvery: 10 * time.Second,
		ReconcileMost:  time.Minute,
		refusedWait:    5 * time.Second,
		UpdateEvery:    time.Second,
	}
}

// Options describe the node to its registrar.
type Options struct {
	Log             *zap.Logger
	Timing          Timing
	Master          *rosapi.Master
	URI             string                           // our slave API
	RosRPC          string                           // URI of our services
	Params          []names.Param                    // private parameters to set at each new master
	Namespace       string                           // namespace of params: the node's name
	LoopbackDefault bool                             // our URI is on loopback by default: to be logged once
	SourceAddr      func(context.Context) netip.Addr // our source address toward the master; zero if unknown
	SetKeepAlive    func(keepalive bool)             // called with /tcp_keepalive of each new master
	Ending          <-chan struct{}                  // that of tcpros.NodeOptions
}

// New returns a registrar without registrations; Run makes its calls.
func New(o Options) *Registrar {
	return &Registrar{
		Options: o, wake: make(chan struct{}, 1),
		book: book{log: o.Log, timing: o.Timing, entries: map[rosapi.Key]*entry{}, agenda: newAgenda()},
	}
}

// Registrar makes the registrations at the master equal to the desired ones. One goroutine makes
// all calls to the master; other goroutines only change the desired state.
type Registrar struct {
	Options

	book book
	wake chan struct{}

	// The fields below belong to the goroutine of Run.
	id   identity
	away loglimit.Episode // the master does not answer
	up   atomic.Bool      // the last call was answered; read by any goroutine
}

func (r *Registrar) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // Run is awake already
	}
}

// Add adds a registration. sub is nil unless it is a subscription. Waiting registrations with a
// lower priority are registered first, those with equal priority in the order of Add.
func (r *Registrar) Add(k rosapi.Key, typ string, priority int, sub Listener) {
	first := r.book.add(k, typ, priority, sub)
	if first && r.LoopbackDefault {
		r.Log.Info("this node is reachable from this machine only, as its master is on loopback: set ROS_IP or ROS_HOSTNAME to open it to others",
			zap.String("uri", r.URI))
	}
	r.signal()
}

// Remove removes a registration; Run then unregisters it at the master.
func (r *Registrar) Remove(k rosapi.Key) {
	r.book.remove(k)
	r.signal()
}

// Registered reports whether the master has confirmed a registration, and if so, how many
// publishers its last list has.
func (r *Registrar) Registered(k rosapi.Key) (publishers int, ok bool) { return r.book.confirmed(k) }

// PublisherUpdate records a publisherUpdate. It reports whether the topic is subscribed to.
func (r *Registrar) PublisherUpdate(topic string, uris []string) bool {
	ok := r.book.publisherUpdate(topic, uris)
	if ok {
		r.signal()
	}
	return ok
}

// Run makes the calls until ctx ends. A registration call in progress then continues until calls
// ends: the master may handle an abandoned registration after the call that unregisters it.
func (r *Registrar) Run(ctx, calls context.Context) {
	wait := contactMinWait
	var identify time.Time // when next
	reconcile := time.Now().Add(r.Timing.ReconcileEvery)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		var err error
		now := time.Now()
		next := identify
		switch e, due := r.book.mostUrgent(now); {
		case !r.id.identified || !now.Before(identify):
			if err = r.check(ctx); err == nil {
				identify = time.Now().Add(r.Timing.IdentifyEvery)
			}
			next = time.Time{}
		case e != nil:
			err = r.process(calls, e)
			next = time.Time{}
		case !now.Before(reconcile):
			err = r.reconcile(ctx)
			done := time.Now()
			reconcile = done.Add(max(r.Timing.ReconcileEvery,
				min(reconcileShare*done.Sub(now), r.Timing.ReconcileMost)))
			next = time.Time{}
		case !due.IsZero() && due.Before(identify):
			next = due
		}
		if err != nil {
			r.failed(ctx, err)
			identify = time.Time{}
			reconcile = time.Time{} // updates may have been lost
			next = time.Now().Add(wait)
			wait = min(wait*2, contactMaxWait)
		} else if next.IsZero() {
			wait = contactMinWait
			continue // there may be more to do
		}
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.wakeUnless(err != nil):
		}
	}
}

// wakeUnless returns the wake channel, or nil while the master is away: then only the timer
// starts the next attempt.
func (r *Registrar) wakeUnless(away bool) <-chan struct{} {
	if away {
		return nil
	}
	return r.wake
}

// process makes the call that one entry needs.
func (r *Registrar) process(ctx context.Context, e *entry) error {
	if _, confirmed := r.book.confirmed(e.key); confirmed && r.id.runID == "" {
		// Without a run_id another master may look like the one before, in a container even with the same
		// process ID. Whether it knows this node tells them apart, but only before the next registration.
		if err := r.identify(ctx, true); err != nil {
			return err
		}
	}
	now := r.book.begin(e)
	hint, known := now.hint, now.confirmed
	switch {
	case now.removed:
		err := r.unregister(ctx, e.key)
		if rosapi.Unreachable(ctx, err) {
			return err
		}
		r.book.forget(e)
		return nil
	case e.key.Kind == rosapi.Publisher:
		return r.recordResult(ctx, e, r.Master.RegisterPublisher(ctx, e.key.Name, e.typ, r.URI))
	case e.key.Kind == rosapi.Service:
		return r.recordResult(ctx, e, r.registerService(ctx, e))
	case hint != nil && now.registered && len(hint) == len(known) && subset(hint, known):
		// the list is unchanged: a publisher has restarted
		r.deliver(e, rosapi.Publishers{URIs: known, Epoch: r.id.epoch, RetryNow: true})
		return nil
	}
	uris, err := r.Master.RegisterSubscriber(ctx, e.key.Name, e.typ, r.URI)
	if err == nil && !subset(known, uris) {
		// Identify the master before links are closed: a master that has just restarted has an
		// incomplete list, which would close links to live publishers.
		if err := r.identify(ctx, r.book.anyRegistered(false)); err != nil {
			return err
		}
	}
	if err := r.recordResult(ctx, e, err); err != nil {
		return err
	}
	if err == nil {
		r.book.recordPublishers(e, uris)
		r.deliver(e, rosapi.Publishers{URIs: uris, Epoch: r.id.epoch, RetryNow: now.retryLinks ||
			hint != nil})
	}
	return nil
}

func (r *Registrar) unregister(ctx context.Context, k rosapi.Key) error {
	if k.Kind == rosapi.Service {
		return r.Master.Unregister(ctx, k, r.RosRPC)
	}
	return r.Master.Unregister(ctx, k, r.URI)
}

// deliver passes a list to the subscription, unless the subscription was closed in the meantime.
func (r *Registrar) deliver(e *entry, p rosapi.Publishers) {
	if sub := r.book.listener(e); sub != nil {
		sub.SetPublishers(p)
	}
}

// recordResult records the result of a registration. It returns err only if the master was
// unreachable.
func (r *Registrar) recordResult(ctx context.Context, e *entry, err error) error {
	if rosapi.Unreachable(ctx, err) {
		return err
	}
	r.succeeded()
	r.book.recordResult(e, err)
	return nil
}

// UnregisterAll unregisters everything that may be registered, until ctx ends, and calls answered
// after each answer of the master. Run must have ended.
func (r *Registrar) UnregisterAll(ctx context.Context, answered func()) error {
	todo := r.book.tried()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	queue := make(chan *entry, len(todo))
	for _, e := range todo {
		queue <- e
	}
	close(queue)
	for range min(rosapi.UnregisterCalls, len(todo)) {
		// owner: UnregisterAll; ends when the queue is empty or the master is away.
		wg.Go(func() {
			for e := range queue {
				err := r.unregister(ctx, e.key)
				if rosapi.Unreachable(ctx, err) {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
					cancel() // the other calls would fail, too
					return
				}
				answered()
			}
		})
	}
	wg.Wait()
	return first
}

// subset reports whether all of a are in b. Lists of publishers may be long.
func subset(a, b []string) bool {
	have := make(map[string]bool, len(b))
	for _, s := range b {
		have[s] = true
	}
	return !slices.ContainsFunc(a, func(s string) bool { return !have[s] })
}
