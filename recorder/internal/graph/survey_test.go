package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
)

// deadAddress is where nobody listens. A port that was free a moment ago would not do:
// another test may get it, or a connection to it may connect to itself.
const deadAddress = "127.0.0.1:1"

// TestSortByLiveness: topics of nodes that answer come first, those of crashed ones last, and
// a node with one topic does not wait for all of another with many.
func TestSortByLiveness(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Nodes = map[string]string{"/many": g.URI, "/healthy": g.URI, "/crashed": "http://" + deadAddress + "/", "/nonsense": "::"}
	g.Publishers = map[string][]string{"/z": {"/healthy"}, "/both": {"/crashed", "/healthy"}, "/gone": {"/unknown"}, "/n": {"/nonsense"}}
	names := []string{"/gone", "/n"}
	for i := range 300 {
		dead, live := fmt.Sprint("/dead", i), fmt.Sprint("/many", i)
		g.Publishers[dead], g.Publishers[live] = []string{"/crashed"}, []string{"/many"}
		names = append(names, dead, live)
	}
	names = append(names, "/z", "/both", "/unlisted")
	r := graphOf(t, g)
	r.Survey = time.Minute
	live := r.sortByLiveness(t.Context(), names)
	if live != 302 || len(names) != 605 {
		t.Fatalf("%d of %d are live, want 302 of 605", live, len(names))
	}
	for i, name := range names {
		if isLive := strings.HasPrefix(name, "/many") || name == "/z" || name == "/both"; isLive != (i < live) {
			t.Fatalf("%s is number %d, of %d that are live", name, i, live)
		}
	}
	if i := slices.Index(names, "/z"); i > 1 {
		t.Errorf("the first topic of the node with two is number %d of 302", i)
	}
	if i := slices.Index(names, "/many1"); i > 3 {
		t.Errorf("the second topic of the other is number %d of 302: the order within a node is another one", i)
	}
	g.Mu.Lock()
	g.Away = true
	g.Mu.Unlock()
	before := slices.Clone(names)
	if live := r.sortByLiveness(t.Context(), names); live != 0 || !slices.Equal(names, before) {
		t.Errorf("without an answer of the master: %d are live", live)
	}
}

// TestSurveyEnds: nodes that cannot be asked in time count as unknown, between the others.
func TestSurveyEnds(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Nodes = map[string]string{"/live": g.URI}
	r := graphOf(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nodes := map[string]nodeState{"/live": nodeUnknown, "/gone": nodeUnknown}
	r.Survey = time.Minute
	r.tryNodes(ctx, nodes)
	if nodes["/live"] != nodeUnknown || nodes["/gone"] != nodeUnknown {
		t.Errorf("states %v", nodes)
	}
	r.tryNodes(t.Context(), nodes)
	if nodes["/live"] != nodeLive || nodes["/gone"] != nodeDead {
		t.Errorf("states %v", nodes)
	}
}

// TestRankNew: nodes are asked only when many topics are new.
func TestRankNew(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	r := graphOf(t, g)
	rank := r.rankNew()
	var names []string
	for i := range surveyFrom {
		names = append(names, fmt.Sprint("/t", i))
	}
	few := surveyFrom - 1
	for i, tc := range []struct{ listed, want int }{{few, few}, {few, few}, {surveyFrom, surveyFrom}, {0, 0}, {surveyFrom, 0}} {
		if got := rank(t.Context(), slices.Clone(names[:tc.listed])); got != tc.want {
			t.Errorf("round %d with %d topics: %d live, want %d", i, tc.listed, got, tc.want)
		}
	}
}
