package tcpros

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// The registrar's rhythm.
const (
	identifyEvery  = 2 * time.Second  // is it still the same master, and does it know us
	reconcileEvery = 10 * time.Second // does it know all that it should, and we all publishers
	contactFirst   = 50 * time.Millisecond
	contactMost    = time.Second
	refusedWait    = 5 * time.Second // after the master answered a registration with an error
	hintBurst      = 10              // publisherUpdates confirmed at once for one topic
	hintEvery      = time.Second     // and then one each
	farewellCalls  = 8               // unregister calls under way at once
)

// regKind says what is registered.
type regKind uint8

const (
	regSubscriber regKind = iota
	regPublisher
	regService
)

// String returns the kind as the log says it.
func (k regKind) String() string { return [...]string{"subscriber", "publisher", "service"}[k] }

// regKey names one registration.
type regKey struct {
	kind regKind
	name string
}

// regEntry is one registration as wanted and as the master knows it.
type regEntry struct {
	key  regKey
	typ  string
	sub  listener // of a subscription, nil otherwise
	gone bool     // closed here, to be unregistered

	tried      bool // a call was sent: the master may know it
	registered bool
	held       bool      // a service that was registered once: another provider is respected from then on
	taken      bool      // a service that another node provides
	due        time.Time // not before; zero means now

	fresh     bool     // contact was lost: links that wait are to be tried at once
	hint      []string // publishers of the last publisherUpdate; nil means none waits
	tokens    int      // confirmations of hints left, refilled one each hintEvery
	tokensAt  time.Time
	confirmed []string // the master's last list

	ask   bool   // ask the master for the list
	names string // publishers' nodes when it was last compared

	compared bool      // names is what the master said, once
	missed   time.Time // when the list had changed without a word to us
	heard    time.Time // last publisherUpdate
}

// unheard compares the publishers' nodes with those of the comparison before and reports
// whether the master does not get through to us: a change came to light here, and up to the
// next comparison no publisherUpdate has told of it.
func (e *regEntry) unheard(names string, now time.Time) bool {
	unheard := !e.missed.IsZero() && e.heard.Before(e.missed)
	e.missed = time.Time{}
	if e.compared && names != e.names && now.Sub(e.heard) > reconcileEvery {
		e.missed = now
	}
	e.names, e.compared = names, true
	return unheard
}

// listener takes the master's list of publishers for a topic.
type listener interface {
	setPublishers(p publishers)
	allUp() bool // no link is waiting for its publisher
}

// publishers is what the master says about one topic.
type publishers struct {
	uris  []string
	epoch int  // counts masters: a new one may not yet know publishers that are alive
	fresh bool // news by publisherUpdate: worth an attempt at once
}

// registrar keeps the master's idea of this node equal to the node's. One goroutine
// makes all calls to the master; the others only change what is wanted.
type registrar struct {
	log    *zap.Logger
	master *Master
	uri    string                           // our slave API
	rosrpc string                           // where our services answer
	params []Param                          // private parameters to set at each new master
	ns     string                           // their namespace: the node's name
	hidden bool                             // our URI is on loopback by default: worth a word
	toward func(context.Context) netip.Addr // our address as the master sees it; zero if unknown

	mu      sync.Mutex
	entries map[regKey]*regEntry

	wake  chan struct{}
	probe func(keepalive bool) // told /tcp_keepalive of each new master

	// The fields below belong to the goroutine.
	pid        int
	runID      string
	identified bool
	lost       bool        // said that the master is away
	failures   int         // in a row
	up         atomic.Bool // the last call was answered; read by anybody
	epoch      int
	stolen     bool // another node has our name: to register would end that node
	said       said
}

func (r *registrar) poke() {
	select {
	case r.wake <- struct{}{}:
	default: // it is awake already
	}
}

// want adds a registration. sub is nil for all but subscriptions.
func (r *registrar) want(k regKey, typ string, sub listener) {
	r.mu.Lock()
	e := &regEntry{key: k, typ: typ, sub: sub, tokens: hintBurst, tokensAt: time.Now()}
	if old := r.entries[k]; old != nil {
		e.tried = old.tried
	}
	r.entries[k] = e
	say := r.hidden
	r.hidden = false
	r.mu.Unlock()
	if say {
		r.log.Info("this node is reachable from this machine only, as its master is on loopback: set ROS_IP or ROS_HOSTNAME to open it to others",
			zap.String("uri", r.uri))
	}
	r.poke()
}

// forget ends a registration.
func (r *registrar) forget(k regKey) {
	r.mu.Lock()
	if e := r.entries[k]; e != nil {
		e.gone, e.due, e.sub = true, time.Time{}, nil
		if !e.tried {
			delete(r.entries, k)
		}
	}
	r.mu.Unlock()
	r.poke()
}

// hinted notes a publisherUpdate. It reports whether the topic is subscribed to.
func (r *registrar) hinted(topic string, uris []string) bool {
	r.mu.Lock()
	e := r.entries[regKey{name: topic}]
	if e == nil || e.gone {
		r.mu.Unlock()
		return false
	}
	if uris == nil {
		uris = []string{}
	}
	e.hint, e.heard = uris, time.Now()
	r.mu.Unlock()
	r.poke()
	return true
}

