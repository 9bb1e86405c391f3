package player

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// The achieved rate is right between two messages, too, however far apart they are.
func TestAchievedRate(t *testing.T) {
	t.Parallel()
	const s = time.Second
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "", 0, 5*s, 10*s, 15*s)...)
	for name, tc := range map[string]struct {
		o      Options
		orders ordersAt
		at     time.Duration
		want   float64
		played time.Duration
	}{
		"before the second message":     {Options{}, nil, 4900 * ms, 1, 4900 * ms},
		"before the third one":          {Options{}, nil, 9700 * ms, 1, 9700 * ms},
		"at another rate":               {Options{Rate: 2}, nil, 4800 * ms, 2, 9600 * ms},
		"paused":                        {Options{}, ordersAt{4 * s: toggle}, time.Hour, 1, 4 * s},
		"after a step":                  {Options{}, ordersAt{4 * s: toggle, 5 * s: step, 6 * s: toggle}, 9 * s, 1, 7 * s},
		"after a seek":                  {Options{}, ordersAt{4 * s: seek(11 * s)}, 7 * s, 1, 7 * s},
		"in the second pass":            {Options{Loop: true}, nil, 23 * s, 1, 23 * s},
		"between the passes":            {Options{Loop: true}, nil, 18 * s, 1, 18 * s},
		"everything is published":       {Options{KeepAlive: true}, nil, time.Hour, 1, 15 * s},
		"again, after all is published": {Options{KeepAlive: true}, ordersAt{time.Hour: seek(11 * s)}, time.Hour + 2*s, 1, 17 * s},
		"gaps that are left out":        {Options{SkipEmpty: s}, nil, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := tc.o
				o.Bags = testplay.OpenBags(t, bag)
				orders := ordersAt{}
				maps.Copy(orders, tc.orders)
				if tc.at > 0 {
					orders[tc.at] = func(c control.Control) {
						if s := c.Status(); s.Achieved() != tc.want {
							t.Errorf("achieved %v, want %v", s.Achieved(), tc.want)
						}
						c.Stop()
					}
				}
				if got := steer(t, newFakeGraph(), o, orders); got.Played != tc.played || got.Achieved() != tc.want {
					t.Errorf("played %v, achieved %v; want %v, %v", got.Played, got.Achieved(), tc.played, tc.want)
				}
			})
		})
	}
}
