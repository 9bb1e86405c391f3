package stage

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

func TestNodeName(t *testing.T) {
	t.Parallel()
	for caller, want := range map[string]string{
		"/talker":        "/talker",
		"/cam/left":      "/cam/left",
		"cam//left/":     "/cam/left",
		"/1 odd-name":    "/n1_odd_name",
		"/9/ok":          "/9/ok",
		"/a/_private":    "/a/n_private",
		"/Grüße":         "/Gr__e",
		"":               "",
		"///":            "",
		"/0":             "/n0",
		"/with\nnewline": "/with_newline",
	} {
		if got := nodeName(caller); got != want {
			t.Errorf("%q becomes %q, want %q", caller, got, want)
		}
	}
	longest := "/" + strings.Repeat("x", maxNodeName-1)
	if nodeName(longest) != longest || nodeName(longest+"x") != "" {
		t.Error("the limit of a name is another one")
	}
}

// TestTooManyPublishers: more nodes than maxNodes are an error that says what to do.
func TestTooManyPublishers(t *testing.T) {
	t.Parallel()
	g := NewManyNodes(newNode(t, "play"), func(context.Context, string) (*tcpros.Node, error) { return nil, nil }, zap.NewNop())
	g.opened = make([]*tcpros.Node, maxNodes)
	err := g.Publishers(t.Context(), []string{"/play", "", "/another"})
	if err == nil || !strings.Contains(err.Error(), "more than 256 publishers: play them from one node") {
		t.Errorf("got %v", err)
	}
	g.opened = nil
}