// run makes the calls until ctx is done.
func (r *registrar) run(ctx context.Context) {
	wait := contactFirst
	var identify time.Time // when next
	reconcile := time.Now().Add(reconcileEvery)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		var err error
		now := time.Now()
		next := identify
		switch e, due := r.pick(now); {
		case !r.identified || !now.Before(identify):
			if err = r.identify(ctx); err == nil {
				identify = time.Now().Add(identifyEvery)
			}
			next = time.Time{}
		case e != nil:
			err = r.do(ctx, e)
			next = time.Time{}
		case !now.Before(reconcile):
			reconcile = now.Add(reconcileEvery)
			err = r.reconcile(ctx)
			next = time.Time{}
		case !due.IsZero() && due.Before(identify):
			next = due
		}
		if err != nil {
			r.failed(ctx, err)
			identify = time.Time{}
			reconcile = time.Time{} // what it told us meanwhile was lost
			next = time.Now().Add(wait)
			wait = min(wait*2, contactMost)
		} else if next.IsZero() {
			wait = contactFirst
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

// wakeUnless returns the wake channel, or nil while the master is away: then only
// time helps.
func (r *registrar) wakeUnless(away bool) <-chan struct{} {
	if away {
		return nil
	}
	return r.wake
}

// pick returns the most urgent entry that is due, or when the next one will be.
func (r *registrar) pick(now time.Time) (*regEntry, time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *regEntry
	var bestRank int
	var next time.Time
	for _, e := range r.entries {
		if r.stolen && !e.gone {
			continue // identify finds out when the name is free
		}
		rank, due := e.urgency(now)
		if rank > bestRank {
			best, bestRank = e, rank
		}
		if rank == 0 && !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return best, next
}

// urgency returns a positive rank if the entry is due now, else when it will be.
func (e *regEntry) urgency(now time.Time) (rank int, due time.Time) {
	switch {
	case e.hint != nil && e.registered && !e.gone:
		if refill := int(now.Sub(e.tokensAt) / hintEvery); refill > 0 {
			e.tokens, e.tokensAt = min(e.tokens+refill, hintBurst), now
		}
		if e.tokens > 0 {
			return 5, due
		}
		return 0, e.tokensAt.Add(hintEvery)
	case now.Before(e.due):
		return 0, e.due
	case e.gone && e.tried:
		return 4, due
	case e.gone:
		return 0, due
	case !e.registered && e.key.kind != regService:
		return 3, due
	case !e.registered: // a caller waits for its answer; messages do not wait
		return 2, due
	case e.ask:
		return 1, due
	}
	return 0, due
}

// do brings the master's idea of one entry up to date.
func (r *registrar) do(ctx context.Context, e *regEntry) error {
	r.mu.Lock()
	gone, hint, known, fresh := e.gone, e.hint, e.confirmed, e.fresh
	e.hint, e.tried = nil, true
	if hint != nil && e.tokens > 0 {
		e.tokens--
	}
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
		}
		r.mu.Unlock()
		return nil
	case e.key.kind == regPublisher:
		return r.settle(ctx, e, r.master.registerPublisher(ctx, e.key.name, e.typ, r.uri))
	case e.key.kind == regService:
		return r.settle(ctx, e, r.registerService(ctx, e))
	case hint != nil && e.registered && sameSet(hint, known):
		r.deliver(e, publishers{known, r.epoch, true}) // a publisher restarted: nothing to confirm
		return nil
	}
	uris, err := r.master.registerSubscriber(ctx, e.key.name, e.typ, r.uri)
	if err == nil && slices.ContainsFunc(known, func(u string) bool { return !slices.Contains(uris, u) }) {
		// Before links are given up: a master that restarted a moment ago has lost its
		// list, and its word would end links that are alive.
		if err := r.identify(ctx); err != nil {
			return err
		}
	}
	if err := r.settle(ctx, e, err); err != nil {
		return err
	}
	if err == nil {
		r.mu.Lock()
		e.confirmed, e.fresh = uris, false
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

// deliver hands a list to the subscription unless it was closed meanwhile.
func (r *registrar) deliver(e *regEntry, p publishers) {
	r.mu.Lock()
	sub := e.sub
	r.mu.Unlock()
	if sub != nil {
		sub.setPublishers(p)
	}
}

// settle notes the result of a registration. It returns only errors of contact.
func (r *registrar) settle(ctx context.Context, e *regEntry, err error) error {
	if unreachable(ctx, err) {
		return err
	}
	r.succeeded()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		e.due = time.Now().Add(refusedWait)
		if r.said.due(e.key.name) {
			r.log.Warn("registration refused by the master", zap.String("name", e.key.name), zap.Stringer("kind", e.key.kind), zap.Error(err))
		}
		return nil
	}
	e.registered, e.held, e.ask = true, true, false
	return nil
}

// farewell unregisters everything that the master may know, while ctx lasts. run
// must have ended.
func (r *registrar) farewell(ctx context.Context) error {
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
	for range min(farewellCalls, len(todo)) {
		// owner: farewell; ends when the queue is empty or the master is away.
		wg.Go(func() {
			for e := range queue {
				err := r.unregister(ctx, e.key)
				if unreachable(ctx, err) {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
					cancel() // the others would fail alike
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}
