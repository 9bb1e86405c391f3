package follow

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// The wall clock is followed when it is set, not when two clocks differ by little.
func TestWallClock(t *testing.T) {
	t.Parallel()
	c := wallClock{}
	for _, step := range []struct{ wall, monotonic, set time.Duration }{
		{time.Second, time.Second, 0},
		{time.Second + 4*ms, time.Second, 0},
		{time.Second + 6*ms, time.Second, 6 * ms},
		{time.Second + 2*ms, time.Second, 6 * ms},
		{-time.Hour, time.Second, -time.Hour - time.Second},
		{time.Second, time.Second, 0},
	} {
		if c.adjust(step.wall, step.monotonic); c.set != step.set {
			t.Errorf("wall %v, monotonic %v: set by %v, want %v", step.wall, step.monotonic, c.set, step.set)
		}
	}
	before := time.Now()
	c = wallClock{start: before, zero: 7 * time.Second}
	if zero, want := c.sinceEpoch(), before.Add(-7*time.Second); (zero - time.Duration(want.UnixNano())).Abs() > time.Minute {
		t.Errorf("the time of the sleeper began at %v, want %v", time.Unix(0, int64(zero)), want)
	}
}
