package recorder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// deadAddress is where nobody listens. A port that was free a moment ago would not do:
// another test may get it, or a connection to it may connect to itself.
const deadAddress = "127.0.0.1:1"

// TestSortByLiveness: topics of nodes that answer come first, those of crashed ones last, and
// a node with one topic does not wait for all of another with many.
func TestSortByLiveness(t *testing.T) {
	t.Parallel()
	g := newAskedGraph(t)
	g.nodes = map[string]string{"/many": g.uri, "/healthy": g.uri, "/crashed": "http://" + deadAddress + "/", "/nonsense": "::"}
	g.publishers = map[string][]string{"/z": {"/healthy"}, "/both": {"/crashed", "/healthy"}, "/gone": {"/unknown"}, "/n": {"/nonsense"}}
	names := []string{"/gone", "/n"}
	for i := range 300 {
		dead, live := fmt.Sprint("/dead", i), fmt.Sprint("/many", i)
		g.publishers[dead], g.publishers[live] = []string{"/crashed"}, []string{"/many"}
		names = append(names, dead, live)
	}
	names = append(names, "/z", "/both", "/unlisted")
	r := g.recording(t)
	r.survey = time.Minute
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
	g.mu.Lock()
	g.away = true
	g.mu.Unlock()
	before := slices.Clone(names)
	if live := r.sortByLiveness(t.Context(), names); live != 0 || !slices.Equal(names, before) {
		t.Errorf("without an answer of the master: %d are live", live)
	}
}

// TestSurveyEnds: nodes that cannot be asked in time count as unknown, between the others.
func TestSurveyEnds(t *testing.T) {
	t.Parallel()
	g := newAskedGraph(t)
	g.nodes = map[string]string{"/live": g.uri}
	r := g.recording(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nodes := map[string]nodeState{"/live": nodeUnknown, "/gone": nodeUnknown}
	r.survey = time.Minute
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
	g := newAskedGraph(t)
	r := g.recording(t)
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

// record runs a recording beside the graph until ended says so, and returns its summary.
func record(t *testing.T, masterURI string, names []string, all bool, ended func() bool) Summary {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: masterURI, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan Summary)
	go func() {
		s, err := Run(ctx, Options{Node: n, Select: Selection{Topics: names, All: all}, Output: Output{Name: t.TempDir() + "/x"}, survey: time.Minute})
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	waitFor(t, ended)
	cancel()
	return <-done
}

// TestRegistersInOrder: what was named, then what is alive, then the rest, each once. What is
// alive and appears later comes before the rest, too.
func TestRegistersInOrder(t *testing.T) {
	t.Parallel()
	g := newAskedGraph(t)
	g.nodes = map[string]string{"/healthy": g.uri, "/crashed": "http://" + deadAddress + "/"}
	g.publishers = map[string][]string{"/zz1": {"/healthy"}, "/zz2": {"/healthy"}}
	const dead = surveyFrom + 50
	for i := range dead {
		g.publishers[fmt.Sprintf("/dead%03d", i)] = []string{"/crashed"}
	}
	registered := func() []string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Clone(g.registered)
	}
	listed := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.listed
	}
	const between = "/dead050"
	g.registers = func(topic string) { // a live topic appears meanwhile
		if topic != between {
			return
		}
		g.mu.Lock()
		g.publishers["/late"] = []string{"/healthy"}
		before := g.listed
		g.registers = nil // once is enough
		g.mu.Unlock()
		for listed() < before+3 && t.Context().Err() == nil { // until the recorder knows what the first of them said
			<-time.After(time.Millisecond) // a busy wait would keep the recorder from the only processor
		}
	}
	want := dead + 4
	s := record(t, g.uri, []string{"/dead200", "/zz9"}, true, func() bool { return len(registered()) >= want })
	got := registered()
	if first := got[:want]; len(got) < want || len(slices.Compact(slices.Sorted(slices.Values(first)))) != want || !slices.Equal(got[:4], []string{"/dead200", "/zz9", "/zz1", "/zz2"}) {
		t.Errorf("registers %d topics, first %v", len(got), got[:6])
	}
	if i, late := slices.Index(got, between), slices.Index(got, "/late"); late != i+1 {
		t.Errorf("the late topic is number %d, want %d", late, i+1)
	}
	if n := len(s.Topics); n != want {
		t.Errorf("%d topics in the summary", n)
	}
}

// TestWaitingInSummary: what was not registered, or not reached, is not taken for a topic
// without a publisher.
func TestWaitingInSummary(t *testing.T) {
	t.Parallel()
	g := newAskedGraph(t)
	crashed := "http://" + deadAddress + "/"
	g.nodes = map[string]string{"/crashed": crashed}
	g.publishers = map[string][]string{"/unreached": {"/crashed"}}
	names := []string{"/nobody", "/unreached", "/last"} // by the time that the last is registered, the others have their answers
	answers := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.registered) >= len(names) // unreached ones are asked for again
	}
	for name, tc := range map[string]struct {
		uri   string
		ended func() bool
		want  []Waiting // of the first two
	}{
		"master answers": {g.uri, answers, []Waiting{WaitingNone, WaitingPublisher}},
		"master is away": {crashed, func() bool { return true }, []Waiting{WaitingMaster, WaitingMaster}},
	} {
		s := record(t, tc.uri, names, false, tc.ended)
		got := make([]Waiting, 2)
		for _, topic := range s.Topics {
			if i := slices.Index(names, topic.Topic); i < 2 {
				got[i] = topic.Waiting
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: topics wait for %v, want %v", name, got, tc.want)
		}
		if s.Waiting(WaitingMaster)+s.Waiting(WaitingPublisher)+s.Waiting(WaitingNone) != len(names) {
			t.Errorf("%s: the sums are wrong", name)
		}
	}
}
