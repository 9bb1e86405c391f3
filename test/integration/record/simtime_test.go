package record_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestSimTime: under /use_sim_time nothing begins before the clock, stamps are those
// of the clock and durations go by it, all beside stock.
func TestSimTime(t *testing.T) {
	t.Parallel()
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		g.Run("rosparam", "set", "/use_sim_time", "true")
		const record = "/usr/lib/rosbag/record"
		ours := g.Start("gorecord", "/chatter", "/clock", "-O", "ours")
		theirs := g.Start(record, "/chatter", "/clock", "-O", "theirs", "__name:=stock_record")
		oursEnds := g.Start("gorecord", "/chatter", "-O", "ours_ends", "--duration=5")
		theirsEnds := g.Start(record, "/chatter", "-O", "theirs_ends", "--duration=5", "__name:=stock_ends")
		all := []*harness.Process{ours, theirs, oursEnds, theirsEnds}
		for _, p := range all {
			p.Printed("/use_sim_time set to true and no clock published.  Still waiting for valid time...")
		}
		if files, err := filepath.Glob(filepath.Join(g.Dir, "*.bag*")); err != nil || len(files) > 0 {
			t.Errorf("before the clock: %v, %v", files, err)
		}
		stalls := g.Stalls(all...)
		clock := g.StartPython("clock.py", "clock", "4")
		clock.Printed("done")
		g.Eventually("ours has all that the clock has published", func() bool {
			so := soFar(g, "ours.bag")
			return len(so["/chatter"]) >= 420 && len(so["/clock"]) >= 135
		}, func() string { return fmt.Sprint(len(soFar(g, "ours.bag")["/chatter"])) })
		theirs.WaitIdle() // with SIGINT it forgets what it has not written
		still := stalls()
		for _, p := range all {
			switch p {
			case ours, theirs:
				p.Stop()
			default:
				p.Wait()
			}
		}
		for _, bag := range []string{"", "_ends"} {
			want, got := g.Dump("theirs" + bag + ".bag")["/chatter /clock"], g.Dump("ours" + bag + ".bag")["/chatter /clock"]
			if d := cmp.Diff(want.Header, got.Header); d != "" {
				t.Errorf("connection header (-stock +ours):\n%s", d)
			}
			// On a busy machine a message overtakes the clock now and then: one of three for
			// each step of 40 ms. So does the end of a recording.
			odd := 3 * int(still/(40*time.Millisecond))
			same, n := sameStamps(want, got), len(got.Messages)
			if same < n*3/4-odd || bag == "" && n != len(want.Messages) || max(n, len(want.Messages)) > min(n, len(want.Messages))+odd {
				t.Errorf("%s: %d of %d messages have stock's stamp; stock has %d; the machine stood still for %v", bag, same, n, len(want.Messages), still)
			}
			if bag != "" && n >= 300 { // of 10 s
				t.Errorf("%d messages of /chatter in 5 s", n)
			}
			if n := len(got.Messages); n < 100 {
				t.Errorf("%d messages of /chatter", n)
			}
		}
		times := g.Dump("ours.bag")["/clock /clock"].Messages
		if len(times) < 135 { // of 140
			t.Errorf("%d messages of /clock", len(times))
		}
	})
}

// sameStamps counts the messages that both have with the same stamp.
func sameStamps(a, b harness.Dumped) (n int) {
	stamps := map[string]int64{}
	for _, m := range a.Messages {
		stamps[m.Data] = m.T
	}
	for _, m := range b.Messages {
		if t, ok := stamps[m.Data]; ok && t == m.T {
			n++
		}
	}
	return n
}

// TestNoClock: a recording that waits for the clock ends at once, and well, without one.
func TestNoClock(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "roscore")
	g.Run("rosparam", "set", "/use_sim_time", "true")
	rec := g.Start("gorecord", "-a", "-O", "out")
	rec.Printed("Still waiting for valid time...")
	rec.Stop()
	if harness.Size(g, "out.bag") >= 0 || harness.Size(g, "out.bag.active") >= 0 {
		t.Error("there is a bag")
	}
}
