package play_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestFirstMessages: subscribers of roscpp and rospy that are there when goplay starts get
// every message, with its default options, but for how long it waits for them: a busy machine
// takes more than the two seconds. roscpp connects up to 300 ms after the master has told it
// of a publisher.
func TestFirstMessages(t *testing.T) {
	t.Parallel()
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		var bag []harness.Spoken
		var topics []string
		want := map[string]int{}
		say := func(topic string, period time.Duration, count int) {
			topics = append(topics, topic)
			want[topic] = count
			for i := range count {
				bag = append(bag, harness.Spoken{Topic: topic, Node: "/robot", At: time.Duration(i) * period, Text: fmt.Sprint(topic, i)})
			}
		}
		say("/fast", 7*time.Millisecond, 100) // not more than the queues of goplay and of stock's recorder hold
		for i := range 20 {
			say(fmt.Sprintf("/t%d", i), 50*time.Millisecond, 14)
		}
		slices.SortStableFunc(bag, func(a, b harness.Spoken) int { return int(a.At - b.At) })
		g.MakeBag("many.bag", bag...)
		runs := 1
		if harness.Full() {
			runs = 10
		}
		watcher := g.Node("watcher")
		python := g.StartPython("subscribe.py", append([]string{"python"}, topics...)...)
		python.Printed("ready")
		lines := func() int { return strings.Count(python.Out.String(), "\n") - 1 }
		for run := 1; run <= runs; run++ {
			out := fmt.Sprintf("heard%d.bag", run)
			rec := g.Start("/usr/lib/rosbag/record", append([]string{"-b", "0", "-O", out, "__name:=roscpp"}, topics...)...)
			g.Eventually("both subscribe to all", func() bool {
				state, err := watcher.Master().SystemState(t.Context())
				return err == nil && !slices.ContainsFunc(topics, func(topic string) bool { return len(state.Subscribers[topic]) < 2 })
			})
			g.Start("goplay", "many.bag", "-q", "--link-timeout", "60").Ended(0)
			g.Eventually("rospy has got all", func() bool { return lines() >= run*len(bag) }, func() string { return fmt.Sprint(lines()) })
			rec.Rests() // with SIGINT it forgets what it has not written
			rec.Stop()
			heard := harness.Read(t, filepath.Join(g.Dir, out))
			for topic, count := range want {
				got := 0
				if heard[topic] != nil {
					got = len(heard[topic].Messages)
				}
				if got != count {
					t.Errorf("run %d: roscpp got %d messages of %s, want %d", run, got, topic, count)
				}
			}
		}
	})
}
