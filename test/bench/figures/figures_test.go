package figures_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

func TestRatioIsOfPairs(t *testing.T) {
	t.Parallel()
	same := func(v float64) float64 { return v }
	// The machine was busy in the second round: both were slow, and the ratio holds.
	if got := figures.Ratio([]float64{400, 40, 500}, []float64{100, 10, 100}, same); got != 4 {
		t.Errorf("ratio %v, want 4", got)
	}
}

func TestTableCountsTargets(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := figures.NewTable(&out)
	table.Row("a load")
	table.Target(true, "<= 2", "%d", 1)
	table.Skip("a ratio", "not installed")
	table.Note("just told")
	if err := table.End(time.Minute); err != nil {
		t.Errorf("nothing is missed: %v", err)
	}
	table.Target(false, "<= 2", "%d", 3)
	if err := table.End(time.Minute); err == nil {
		t.Error("a missed target is no error")
	}
	for _, want := range []string{"\n2 targets: 1 met, 0 missed, 1 not measured; 1m0s\n", "\n3 targets: 1 met, 1 missed, 1 not measured; 1m0s\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in:\n%s", want, out.String())
		}
	}
	if got := strings.Count(out.String(), "a load"); got != 1 {
		t.Errorf("the row is named %d times, want once", got)
	}
}
