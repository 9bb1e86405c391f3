package sublink

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/internal/queue/placeheap"
)

// Limits of the attempts to reach publishers. A node that has crashed stays listed with all its
// topics, so most publishers of a list may be dead.
const (
	// concurrent probes.
	maxProbes = 1024
	// with fewer links than this for each probe, there are fewer probes: they need descriptors, too.
	linksOfProbe = 12
	// concurrent probes that there may be in any case.
	fewestProbes = 8
	// with this share of the concurrent probes or more, a first probe has only quickProbe.
	crowdedShare = 4
	// timeout of a first probe while many wait, so that machines that are gone do not delay the others.
	quickProbe = time.Second
	// concurrent attempts of all links to one node.
	callsPerPeer = 8
	// mean interval of repeated attempts of all links together.
	retryEvery = 40 * time.Millisecond
	// repeated attempts that start without delay.
	retryBurst = 100
	// attempts in a row, of a link to a node that accepts connections, that retryEvery does not limit.
	freeRetries = 3
	// failed attempts in a row; further failures do not put a link behind others, and its backoff has
	// reached its maximum before.
	manyFailures = 10
)

// Connector starts the attempts of all links of a node to reach their publishers, and closes links
// that the master no longer lists. A link has a goroutine only during an attempt and while the link
// is up: a waiting link costs an entry in a heap.
//
//   - A link to a node that is not known to accept connections first probes the node: the probe
//     only connects. The other links to the same node wait for the result, and for as long as
//     probes fail.
//   - First attempts start before repeated attempts, which share one rate: one attempt each
//     retryEvery. When a node accepts connections again, all links to it try at once.
//   - Among repeated attempts, the link with the fewest failures in a row starts first, up to
//     manyFailures: a publisher that was lost a moment ago does not wait behind a thousand
//     publishers that have been dead for hours.
//
// See ADR 0075.
type Connector struct {
	env     *Env
	probe   func(ctx context.Context, hostport string) error            // env.probe; tests replace it
	session func(context.Context, *link) (lived time.Duration, _ error) // link.session; tests replace it
	wake    chan struct{}

	maxProbes int // concurrent probes

	mu       sync.Mutex // also guards the links of each subscription
	peers    map[string]*peer
	ready    placeheap.Heap[*link] // links that may try now, within the limits
	later    placeheap.Heap[*link] // links that wait for the time of their next attempt
	added    uint64                // links that were ever added to ready
	unlisted map[*link]struct{}
	probes   int       // in progress
	tokens   int       // repeated attempts that may start now
	refilled time.Time // when the last token was added
}

// linkSchedule is the state of one link in the connector. Connector.mu guards it.
type linkSchedule struct {
	peer   *peer
	place  int                    // in Subscription.links
	waits  *placeheap.Heap[*link] // the heap that has the link; nil if none has
	slot   int
	parked bool // the link is in peer.parked
	dueAt  time.Time
	order  uint64
	rated  bool // retryEvery limits the next attempt

	// an attempt is in progress, or the link is up
	running bool
	// the attempt in progress is connected, and peer.attempts no longer includes it
	reached bool
	// ends the attempt or the link
	end context.CancelFunc
	// retry without delay once the attempt or the link has ended
	again bool
	// the last attempt that has ended failed
	failing bool

	epoch      int    // epoch of the last list that contained the publisher
	idleChecks int    // checks in a row without progress
	lastBytes  uint64 // stats.bytes at the last check
}

// NewConnector returns the connector of a node; Run starts its attempts.
func NewConnector(env *Env) *Connector {
	c := &Connector{
		env: env, probe: env.probe,
		session: func(ctx context.Context, l *link) (time.Duration, error) { return l.session(ctx) },
		wake:    make(chan struct{}, 1),
		peers:   map[string]*peer{}, unlisted: map[*link]struct{}{}, tokens: retryBurst, refilled: time.Now(),
		maxProbes: maxProbes,
	}
	if env.Links != nil && env.Links.Most > 0 {
		c.maxProbes = min(maxProbes, max(env.Links.Most/linksOfProbe, fewestProbes))
	}
	moved := func(l *link, slot int) { l.sched.slot = slot }
	c.ready.Moved, c.later.Moved = moved, moved
	c.later.Before = func(x, y *link) bool { return x.sched.dueAt.Before(y.sched.dueAt) }
	c.ready.Before = func(x, y *link) bool {
		if x.sched.rated != y.sched.rated {
			return y.sched.rated
		}
		if a, b := min(x.backoff.failed, manyFailures), min(y.backoff.failed, manyFailures); a != b {
			return a < b
		}
		return x.sched.order < y.sched.order
	}
	return c
}

