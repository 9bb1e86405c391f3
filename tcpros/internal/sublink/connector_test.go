package sublink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

// peerNet is a graph for a connector: nodes that refuse connections, nodes that do not answer, and
// healthy nodes.
type peerNet struct {
	mu            sync.Mutex // guards probed, probing, most and linked
	c             *Connector
	timing        Timing
	refusing      atomic.Bool    // for the caller of newPeerNet
	cut           chan struct{}  // closed when all links break
	probed        map[string]int // by host and port
	probing, most int
	linked        map[string]time.Duration // by URI: when the link came up
	start         time.Time
}

func newPeerNet(t *testing.T, dead func(hostport string) error) *peerNet {
	g := &peerNet{cut: make(chan struct{}), probed: map[string]int{}, linked: map[string]time.Duration{}, start: time.Now()}
	g.timing = DefaultTiming()
	links := 0
	g.c = NewConnector(&Env{
		Log: zap.NewNop(), Timing: g.timing, NextLink: func() int { links++; return links },
		Child: func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
	})
	g.c.probe = func(ctx context.Context, hostport string) error {
		g.mu.Lock()
		g.probed[hostport]++
		g.probing++
		g.most = max(g.most, g.probing)
		err := dead(hostport)
		g.mu.Unlock()
		if errors.Is(err, errSilentPeer) {
			ctx, cancel := context.WithTimeout(ctx, endpoint.DialTimeout)
			defer cancel()
			<-ctx.Done()
			err = &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
		}
		g.mu.Lock()
		g.probing--
		g.mu.Unlock()
		if err != nil {
			return &rosapi.CallError{Method: "requestTopic", Host: hostport, Err: err}
		}
		return nil
	}
	g.c.session = func(ctx context.Context, l *link) (time.Duration, error) {
		g.mu.Lock()
		err := dead(l.hostport)
		g.mu.Unlock()
		if errors.Is(err, errRefusedPeer) {
			return 0, &rosapi.CallError{Method: "requestTopic", Host: l.hostport, Err: err}
		}
		g.c.reached(l)
		l.isUp.Store(true)
		defer l.isUp.Store(false)
		g.mu.Lock()
		begun, cut := time.Since(g.start), g.cut
		g.linked[l.uri] = begun
		g.mu.Unlock()
		select {
		case <-ctx.Done():
			return time.Since(g.start) - begun, nil
		case <-cut:
			return time.Since(g.start) - begun, io.ErrUnexpectedEOF
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return g
}

var (
	errRefusedPeer = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	errSilentPeer  = errors.New("does not answer")
)

// times returns how often a node was probed.
func (g *peerNet) times(hostport string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.probed[hostport]
}

// linkedAt returns when the link to a publisher came up last, and forgets it.
func (g *peerNet) linkedAt(uri string) (at time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok = g.linked[uri]
	delete(g.linked, uri)
	return at, ok
}

func (g *peerNet) subscribe(t *testing.T, topic string) *Subscription {
	s := New(g.c, topic, Options{})
	t.Cleanup(func() {
		s.Stop()
		s.Wait()
	})
	return s
}

const liveURI = "http://live:1/"

// crowd returns the URIs of many dead publishers with the live one among them.
func crowd(n, live int) (uris []string) {
	for i := range n {
		if i == live {
			uris = append(uris, liveURI)
		}
		uris = append(uris, fmt.Sprintf("http://dead%d:1/", i))
	}
	return uris
}

// TestDeadPublishersStarveNobody: a live publisher is linked soon, at any place in a list of dead
// publishers, whether the machines of the dead refuse connections or are gone.
func TestDeadPublishersStarveNobody(t *testing.T) {
	t.Parallel()
	for name, dead := range map[string]error{"refuse": errRefusedPeer, "silent": errSilentPeer} {
		for _, live := range []int{0, 700, 1099} {
			t.Run(fmt.Sprint(name, " ", live), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newPeerNet(t, func(hostport string) error {
						if hostport == "live:1" {
							return nil
						}
						return dead
					})
					s := g.subscribe(t, "/t")
					s.SetPublishers(rosapi.Publishers{URIs: crowd(1100, live)})
					time.Sleep(2 * time.Second)
					synctest.Wait()
					if _, ok := g.linkedAt(liveURI); !ok {
						t.Fatal("the live publisher is not linked")
					}
					// A publisher that is added later does not wait for repeated attempts.
					time.Sleep(time.Minute)
					synctest.Wait()
					start := time.Since(g.start)
					other := g.subscribe(t, "/other")
					other.SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
					synctest.Wait()
					if at, ok := g.linkedAt(liveURI); !ok || at != start {
						t.Errorf("a later one is linked after %v", at-start)
					}
					g.mu.Lock()
					defer g.mu.Unlock()
					if g.most > maxProbes {
						t.Errorf("%d probes at the same time, at most %d", g.most, maxProbes)
					}
				})
			})
		}
	}
}

