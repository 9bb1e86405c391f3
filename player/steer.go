package player

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/control"
)

// Pause implements Control.
func (c *conductor) Pause() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauseLocked()
}

func (c *conductor) pauseLocked() bool {
	now := c.time.Now()
	if !c.transport.Pause(now) {
		return false
	}
	c.notePausedLocked(now)
	return true
}

// Resume implements Control.
func (c *conductor) Resume() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resumeLocked()
}

func (c *conductor) resumeLocked() bool {
	now := c.time.Now()
	if !c.transport.Resume(now) {
		return false
	}
	if !c.transport.Head().Ended() {
		c.timing.Resume(now)
	}
	c.notifyChange()
	return true
}

// Toggle implements Control.
func (c *conductor) Toggle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pauseLocked() {
		c.resumeLocked()
	}
	return c.transport.Head().Paused()
}

// Step implements Control.
func (c *conductor) Step() bool { return c.Burst(1) }

// Burst implements Control.
func (c *conductor) Burst(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.transport.Burst(n) {
		return false
	}
	c.notifyChange()
	return true
}

// StepBack implements Control.
func (c *conductor) StepBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.transport.StepBack()
	c.applyLocked(e)
	return ok
}

// Seek implements Control.
func (c *conductor) Seek(to time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyLocked(c.transport.Seek(to, c.time.Now()))
}

// SetRate implements Control.
func (c *conductor) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.SetRate(rate, c.time.Now())
	c.notifyChange()
	return nil
}

// SetLoop implements Control.
func (c *conductor) SetLoop(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyLocked(c.transport.SetLoop(on, c.time.Now()))
}

// SetLoopRange implements Control.
func (c *conductor) SetLoopRange(from, to time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.transport.SetLoopRange(from, to, c.time.Now())
	c.applyLocked(e)
	return err
}

// Bookmark implements Control.
func (c *conductor) Bookmark() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pos, ok := c.transport.Bookmark(c.time.Now())
	if !ok {
		return 0, control.ErrBookmarks
	}
	c.notifyChange()
	return pos, nil
}

// PauseOnTopics implements Control.
func (c *conductor) PauseOnTopics(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.PauseOnTopics(on)
	c.notifyChange()
}

// SetTopic implements Control.
func (c *conductor) SetTopic(name string, on bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.output.SetTopic(topicname.InGraph(name), on, c.time.Now())
	if changed {
		c.notifyChange()
	}
	return err
}

// Stop implements Control.
func (c *conductor) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.stop()
	c.notifyChange()
}
