package tcpros

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
)

// Limits of the registrar. Its intervals are in timing.
const (
	contactMinWait  = 50 * time.Millisecond
	contactMaxWait  = time.Second
	updateBurst     = 10  // publisherUpdates of one topic that are confirmed without delay
	unregisterCalls = 8   // concurrent unregister calls
	reconcileShare  = 100 // of the time; a comparison in a large graph takes long
	reconcileMost   = time.Minute
	refreshMost     = 10 // topics with unreached publishers whose lists are requested in one round
)

// regKind is the kind of a registration.
type regKind uint8

const (
	regSubscriber regKind = iota
	regPublisher
	regService
)

// String returns the kind for the log.
func (k regKind) String() string { return [...]string{"subscriber", "publisher", "service"}[k] }

// regKey identifies one registration.
type regKey struct {
	kind regKind
	name string
}

// regEntry is one registration: the desired state, and the state at the master.
type regEntry struct {
	key     regKey
	typ     string
	sub     listener // the subscription; nil for other kinds
	removed bool     // closed by the node, to be unregistered

	agendaState
	tried          bool // a call was sent: it may be registered
	registered     bool
	everRegistered bool      // registered at least once: from then on a service respects another provider
	takenOver      bool      // another node provides the service
	notBefore      time.Time // earliest time of the next call; zero means now

	retryLinks    bool     // the master was away: waiting links retry at once
	pendingUpdate []string // publishers of a publisherUpdate that is not processed yet, or nil
	updateTokens  int      // remaining confirmations of updates; one is added each timing.updateEvery
	refilledAt    time.Time
	confirmed     []string // the last list of publishers from the master

	refresh    bool      // request the list from the master
	answeredAt time.Time // when the master confirmed the registration last
	nodeNames  string    // nodes of the publishers at the last comparison

	compared   bool      // nodeNames is set
	changedAt  time.Time // when a comparison found a change without a publisherUpdate; zero if none
	lastUpdate time.Time // time of the last publisherUpdate
}

// updateMissed compares the publishers' nodes with those of the last comparison. It reports
// whether the master cannot reach us: the last comparison found a change, and no
// publisherUpdate has arrived since, for a whole round.
func (e *regEntry) updateMissed(names string, now time.Time, round time.Duration) bool {
	missed := !e.changedAt.IsZero() && e.lastUpdate.Before(e.changedAt)
	e.changedAt = time.Time{}
	if e.compared && names != e.nodeNames && now.Sub(e.lastUpdate) > round {
		e.changedAt = now
	}
	e.nodeNames, e.compared = names, true
	return missed
}

// listener receives the master's list of publishers for a topic.
type listener interface {
	setPublishers(p publishers)
	allUp() bool // no link is waiting for its publisher
}

// publishers is the master's list of publishers for one topic.
type publishers struct {
	uris     []string
	epoch    int  // number of the master: a restarted one may not know all live publishers yet
	retryNow bool // from a publisherUpdate: links retry at once
}

// registrar keeps the registrations at the master equal to the desired ones. One goroutine
// makes all calls to the master; other goroutines only change the desired state.
type registrar struct {
	log             *zap.Logger
	timing          timing
	master          *Master
	uri             string                           // our slave API
	rosrpc          string                           // URI of our services
	params          []names.Param                    // private parameters to set at each new master
	ns              string                           // namespace of params: the node's name
	loopbackDefault bool                             // our URI is on loopback by default: to be logged once
	sourceAddr      func(context.Context) netip.Addr // our source address toward the master; zero if unknown

	mu      sync.Mutex
	entries map[regKey]*regEntry
	agenda  *agenda

	wake         chan struct{}
	setKeepAlive func(keepalive bool) // called with /tcp_keepalive of each new master

	// The fields below belong to the goroutine.
	pid        int
	runID      string
	contact    contact // when check or identify last found the master to be the same
	identified bool
	away       loglimit.Episode // the master does not answer
	failures   int              // in a row
	up         atomic.Bool      // the last call was answered; read by any goroutine
	comparedAt time.Time        // the last comparison with the state of the master
	epoch      int
	nameTaken  bool // another node has our name: registering would shut it down
}

