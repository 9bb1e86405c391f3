package player

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

func makePlan(t *testing.T, o Options, bags ...[]byte) (*plan.Plan, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	o.Bags, o.Log = testplay.OpenBags(t, bags...), zap.New(core)
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return p, logs
}

func topicNames(p *plan.Plan) []string {
	var names []string
	for _, t := range p.Topics {
		names = append(names, t.Name)
	}
	return names
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
			s := control.Summary{Unplayable: p.Unplayable()}
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