// TestRegisteredNodes: the nodes are registered when the master lists each topic with each node that
// advertises it.
func TestRegisteredNodes(t *testing.T) {
	t.Parallel()
	one, two := newNode(t, "one"), newNode(t, "two")
	g := NewManyNodes(one, nil, zap.NewNop())
	g.topics = map[*tcpros.Node][]string{one: {"/a", "/b"}, two: {"/a"}}
	for name, tc := range map[string]struct {
		publishers map[string][]string
		want       bool
	}{
		"all":               {map[string][]string{"/a": {"/two", "/x", "/one"}, "/b": {"/one"}}, true},
		"one node is left":  {map[string][]string{"/a": {"/one"}, "/b": {"/one"}}, false},
		"one topic is left": {map[string][]string{"/a": {"/one", "/two"}}, false},
		"another node":      {map[string][]string{"/a": {"/one", "/two"}, "/b": {"/two"}}, false},
		"nothing":           {nil, false},
	} {
		if got := g.registered(&tcpros.SystemState{Publishers: tc.publishers}); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestJointPublication: what several nodes publish counts as one publication.
func TestJointPublication(t *testing.T) {
	t.Parallel()
	left, right, own := newNode(t, "left"), newNode(t, "right"), newNode(t, "play")
	n := func(n int) func() int { return func() int { return n } }
	a := &fakePublication{topic: "/t", subscribers: n(3), dropped: 2}
	b := &fakePublication{topic: "/t", subscribers: n(1), dropped: 5}
	a.linked, b.linked = linkedTo("/x", "/y").linked, linkedTo("/y", "/z").linked
	g := NewManyNodes(own, nil, zap.NewNop())
	g.byCaller = map[string]*tcpros.Node{"/left": left, "/left_again": left, "/right": right}
	p := &jointPublication{graph: g, parts: []Publication{a, b}, byNode: map[*tcpros.Node]Publication{left: a, right: b}}

	if p.Topic() != "/t" || p.Subscribers() != 1 || p.Dropped() != 7 {
		t.Errorf("topic %s, %d subscribers, %d dropped", p.Topic(), p.Subscribers(), p.Dropped())
	}
	if got := fmt.Sprint(p.Linked("/x"), p.Linked("/y"), p.Linked("/z")); got != "false true false" {
		t.Errorf("linked: %s", got)
	}
	if d := cmp.Diff(append(a.Stats(), b.Stats()...), p.Stats()); d != "" {
		t.Errorf("stats (-want +got):\n%s", d)
	}
	for caller, want := range map[string]*fakePublication{"/left": a, "/left_again": a, "/right": b, "/unknown": a} {
		if got := p.Source(plan.PublisherID{CallerID: caller}); got != (fakeSender{want}) {
			t.Errorf("%s publishes by another node", caller)
		}
	}
	if !p.Room() {
		t.Error("no room")
	}
	if b.full = true; p.Room() {
		t.Error("room, although a node has none")
	}
	if p.Close(); !a.closed || !b.closed {
		t.Errorf("closed: %v, %v", a.closed, b.closed)
	}
}

// Play waits until its topics are registered, but only for a time once the master knows its node.
func TestAwaitRegistered(t *testing.T) {
	t.Parallel()
	const never = time.Hour
	for name, tt := range map[string]struct {
		known, lost, registered, end time.Duration
		took                         time.Duration
	}{
		"at once":            {0, never, 0, never, 0},
		"later":              {0, never, time.Second, never, time.Second},
		"no master at first": {time.Minute, never, 0, never, time.Minute},
		"not all":            {time.Second, never, never, never, time.Second + registerTimeout + registerPoll},
		"no master":          {never, never, 0, time.Minute, time.Minute},
		"the master is lost": {0, time.Second, never, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.end)
				defer cancel()
				start := time.Now()
				awaitRegistered(ctx, func() (known, registered bool) {
					at := time.Since(start)
					return at >= tt.known && at < tt.lost, at >= tt.registered
				})
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// What is registered at a real master.
func TestRegistered(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	one, other := OneNode{newNodeAt(t, "one", m.URI())}, OneNode{newNodeAt(t, "other", m.URI())}
	many := NewManyNodes(one.Node, nil, zap.NewNop())
	for _, g := range []OneNode{one, other} {
		if _, err := g.Advertise(tcpros.AdvertiseOptions{Topic: "/t" + g.Name(), Type: "std_msgs/String", MD5Sum: tcpros.AnyMD5}, nil); err != nil {
			t.Fatal(err)
		}
		many.topics[g.Node] = []string{"/t" + g.Name()}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !one.Registered(ctx, []string{"/t/one"}) || !many.Registered(ctx, nil) {
		t.Error("the master has not answered")
	}
	if ctx.Err() != nil || !one.published(ctx, []string{"/t/one", "/t/other"}) || one.published(ctx, []string{"/t/one", "/never"}) {
		t.Error("not what is registered")
	}
	if m.Close(); one.published(ctx, nil) {
		t.Error("published without a master")
	}
	away, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	alone := OneNode{newNodeAt(t, "alone", m.URI())}
	if alone.Registered(away, nil) || NewManyNodes(alone.Node, nil, zap.NewNop()).Registered(away, nil) {
		t.Error("a master that is not there has answered")
	}
}

// A node is gone if the master does not know it, or if its machine refuses a connection to it.
func TestGone(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	g := OneNode{newNodeAt(t, "play", m.URI())}
	hc := xmlrpc.NewHTTPClient(time.Minute)
	defer hc.CloseIdleConnections()
	for node, uri := range map[string]string{"/alive": g.URI(), "/crashed": "http://127.0.0.1:1/", "/unusable": "http://:0/"} {
		if _, err := xmlrpc.Call(t.Context(), hc, m.URI(), "registerSubscriber", node, "/t", "std_msgs/String", uri); err != nil {
			t.Fatal(err)
		}
	}
	for node, want := range map[string]bool{"/alive": false, "/crashed": true, "/unusable": false, "/unknown": true} {
		if got := g.Gone(t.Context(), node); got != want {
			t.Errorf("%s: %v, want %v", node, got, want)
		}
	}
	if (OneNode{newNode(t, "without_master")}).Gone(t.Context(), "/alive") {
		t.Error("gone, although no master says so")
	}
}

// newNode returns a node whose master does not exist.
func newNode(t *testing.T, name string) *tcpros.Node {
	t.Helper()
	return newNodeAt(t, name, "http://127.0.0.1:1/")
}

// newMaster starts a master, which ends with the test.
func newMaster(t *testing.T) *master.Master {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// newNodeAt returns a node of a master.
func newNodeAt(t *testing.T, name, masterURI string) *tcpros.Node {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{
		BaseName: name, MasterURI: masterURI, Bind: "127.0.0.1", Getenv: func(string) string { return "" },
		Args: tcpros.Args{Hostname: "127.0.0.1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // there is no master to tell
		_ = n.Close(ctx)
	})
	return n
}

// What one of several nodes holds need not be the latest frames of the topic.
func TestHeldByManyNodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		held []int
		want int
	}{{[]int{3}, 3}, {[]int{0, 0}, 0}, {[]int{0, 1}, math.MaxInt}} {
		p := &jointPublication{}
		for _, n := range tc.held {
			p.parts = append(p.parts, &fakePublication{held: n})
		}
		if n := p.Held(); n != tc.want {
			t.Errorf("nodes hold %v: %d, want %d", tc.held, n, tc.want)
		}
	}
}