// TestDeadPublishersCostLittle: publishers that are dead for long are tried rarely, for any number
// of them, and a publisher that was just lost is tried again soon.
func TestDeadPublishersCostLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const topics = 1500
		g := newPeerNet(t, func(string) error { return errRefusedPeer })
		for i := range topics {
			g.subscribe(t, fmt.Sprint("/t", i)).SetPublishers(rosapi.Publishers{URIs: []string{fmt.Sprintf("http://dead%d:1/", i)}})
		}
		total := func() (n int) {
			synctest.Wait()
			g.mu.Lock()
			defer g.mu.Unlock()
			for _, times := range g.probed {
				n += times
			}
			return n
		}
		time.Sleep(time.Minute)
		if n := total(); n > topics+retryBurst+int(time.Minute/retryEvery) {
			t.Errorf("%d attempts in the first minute", n)
		}
		before := total()
		time.Sleep(3 * time.Minute)
		if n, most := total()-before, int(3*time.Minute/retryEvery); n > most+1 || n < most*9/10 {
			t.Errorf("%d attempts in three minutes, want about %d", n, most)
		}
		for i := range topics {
			if n := g.times(fmt.Sprintf("dead%d:1", i)); n < 3 {
				t.Fatalf("node %d was tried %d times", i, n)
			}
		}
		fresh := g.subscribe(t, "/fresh")
		fresh.SetPublishers(rosapi.Publishers{URIs: []string{"http://fresh:1/"}})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := g.times("fresh:1"); n < 4 {
			t.Errorf("what failed a moment ago was tried %d times in 2 s", n)
		}
	})
}

// TestNetworkComesBack: when a node is reached again, all links to the node are up soon, for any
// number of other dead nodes.
func TestNetworkComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const topics, dead = 300, 600
		var g *peerNet
		g = newPeerNet(t, func(hostport string) error {
			if hostport != "live:1" || g.refusing.Load() {
				return errRefusedPeer
			}
			return nil
		})
		for i := range dead {
			g.subscribe(t, fmt.Sprint("/dead", i)).SetPublishers(rosapi.Publishers{URIs: []string{fmt.Sprintf("http://dead%d:1/", i)}})
		}
		var all []*Subscription
		for i := range topics {
			s := g.subscribe(t, fmt.Sprint("/t", i))
			all = append(all, s)
			s.SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
		}
		links := func() (n int) {
			synctest.Wait()
			for _, s := range all {
				n += int(s.sessions.Load())
			}
			return n
		}
		time.Sleep(time.Minute)
		if n := links(); n != topics {
			t.Fatalf("%d links, want %d", n, topics)
		}
		g.refusing.Store(true)
		g.mu.Lock()
		close(g.cut)
		g.cut = make(chan struct{})
		g.mu.Unlock()
		time.Sleep(30 * time.Second)
		if n := links(); n != 0 {
			t.Fatalf("%d links without a network", n)
		}
		g.refusing.Store(false)
		for waited := time.Duration(0); links() == 0 && waited < 2*g.timing.Retry.Most; waited += retryEvery {
			time.Sleep(retryEvery)
		}
		time.Sleep(2 * time.Second)
		if n := links(); n != topics {
			t.Errorf("%d links 2 s after the first one, want %d", n, topics)
		}
	})
}

