package player

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Three parts of the player find out by themselves which messages there are: play reads them,
// a dry run counts them by chunk infos, and a step back looks them up in indexes. These tests
// hold that all three mean the same messages with each option that selects some.

// selecting are the options that change which messages are played, or under which name, with
// a value for the messages of alikeBag.
var selecting = map[string]func(*Options){
	"Topics":      func(o *Options) { o.Topics = []string{"/a", "/c"} },
	"Types":       func(o *Options) { o.Types = []string{"x_msgs/*"} },
	"Exclude":     func(o *Options) { o.Exclude = []string{"/b"} },
	"Regex":       func(o *Options) { o.Regex, o.Topics = true, []string{"/[ac]"} },
	"Rename":      func(o *Options) { o.Rename = []string{"/a=/d"} },
	"Prefix":      func(o *Options) { o.Prefix = "/old" },
	"Start":       func(o *Options) { o.Start = 250 * ms },
	"Duration":    func(o *Options) { o.Duration = 450 * ms },
	"ByHeader":    func(o *Options) { o.ByHeader = true },
	"Own":         func(o *Options) { o.Own = []string{"b"} },
	"HeaderReach": func(o *Options) { o.ByHeader, o.HeaderReach = true, 50*ms },
}

// others are the options that leave the messages as they are.
var others = []string{
	"Node", "Bags", "Deny", "Rate", "Immediate", "Paused", "Loop", "LoopShift", "KeepAlive", "NewNode", "SkipEmpty", "PauseTopics", "RateControl",
	"Queue", "Overflow", "Delay", "LinkTimeout", "WaitForSubscribers", "WaitFor", "WaitTimeout", "Stamps", "Clock", "Hz", "ClockTopics",
	"ClockPerMessage", "ToWanted", "Definitions", "Log", "Viewing", "OnStart", "OnStatus", "resolve",
}

// Each option is in one of the two lists, so that a new one is tried here, too.
func TestOptionsThatSelect(t *testing.T) {
	t.Parallel()
	listed := slices.Concat(others, slices.Collect(maps.Keys(selecting)))
	var all []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		all = append(all, f.Name)
	}
	slices.Sort(listed)
	slices.Sort(all)
	if d := cmp.Diff(all, listed); d != "" {
		t.Errorf("these options are in none of the lists, in both, or do not exist (-options +lists):\n%s", d)
	}
}

// alikeBag has topics of two types, equal times, and times of receipt that differ from the
// stamps of headers.
func alikeBag(t *testing.T, chunk int) []byte {
	t.Helper()
	var all []testplay.Headed
	for i := range 12 {
		at := time.Duration(i/2*2) * 50 * ms // two messages at each time
		topic := []string{"/a", "/b", "/plain", "/a", "/c"}[i%5]
		all = append(all, testplay.Headed{Topic: topic, Received: at, Stamp: at + time.Duration(i*7%5)*40*ms})
	}
	return testplay.HeadedBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, all)
}

func TestPlayDryRunAndStepsAreAlike(t *testing.T) {
	t.Parallel()
	selects := maps.Clone(selecting)
	selects["nothing"] = func(*Options) {}
	selects["several"] = func(o *Options) { o.Exclude, o.Start, o.Duration = []string{"/plain"}, 50*ms, 400*ms }
	for name, change := range selects {
		for _, chunk := range []int{0, 1, 100} {
			t.Run(fmt.Sprintf("%s/chunk=%d", name, chunk), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var o Options
					change(&o)
					checkAlike(t, alikeBag(t, chunk), o, name != "nothing")
				})
			})
		}
	}
}

// checkAlike plays, counts, steps back from the end to the beginning, and on again.
func checkAlike(t *testing.T, bag []byte, o Options, selects bool) {
	t.Helper()
	forth := publishedBy(t, bag, o, nil)
	if all := publishedBy(t, bag, Options{}, nil); selects == slices.Equal(forth, all) || len(forth) < 3 {
		t.Fatalf("of %v the option leaves %v: it is no use here", all, forth)
	}
	played := map[string]uint64{}
	for _, m := range forth {
		played[m.topic]++
	}
	v, err := previewOf(t, newFakeGraph(), o, bag)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]uint64{}
	for _, topic := range v.Topics {
		counted[topic.Name] = topic.Messages
	}
	if d := cmp.Diff(played, counted); d != "" {
		t.Errorf("a dry run counts other messages (-played +counted):\n%s", d)
	}

	orders := ordersAt{time.Second: func(c control.Control) { c.Pause() }}
	at := time.Second
	for _, press := range []func(control.Control){back, step} {
		for range forth[1:] {
			at += 10 * ms
			orders[at] = press
		}
	}
	orders[at+10*ms] = stop
	backward := slices.Clone(forth[:len(forth)-1])
	slices.Reverse(backward)
	want := slices.Concat(forth, backward, forth[1:])
	o.KeepAlive = true
	got := publishedBy(t, bag, o, orders)
	if d := cmp.Diff(want, got, cmp.AllowUnexported(published{})); d != "" {
		t.Errorf("steps back and on visit other messages (-want +got):\n%s", d)
	}
}

// published is a message that was published: its topic and its number in the bag.
type published struct {
	topic  string
	number uint32
}

// publishedBy plays at once, with orders, and returns what is published.
func publishedBy(t *testing.T, bag []byte, o Options, orders ordersAt) (all []published) {
	t.Helper()
	g := newFakeGraph()
	g.frames = func(topic string, frame []byte) {
		m := rosbag.Message{Frame: frame}
		all = append(all, published{topic, testplay.NumberOf(&m)})
	}
	o.Bags, o.Immediate = testplay.OpenBags(t, bag), true
	steer(t, g, o, orders)
	return all
}
