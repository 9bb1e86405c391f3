package graph

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
)

// doubts are accounts that ask, and note the answers.
type doubts struct {
	all    []loss.Doubt
	listed map[loss.Doubt]bool
	judged map[loss.Doubt]bool // whether the numbers are those of others
}

func (d *doubts) Doubtful() <-chan struct{}                       { return nil }
func (d *doubts) Overdue(time.Time) []loss.Doubt                  { return d.all }
func (d *doubts) Explain(listed map[loss.Doubt]bool, _ time.Time) { d.listed = listed }
func (d *doubts) Unverified() []loss.Doubt                        { return d.all }
func (d *doubts) Judge(about loss.Doubt, foreign bool)            { d.judged[about] = foreign }

// doubt is a doubt about a publisher.
func doubt(topic, publisher, uri string) loss.Doubt {
	return loss.Doubt{Topic: topic, Publisher: publisher, URI: uri}
}

// TestExplainLinks: a publisher is there if the master lists that process for that topic. Without an answer nobody
// is gone.
func TestExplainLinks(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Nodes = map[string]string{"/a": "http://a/", "/b": "http://b/"}
	g.Publishers = map[string][]string{"/t": {"/a", "/b", "/nameless"}, "/u": {"/b"}}
	want := map[loss.Doubt]bool{
		doubt("/t", "/a", "http://a/"):           true,
		doubt("/t", "/a", "http://old/"):         false, // another process has its name
		doubt("/u", "/a", "http://a/"):           false,
		doubt("/t", "/b", "http://b/"):           true,
		doubt("/u", "/b", "http://b/"):           true,
		doubt("/t", "/gone", "http://gone/"):     false,
		doubt("/t", "/nameless", "http://there"): false, // the master has forgotten its address
	}
	d := &doubts{}
	r := graphOf(t, g)
	r.ExplainLinks(t.Context(), d)
	if d.listed != nil {
		t.Errorf("without a question: %v", d.listed)
	}
	for about := range want {
		d.all = append(d.all, about)
	}
	r.ExplainLinks(t.Context(), d)
	if diff := cmp.Diff(want, d.listed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.listed = nil
	g.Mu.Lock()
	g.Away = true
	g.Mu.Unlock()
	if r.ExplainLinks(t.Context(), d); d.listed != nil {
		t.Errorf("without an answer: %v", d.listed)
	}
}

// TestJudgeNumbers: players, and nodes that subscribe to messages of any type, pass on the numbers of others.
func TestJudgeNumbers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(*testgraph.Graph)
		want map[string]bool // by the name of the node
	}{
		"its name": {
			func(*testgraph.Graph) {},
			map[string]bool{"/play_1": true, "play_1": true, "/ns/play_1": true, "/display_1": false, "/play_1/camera": false},
		},
		"its subscriptions": {
			func(g *testgraph.Graph) {
				g.Subscriptions = []any{[]any{"/a", "std_msgs/String"}, []any{"/b", "*"}}
			},
			map[string]bool{"/relay": true},
		},
		"subscriptions with a type": {
			func(g *testgraph.Graph) { g.Subscriptions = []any{[]any{"/a", "std_msgs/String"}} },
			map[string]bool{"/camera": false},
		},
		"its services": {
			func(g *testgraph.Graph) { g.Services = map[string]bool{"/robot/pause_playback": true} },
			map[string]bool{"/robot": true, "/camera": false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testgraph.New(t)
			test.set(g)
			d := &doubts{judged: map[loss.Doubt]bool{}}
			for node := range test.want {
				d.all = append(d.all, doubt("/t", node, g.URI))
			}
			r := graphOf(t, g)
			ended, end := context.WithCancel(t.Context())
			end()
			if r.JudgeNumbers(ended, d); len(d.judged) > 0 {
				t.Errorf("at the end: %v", d.judged)
			}
			r.JudgeNumbers(t.Context(), d)
			got := map[string]bool{}
			for about, foreign := range d.judged {
				got[about.Publisher] = foreign
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
