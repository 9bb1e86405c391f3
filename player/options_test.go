package player

import "testing"

// Only play that is faster than it was recorded unpacks on several cores.
func TestAheadWorkers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    Options
		want int
	}{
		{Options{Rate: 1}, 1}, {Options{Rate: 0.5}, 1}, {Options{Rate: 1.5}, 2}, {Options{Rate: 1, Immediate: true}, 2},
	} {
		if got := aheadWorkers(&tc.o); got != tc.want {
			t.Errorf("rate %v, immediate %v: %d workers, want %d", tc.o.Rate, tc.o.Immediate, got, tc.want)
		}
	}
}
