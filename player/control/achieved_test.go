package control_test

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/player/control"
)

func TestAchieved(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tc := range map[string]struct {
		played, elapsed time.Duration
		want            float64
	}{
		"before the first message": {0, 0, 0},
		"only steps":               {s, 0, 0},
		"nothing played":           {0, 2 * s, 0},
		"slower than recorded":     {s, 4 * s, 0.25},
		"faster than recorded":     {6 * s, 4 * s, 1.5},
	} {
		status, summary := control.Status{Played: tc.played, Elapsed: tc.elapsed}, control.Summary{Played: tc.played, Elapsed: tc.elapsed}
		if got := status.Achieved(); got != tc.want {
			t.Errorf("%s: status: %v, want %v", name, got, tc.want)
		}
		if got := summary.Achieved(); got != tc.want {
			t.Errorf("%s: summary: %v, want %v", name, got, tc.want)
		}
	}
}
