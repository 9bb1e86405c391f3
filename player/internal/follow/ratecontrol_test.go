package follow

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestRateControl: play is ahead when it is further from the last report, or from its own last place, than the
// delay permits.
func TestRateControl(t *testing.T) {
	t.Parallel()
	c := NewRateControl(500 * ms)
	at := func(d time.Duration) rosbag.Time { return rosbag.Time{Sec: 100}.Add(d) }
	ahead := func(what string, now, want time.Duration) {
		t.Helper()
		if got := c.Ahead(at(now)); got != want {
			t.Errorf("%s: ahead by %v, want %v", what, got, want)
		}
	}
	c.Report(at(0)) // nobody is attached
	ahead("within the delay", 500*ms, 0)
	ahead("beyond the delay", 501*ms, 501*ms)
	woken := 0
	c.Attach(func() { woken++ })
	c.Report(at(400 * ms))
	ahead("after a report", 900*ms, 0)
	c.Reset(at(-time.Second))
	ahead("after a jump back", 0, time.Second)
	if woken != 1 {
		t.Errorf("woken %d times, want 1", woken)
	}
	(*RateControl)(nil).Reset(at(0))
}