// TestLongDeadIsTried: a publisher that was dead for an hour has its turn among publishers that
// died later.
func TestLongDeadIsTried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const dead = 600
		var g *peerNet
		g = newPeerNet(t, func(hostport string) error {
			if hostport != "live:1" || g.refusing.Load() {
				return errRefusedPeer
			}
			return nil
		})
		g.refusing.Store(true)
		g.subscribe(t, "/t").SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
		time.Sleep(time.Hour)
		for i := range dead {
			g.subscribe(t, fmt.Sprint("/dead", i)).SetPublishers(rosapi.Publishers{URIs: []string{fmt.Sprintf("http://dead%d:1/", i)}})
		}
		time.Sleep(10 * time.Minute) // all links have failed often
		g.refusing.Store(false)
		time.Sleep(g.timing.Retry.Most*13/10 + dead*retryEvery)
		synctest.Wait()
		if _, ok := g.linkedAt(liveURI); !ok {
			t.Error("it is not linked")
		}
	})
}

// TestOneLinkProbesANode: of the links to a node that accepts no connection only one tries, until
// the node answers or that link is closed.
func TestOneLinkProbesANode(t *testing.T) {
	t.Parallel()
	const node, uri = "node:1", "http://node:1/"
	for name, tc := range map[string]struct {
		then   func(t *testing.T, g *peerNet, all []*Subscription)
		probes int // after that, at once
		links  int
	}{
		"nothing":         {func(*testing.T, *peerNet, []*Subscription) {}, 0, 0},
		"the leader ends": {func(_ *testing.T, _ *peerNet, all []*Subscription) { leaderOf(all).Stop() }, 1, 0},
		"another ends":    {func(_ *testing.T, _ *peerNet, all []*Subscription) { followerOf(all).Stop() }, 0, 0},
		"the list changes": {func(_ *testing.T, _ *peerNet, all []*Subscription) {
			followerOf(all).SetPublishers(rosapi.Publishers{URIs: []string{uri}, RetryNow: true})
		}, 1, 0},
		"it comes back": {func(_ *testing.T, g *peerNet, all []*Subscription) {
			g.refusing.Store(false)
			followerOf(all).SetPublishers(rosapi.Publishers{URIs: []string{uri}, RetryNow: true})
		}, 1, 40},
		"it comes back with another topic": {func(t *testing.T, g *peerNet, _ []*Subscription) {
			g.refusing.Store(false)
			g.subscribe(t, "/new").SetPublishers(rosapi.Publishers{URIs: []string{uri}, RetryNow: true})
		}, 1, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var g *peerNet
				g = newPeerNet(t, func(string) error {
					if g.refusing.Load() {
						return errRefusedPeer
					}
					return nil
				})
				g.refusing.Store(true)
				var all []*Subscription
				for i := range 40 {
					s := g.subscribe(t, fmt.Sprint("/t", i))
					all = append(all, s)
					s.SetPublishers(rosapi.Publishers{URIs: []string{uri}})
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				before := g.times(node)
				if want := int(time.Hour / g.timing.Retry.Most); before < want*8/10 || before > want*13/10 {
					t.Errorf("%d probes in an hour, want about %d", before, want)
				}
				tc.then(t, g, all)
				synctest.Wait()
				links := 0
				for _, s := range all {
					links += int(s.sessions.Load())
				}
				if n := g.times(node) - before; n != tc.probes || links != tc.links {
					t.Errorf("%d probes and %d links, want %d and %d", n, links, tc.probes, tc.links)
				}
				g.c.mu.Lock()
				defer g.c.mu.Unlock()
				if tc.links > 0 && g.c.peers[node].attempts != 0 {
					t.Errorf("%d attempts in progress", g.c.peers[node].attempts)
				}
			})
		})
	}
}

