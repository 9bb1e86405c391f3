package player

import (
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// RateControl keeps play from running ahead of somebody who says how far he is, as
// rosbag play's --rate-control-topic does: before each message, if the bag time is more
// than a delay ahead of the stamp reported last, play stands still until it is not. At
// the beginning, and wherever play goes on elsewhere, the stamp is that of play itself.
//
// While paused, Step and Burst publish all the same.
type RateControl struct {
	delay time.Duration

	mu    sync.Mutex
	stamp bagfmt.Time
	wake  func()
}

// NewRateControl returns a RateControl for Options, of one Run, that lets play be ahead
// by a delay.
func NewRateControl(delay time.Duration) *RateControl { return &RateControl{delay: delay} }

// Report says that somebody has got to a stamp. It does not block, and may be called
// from any goroutine and at any time.
func (c *RateControl) Report(stamp bagfmt.Time) {
	c.mu.Lock()
	c.stamp = stamp
	wake := c.wake
	c.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// attach says whom to wake.
func (c *RateControl) attach(wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
}

// reset says that play goes on at a time. It is fine with nil.
func (c *RateControl) reset(now bagfmt.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = now
}

// ahead returns how far play is ahead at a time, if that is too much, else 0.
func (c *RateControl) ahead(now bagfmt.Time) time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := now.Sub(c.stamp); d > c.delay {
		return d
	}
	return 0
}
