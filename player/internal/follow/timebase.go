package follow

import (
	"time"

	"github.com/gorosbag/gorosbag/player/internal/pacing"
)

// TimeBase is what play takes its time from.
type TimeBase struct {
	pacing.Sleeper
	// Stamps returns the reading, since 1970, that the clock for stamps had when the time of the
	// sleeper was zero. It is nil if stamps stay as they were recorded.
	Stamps   func() time.Duration
	External *Clock // nil unless play follows the clock of another node
	End      func() // releases the sleeper or the subscription
}

// Machine goes by the clocks of this machine. With stamped, messages are stamped by the wall clock.
func Machine(s pacing.Sleeper, stamped bool) TimeBase {
	t := TimeBase{Sleeper: s, End: s.Close}
	if stamped {
		wall := wallClock{start: time.Now(), zero: s.Now()}
		t.Stamps = wall.sinceEpoch
	}
	return t
}

// wallClock is the wall clock of this machine, which may be set while play goes on.
type wallClock struct {
	start time.Time     // with the monotonic clock, which the sleeper goes by
	zero  time.Duration // time of the sleeper at start
	set   time.Duration // by how much the wall clock was set since
}

// maxWallDrift is how far wall clock and monotonic clock may drift apart before stamps jump.
// Between two jumps equal stamps stay equal.
const maxWallDrift = 5 * time.Millisecond

// sinceEpoch returns the wall time, since 1970, when the time of the sleeper was zero.
func (c *wallClock) sinceEpoch() time.Duration {
	now := time.Now()
	c.adjust(now.Round(0).Sub(c.start.Round(0)), now.Sub(c.start))
	return time.Duration(c.start.UnixNano()) - c.zero + c.set
}

// adjust compares how far wall clock and monotonic clock have come since start.
func (c *wallClock) adjust(wall, monotonic time.Duration) {
	if set := wall - monotonic; (set - c.set).Abs() > maxWallDrift {
		c.set = set
	}
}