func leaderOf(all []*Subscription) *Subscription {
	c := all[0].connector
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range all {
		for _, l := range s.links {
			return l.sched.peer.leader.sub
		}
	}
	return nil
}

func followerOf(all []*Subscription) *Subscription {
	for _, s := range all {
		if s != leaderOf(all) {
			return s
		}
	}
	return nil
}

// TestClosedLinksAreForgotten: the connector has no records of closed subscriptions.
func TestClosedLinksAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newPeerNet(t, func(hostport string) error {
			return map[string]error{"live:1": nil, "refused:1": errRefusedPeer, "silent:1": errSilentPeer}[hostport]
		})
		var all []*Subscription
		for i := range 3 * callsPerPeer {
			s := g.subscribe(t, fmt.Sprint("/t", i))
			s.SetPublishers(rosapi.Publishers{URIs: []string{liveURI, "http://refused:1/", "http://silent:1/"}})
			all = append(all, s)
		}
		alone := g.subscribe(t, "/alone")
		alone.SetPublishers(rosapi.Publishers{URIs: []string{"http://alone:1/"}})
		all = append(all, alone)
		time.Sleep(time.Second)
		synctest.Wait()
		all[0].SetPublishers(rosapi.Publishers{URIs: []string{}}) // its link to the live one lingers
		synctest.Wait()
		g.c.mu.Lock()
		if n := len(g.c.unlisted); n != 1 {
			t.Errorf("%d links are not listed, want 1", n)
		}
		if n := len(g.c.peers); n != 4 {
			t.Errorf("%d peers have links, want 4", n)
		}
		g.c.mu.Unlock()
		for _, s := range all {
			s.Stop()
			s.Wait()
		}
		g.c.mu.Lock()
		defer g.c.mu.Unlock()
		if len(g.c.peers)+g.c.ready.Len()+g.c.later.Len()+len(g.c.unlisted)+g.c.probes != 0 {
			t.Errorf("left: %d peers, %d links ready, %d later, %d unlisted, %d probes", len(g.c.peers), g.c.ready.Len(), g.c.later.Len(), len(g.c.unlisted), g.c.probes)
		}
	})
}

func TestNotConnected(t *testing.T) {
	t.Parallel()
	refused := &rosapi.CallError{Method: "requestTopic", Host: "a:1", Err: errRefusedPeer}
	if notConnected(nil) || notConnected(&rosapi.CallError{Err: context.DeadlineExceeded}) || notConnected(refused.Err) {
		t.Error("takes an error for that of a node that accepts no connection")
	}
	if !notConnected(refused) || !notConnected(&rosapi.CallError{Err: &endpoint.ResolveError{Host: "a"}}) {
		t.Error("takes a node whose host is not known for one that answers")
	}
}

// Attempts that start more often than retryEvery do not delay the next token.
func TestTokensComeBack(t *testing.T) {
	c := NewConnector(&Env{})
	c.tokens = 0
	start := c.refilled
	for at := time.Duration(0); at <= 3*retryEvery; at += retryEvery / 4 {
		c.start(start.Add(at))
	}
	if c.tokens != 3 {
		t.Errorf("%d tokens after three intervals", c.tokens)
	}
	if c.start(start.Add(time.Hour)); c.tokens != retryBurst {
		t.Errorf("%d tokens after an hour", c.tokens)
	}
}

// waiting returns a link with failed attempts to a node of its own. The link belongs to no heap yet.
func waiting(c *Connector, failed int) *link {
	l := &link{sub: New(c, "/t", Options{}), hostport: "node:1", backoff: backoff{failed: failed}}
	l.sched.peer = &peer{links: 1}
	return l
}

