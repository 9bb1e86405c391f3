package player

import (
	"time"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// apply carries out the effects of a control command. Called with mu held.
func (c *controller) apply(e transport.Effects) {
	if e.Moved {
		c.positionChanged(c.pacer.sleeper.Now())
	}
	if e.Restarted {
		c.completed = false
		if !c.transport.Paused() {
			c.pacer.timing.Resume(c.pacer.sleeper.Now())
		}
		c.setPhaseLocked(control.PhasePlay)
	}
	if e.Read {
		c.pacer.epoch = c.readahead.Restart(e.Request)
	}
	if e.Changed {
		c.notifyChange()
	}
}

// Pause implements Control.
func (c *controller) Pause() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pause()
}

func (c *controller) pause() bool {
	now := c.pacer.sleeper.Now()
	if !c.transport.Pause(now) {
		return false
	}
	c.notePaused(now)
	return true
}

// notePaused updates timing and watchers after a pause. Called with mu held.
func (c *controller) notePaused(now time.Duration) {
	if !c.transport.Ended() {
		c.pacer.timing.Pause(now)
	}
	c.notifyChange()
}

// Resume implements Control.
func (c *controller) Resume() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resume()
}

func (c *controller) resume() bool {
	now := c.pacer.sleeper.Now()
	if !c.transport.Resume(now) {
		return false
	}
	if !c.transport.Ended() {
		c.pacer.timing.Resume(now)
	}
	c.notifyChange()
	return true
}

// Toggle implements Control.
func (c *controller) Toggle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pause() {
		c.resume()
	}
	return c.transport.Paused()
}

// Step implements Control.
func (c *controller) Step() bool { return c.Burst(1) }

// Burst implements Control.
func (c *controller) Burst(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.transport.Burst(n) {
		return false
	}
	c.notifyChange()
	return true
}

// StepBack implements Control.
func (c *controller) StepBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.transport.StepBack()
	c.apply(e)
	return ok
}

// Seek implements Control.
func (c *controller) Seek(to time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply(c.transport.Seek(to, c.pacer.sleeper.Now()))
}

// SetRate implements Control.
func (c *controller) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.SetRate(rate, c.pacer.sleeper.Now())
	c.notifyChange()
	return nil
}

// SetLoop implements Control.
func (c *controller) SetLoop(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply(c.transport.SetLoop(on, c.pacer.sleeper.Now()))
}

// SetMarks implements Control.
func (c *controller) SetMarks(from, to time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.transport.SetMarks(from, to, c.pacer.sleeper.Now())
	c.apply(e)
	return err
}

// Bookmark implements Control.
func (c *controller) Bookmark() (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pos, ok := c.transport.Bookmark(c.pacer.sleeper.Now())
	if !ok {
		return 0, control.ErrBookmarks
	}
	c.notifyChange()
	return pos, nil
}

// PauseOnTopics implements Control.
func (c *controller) PauseOnTopics(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.PauseOnTopics(on)
	c.notifyChange()
}

// SetTopic implements Control.
func (c *controller) SetTopic(name string, on bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.output.SetTopic(name, on, c.pacer.sleeper.Now())
	if changed {
		c.notifyChange()
	}
	return err
}

// Stop implements Control.
func (c *controller) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.stop()
	c.notifyChange()
}
