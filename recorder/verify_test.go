package recorder

import (
	"context"
	"io"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// recording returns one that can ask the graph.
func recordingIn(t *testing.T, g *testgraph.Graph) *session {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: g.URI, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	p := testPipeline(t, Options{}, nil)
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return sessionOn(p, Options{Log: zap.NewNop(), Node: n})
}

// TestCheckLinks: a link is lost only if the master lists that very process.
func TestCheckLinks(t *testing.T) {
	t.Parallel()
	const mine, other = "http://127.0.0.1:1/", "http://127.0.0.1:2/"
	listed, nobody := map[string][]string{"/t": {"/p"}}, map[string][]string{}
	tests := map[string]struct {
		graph       *testgraph.Graph
		paused      bool
		lost, ended bool
	}{
		"still listed":         {&testgraph.Graph{Publishers: listed, Nodes: map[string]string{"/p": mine}}, false, true, false},
		"listed no more":       {&testgraph.Graph{Publishers: nobody, Nodes: map[string]string{"/p": mine}}, false, false, true},
		"another has its name": {&testgraph.Graph{Publishers: listed, Nodes: map[string]string{"/p": other}}, false, false, true},
		"left between":         {&testgraph.Graph{Publishers: listed}, false, false, true},
		"the master is away":   {&testgraph.Graph{Publishers: listed, Nodes: map[string]string{"/p": mine}, Away: true}, false, false, false},
		"paused":               {&testgraph.Graph{Publishers: listed, Nodes: map[string]string{"/p": mine}}, true, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testgraph.New(t)
			g.Away, g.Publishers, g.Nodes = tc.graph.Away, tc.graph.Publishers, tc.graph.Nodes
			r := recordingIn(t, g)
			info := testlink.HeaderInfo("/t", "/p")
			info.PublisherURI = mine
			topic := r.in.Accounts.AddTopic("/t", "/t", time.Time{})
			l, err := r.in.OpenLink(topic, info)
			if err != nil {
				t.Fatal(err)
			}
			l.Closed(io.EOF)
			r.o.graph().CheckLinks(t.Context(), r.in.Accounts)
			u, now := topic.Publishers()[0], time.Now()
			if !u.Overdue(now.Add(2 * loss.Grace)) {
				t.Fatal("decided at once")
			}
			u.Open(u.Key().URI, true, now) // and once more, a while ago
			u.End(io.EOF, now.Add(-2*loss.Grace))
			if tc.paused {
				if err := r.in.Pause(); err != nil {
					t.Fatal(err)
				}
			}
			r.o.graph().CheckLinks(t.Context(), r.in.Accounts)
			a := u.Summary(now)
			ended := !a.Away && !u.Overdue(now)
			if a.Away != tc.lost || ended != tc.ended || (a.LinksLost == 1) != tc.lost {
				t.Errorf("lost %v, ended %v, want %v, %v", a.Away, ended, tc.lost, tc.ended)
			}
		})
	}
}

// TestCheckNumbers: gaps count in the numbers that a node gives its messages itself.
func TestCheckNumbers(t *testing.T) {
	t.Parallel()
	typed := []any{[]any{"/in", "sensor_msgs/Imu"}}
	tests := map[string]struct {
		node  string
		graph *testgraph.Graph
		want  uint64
	}{
		"a driver":             {"/imu", &testgraph.Graph{Subscriptions: typed}, 3},
		"a driver, no answer":  {"/imu", &testgraph.Graph{Away: true}, 3},
		"a relay":              {"/imu_throttle", &testgraph.Graph{Subscriptions: append(typed, []any{"/imu", "*"})}, 0},
		"a player":             {"/ns/play_1700000000", &testgraph.Graph{Subscriptions: typed}, 0},
		"a player of any name": {"/again", &testgraph.Graph{Subscriptions: typed, Services: map[string]bool{"/again/pause_playback": true}}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testgraph.New(t)
			g.Away, g.Subscriptions, g.Services = tc.graph.Away, tc.graph.Subscriptions, tc.graph.Services
			r := recordingIn(t, g)
			info := testlink.HeaderInfo("/t", tc.node)
			info.PublisherURI = g.URI
			l, err := r.in.OpenLink(r.in.Accounts.AddTopic("/t", "/t", time.Time{}), info)
			if err != nil {
				t.Fatal(err)
			}
			l.Frames(testlink.Numbered(append(testlink.Count(0, 10), testlink.Count(12, 3)...)...), 13, time.Now())
			<-r.in.Accounts.Gaps()
			r.o.graph().CheckNumbers(t.Context(), r.in.Accounts)
			l.Frames(testlink.Numbered(16), 1, time.Now())
			if got := r.in.Accounts.Summary(time.Now()).Topics[0].Publishers[0].Missed; got != tc.want {
				t.Errorf("%d missed, want %d", got, tc.want)
			}
		})
	}
}
