package player

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
	var h histogram
	if got := h.summary(); got != (Timing{}) {
		t.Errorf("empty: %+v", got)
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	h.add(-time.Second) // a deadline is never early: counts as on time
	got := h.summary()
	near := func(d, want time.Duration) bool { return math.Abs(float64(d-want)) <= float64(want)/subBuckets }
	if got.Messages != 1001 || got.Max != ms || !near(got.P50, 500*time.Microsecond) || !near(got.P99, 990*time.Microsecond) {
		t.Errorf("got %+v", got)
	}
}

func TestElapsedLeavesPausesOut(t *testing.T) {
	t.Parallel()
	var c timing
	c.begin(time.Second, true) // --pause
	if got := c.elapsed(3 * time.Second); got != 0 {
		t.Errorf("elapsed %v in the first pause, want 0", got)
	}
	c.resume(4 * time.Second)
	c.advance(2 * time.Second)
	c.pause(5 * time.Second)
	if got := c.elapsed(9 * time.Second); got != time.Second {
		t.Errorf("elapsed %v, want 1s", got)
	}
	c.resume(10 * time.Second)
	c.advance(2 * time.Second)
	c.begin(11*time.Second, false) // a further pass
	c.end(11 * time.Second)
	if got := c.elapsed(99 * time.Second); got != 2*time.Second {
		t.Errorf("elapsed %v, want 2s", got)
	}
	if got := c.achieved(99 * time.Second); got != 2 {
		t.Errorf("achieved %v, want 2", got)
	}
}
