package pacing

import (
	"math"
	"testing"
	"time"
)

func TestHistogramBuckets(t *testing.T) {
	t.Parallel()
	for _, v := range []uint64{0, 1, 31, 32, 33, 63, 64, 65, 1000, 1023, 1024, 1 << 20, 1<<40 + 12345, math.MaxInt64} {
		i := bucketOf(v)
		if top := bucketTop(i); v > top || float64(top-v) > float64(v)/subBuckets {
			t.Errorf("%d is in bucket %d, which ends at %d", v, i, top)
		}
		if i > 0 && bucketTop(i-1) >= v {
			t.Errorf("%d belongs in the bucket before %d", v, i)
		}
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var c Timing
	if got := c.Quantiles(); got != (Quantiles{}) {
		t.Errorf("empty: %+v", got)
	}
	for i := range 1000 {
		c.Late(time.Duration(i+1) * time.Microsecond)
	}
	c.Late(-time.Second) // a deadline is never early: counts as on time
	got := c.Quantiles()
	near := func(d, want time.Duration) bool { return math.Abs(float64(d-want)) <= float64(want)/subBuckets }
	if got.Messages != 1001 || got.Max != time.Millisecond || !near(got.P50, 500*time.Microsecond) || !near(got.P99, 990*time.Microsecond) {
		t.Errorf("got %+v", got)
	}
}

func TestElapsedLeavesPausesOut(t *testing.T) {
	t.Parallel()
	var c Timing
	c.Begin(time.Second, true) // --pause
	if got := c.Elapsed(3 * time.Second); got != 0 {
		t.Errorf("elapsed %v in the first pause, want 0", got)
	}
	c.Resume(4 * time.Second)
	c.Pause(5 * time.Second)
	if got := c.Elapsed(9 * time.Second); got != time.Second {
		t.Errorf("elapsed %v, want 1s", got)
	}
	c.Resume(10 * time.Second)
	c.Begin(11*time.Second, false) // a further pass
	c.End(11 * time.Second)
	if got := c.Elapsed(99 * time.Second); got != 2*time.Second {
		t.Errorf("elapsed %v, want 2s", got)
	}
}

// What is no pause, or comes before the first message, does not count as one.
func TestElapsedWithoutPauses(t *testing.T) {
	t.Parallel()
	var c Timing
	c.Pause(time.Second)
	c.Resume(3 * time.Second)
	c.Begin(4*time.Second, false)
	if got := c.Elapsed(4 * time.Second); got != 0 {
		t.Errorf("elapsed %v at the first message", got)
	}
	c.Resume(5 * time.Second)
	if got := c.Elapsed(6 * time.Second); got != 2*time.Second {
		t.Errorf("elapsed %v, want 2s", got)
	}
}

// Half of two messages is the second one.
func TestQuantilesOfTwo(t *testing.T) {
	t.Parallel()
	var c Timing
	c.Late(time.Second)
	c.Late(time.Millisecond)
	if got := c.Quantiles(); got.P50 != time.Second || got.Max != time.Second || c.LastLate() != time.Millisecond {
		t.Errorf("got %+v, the last one %v", got, c.LastLate())
	}
}
