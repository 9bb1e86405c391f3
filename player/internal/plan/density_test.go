package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A count is spread evenly over its time; what lies outside of the parts is not added.
func TestSpread(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from, to float64
		want     []float64
	}{
		"inside a part":     {1.25, 1.75, []float64{0, 8, 0}},
		"over two":          {0.75, 1.75, []float64{2, 6, 0}},
		"over all, exactly": {-1, 7, []float64{1, 1, 1}},
		"over the end":      {2.5, 4.5, []float64{0, 0, 2}},
		"before":            {-2, -1, []float64{0, 0, 0}},
		"after":             {3, 4, []float64{0, 0, 0}},
		"a point":           {1, 1, []float64{0, 8, 0}},
		"the end":           {3, 3, []float64{0, 0, 8}},
		"a point outside":   {3.5, 3.5, []float64{0, 0, 0}},
		"ends before start": {0.75, 0.25, []float64{0, 0, 0}}, // the index is damaged
	} {
		got := make([]float64, 3)
		spread(got, tc.from, tc.to, 8)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
