package player

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

func previewOf(t *testing.T, g *fakeGraph, o Options, bags ...[]byte) (Preview, error) {
	t.Helper()
	o.Bags, o.Log = testplay.OpenBags(t, bags...), zap.NewNop()
	return preview(t.Context(), &o, g)
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	latched := testplay.Conn{Topic: "/map", CallerID: "/mapper", Latching: true}
	x, y := testplay.Conn{Topic: "/a", CallerID: "/x"}, testplay.Conn{Topic: "/b", CallerID: "/y"}
	messages := testplay.Concat(testplay.Series(latched, "m", 0), testplay.Series(x, "a", 1e9, 2e9, 3e9, 4e9, 5e9), testplay.Series(y, "b", 25e8, 35e8))
	want := Preview{
		Start: testplay.Base.Add(2 * time.Second), End: testplay.Base.Add(4 * time.Second),
		Topics: []PreviewTopic{
			{Name: "/map", Recorded: []string{"/map"}, Type: testplay.StringType, Latching: true, CallerIDs: []string{"/mapper"}},
			{
				Name: "/x", Recorded: []string{"/a", "/b"}, Type: testplay.StringType, Messages: 5, Rate: 2.5, CallerIDs: []string{"/x", "/y"},
				Publishers: []string{"/other"}, Listeners: []string{"/base"},
				Unfit: []Unfit{{"/base", "would be refused", "another type: std_msgs/String, and not std_msgs/Int32; no topic that is played has that type"}},
			},
		},
	}
	for _, chunk := range []int{0, 1, 100} {
		g := newFakeGraph()
		g.state = func(context.Context) (tcpros.SystemState, error) {
			return tcpros.SystemState{
				Publishers:  map[string][]string{"/x": {"/other", "/play"}},
				Subscribers: map[string][]string{"/x": {"/base"}, "/a": {"/nobody"}},
			}, nil
		}
		g.wants = map[string][]tcpros.Header{"/x": {{{Key: "callerid", Value: "/base"}, {Key: "type", Value: "std_msgs/Int32"}, {Key: "md5sum", Value: "da5909fbe378aeaf85e547e830cc1bb7"}}}}
		o := Options{Start: 2 * time.Second, Duration: 2 * time.Second, Rename: []string{"/?=/x"}}
		got, err := previewOf(t, g, o, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("chunks of %d (-want +got):\n%s", chunk, d)
		}
		if len(g.offers)+len(g.events) > 0 {
			t.Errorf("offered %v, published %v", g.offers, g.events)
		}
		if d := cmp.Diff(map[string][]string{"/x": {"/base"}}, g.asked); d != "" {
			t.Errorf("asked (-want +got):\n%s", d)
		}
	}
}

func TestDryRunWithoutMaster(t *testing.T) {
	t.Parallel()
	g := newFakeGraph()
	refused := errors.New("connection refused")
	g.state = func(context.Context) (tcpros.SystemState, error) { return tcpros.SystemState{}, refused }
	got, err := previewOf(t, g, Options{}, twoTopics(t))
	if err != nil || !errors.Is(got.Graph, refused) || len(got.Topics) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What Run would refuse comes with the table that shows it.
func TestDryRunOfWhatIsDenied(t *testing.T) {
	t.Parallel()
	got, err := previewOf(t, newFakeGraph(), Options{Deny: []string{"/a"}, WaitFor: []string{"/typo"}}, twoTopics(t))
	var denied *plan.DenyError
	if !errors.As(err, &denied) || !errors.Is(err, control.ErrOption) || len(got.Topics) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = previewOf(t, newFakeGraph(), Options{Deny: []string{"/clock"}, Clock: true}, twoTopics(t)); !errors.As(err, &denied) {
		t.Errorf("a clock that is denied: %v", err)
	}
	if _, err := previewOf(t, newFakeGraph(), Options{Topics: []string{"/typo"}}, twoTopics(t)); !errors.Is(err, plan.ErrNoMessages) {
		t.Errorf("got %v", err)
	}
	other := testplay.Conn{Topic: "/a", Type: "std_msgs/Int32", MD5Sum: "da5909fbe378aeaf85e547e830cc1bb7"}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0), testplay.Series(other, "b", 1))...)
	got, err = previewOf(t, newFakeGraph(), Options{}, bag)
	const remedy = "--rename /a:std_msgs/Int32=/a_Int32"
	unplayable := []control.Unplayable{{Bag: "bag0", Topic: "/a", Type: "std_msgs/Int32", Remedy: remedy}}
	if d := cmp.Diff(unplayable, got.Unplayable, cmpopts.IgnoreFields(control.Unplayable{}, "Reason", "MD5Sum")); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if !strings.HasSuffix(got.Unplayable[0].Reason, "; to play it, too, add "+remedy) {
		t.Error(got.Unplayable[0].Reason)
	}
	got, err = previewOf(t, newFakeGraph(), Options{Rename: []string{strings.TrimPrefix(remedy, "--rename ")}}, bag)
	if err != nil || len(got.Unplayable) > 0 || len(got.Topics) != 2 || got.Topics[1].Name != "/a_Int32" {
		t.Errorf("with what was said: %+v, %v", got, err)
	}
}

// TestRemedyBesideARule: a rule that renames the topic would apply instead of one that is added
// after it.
func TestRemedyBesideARule(t *testing.T) {
	t.Parallel()
	other := testplay.Conn{Topic: "/a", Type: "std_msgs/Int32", MD5Sum: "da5909fbe378aeaf85e547e830cc1bb7"}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0), testplay.Series(other, "b", 1))...)
	rules := []string{"/x=/y", "/a=/b"}
	got, err := previewOf(t, newFakeGraph(), Options{Rename: rules}, bag)
	const added = "/a:std_msgs/Int32=/a_Int32"
	if want := "--rename " + added + " before --rename /a=/b"; err != nil || len(got.Unplayable) != 1 || got.Unplayable[0].Remedy != want || !strings.HasSuffix(got.Unplayable[0].Reason, want) {
		t.Errorf("%+v, %v", got.Unplayable, err)
	}
	got, err = previewOf(t, newFakeGraph(), Options{Rename: slices.Insert(rules, 1, added)}, bag)
	if err != nil || len(got.Unplayable) > 0 || len(got.Topics) != 2 || got.Topics[1].Name != "/a_Int32" {
		t.Errorf("with what was said: %+v, %v", got, err)
	}
}
