//go:build linux

package station

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/figures"
)

// growthMost is the largest exponent of what grows with the size of a load: more is not linear.
const growthMost = 1.05

// Growing is a load of several sizes, in ascending order.
type Growing struct {
	Sizes   []int
	Measure func(ctx context.Context, b *Bench, size int) (Usage, error)
}

// Judge measures each size, all sizes in turn, and judges the exponents of processor time and of memory between the
// last two sizes: at small sizes the start of the program hides the growth.
func (g Growing) Judge(ctx context.Context, b *Bench, t *figures.Table) error {
	all := make([][]Usage, len(g.Sizes))
	for range b.Rounds {
		for i, size := range g.Sizes {
			u, err := g.Measure(ctx, b, size)
			if err != nil {
				return fmt.Errorf("%d: %w", size, err)
			}
			all[i] = append(all[i], u)
		}
	}
	for _, of := range []struct {
		name  string
		value func(Usage) float64
		text  func(float64) string
	}{
		{"processor time", func(u Usage) float64 { return u.CPU.Seconds() }, func(s float64) string { return figures.Micro(s).Round(time.Millisecond).String() }},
		{"memory", func(u Usage) float64 { return float64(u.Memory) }, func(n float64) string { return fmt.Sprintf("%.0f MiB", n/(1<<20)) }},
	} {
		var values []float64
		var texts []string
		for i, size := range g.Sizes {
			values = append(values, figures.Median(all[i], of.value))
			texts = append(texts, fmt.Sprintf("%d: %s", size, of.text(values[i])))
		}
		last := len(values) - 1
		exponent := math.Log(values[last]/values[last-1]) / math.Log(float64(g.Sizes[last])/float64(g.Sizes[last-1]))
		t.Target(exponent <= growthMost, fmt.Sprintf("%s: exponent <= %.2f", of.name, growthMost), "%.2f (%s)", exponent, strings.Join(texts, ", "))
	}
	return nil
}
