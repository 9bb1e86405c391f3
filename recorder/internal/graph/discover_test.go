package graph

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestPollPace: a master that is always slow is asked less often, one that is slow now
// and then is not.
func TestPollPace(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := map[string]struct {
		took   []time.Duration
		topics int
		want   time.Duration // after the last
	}{
		"quick":               {[]time.Duration{ms, ms, ms}, 10, 100 * ms},
		"slow once":           {[]time.Duration{ms, ms, ms, 500 * ms}, 10, 100 * ms},
		"slow thrice":         {[]time.Duration{ms, 500 * ms, 400 * ms, 300 * ms}, 10, 100 * ms},
		"slow":                {[]time.Duration{ms, 20 * ms, 30 * ms, 25 * ms, 40 * ms}, 10, 400 * ms},
		"slow at first":       {[]time.Duration{time.Second, 20 * ms, 20 * ms}, 10, 100 * ms},
		"slow from the start": {[]time.Duration{20 * ms, 20 * ms, 20 * ms, 20 * ms}, 10, 400 * ms},
		"very slow":           {[]time.Duration{ms, time.Second, time.Second, time.Second, time.Second}, 10, time.Second},
		"300 topics":          {[]time.Duration{ms}, 300, 141 * ms},
		"500 topics":          {[]time.Duration{ms}, 500, 235 * ms}, // pickup within 250 ms
		"500 topics, slow":    {[]time.Duration{20 * ms, 20 * ms, 20 * ms, 20 * ms}, 500, 400 * ms},
		"20,000 topics":       {[]time.Duration{ms}, 20_000, time.Second},
		"quick again":         {[]time.Duration{time.Second, time.Second, time.Second, time.Second, ms}, 10, 100 * ms},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pollPace{interval: 100 * ms}
			var got time.Duration
			for _, took := range tc.took {
				got = p.next(took, tc.topics)
			}
			if got != tc.want {
				t.Errorf("waits %v, want %v", got, tc.want)
			}
		})
	}
	slow := pollPace{interval: 3 * time.Second} // as the user asked
	if got := slow.next(ms, 20_000); got != 3*time.Second {
		t.Errorf("waits %v, want 3s", got)
	}
}