// start returns when the next attempt is due, and whether there are unlisted links, also when a
// limit keeps links from starting.
func TestStartIsLimited(t *testing.T) {
	t.Parallel()
	const later = time.Hour
	for name, tc := range map[string]struct {
		limit func(c *Connector)
		at    time.Duration // when the attempt is due; zero for at once
		next  time.Duration // since the last token; zero for never
	}{
		"no token":        {limit: func(c *Connector) { c.tokens = 0 }, next: retryEvery},
		"too many probes": {limit: func(c *Connector) { c.probes = maxProbes }},
		"not due":         {limit: func(*Connector) {}, at: later, next: later},
	} {
		for _, unlisted := range []bool{false, true} {
			c := NewConnector(&Env{})
			tc.limit(c)
			l, at, want := waiting(c, 1), time.Time{}, time.Time{}
			if tc.at > 0 {
				at = c.refilled.Add(tc.at)
			}
			if tc.next > 0 {
				want = c.refilled.Add(tc.next)
			}
			c.scheduleLocked(l, at)
			if unlisted {
				c.unlisted[l] = struct{}{}
			}
			if next, got := c.start(c.refilled); !next.Equal(want) || got != unlisted || l.sched.running {
				t.Errorf("%s: next at %v, want %v; unlisted %v, want %v", name, next, want, got, unlisted)
			}
		}
	}
}

// Links to a node that accepts connections have some attempts that no rate limits.
func TestFreeRetries(t *testing.T) {
	t.Parallel()
	c := NewConnector(&Env{})
	for failed, want := range map[int]struct{ silent, accepts bool }{
		0: {false, false}, 1: {true, false}, freeRetries: {true, false}, freeRetries + 1: {true, true},
	} {
		for accepts, want := range map[bool]bool{false: want.silent, true: want.accepts} {
			l := waiting(c, failed)
			l.sched.peer.accepts = accepts
			if c.scheduleLocked(l, time.Time{}); l.sched.rated != want {
				t.Errorf("%d failures of a node that accepts (%v): rated %v, want %v", failed, accepts, l.sched.rated, want)
			}
		}
	}
}

// First probes have a short timeout while there are many, and repeated ones have that of the dialer.
func TestCrowdedProbesAreQuick(t *testing.T) {
	t.Parallel()
	const more = 3
	synctest.Test(t, func(t *testing.T) {
		g := newPeerNet(t, nil)
		var quick atomic.Int32
		g.c.probe = func(ctx context.Context, hostport string) error {
			if at, ok := ctx.Deadline(); ok {
				quick.Add(1)
				if left := time.Until(at); left != quickProbe {
					t.Errorf("a timeout of %v", left)
				}
			}
			<-ctx.Done()
			return &rosapi.CallError{Host: hostport, Err: errRefusedPeer}
		}
		g.subscribe(t, "/t").SetPublishers(rosapi.Publishers{URIs: crowd(maxProbes/crowdedShare+more, -1)})
		synctest.Wait()
		if n := quick.Load(); n != more {
			t.Errorf("%d of %d first probes are quick, want %d", n, maxProbes/crowdedShare+more, more)
		}
		time.Sleep(quickProbe + time.Second)
		synctest.Wait()
		if n := quick.Load(); n != more {
			t.Errorf("%d repeated probes are quick", n-more)
		}
	})
}

// TestSessionsAreLimited: the sessions of all topics have a limit, and a topic leaves some of it to others.
func TestSessionsAreLimited(t *testing.T) {
	t.Parallel()
	const most = 160
	for name, tt := range map[string]struct {
		limit, all, own int
		want            error
	}{
		"no limit":                        {0, 100_000, 100_000, errLink},
		"the first":                       {most, 0, 0, errLink},
		"the last":                        {most, most - 1, 0, errLink},
		"one more":                        {most, most, 0, syscall.EMFILE},
		"the last of one topic":           {most, 149, 149, errLink},
		"one more of one topic":           {most, 150, 150, syscall.EMFILE},
		"few of a topic beside others":    {most, most - 1, 9, errLink},
		"many of a topic beside others":   {most, most - 1, 10, syscall.EMFILE},
		"a topic that others have left":   {most, 120, 100, errLink},
		"a process with very few of them": {1, 0, 0, errLink},
	} {
		all := &endpoint.Links{Most: tt.limit}
		c := NewConnector(&Env{Links: all})
		c.session = func(context.Context, *link) (time.Duration, error) { return 0, errLink }
		l := waiting(c, 0)
		all.Add(tt.all)
		l.sub.sessions.Store(int32(tt.own))
		if _, err := c.admitted(t.Context(), l); !errors.Is(err, tt.want) || all.Add(0) != tt.all || int(l.sub.sessions.Load()) != tt.own {
			t.Errorf("%s: %v, and %d and %d sessions after it", name, err, all.Add(0), l.sub.sessions.Load())
		}
	}
}