func (r *registrar) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // it is awake already
	}
}

// add adds a registration. sub is nil unless it is a subscription. Of those that wait, a
// lower priority is registered first, and equal ones in the order of add.
func (r *registrar) add(k regKey, typ string, priority int, sub listener) {
	r.mu.Lock()
	now := time.Now()
	e := &regEntry{key: k, typ: typ, sub: sub, updateTokens: updateBurst, refilledAt: now}
	if old := r.entries[k]; old != nil {
		e.tried = old.tried
		r.agenda.drop(old)
	}
	r.entries[k] = e
	r.agenda.add(e, priority)
	r.plan(e, now)
	logHint := r.loopbackDefault
	r.loopbackDefault = false
	r.mu.Unlock()
	if logHint {
		r.log.Info("this node is reachable from this machine only, as its master is on loopback: set ROS_IP or ROS_HOSTNAME to open it to others",
			zap.String("uri", r.uri))
	}
	r.signal()
}

// remove removes a registration; the registrar unregisters it.
func (r *registrar) remove(k regKey) {
	r.mu.Lock()
	if e := r.entries[k]; e != nil {
		e.removed, e.notBefore, e.sub = true, time.Time{}, nil
		if !e.tried {
			delete(r.entries, k)
			r.agenda.drop(e)
		} else {
			r.plan(e, time.Now())
		}
	}
	r.mu.Unlock()
	r.signal()
}

// registered reports whether the master has confirmed a registration, and if so, how many
// publishers its last list has.
func (r *registrar) registered(k regKey) (publishers int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[k]
	if e == nil || !e.registered || e.removed {
		return 0, false
	}
	return len(e.confirmed), true
}

// publisherUpdate records a publisherUpdate. It reports whether the topic is subscribed to.
func (r *registrar) publisherUpdate(topic string, uris []string) bool {
	r.mu.Lock()
	e := r.entries[regKey{name: topic}]
	if e == nil || e.removed {
		r.mu.Unlock()
		return false
	}
	if uris == nil {
		uris = []string{}
	}
	now := time.Now()
	e.pendingUpdate, e.lastUpdate = uris, now
	r.plan(e, now)
	r.mu.Unlock()
	r.signal()
	return true
}

