// Package follow has what play follows: a subscriber that play must not run too far ahead of, and the
// clock that play takes its time from. What publishers report arrives on goroutines of their links, so
// each has a small lock of its own.
package follow

import (
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// RateControl keeps play from running ahead of a subscriber that reports its progress, as
// --rate-control-topic of rosbag play does: while the bag time of the next message is more
// than a delay ahead of the last reported stamp, play waits. At the beginning and after each
// jump, play's own position counts as reported.
//
// While paused, Step and Burst ignore rate control.
type RateControl struct {
	delay time.Duration

	mu    sync.Mutex
	stamp rosbag.Time
	wake  func()
}

// NewRateControl returns a RateControl for the Options of one Run that permits play to be
// ahead by a delay.
func NewRateControl(delay time.Duration) *RateControl { return &RateControl{delay: delay} }

// Report reports that the subscriber has reached a stamp. It does not block, and may be
// called from any goroutine and at any time.
func (c *RateControl) Report(stamp rosbag.Time) {
	c.mu.Lock()
	c.stamp = stamp
	wake := c.wake
	c.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// Attach sets the function that Report calls.
func (c *RateControl) Attach(wake func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
}

// Reset sets the reported stamp to play's own position. The receiver may be nil.
func (c *RateControl) Reset(now rosbag.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp = now
}

// Ahead returns how far a bag time is ahead of the reported stamp, or 0 if that is within
// the delay.
func (c *RateControl) Ahead(now rosbag.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := now.Sub(c.stamp); d > c.delay {
		return d
	}
	return 0
}