// TestManyPublishers: all publishers of a topic are linked, however many there are, up to the limit of descriptors. The
// owner of the subscription hears once of each that is left out.
func TestManyPublishers(t *testing.T) {
	t.Parallel()
	const publishers = 2500
	for name, tt := range map[string]struct{ limit, left int }{
		"no limit":       {0, 0},
		"a high limit":   {4000, 0},
		"a small limit":  {800, publishers - 752},
		"fewer than few": {1, publishers - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newPeerNet(t, func(string) error { return nil })
				g.c.env.Links = &endpoint.Links{Most: tt.limit}
				var mu sync.Mutex
				refused := map[string]int{}
				s := New(g.c, "/t", Options{Refused: func(uri string, err error) {
					mu.Lock()
					defer mu.Unlock()
					refused[uri]++
					if !errors.Is(err, syscall.EMFILE) {
						t.Errorf("%s: %v", uri, err)
					}
				}})
				var uris []string
				for i := range publishers {
					uris = append(uris, fmt.Sprintf("http://node%d:1/", i))
				}
				s.SetPublishers(rosapi.Publishers{URIs: uris})
				time.Sleep(10 * time.Minute) // most are tried again
				synctest.Wait()
				g.mu.Lock()
				linked := len(g.linked)
				g.mu.Unlock()
				s.Stop()
				s.Wait()
				if linked != publishers-tt.left || len(refused) != tt.left {
					t.Errorf("%d links, and %d left out, want %d and %d", linked, len(refused), publishers-tt.left, tt.left)
				}
				for uri, n := range refused {
					if n != 1 {
						t.Fatalf("%s is left out %d times", uri, n)
					}
				}
			})
		})
	}
}

// When a node accepts, the rate limits its waiting links no more. All others keep their places.
func TestAcceptedNodeFreesItsLinks(t *testing.T) {
	t.Parallel()
	c := NewConnector(&Env{})
	c.probe = func(context.Context, string) error { return nil }
	leader, rated, fresh, other := waiting(c, 1), waiting(c, 1), waiting(c, 0), waiting(c, 1)
	rated.sched.peer, fresh.sched.peer = leader.sched.peer, leader.sched.peer
	for _, l := range []*link{rated, fresh, other} {
		c.scheduleLocked(l, time.Time{})
	}
	places := []uint64{fresh.sched.order, other.sched.order}
	if err := c.probePeer(t.Context(), leader, 0); err != nil {
		t.Fatal(err)
	}
	if rated.sched.rated || !other.sched.rated || fresh.sched.order != places[0] || other.sched.order != places[1] {
		t.Errorf("rated %v, another node's %v; places %d and %d, want %d", rated.sched.rated, other.sched.rated, fresh.sched.order, other.sched.order, places)
	}
}

// A link that ends says nothing about the other links to its node.
func TestEndedLinkDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newPeerNet(t, func(string) error { return nil })
		session := g.c.session
		g.c.session = func(ctx context.Context, l *link) (time.Duration, error) {
			if l.sub.topic == "/ends" {
				g.c.reached(l)
				return 1, io.EOF
			}
			return session(ctx, l)
		}
		g.subscribe(t, "/ends").SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
		synctest.Wait()
		g.subscribe(t, "/t").SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
		synctest.Wait()
		if at, ok := g.linkedAt(liveURI); !ok || at != 0 {
			t.Errorf("the other link is up %v, after %v", ok, at)
		}
	})
}

