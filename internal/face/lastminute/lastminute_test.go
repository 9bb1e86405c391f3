package lastminute_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/face/lastminute"
)

func TestRates(t *testing.T) {
	t.Parallel()
	type sample struct {
		second int64
		rate   float64
	}
	tests := map[string]struct {
		samples []sample
		want    []float64
	}{
		"none":               {nil, []float64{}},
		"from the start":     {[]sample{{0, 1}, {1, 2}}, []float64{1, 2}},
		"a topic comes late": {[]sample{{100, 1}, {101, 2}}, []float64{1, 2}},
		"twice in a second":  {[]sample{{7, 1}, {7, 3}, {8, 2}}, []float64{3, 2}},
		"a sample is late":   {[]sample{{7, 1}, {10, 2}}, []float64{1, 2, 2, 2}},
		"time goes back":     {[]sample{{7, 1}, {8, 2}, {6, 9}}, []float64{1, 2}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r lastminute.Rates
			for _, s := range tc.samples {
				r.Add(s.second, s.rate)
			}
			if d := cmp.Diff(tc.want, r.Values()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// Rates older than a minute are removed, also after a gap of any length.
func TestRatesAreBounded(t *testing.T) {
	t.Parallel()
	var r lastminute.Rates
	for s := range int64(1000) {
		r.Add(s, float64(s))
	}
	if v := r.Values(); len(v) != lastminute.Seconds || v[0] != 940 || v[59] != 999 {
		t.Errorf("got %v", v)
	}
	r.Add(1<<40, 5)
	if v := r.Values(); len(v) != lastminute.Seconds || v[0] != 5 || v[59] != 5 {
		t.Errorf("after a gap: %v", v)
	}
}

func TestMeans(t *testing.T) {
	t.Parallel()
	var r lastminute.Rates
	if got := r.Means(12); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for s := range int64(12) {
		r.Add(s, float64(s))
	}
	if d := cmp.Diff([]float64{2, 7, 10.5}, r.Means(12)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for s := int64(12); s < 203; s++ {
		r.Add(s, float64(s))
	}
	got := r.Means(12) // 143 and 144 share a mean with removed seconds
	if len(got) != 12 || got[0] != 147 || got[10] != 197 || got[11] != 201 {
		t.Errorf("got %v", got)
	}
}
