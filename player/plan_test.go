package player

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

func makePlan(t *testing.T, o Options, bags ...[]byte) (*plan, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	o.Bags, o.Log = testplay.OpenBags(t, bags...), zap.New(core)
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return p, logs
}

func topicNames(p *plan) []string {
	var names []string
	for _, t := range p.topics {
		names = append(names, t.name)
	}
	return names
}

func TestNames(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(
		testplay.Series(testplay.Conn{Topic: "/a"}, "a", 0), testplay.Series(testplay.Conn{Topic: "b"}, "b", 1), testplay.Series(testplay.Conn{Topic: "/from"}, "c", 2))
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	tests := map[string]struct {
		prefix string
		want   []string
	}{
		"no prefix":           {"", []string{"/a", "/b", "/to"}},
		"plain concatenation": {"/foo", []string{"/foo/a", "/foob", "/foo/from"}},
		"relative":            {"ns/", []string{"/ns//a", "/ns/b", "/ns//from"}}, // cleaning up is the node's part
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := makePlan(t, Options{Prefix: tc.prefix}, bag)
			if d := cmp.Diff(tc.want, topicNames(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Only topics with a message in the window are offered, also when the window cuts
// a chunk, and latched ones that have a message before it.
func TestOnlyTopicsOfTheWindow(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(
		testplay.Series(testplay.Conn{Topic: "/before"}, "a", 0), testplay.Series(testplay.Conn{Topic: "/latched", Latching: true}, "l", 1),
		testplay.Series(testplay.Conn{Topic: "/in"}, "b", 10, 20), testplay.Series(testplay.Conn{Topic: "/after"}, "c", 31),
		testplay.Series(testplay.Conn{Topic: "/around"}, "d", 0, 40))
	slices.SortStableFunc(messages, func(x, y testplay.Message) int { return int(x.At - y.At) })
	for _, chunk := range []int{0, 1, 120, 200} {
		p, _ := makePlan(t, Options{Start: 10, Duration: 20}, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...))
		if d := cmp.Diff([]string{"/latched", "/in"}, topicNames(p)); d != "" {
			t.Errorf("chunks of %d (-want +got):\n%s", chunk, d)
		}
	}
}

func TestLastStamp(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 10, 20, 30), testplay.Series(testplay.ConnB, "b", 5, 35))
	for _, chunk := range []int{0, 1} {
		bag := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...)
		other := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, testplay.Series(testplay.ConnA, "x", 1, 2)...)
		for _, tc := range []struct {
			o    Options
			want time.Duration
		}{
			{Options{}, 35},
			{Options{Topics: []string{"/a"}}, 30},
			{Options{Duration: 29}, 20},
			{Options{Duration: 30}, 30},
			{Options{Duration: 4}, 2},
		} {
			p, _ := makePlan(t, tc.o, other, bag)
			if got := p.last.Sub(testplay.Base); got != tc.want {
				t.Errorf("chunks of %d, %v for %v: last at %v, want %v", chunk, tc.o.Topics, tc.o.Duration, got, tc.want)
			}
		}
	}
}

func TestUnplayable(t *testing.T) {
	t.Parallel()
	good := testplay.Conn{Topic: "/t", CallerID: "/first"}
	tests := map[string]struct {
		conn testplay.Conn
		want string
	}{
		"other md5sum": {
			testplay.Conn{Topic: "/t", Type: "std_msgs/Int32", MD5Sum: "da5909fbe378aeaf85e547e830cc1bb7"},
			"the topic is played as std_msgs/String [992ce8a1687cec8c8bd883ec73ca41d1], " +
				"this connection is std_msgs/Int32 [da5909fbe378aeaf85e547e830cc1bb7]",
		},
		"md5sum wildcard": {
			testplay.Conn{Topic: "/t", MD5Sum: "*"},
			"the topic is played as std_msgs/String [992ce8a1687cec8c8bd883ec73ca41d1], this connection is std_msgs/String [*]",
		},
		"md5sum empty": {testplay.Conn{Topic: "/w", MD5Sum: " "}, `the bag has md5sum "" for it`},
		"name":         {testplay.Conn{Topic: "/w-x"}, `name "/w-x": `},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(good, "a", 0, 2), testplay.Series(tc.conn, "b", 1, 3, 4))...)
			p, logs := makePlan(t, Options{}, bag)
			if logs.Len() != 1 {
				t.Errorf("%d log lines, want 1", logs.Len())
			}
			if d := cmp.Diff([]string{"/t"}, topicNames(p)); d != "" {
				t.Errorf("topics (-want +got):\n%s", d)
			}
			r := newReader(testOrder(p), newQueue(1<<20, 1<<10))
			r.readPasses(t.Context(), readRequest{})
			if r.queue.count != 2 {
				t.Errorf("%d messages to play, want 2", r.queue.count)
			}
			s := control.Summary{Unplayable: p.unplayable()}
			if len(s.Unplayable) != 1 || !s.Lossy() {
				t.Fatalf("summary %+v", s)
			}
			u := s.Unplayable[0]
			if u.Messages != 3 || u.Bag != "bag0" || len(u.Reason) < len(tc.want) || u.Reason[:len(tc.want)] != tc.want {
				t.Errorf("got %+v, want reason %q and 3 messages", u, tc.want)
			}
		})
	}
}

// Case does not matter in an md5sum, and a definition may come from any
// connection of the topic.
func TestSameTopicTwice(t *testing.T) {
	t.Parallel()
	upper := testplay.Conn{Topic: "/t", CallerID: "/x", MD5Sum: "992CE8A1687CEC8C8BD883EC73CA41D1", NoDefinition: true}
	latched := testplay.Conn{Topic: "t", CallerID: "/y", Latching: true}
	p, logs := makePlan(t, Options{}, testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(upper, "a", 0), testplay.Series(latched, "b", 1))...))
	if logs.Len() != 0 || len(p.topics) != 1 {
		t.Fatalf("%d topics, log %v", len(p.topics), logs.All())
	}
	if x := p.topics[0]; x.definition != testplay.StringDefinition || !x.latching {
		t.Errorf("topic %+v", x)
	}
}

func TestLatchedBefore(t *testing.T) {
	t.Parallel()
	l1 := testplay.Conn{Topic: "/tf_static", CallerID: "/n1", Latching: true}
	l2 := testplay.Conn{Topic: "/tf_static", CallerID: "/n2", Latching: true}
	bag1 := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Concat(
		testplay.Series(l1, "n1-", 0, 5, 10), testplay.Series(l2, "n2-", 1), testplay.Series(testplay.ConnA, "a", 0, 20),
		testplay.Series(testplay.Conn{Topic: "/late", Latching: true}, "late", 10, 15))...)
	bag2 := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(l2, "next-n2-", 7, 8, 11)...)
	p, _ := makePlan(t, Options{Start: 10}, bag1, bag2)
	var got []string
	for _, l := range p.latched {
		got = append(got, string(l.frame[8:]))
	}
	// Neither what is in the window nor what a later message has replaced.
	if d := cmp.Diff([]string{"n1-1", "next-n2-1"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