// TestStatusOfTools: what players and recorders say about themselves is told by their
// services from what robots say.
func TestStatusOfTools(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Services = map[string]bool{"/play_1/pause_playback": true, "/rec/pause_recording": true}
	r := graphOf(t, g)
	known := statusTopics{}
	tests := []struct {
		topic, typ string
		want       bool
	}{
		{"/play_1/status", stdmsg.DiagnosticArrayType, true},
		{"/rec/status", stdmsg.DiagnosticArrayType, true},
		{"/play_1/status", "std_msgs/String", false},
		{"/play_1/state", stdmsg.DiagnosticArrayType, false},
		{"/battery/status", stdmsg.DiagnosticArrayType, false},
	}
	for _, tc := range tests {
		if got := r.ofTool(t.Context(), tcpros.TopicInfo{Name: tc.topic, Type: tc.typ}, known); got != tc.want {
			t.Errorf("%s %s: %t", tc.topic, tc.typ, got)
		}
	}
	g.Services = nil // the tools end
	for _, topic := range []string{"/rec/status", "/play_1/status"} {
		if !r.ofTool(t.Context(), tcpros.TopicInfo{Name: topic, Type: stdmsg.DiagnosticArrayType}, known) {
			t.Errorf("%s: a tool that ends is taken for a robot", topic)
		}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for topic, want := range map[string]bool{"/battery/status": false, "/motor/status": true} {
		if got := r.ofTool(late, tcpros.TopicInfo{Name: topic, Type: stdmsg.DiagnosticArrayType}, known); got != want {
			t.Errorf("without an answer of the master: %s: %t", topic, got)
		}
	}
}

// TestStatusTopicsThatAreGone: what was found out about a name ends with its topic, as another node may take the name.
func TestStatusTopicsThatAreGone(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Publishers = map[string][]string{"/rec/status": {"/rec"}, "/battery/status": {"/battery"}}
	r := graphOf(t, g)
	r.Selects = func(string, string) bool { return true }
	known := statusTopics{"/rec/status": true, "/play_1/status": true, "/battery/status": false, "/arm_7/status": false}
	if _, listed := r.listed(t.Context(), known); listed != 2 {
		t.Fatalf("%d topics listed", listed)
	}
	if want := (statusTopics{"/rec/status": true, "/battery/status": false}); !maps.Equal(known, want) {
		t.Errorf("known are %v, want %v", known, want)
	}
}

// TestNodeThatDoesNotAnswer: its machine is gone, or it hangs. The topics of others are
// found as soon as ever.
func TestNodeThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	g := testgraph.New(t)
	g.Nodes = map[string]string{"/silent": "http://" + silent.Addr().String() + "/", "/lively": g.URI}
	g.Subscriptions = []any{[]any{"/t", "std_msgs/String"}}
	r := graphOf(t, g)
	r.Nodes, r.Interval = []string{"/silent", "/lively"}, 200*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	found := make(chan Found)
	for _, ask := range r.Discoverers() {
		wg.Go(func() { r.Discover(ctx, ask, found) })
	}
	// The other one has five seconds to answer, each time that it is asked. A busy machine
	// may take as long now and then.
	took := time.Hour
	for start, rounds := time.Now(), 0; rounds < 5 && took > 4*time.Second; rounds++ {
		if got := <-found; !slices.Equal(got.Names, []string{"/t"}) {
			t.Errorf("found %v", got.Names)
		}
		took, start = time.Since(start), time.Now()
	}
	if took > 4*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestTroubleWithANode: why a node cannot be asked is logged once, and again when something else is the reason, or
// when the node has been there meanwhile.
func TestTroubleWithANode(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Subscriptions = []any{[]any{"/t", "std_msgs/String"}, []any{"/left_out", "std_msgs/String"}}
	core, logs := observer.New(zap.WarnLevel)
	r := graphOf(t, g)
	r.Log, r.Excludes = zap.New(core), func(topic string) bool { return topic == "/left_out" }
	ask := r.pollNode("/node", "subscribes to", r.Node.Master().NodeSubscriptions)
	there := map[string]string{"/node": g.URI}
	for i, step := range []struct {
		nodes  map[string]string
		away   bool
		logged int // in all
	}{
		{nil, false, 1}, {nil, false, 1}, {nil, true, 2}, {nil, true, 2}, {there, false, 2}, {there, false, 2}, {nil, false, 3},
	} {
		g.Mu.Lock()
		g.Nodes, g.Away = step.nodes, step.away
		g.Mu.Unlock()
		names, listed := ask(t.Context())
		if want := len(step.nodes); len(names) != want || listed != 2*want {
			t.Errorf("step %d: %d topics, of which %v are recorded", i, listed, names)
		}
		if n := logs.Len(); n != step.logged {
			t.Errorf("step %d: %d warnings, want %d", i, n, step.logged)
		}
	}
	g.Mu.Lock()
	g.Away = true
	g.Mu.Unlock()
	ended, end := context.WithCancel(t.Context())
	end()
	if ask(ended); logs.Len() != 3 {
		t.Error("the end of the recording is logged as trouble")
	}
}

// TestDiscoverSelected: of the topics that the master lists, those that are selected are found, however late they
// come, but not the status of our own tools.
func TestDiscoverSelected(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	r := graphOf(t, g)
	r.Lists, r.Interval = true, time.Millisecond
	r.Selects = func(topic, _ string) bool { return topic != "/left_out" }
	all := r.Discoverers()
	if r.Nodes = []string{"/node"}; !all[0].all || r.Discoverers()[0].all {
		t.Error("only without nodes the topics that the master lists are all topics")
	}
	if r.NodePublications = []string{"/node"}; r.Discoverers()[0].all {
		t.Error("only without nodes the topics that the master lists are all topics")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	found := make(chan Found)
	wg.Go(func() { r.Discover(ctx, all[0], found) })
	testlink.WaitFor(t, func() bool {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		return g.Listed > 1
	})
	g.Mu.Lock()
	g.Publishers = map[string][]string{"/t": {"/node"}, "/left_out": {"/node"}}
	g.Mu.Unlock()
	for _, same := range []bool{false, true} {
		if got := <-found; !slices.Equal(got.Names, []string{"/t"}) || got.Live != 1 || got.Same != same || got.Since.IsZero() || !got.All {
			t.Errorf("found %+v, want /t; as before: %v", got, same)
		}
	}
}

// graphOf returns a Graph that asks g.
func graphOf(t *testing.T, g *testgraph.Graph) *Graph {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: g.URI, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	return &Graph{Node: n, Log: zap.NewNop(), Excludes: func(string) bool { return false }}
}
