package recorder

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/xmlrpc"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/tcpros"
)

// askedGraph is a master and the slave API of all nodes at once.
type askedGraph struct {
	uri string

	mu            sync.Mutex
	away          bool                // the master answers nothing
	publishers    map[string][]string // by topic
	nodes         map[string]string   // slave URIs
	services      map[string]bool
	subscriptions []any    // of every node
	registered    []string // topics in the order of their registration by subscribers
	listed        int      // how often the topics were asked for

	registers func(topic string) // if set, is called before a registration is answered, without the lock
}

func newAskedGraph(t *testing.T) *askedGraph {
	t.Helper()
	g := &askedGraph{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.uri = "http://" + l.Addr().String() + "/"
	server := xmlrpc.NewServer(g.answer, xmlrpc.ServerOptions{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return g
}

func (g *askedGraph) answer(_ context.Context, _, method string, args []any) (any, error) {
	g.mu.Lock()
	registers := g.registers
	g.mu.Unlock()
	if method == "registerSubscriber" && registers != nil {
		registers(args[1].(string))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		return nil, errors.New("not now")
	}
	unknown := []any{-1, "unknown", 0}
	switch method {
	case "getSystemState":
		topics := []any{}
		for topic, nodes := range g.publishers {
			list := []any{}
			for _, n := range nodes {
				list = append(list, n)
			}
			topics = append(topics, []any{topic, list})
		}
		return []any{1, "", []any{topics, []any{}, []any{}}}, nil
	case "getPublishedTopics":
		g.listed++
		topics := []any{}
		for _, topic := range slices.Sorted(maps.Keys(g.publishers)) {
			topics = append(topics, []any{topic, "test/Numbered"})
		}
		return []any{1, "", topics}, nil
	case "registerSubscriber":
		topic := args[1].(string)
		g.registered = append(g.registered, topic)
		g.nodes[args[0].(string)] = args[3].(string)
		uris := []any{}
		for _, n := range g.publishers[topic] {
			uris = append(uris, g.nodes[n])
		}
		return []any{1, "", uris}, nil
	case "getPid":
		return []any{1, "", 1}, nil
	case "lookupNode":
		if uri := g.nodes[args[1].(string)]; uri != "" {
			return []any{1, "", uri}, nil
		}
	case "lookupService":
		if g.services[args[1].(string)] {
			return []any{1, "", "rosrpc://127.0.0.1:1"}, nil
		}
	case "getSubscriptions":
		return []any{1, "", g.subscriptions}, nil
	}
	return unknown, nil
}

// recording returns one that can ask the graph.
func (g *askedGraph) recording(t *testing.T) *session {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: g.uri, Getenv: func(string) string { return "" }})
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
	return &session{Options: Options{Log: zap.NewNop(), Node: n}, pipe: p}
}

// TestExplainLinks: a link is lost only if the master lists that very process.
func TestExplainLinks(t *testing.T) {
	t.Parallel()
	const mine, other = "http://127.0.0.1:1/", "http://127.0.0.1:2/"
	listed, nobody := map[string][]string{"/t": {"/p"}}, map[string][]string{}
	tests := map[string]struct {
		graph       *askedGraph
		state       State
		lost, ended bool
	}{
		"still listed":         {&askedGraph{publishers: listed, nodes: map[string]string{"/p": mine}}, StateRecording, true, false},
		"listed no more":       {&askedGraph{publishers: nobody, nodes: map[string]string{"/p": mine}}, StateRecording, false, true},
		"another has its name": {&askedGraph{publishers: listed, nodes: map[string]string{"/p": other}}, StateRecording, false, true},
		"left between":         {&askedGraph{publishers: listed}, StateRecording, false, true},
		"the master is away":   {&askedGraph{publishers: listed, nodes: map[string]string{"/p": mine}, away: true}, StateRecording, false, false},
		"paused":               {&askedGraph{publishers: listed, nodes: map[string]string{"/p": mine}}, StatePaused, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newAskedGraph(t)
			g.away, g.publishers, g.nodes = tc.graph.away, tc.graph.publishers, tc.graph.nodes
			r := g.recording(t)
			info := headerInfo("/t", "/p")
			info.PublisherURI = mine
			l, err := r.pipe.openLink(r.pipe.addTopic("/t"), info)
			if err != nil {
				t.Fatal(err)
			}
			l.Closed(io.EOF)
			r.explainLinks(t.Context())
			u, now := l.publisher, time.Now()
			if !u.Overdue(now.Add(2 * loss.Grace)) {
				t.Fatal("decided at once")
			}
			r.pipe.mu.Lock()
			u.Open(false, true, now) // and once more, a while ago
			u.End(io.EOF, now.Add(-2*loss.Grace))
			r.pipe.state = tc.state
			r.pipe.mu.Unlock()
			r.explainLinks(t.Context())
			a := u.Account(now)
			ended := !a.Away && !u.Overdue(now)
			if a.Away != tc.lost || ended != tc.ended || (a.LinksLost == 1) != tc.lost {
				t.Errorf("lost %v, ended %v, want %v, %v", a.Away, ended, tc.lost, tc.ended)
			}
		})
	}
}

// TestJudgeNumbers: holes count in the numbers that a node gives its messages itself.
func TestJudgeNumbers(t *testing.T) {
	t.Parallel()
	typed := []any{[]any{"/in", "sensor_msgs/Imu"}}
	tests := map[string]struct {
		node  string
		graph *askedGraph
		want  uint64
	}{
		"a driver":             {"/imu", &askedGraph{subscriptions: typed}, 3},
		"a driver, no answer":  {"/imu", &askedGraph{away: true}, 3},
		"a relay":              {"/imu_throttle", &askedGraph{subscriptions: append(typed, []any{"/imu", "*"})}, 0},
		"a player":             {"/ns/play_1700000000", &askedGraph{subscriptions: typed}, 0},
		"a player of any name": {"/again", &askedGraph{subscriptions: typed, services: map[string]bool{"/again/pause_playback": true}}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newAskedGraph(t)
			g.away, g.subscriptions, g.services = tc.graph.away, tc.graph.subscriptions, tc.graph.services
			r := g.recording(t)
			info := headerInfo("/t", tc.node)
			info.PublisherURI = g.uri
			l, err := r.pipe.openLink(r.pipe.addTopic("/t"), info)
			if err != nil {
				t.Fatal(err)
			}
			l.Frames(numbered(append(count(0, 10), count(12, 3)...)...), 13, time.Now())
			<-r.pipe.verifications
			r.judgeNumbers(t.Context())
			l.Frames(numbered(16), 1, time.Now())
			if got := l.publisher.Account(time.Now()).Missed; got != tc.want {
				t.Errorf("%d missed, want %d", got, tc.want)
			}
		})
	}
}
