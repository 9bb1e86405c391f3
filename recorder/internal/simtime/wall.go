package simtime

import (
	"time"

	"go.uber.org/zap"
)

// jumpLeast is the least step of the wall clock that is logged. A clock that is slewed
// moves by less than a thousandth of the time that passes.
const jumpLeast = 500 * time.Millisecond

// jumpEvery bounds how often steps are logged.
const jumpEvery = time.Minute

// Wall notices when the wall clock is set. Messages keep the order in which they
// came, whatever their stamps say; only the splits on the wall clock follow it.
type Wall struct {
	wall   int64     // nanoseconds since 1970 at the last look
	last   time.Time // the same on the monotonic clock
	logged time.Time
	jumps  int // since then
}

// Look compares both clocks with those of the last call.
func (c *Wall) Look(now time.Time, log *zap.Logger) {
	wall := now.UnixNano()
	passed, passedOnWall := now.Sub(c.last), time.Duration(wall-c.wall)
	first := c.last.IsZero()
	c.wall, c.last = wall, now
	if step := passedOnWall - passed; first || step.Abs() < jumpLeast {
		return
	} else if c.jumps++; c.logged.IsZero() || now.Sub(c.logged) >= jumpEvery {
		log.Warn("the clock was set, or the machine slept: stamps follow it, messages stay in the order in which they came",
			zap.Duration("by", step.Round(time.Millisecond)), zap.Int("times", c.jumps))
		c.logged, c.jumps = now, 0
	}
}
