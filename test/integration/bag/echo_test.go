package bag_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestEchoBesideStock prints bags with rostopic and with gobag.
func TestEchoBesideStock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "rostopic takes half a second for each command line")
	harness.NeedROS(t) // with types of messages: only with those does rostopic shorten what is inside of a field
	tests := map[string][]string{}
	for _, bag := range bags.Real(t) {
		if filepath.Base(bag) != "unsorted-chunks.bag" { // stock goes through it out of order
			tests[bag] = []string{"-a", "-a -p"}
		}
	}
	tests[bags.Demo(t)] = append(
		tests[bags.Demo(t)], "-a --noarr", "-a --noarr --nostr -p", "-a -n 3", "/odom", "-p /scan", "/odom/pose/pose", "odom/header/stamp", "-p /odom/header/stamp",
		"/odom/pose/covariance[0]", "/tf/transforms", "--nostr /tf/transforms[-1]/header/", "-p /tf/transforms",
		"/camera/image/compressed/data", "-p /camera/image/compressed", "/diagnostics/status[0]/values",
		"--noarr /scan/ranges", "/tf/transforms[9]",
	)
	for bag, lines := range tests {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			for _, args := range lines {
				t.Run(args, func(t *testing.T) {
					t.Parallel()
					g := &harness.Graph{T: t, Port: "1", Dir: t.TempDir()} // no master
					echo := func(program string) string {
						cmd := g.Command(program, append([]string{"echo", "-b", bag}, strings.Fields(args)...)...)
						cmd.Env = append(cmd.Env, "PYTHONIOENCODING=utf-8")
						out, err := testkit.Output(cmd)
						if err != nil && program == "rostopic" {
							t.Fatalf("%s echo: %v", program, err)
						}
						return string(out)
					}
					if want, got := echo("rostopic"), echo("gobag"); want != got {
						t.Errorf("it differs (-stock +ours):\n%s", firstDifference(want, got))
					}
				})
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return cmp.Diff(w[i], g[i])
		}
	}
	return cmp.Diff(len(w), len(g))
}