// At most callsPerPeer links ask one node. When the node accepts no more connections, the others
// wait until the link that noticed it probes the node again.
func TestLinksThatAskOneNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newPeerNet(t, func(string) error { return nil })
		var asking atomic.Int32
		refuse := make(chan struct{})
		g.c.session = func(ctx context.Context, l *link) (time.Duration, error) {
			defer asking.Add(-1)
			asking.Add(1)
			select {
			case <-refuse:
			case <-ctx.Done():
			}
			return 0, &rosapi.CallError{Host: l.hostport, Err: errRefusedPeer}
		}
		var all []*Subscription
		for i := range callsPerPeer + 2 {
			s := g.subscribe(t, fmt.Sprint("/t", i))
			s.SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
			all = append(all, s)
		}
		synctest.Wait()
		g.subscribe(t, "/later").SetPublishers(rosapi.Publishers{URIs: []string{liveURI}})
		synctest.Wait()
		if n := asking.Load(); n != callsPerPeer {
			t.Errorf("%d links ask, want %d", n, callsPerPeer)
		}
		refuse <- struct{}{}
		synctest.Wait()
		if asking, probes := asking.Load(), g.times("live:1"); asking != callsPerPeer-1 || probes != 1 {
			t.Errorf("%d links ask after %d probes, want %d after 1", asking, probes, callsPerPeer-1)
		}
		failed := 0
		for _, s := range all {
			failed += g.c.unreached(s)
		}
		if failed != 1 {
			t.Errorf("%d links have failed, want 1", failed)
		}
	})
}

// A link that is to try at once does so together with the link that probes its node, if there is one:
// the others to this node wait for that probe.
func TestRetry(t *testing.T) {
	t.Parallel()
	later := func(c *Connector, l *link) { c.scheduleLocked(l, time.Now().Add(time.Hour)) }
	running := func(_ *Connector, l *link) { l.sched.running = true }
	type after struct{ tries, again bool } // tries at once; tries at once when it has ended
	for name, tc := range map[string]struct {
		probes      func(c *Connector, other *link) // state of the link that probes the node; nil if there is none
		state       func(c *Connector, l *link)
		other, link after
	}{
		"waits":                            {nil, later, after{}, after{true, false}},
		"waits, as the link that probes":   {later, later, after{true, false}, after{true, false}},
		"waits while another probes":       {running, later, after{false, true}, after{true, false}},
		"is parked":                        {nil, (*Connector).parkLocked, after{}, after{}},
		"is parked for the link that will": {later, (*Connector).parkLocked, after{true, false}, after{}},
		"is parked for the probe":          {running, (*Connector).parkLocked, after{false, true}, after{}},
		"is up":                            {nil, running, after{}, after{false, true}},
		"is up while another will probe":   {later, running, after{true, false}, after{false, true}},
	} {
		c := NewConnector(&Env{})
		l, other := waiting(c, 1), waiting(c, 1)
		other.sched.peer = l.sched.peer
		c.takeOutLocked(other)
		if tc.probes != nil {
			l.sched.peer.leader = other
			tc.probes(c, other)
		}
		tc.state(c, l)
		c.retryLocked(l)
		of := func(x *link) after { return after{x.sched.waits == &c.ready, x.sched.again} }
		if of(other) != tc.other || of(l) != tc.link {
			t.Errorf("%s: the other link %+v, want %+v; the link %+v, want %+v", name, of(other), tc.other, of(l), tc.link)
		}
	}
}

// A link that is to try at once and is about to keeps its place.
func TestRetryKeepsThePlace(t *testing.T) {
	t.Parallel()
	c := NewConnector(&Env{})
	first, second := waiting(c, 0), waiting(c, 0)
	c.scheduleLocked(first, time.Time{})
	c.scheduleLocked(second, time.Time{})
	c.retryLocked(first)
	if c.ready.List[0] != first {
		t.Error("another link goes first")
	}
}
