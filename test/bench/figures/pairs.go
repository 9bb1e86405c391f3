package figures

import (
	"cmp"
	"slices"
)

// Ratio returns the median of the ratios within each pair.
func Ratio[R any](ours, theirs []R, of func(R) float64) float64 {
	pairs := make([]float64, len(ours))
	for i := range ours {
		pairs[i] = of(ours[i]) / of(theirs[i])
	}
	slices.Sort(pairs)
	return pairs[len(pairs)/2]
}

// Median returns the middle of what of says of all, which must not be empty.
func Median[R any](all []R, of func(R) float64) float64 {
	values := make([]float64, len(all))
	for i, r := range all {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Most returns the worst of all rounds; zero of none.
func Most[R any, N cmp.Ordered](all []R, of func(R) N) (worst N) {
	for _, r := range all {
		worst = max(worst, of(r))
	}
	return worst
}
