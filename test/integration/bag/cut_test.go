package bag_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestCutKeepsLatched plays cuts of bags. Subscribers get the latched messages that were valid at
// that time of the whole bag.
func TestCutKeepsLatched(t *testing.T) {
	t.Parallel()
	for name, whole := range map[string]func(*harness.Graph) string{
		"demo": func(g *harness.Graph) string { return bags.Demo(g.T) },
		"two": func(g *harness.Graph) string {
			bags.Make(g, "whole.bag",
				bags.StringMessage{Topic: "/tf_static", Node: "/base", Latching: true, Text: "base"},
				bags.StringMessage{Topic: "/tf_static", Node: "/arm", Latching: true, At: 100 * time.Millisecond, Text: "arm"},
				bags.StringMessage{Topic: "/tf_static", Node: "/base", Latching: true, At: 200 * time.Millisecond, Text: "base and camera"},
				bags.StringMessage{Topic: "/odom", Node: "/base", At: 300 * time.Millisecond, Text: "1"},
				bags.StringMessage{Topic: "/odom", Node: "/base", At: 3 * time.Second, Text: "2"},
				bags.StringMessage{Topic: "/tf_static", Node: "/arm", Latching: true, At: 4 * time.Second, Text: "arm with a gripper"},
				bags.StringMessage{Topic: "/odom", Node: "/base", At: 5 * time.Second, Text: "3"})
			return filepath.Join(g.Dir, "whole.bag")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			path := whole(g)
			bag := bags.ReadLatched(t, path)
			half := (bag.End.Sub(bag.Start) / 2).Truncate(time.Millisecond)
			start := fmt.Sprintf("+%.3fs", half.Seconds())
			run(g, "gobag", "filter", "-q", "--start", start, path, "cut.bag")
			run(g, "gobag", "filter", "-q", "--no-latched", "--start", start, path, "bare.bag")
			run(g, "gobag", "split", "-q", "--duration", fmt.Sprintf("%.3f", half.Seconds()), path, "part")

			const after = time.Millisecond // of the cut: a message at the start itself comes when play goes on
			at := half + after
			want := bag.At(bag.Start.Add(at))
			if len(want) == 0 {
				t.Fatalf("nothing is latched at %v", at)
			}
			for played, from := range map[string]time.Duration{path: at, "cut.bag": after, "part_001.bag": after} {
				bags.WaitForLatched(g, played, from, bag.Topics(), want)
			}
			bare := bags.ReadLatched(t, filepath.Join(g.Dir, "bare.bag"))
			if got := bare.At(bare.Start.Add(after)); len(got) > 0 {
				t.Errorf("--no-latched has %v", got)
			}
		})
	}
}

// run runs a program that has to succeed.
func run(g *harness.Graph, program string, args ...string) {
	g.T.Helper()
	if out, err := g.Command(program, args...).CombinedOutput(); err != nil {
		g.T.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}
