package player

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/output"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// maxCatchUp is the longest delay, caused by full subscribers or a slow disk, that play
// makes up for. A longer delay moves the schedule, so that a stop of a minute is not
// followed by a burst of messages.
const maxCatchUp = 100 * time.Millisecond

// When the log first names the subscribers that block play, and how often it repeats them.
const (
	firstFullReport    = 3 * time.Second
	fullReportInterval = 10 * time.Second
)

// run plays the items of the read-ahead queue until the queue or ctx ends.
func (c *controller) run(ctx context.Context) {
	c.pacer.sleeper.Attach()
	queue := c.readahead.Queue
	for run := make([]readahead.Item, 0, readahead.RunItems); ; {
		var ok bool
		run, ok = queue.Pop(ctx, run[:0])
		starved := queue.LastWait > maxCatchUp
		for i := range run {
			if ok = ok && c.playItem(ctx, &run[i], starved); !ok {
				break
			}
			run[i] = readahead.Item{} // frees the chunk
			starved = false
		}
		if !ok && (len(run) > 0 || !c.waitAtEnd(ctx)) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.pacer.sleeper.Now()
	c.transport.Finish(now)
	c.completed = c.completed || c.stopped
	c.pacer.timing.End(now)
}

// waitAtEnd is called when every message has been published. With keepAlive it waits for
// the next read request. It reports whether there is one.
func (c *controller) waitAtEnd(ctx context.Context) bool {
	c.mu.Lock()
	switch {
	case ctx.Err() != nil:
		c.mu.Unlock()
		return false
	case !c.readahead.Queue.Drained(): // a seek came in the meantime
		c.mu.Unlock()
		return true
	}
	c.completed = true
	if !c.keepAlive {
		c.transport.Finish(c.pacer.sleeper.Now())
		c.mu.Unlock()
		return false
	}
	c.transport.End()
	if !c.transport.Paused() {
		c.pacer.timing.Pause(c.pacer.sleeper.Now())
	}
	c.setPhaseLocked(control.PhaseKeepAlive)
	epoch := c.pacer.epoch
	c.mu.Unlock()
	return c.readahead.Queue.AwaitRestart(ctx, epoch)
}

// playItem publishes one message, or carries out one jump, when it is due. It reports false
// when ctx ended. starved reports that the queue was empty before this item.
func (c *controller) playItem(ctx context.Context, it *readahead.Item, starved bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := itemWait{blocked: starved}
	defer c.clearWaiting()
	for {
		switch {
		case ctx.Err() != nil:
			return false
		case it.Epoch != c.pacer.epoch:
			return true
		case it.Jump != nil && !it.Jump.EndOfPass:
			c.finishJump(it)
			return true
		case !c.transport.Begun():
			c.begin(it)
		}
		until := c.ready(it, &w)
		if until == 0 {
			if it.Jump != nil {
				c.nextPass(it.Jump)
			} else {
				c.publish(it, &w)
			}
			return true
		}
		c.mu.Unlock()
		c.pacer.sleeper.SleepUntil(until)
		c.mu.Lock()
	}
}

// itemWait is the state of the wait for one item.
type itemWait struct {
	rateControlPassed bool          // rate control permits the item
	paused            bool          // play was paused for its topic
	blocked           bool          // the disk was slow, or a subscriber had no room
	nextReport        time.Duration // when to log the full subscribers; zero if none was full
	now               time.Duration // the time of the last check
	deadline          time.Duration
}

// ready returns 0 if the item is due, and otherwise the time of the next check.
func (c *controller) ready(it *readahead.Item, w *itemWait) (until time.Duration) {
	step := c.transport.Stepping()
	w.now = c.pacer.sleeper.Now()
	if !w.rateControlPassed && !step {
		held := c.rateControlDelay > 0
		if c.rateControl != nil {
			c.rateControlDelay = c.rateControl.Ahead(c.output.Reached())
		}
		if c.rateControlDelay > 0 && it.Jump == nil {
			return transport.Forever
		}
		w.rateControlPassed, c.rateControlDelay = true, 0
		if held {
			c.transport.Rebase(w.now)
		}
		if c.transport.Skip(it.Pos, w.now) {
			c.output.Tick(w.now)
		}
	}
	w.deadline = c.transport.SetNext(it.Pos)
	switch {
	case !step && w.now < w.deadline:
		return c.pacer.batcher.WakeUp(w.deadline)
	case it.Jump != nil:
		return 0
	case !step && it.Route.Pauses && c.transport.PausesOnTopics() && !w.paused:
		w.paused = true
		c.transport.PauseFor(it.Route.Topic.Name, w.now)
		c.notePaused(w.now)
		return transport.Forever
	case c.output.Topic(it.Route).Takes():
		if late := w.now - w.deadline; w.blocked && late > maxCatchUp && !c.transport.Paused() {
			c.transport.RebaseTo(it.Pos, w.now)
			w.deadline = w.now
		}
		return 0
	}
	return c.waitForRoom(c.output.Topic(it.Route), w)
}

// waitForRoom notes, and logs from time to time, that a subscriber of a topic has no room.
// It returns the time of the next check; a subscriber that frees room wakes play earlier.
func (c *controller) waitForRoom(t *output.Topic, w *itemWait) (until time.Duration) {
	if w.nextReport == 0 {
		w.nextReport = w.now + firstFullReport
	}
	w.blocked, c.fullTopic = true, t
	if w.now >= w.nextReport {
		w.nextReport = w.now + fullReportInterval
		c.log.Warn("play waits for subscribers that do not read",
			zap.Strings("subscribers", plan.Abbreviate(t.NotReading())))
	}
	return w.nextReport
}

// clearWaiting clears what Status and Stats tell about waiting. Called with mu held.
func (c *controller) clearWaiting() {
	c.fullTopic = nil
	c.rateControlDelay = 0
}

// logDiskWait logs that play has been waiting for the disk for d.
func (c *controller) logDiskWait(d time.Duration) {
	c.log.Warn("play waits for the disk", zap.Duration("for", d.Round(time.Second)))
}

// begin makes the first message due now.
func (c *controller) begin(it *readahead.Item) {
	now := c.pacer.sleeper.Now()
	c.transport.Begin(it.At, it.Pos, now)
	c.pacer.timing.Begin(now, c.transport.Paused())
	c.positionChanged(now)
}

// positionChanged informs rate control and the clock about a jump. Called with mu held.
func (c *controller) positionChanged(now time.Duration) {
	c.output.Jumped(now)
	c.rateControl.Reset(c.output.Reached())
	c.output.Tick(now)
}

// nextPass ends a pass of the loop and begins the next.
func (c *controller) nextPass(j *readahead.Jump) {
	now := c.pacer.sleeper.Now()
	c.transport.NextPass(j.To, j.Shift, now)
	c.positionChanged(now) // before the state: a node that resets when time goes back must receive the state afterwards
	c.output.SetLatched(j.Latched, true, now)
	c.notifyChange()
}

// finishJump completes a jump: the reader has reached the place and found the state there.
func (c *controller) finishJump(it *readahead.Item) {
	now := c.pacer.sleeper.Now()
	c.transport.Arrive(it.At, it.Jump.To, it.Jump.Step, now)
	c.pacer.timing.Begin(now, c.transport.Paused())
	c.positionChanged(now)
	c.output.SetLatched(it.Jump.Latched, false, now)
	c.notifyChange()
}

// publish publishes a message on its topic. The clock goes out first: a node on simulated
// time must not receive a message from its future.
func (c *controller) publish(it *readahead.Item, w *itemWait) {
	o := c.output
	var m output.Message // set by field: the compiler would make a literal elsewhere and copy it, for 10 ns
	m.Frame, m.Private, m.Recorded, m.Alone = it.Frame, it.Route.Private, it.At.Stamp, true
	m.At.Pos, m.At.Due = it.Pos, w.now
	tick := o.WantsClock(it.Pos)
	switch c.transport.Publish(it.At, it.Pos, w.now) {
	case transport.ByStep:
		tick = true
	case transport.AtOnce:
		tick, m.Alone = true, false
	case transport.OnTime:
		late := w.now - w.deadline
		c.pacer.batcher.Add(w.now, w.deadline)
		m.Alone = late < floodLate
		o.OnSchedule(&m, late)
		c.pacer.timing.Late(late)
	}
	if tick && it.Route.Clocked {
		o.Tick(w.now)
	}
	o.Publish(it.Route, &m)
}

// floodLate is the lateness from which on messages are left to the links to be sent together.
const floodLate = time.Millisecond

// runClock publishes the clock at hz, in wall time, until ctx ends. It does not depend on
// the goroutine that plays: while play waits for the disk or is behind, the clock is still
// published, with the time that play has reached. Between two ticks publish itself publishes
// the clock before a message that is ahead of it.
func (c *controller) runClock(ctx context.Context, hz float64) {
	period := time.Duration(float64(time.Second) / hz)
	next := time.Now().Add(period)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		c.output.Tick(c.pacer.sleeper.Now())
		c.mu.Unlock()
		next = next.Add(period)
		if late := time.Since(next); late > 0 {
			next = next.Add(late.Truncate(period)) // no burst of ticks after a delay
		}
		timer.Reset(time.Until(next))
	}
}
