package bag_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestDiffOfPlay plays random bags and compares the recordings with them: they are the same.
// A bag without one message more, or with one more, is not.
func TestDiffOfPlay(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(round)))
			g := harness.NewGraph(t, "gomaster")
			var list []bags.StringMessage
			topics := 1 + r.IntN(4)
			for i := range 100 + r.IntN(200) {
				topic := r.IntN(topics)
				list = append(list, bags.StringMessage{
					Topic:    fmt.Sprint("/topic", topic),
					Node:     fmt.Sprint("/node", r.IntN(2)),
					Latching: topic == 1,
					At:       time.Duration(r.IntN(500)) * time.Millisecond,
					Text:     fmt.Sprint(i / 2),
				})
			}
			bags.Make(g, "run.bag", list...)
			rec := g.Record("-a", "-x", "/rosout", "-O", "copy")
			g.Start("goplay", "run.bag", "--wait-for-subscribers", "--overflow", "block").Ended(0)
			rec.Stop()
			want := fmt.Sprintf("Same but for the times: %d messages on ", len(list))
			if code, out := diff(g, "run.bag", "copy.bag"); code != 0 || !strings.HasPrefix(out, want) {
				t.Errorf("code %d, want %q\n%s", code, want, out)
			}
			if code, out := diff(g, "--spacing", "1ns", "run.bag", "copy.bag"); code != 3 || !strings.Contains(out, "times too far off") {
				t.Errorf("code %d\n%s", code, out)
			}
			slices.SortStableFunc(list, func(a, b bags.StringMessage) int { return int(a.At - b.At) })
			at := r.IntN(len(list))
			bags.Make(g, "less.bag", slices.Concat(list[:at], list[at+1:])...)
			list[at].Text += "!"
			bags.Make(g, "other.bag", list...)
			for bag, want := range map[string]string{"less.bag": "1 message only in B", "other.bag": "1 message changed"} {
				if code, out := diff(g, bag, "copy.bag"); code != 3 || !strings.Contains(out, want) {
					t.Errorf("%s: code %d, want %q\n%s", bag, code, want, out)
				}
			}
		})
	}
}

// diff runs gobag diff, which has to write nothing to standard error.
func diff(g *harness.Graph, args ...string) (code int, out string) {
	g.T.Helper()
	cmd := g.Command("gobag", append([]string{"diff"}, args...)...)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		g.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}
