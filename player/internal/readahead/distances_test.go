package readahead

import (
	"testing"
	"time"
)

func TestMedianDistance(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		distances []time.Duration
		want      time.Duration
	}{
		"none":    {nil, 0},
		"one":     {[]time.Duration{7}, 7},
		"two":     {[]time.Duration{9, 7}, 7},
		"three":   {[]time.Duration{9, 1, 5}, 5},
		"a burst": {[]time.Duration{0, 0, 0, 100}, 0},
		"a gap":   {[]time.Duration{10, 10, time.Hour}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDistances()
			d.add(time.Hour)
			d.reset()
			for _, x := range tc.distances {
				d.add(x)
			}
			if got := d.median(); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// The sample of many distances has as much of each part of them, takes no more memory, and is
// the same in each pass.
func TestMedianOfManyDistances(t *testing.T) {
	t.Parallel()
	const n = 50 * maxDistances
	d := newDistances()
	var first time.Duration
	for pass := range 3 {
		d.reset()
		for i := range n {
			d.add(time.Duration(i))
		}
		got := d.median()
		if got < n*45/100 || got > n*55/100 || len(d.sample) != maxDistances || cap(d.sample) != maxDistances {
			t.Errorf("the median of 0 to %d is %d, of a sample of %d", n-1, got, len(d.sample))
		}
		if pass > 0 && got != first {
			t.Errorf("%d in the first pass, %d in pass %d", first, got, pass+1)
		}
		first = got
	}
}