func (c *Connector) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // Run is awake already
	}
}

// Run starts attempts and closes unlisted links until ctx ends.
func (c *Connector) Run(ctx context.Context) {
	check := time.NewTicker(c.env.Timing.LingerCheck)
	defer check.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, unlisted := c.start(time.Now()) //nolint:contextcheck // links end with the node
		var tick, due <-chan time.Time
		if unlisted {
			tick = check.C
		}
		if !next.IsZero() {
			timer.Reset(time.Until(next))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
			c.dropUnlisted()
		case <-due:
		case <-c.wake:
		}
	}
}

// start starts the attempts that are due and within the limits. next is when another attempt is
// due; zero if none is, or if the next one has to wait for the end of an attempt. unlisted reports
// whether there are links that the master no longer lists.
func (c *Connector) start(now time.Time) (next time.Time, unlisted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := int(now.Sub(c.refilled) / retryEvery); n > 0 {
		c.tokens, c.refilled = min(c.tokens+n, retryBurst), now
	}
	for c.later.Len() > 0 && !c.later.List[0].sched.dueAt.After(now) {
		c.scheduleLocked(c.later.List[0], time.Time{})
	}
	for c.ready.Len() > 0 {
		l := c.ready.List[0]
		switch {
		case l.sched.rated && c.tokens == 0:
			return c.refilled.Add(retryEvery), len(c.unlisted) > 0
		case !l.sched.peer.admits(l):
			c.parkLocked(l)
		case !l.sched.peer.accepts && c.probes >= c.maxProbes:
			return next, len(c.unlisted) > 0
		default:
			c.beginLocked(l)
		}
	}
	if c.later.Len() > 0 {
		next = c.later.List[0].sched.dueAt
	}
	return next, len(c.unlisted) > 0
}

// beginLocked starts an attempt of l.
func (c *Connector) beginLocked(l *link) {
	c.takeOutLocked(l)
	timeout := time.Duration(0)
	if l.sched.rated {
		c.tokens--
	} else if c.probes >= c.maxProbes/crowdedShare {
		timeout = quickProbe
	}
	p := l.sched.peer
	probe := !p.accepts
	if probe {
		p.leader = l
		c.probes++
	}
	p.attempts++
	l.sched.running, l.sched.reached, l.sched.again = true, false, false
	ctx, end := c.env.Child()
	l.sched.end = end
	// owner: Subscription.Wait; ends when the attempt fails, the link ends, or with ctx.
	l.sub.attempts.Go(func() {
		defer end()
		var lived time.Duration
		var err error
		if probe {
			err = c.probePeer(ctx, l, timeout)
		}
		if err == nil {
			lived, err = c.admitted(ctx, l)
		}
		c.ended(ctx, l, lived, err)
	})
}

// admitted runs the session of l, unless no descriptor is left for it.
func (c *Connector) admitted(ctx context.Context, l *link) (lived time.Duration, err error) {
	s := l.sub
	if all, own := c.env.Links.Add(1), int(s.sessions.Add(1)); c.env.Links.Exceeds(all, own) {
		err = errNoFile
	} else {
		lived, err = c.session(ctx, l)
	}
	s.sessions.Add(-1)
	c.env.Links.Add(-1)
	return lived, err
}

