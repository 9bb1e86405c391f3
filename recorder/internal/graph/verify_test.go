package graph

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
)

// accounts are asked about fixed publishers, and keep what is set.
type accounts struct {
	all     []loss.PublisherKey
	listed  map[loss.PublisherKey]bool
	foreign map[loss.PublisherKey]bool // whether the numbers are those of others
}

func (d *accounts) Gaps() <-chan struct{}                                    { return nil }
func (d *accounts) Overdue(time.Time) []loss.PublisherKey                    { return d.all }
func (d *accounts) SetListed(listed map[loss.PublisherKey]bool, _ time.Time) { d.listed = listed }
func (d *accounts) Unverified() []loss.PublisherKey                          { return d.all }
func (d *accounts) SetForeign(about loss.PublisherKey, foreign bool)         { d.foreign[about] = foreign }

// keyOf returns the key of a publisher.
func keyOf(topic, publisher, uri string) loss.PublisherKey {
	return loss.PublisherKey{Topic: topicname.InGraph(topic), Publisher: publisher, URI: uri}
}

// TestCheckLinks: a publisher is there if the master lists that process for that topic. Without an answer nobody
// is gone.
func TestCheckLinks(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Nodes = map[string]string{"/a": "http://a/", "/b": "http://b/"}
	g.Publishers = map[string][]string{"/t": {"/a", "/b", "/nameless"}, "/u": {"/b"}}
	want := map[loss.PublisherKey]bool{
		keyOf("/t", "/a", "http://a/"):           true,
		keyOf("/t", "/a", "http://old/"):         false, // another process has its name
		keyOf("/u", "/a", "http://a/"):           false,
		keyOf("/t", "/b", "http://b/"):           true,
		keyOf("/u", "/b", "http://b/"):           true,
		keyOf("/t", "/gone", "http://gone/"):     false,
		keyOf("/t", "/nameless", "http://there"): false, // the master has forgotten its address
	}
	d := &accounts{}
	r := graphOf(t, g)
	r.CheckLinks(t.Context(), d)
	if d.listed != nil {
		t.Errorf("without a question: %v", d.listed)
	}
	for about := range want {
		d.all = append(d.all, about)
	}
	r.CheckLinks(t.Context(), d)
	if diff := cmp.Diff(want, d.listed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.listed = nil
	g.Mu.Lock()
	g.Away = true
	g.Mu.Unlock()
	if r.CheckLinks(t.Context(), d); d.listed != nil {
		t.Errorf("without an answer: %v", d.listed)
	}
}

// TestCheckNumbers: players, and nodes that subscribe to messages of any type, pass on the numbers of others.
func TestCheckNumbers(t *testing.T) {
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
			d := &accounts{foreign: map[loss.PublisherKey]bool{}}
			for node := range test.want {
				d.all = append(d.all, keyOf("/t", node, g.URI))
			}
			r := graphOf(t, g)
			ended, end := context.WithCancel(t.Context())
			end()
			if r.CheckNumbers(ended, d); len(d.foreign) > 0 {
				t.Errorf("at the end: %v", d.foreign)
			}
			r.CheckNumbers(t.Context(), d)
			got := map[string]bool{}
			for about, foreign := range d.foreign {
				got[about.Publisher] = foreign
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