// run makes the calls until ctx ends. A registration that is in progress then goes on until
// calls ends: the master may handle a call that was given up after the one that takes it back.
func (r *registrar) run(ctx, calls context.Context) {
	wait := contactMinWait
	var identify time.Time // when next
	reconcile := time.Now().Add(r.timing.reconcileEvery)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		var err error
		now := time.Now()
		next := identify
		switch e, due := r.mostUrgent(now); {
		case !r.identified || !now.Before(identify):
			if err = r.check(ctx); err == nil {
				identify = time.Now().Add(r.timing.identifyEvery)
			}
			next = time.Time{}
		case e != nil:
			err = r.process(calls, e)
			next = time.Time{}
		case !now.Before(reconcile):
			err = r.reconcile(ctx)
			done := time.Now()
			reconcile = done.Add(max(r.timing.reconcileEvery, min(reconcileShare*done.Sub(now), reconcileMost)))
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
func (r *registrar) wakeUnless(away bool) <-chan struct{} {
	if away {
		return nil
	}
	return r.wake
}

// plan puts e on the agenda as its state demands, unless another has replaced it. It follows
// each change of an entry. Called with r.mu held.
func (r *registrar) plan(e *regEntry, now time.Time) {
	if r.entries[e.key] == e {
		r.agenda.update(e, now, r.timing.updateEvery)
	}
}

// mostUrgent returns the most urgent entry that is due, or else when the next one is due.
func (r *registrar) mostUrgent(now time.Time) (*regEntry, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agenda.next(now, r.timing.updateEvery)
}

// process makes the call that one entry needs.
func (r *registrar) process(ctx context.Context, e *regEntry) error {
	r.mu.Lock()
	gone, hint, known, fresh := e.removed, e.pendingUpdate, e.confirmed, e.retryLinks
	e.pendingUpdate, e.tried = nil, true
	if hint != nil && e.updateTokens > 0 {
		e.updateTokens--
	}
	r.plan(e, time.Now())
	r.mu.Unlock()
	switch {
	case gone:
		err := r.unregister(ctx, e.key)
		if unreachable(ctx, err) {
			return err
		}
		r.mu.Lock()
		if r.entries[e.key] == e {
			delete(r.entries, e.key)
			r.agenda.drop(e)
		}
		r.mu.Unlock()
		return nil
	case e.key.kind == regPublisher:
		return r.recordResult(ctx, e, r.master.registerPublisher(ctx, e.key.name, e.typ, r.uri))
	case e.key.kind == regService:
		return r.recordResult(ctx, e, r.registerService(ctx, e))
	case hint != nil && e.registered && len(hint) == len(known) && subset(hint, known):
		r.deliver(e, publishers{known, r.epoch, true}) // the list is unchanged: a publisher has restarted
		return nil
	}
	uris, err := r.master.registerSubscriber(ctx, e.key.name, e.typ, r.uri)
	if err == nil && !subset(known, uris) {
		// Before links are closed: a master that has just restarted has an incomplete list,
		// which would close links to live publishers.
		if err := r.identify(ctx, r.anyRegistered(false)); err != nil {
			return err
		}
	}
	if err := r.recordResult(ctx, e, err); err != nil {
		return err
	}
	if err == nil {
		r.mu.Lock()
		e.confirmed, e.retryLinks = uris, false
		r.mu.Unlock()
		r.deliver(e, publishers{uris, r.epoch, fresh || hint != nil})
	}
	return nil
}

func (r *registrar) unregister(ctx context.Context, k regKey) error {
	if k.kind == regService {
		return r.master.unregister(ctx, k, r.rosrpc)
	}
	return r.master.unregister(ctx, k, r.uri)
}

// deliver passes a list to the subscription, unless that was closed in the meantime.
func (r *registrar) deliver(e *regEntry, p publishers) {
	r.mu.Lock()
	sub := e.sub
	r.mu.Unlock()
	if sub != nil {
		sub.setPublishers(p)
	}
}

// recordResult records the result of a registration. It returns err only if the master was
// unreachable.
func (r *registrar) recordResult(ctx context.Context, e *regEntry, err error) error {
	if unreachable(ctx, err) {
		return err
	}
	r.succeeded()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	defer func() { r.plan(e, now) }()
	if err != nil {
		e.notBefore = now.Add(r.timing.refusedWait)
		r.log.Warn("registration refused by the master", zap.String("name", e.key.name), zap.Stringer("kind", e.key.kind), zap.Error(err))
		return nil
	}
	e.registered, e.everRegistered, e.refresh, e.answeredAt = true, true, false, now
	return nil
}

// unregisterAll unregisters everything that may be registered, until ctx ends, and calls
// answered after each answer of the master. run must have ended.
func (r *registrar) unregisterAll(ctx context.Context, answered func()) error {
	r.mu.Lock()
	var todo []*regEntry
	for _, e := range r.entries {
		if e.tried {
			todo = append(todo, e)
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	queue := make(chan *regEntry, len(todo))
	for _, e := range todo {
		queue <- e
	}
	close(queue)
	for range min(unregisterCalls, len(todo)) {
		// owner: unregisterAll; ends when the queue is empty or the master is away.
		wg.Go(func() {
			for e := range queue {
				err := r.unregister(ctx, e.key)
				if unreachable(ctx, err) {
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