// probePeer connects to the node of l. If the node accepts, the other links to the node may try. A
// timeout of zero means the timeout of the dialer.
func (c *Connector) probePeer(ctx context.Context, l *link, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err := c.probe(ctx, l.hostport)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probes--
	if err == nil {
		l.sched.peer.accepts, l.sched.peer.leader = true, nil
		c.unparkLocked(l.sched.peer)
		for _, x := range slices.Clone(c.ready.List) {
			if x.sched.peer == l.sched.peer && x.sched.rated {
				c.scheduleLocked(x, time.Time{})
			}
		}
	}
	c.signal()
	return err
}

// reached records that l is connected, so that another attempt to the node may start. The owner of
// the subscription may delay l for any time before the link is up.
func (c *Connector) reached(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.sched.reached, l.sched.failing = true, false
	l.sched.peer.attempts--
	c.unparkLocked(l.sched.peer)
	c.signal()
}

// ended records the end of an attempt, or of a link that was up for the time of lived, and schedules
// the next attempt.
func (c *Connector) ended(ctx context.Context, l *link, lived time.Duration, err error) {
	wait := time.Duration(0)
	if ctx.Err() == nil {
		wait = l.failed(err, lived)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.signal()
	p := l.sched.peer
	l.sched.running = false
	if !l.sched.reached {
		p.attempts--
		l.sched.failing = ctx.Err() == nil
	}
	if ctx.Err() == nil && notConnected(err) {
		p.accepts = false
		if p.leader == nil {
			p.leader = l
		}
	}
	switch {
	case l.sub.closed || !l.listed.Load():
		c.forgetLocked(l)
	case l.sched.again:
		c.scheduleLocked(l, time.Time{})
	default:
		c.scheduleLocked(l, time.Now().Add(wait))
	}
	c.unparkLocked(p)
}

// addLocked adds a link that has not tried yet.
func (c *Connector) addLocked(l *link) {
	p := c.peers[l.hostport]
	if p == nil {
		p = &peer{}
		c.peers[l.hostport] = p
	}
	p.links++
	l.sched.peer = p
	c.scheduleLocked(l, time.Time{})
}

// scheduleLocked lets l try at the time at, or at once if at is zero.
func (c *Connector) scheduleLocked(l *link, at time.Time) {
	c.takeOutLocked(l)
	if !at.IsZero() {
		l.sched.dueAt = at
		c.later.Add(l)
		l.sched.waits = &c.later
		return
	}
	l.sched.order = c.added
	c.added++
	l.sched.rated = l.backoff.failed > 0 && (!l.sched.peer.accepts || l.backoff.failed > freeRetries)
	c.ready.Add(l)
	l.sched.waits = &c.ready
}

// retryLocked lets l try at once, and also the link that probes its node, if there is one: l would have
// to wait for that probe.
func (c *Connector) retryLocked(l *link) {
	for _, x := range []*link{l, l.sched.peer.leader} {
		switch {
		case x == nil: // no link probes the node
		case x.sched.running:
			x.sched.again = true
		case x.sched.waits == &c.later:
			c.scheduleLocked(x, time.Time{})
		}
	}
}

// takeOutLocked removes l from the heap or list in which it waits.
func (c *Connector) takeOutLocked(l *link) {
	if l.sched.waits != nil {
		l.sched.waits.Remove(l.sched.slot)
		l.sched.waits = nil
	}
	if l.sched.parked {
		all := l.sched.peer.parked
		last := len(all) - 1
		all[l.sched.slot] = all[last]
		all[l.sched.slot].sched.slot = l.sched.slot
		all[last] = nil
		l.sched.peer.parked, l.sched.parked = all[:last], false
	}
}

// dropLocked ends l if l is running, and otherwise forgets l.
func (c *Connector) dropLocked(l *link) {
	if l.sched.running {
		l.sched.end()
		return
	}
	c.forgetLocked(l)
}

// forgetLocked removes a link that is not running.
func (c *Connector) forgetLocked(l *link) {
	c.takeOutLocked(l)
	delete(c.unlisted, l)
	l.sub.removeLinkLocked(l)
	p := l.sched.peer
	if p.links--; p.links == 0 {
		delete(c.peers, l.hostport)
	}
	if p.leader == l {
		p.leader = nil
		c.unparkLocked(p)
		c.signal()
	}
}
