package recorder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// deadAddress is where nobody listens. A port that was free a moment ago would not do:
// another test may get it, or a connection to it may connect to itself.
const deadAddress = "127.0.0.1:1"

// record runs a recording beside the graph until ended says so, and returns its summary.
func record(t *testing.T, masterURI string, names []string, all bool, ended func() bool) control.Summary {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: masterURI, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan control.Summary)
	go func() {
		s, err := Run(ctx, Options{Node: n, Select: Selection{Topics: names, All: all}, Output: Output{Name: t.TempDir() + "/x"}, survey: time.Minute})
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	testlink.WaitFor(t, ended)
	cancel()
	return <-done
}

// TestRegistersInOrder: what was named, then what is alive, then the rest, each once. What is
// alive and appears later comes before the rest, too.
func TestRegistersInOrder(t *testing.T) {
	t.Parallel()
	g := testgraph.New(t)
	g.Nodes = map[string]string{"/healthy": g.URI, "/crashed": "http://" + deadAddress + "/"}
	g.Publishers = map[string][]string{"/zz1": {"/healthy"}, "/zz2": {"/healthy"}}
	const dead = 250 // new topics: enough for a survey
	for i := range dead {
		g.Publishers[fmt.Sprintf("/dead%03d", i)] = []string{"/crashed"}
	}
	registered := func() []string {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		return slices.Clone(g.Registered)
	}
	listed := func() int {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		return g.Listed
	}
	const between = "/dead050"
	g.Registers = func(topic string) { // a live topic appears meanwhile
		if topic != between {
			return
		}
		g.Mu.Lock()
		g.Publishers["/late"] = []string{"/healthy"}
		before := g.Listed
		g.Registers = nil // once is enough
		g.Mu.Unlock()
		for listed() < before+3 && t.Context().Err() == nil { // until the recorder knows what the first of them said
			<-time.After(time.Millisecond) // a busy wait would keep the recorder from the only processor
		}
	}
	want := dead + 4
	s := record(t, g.URI, []string{"/dead200", "/zz9"}, true, func() bool { return len(registered()) >= want })
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
	g := testgraph.New(t)
	crashed := "http://" + deadAddress + "/"
	g.Nodes = map[string]string{"/crashed": crashed}
	g.Publishers = map[string][]string{"/unreached": {"/crashed"}}
	names := []string{"/nobody", "/unreached", "/last"} // by the time that the last is registered, the others have their answers
	answers := func() bool {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		return len(g.Registered) >= len(names) // unreached ones are asked for again
	}
	for name, tc := range map[string]struct {
		uri   string
		ended func() bool
		want  []control.Waiting // of the first two
	}{
		"master answers": {g.URI, answers, []control.Waiting{control.WaitingNone, control.WaitingPublisher}},
		"master is away": {crashed, func() bool { return true }, []control.Waiting{control.WaitingMaster, control.WaitingMaster}},
	} {
		s := record(t, tc.uri, names, false, tc.ended)
		if away := tc.uri != g.URI; s.NoMaster != away || strings.Contains(s.Losses(), "never answered") != away {
			t.Errorf("%s: the master never answered: %v; %s", name, s.NoMaster, s.Losses())
		}
		got := make([]control.Waiting, 2)
		for _, topic := range s.Topics {
			if i := slices.Index(names, topic.Topic); i >= 0 && i < 2 {
				got[i] = topic.Waiting
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: topics wait for %v, want %v", name, got, tc.want)
		}
		if s.Waiting(control.WaitingMaster)+s.Waiting(control.WaitingPublisher)+s.Waiting(control.WaitingNone) != len(s.Topics) {
			t.Errorf("%s: the sums are wrong", name)
		}
	}
}
