package simtime

import (
	"time"

	"go.uber.org/zap"
)

// jumpLeast is the smallest step of the wall clock that is logged. A clock that is slewed gains or loses
// less than a thousandth of the time that passes.
const jumpLeast = 500 * time.Millisecond

// jumpEvery is how often steps are logged at most.
const jumpEvery = time.Minute

// Wall notices when the wall clock is set. Messages in bags keep the order of their arrival even then,
// whatever their stamps say; only splits by the local clock follow it.
type Wall struct {
	wall   int64     // the wall clock at the last look, in nanoseconds since 1970
	last   time.Time // the monotonic clock at the last look; zero before the first
	logged time.Time // when a step was logged last
	jumps  int       // steps since then
}

// Look logs a step of the wall clock since the last call: it compares the wall clock with the monotonic one.
func (c *Wall) Look(now time.Time, log *zap.Logger) {
	wall := now.UnixNano()
	passed, passedOnWall := now.Sub(c.last), time.Duration(wall-c.wall)
	first := c.last.IsZero()
	c.wall, c.last = wall, now
	if step := passedOnWall - passed; first || step.Abs() < jumpLeast {
		return
	} else if c.jumps++; c.logged.IsZero() || now.Sub(c.logged) >= jumpEvery {
		log.Warn("the clock was set, or the machine slept: stamps follow the clock, and messages keep the order of their arrival",
			zap.Duration("by", step.Round(time.Millisecond)), zap.Int("times", c.jumps))
		c.logged, c.jumps = now, 0
	}
}
