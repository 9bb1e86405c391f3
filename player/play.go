package player

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
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
	queue := c.readahead.queue
	for run := make([]item, 0, runItems); ; {
		var ok bool
		run, ok = queue.pop(ctx, run[:0])
		starved := queue.lastWait > maxCatchUp
		for i := range run {
			if ok = ok && c.playItem(ctx, &run[i], starved); !ok {
				break
			}
			run[i] = item{} // frees the chunk
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
	case !c.readahead.queue.drained(): // a seek came in the meantime
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
	return c.readahead.queue.awaitRestart(ctx, epoch)
}

// playItem publishes one message, or carries out one jump, when it is due. It reports false
// when ctx ended. starved reports that the queue was empty before this item.
func (c *controller) playItem(ctx context.Context, it *item, starved bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := itemWait{blocked: starved}
	defer c.clearWaiting()
	for {
		switch {
		case ctx.Err() != nil:
			return false
		case it.epoch != c.pacer.epoch:
			return true
		case it.jump != nil && !it.jump.endOfPass:
			c.finishJump(it)
			return true
		case !c.transport.Begun():
			c.begin(it)
		}
		until := c.ready(it, &w)
		if until == 0 {
			if it.jump != nil {
				c.nextPass(it.jump)
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
func (c *controller) ready(it *item, w *itemWait) (until time.Duration) {
	step := c.transport.Stepping()
	w.now = c.pacer.sleeper.Now()
	if !w.rateControlPassed && !step {
		held := c.rateControlDelay > 0
		if c.rateControl != nil {
			c.rateControlDelay = c.rateControl.ahead(c.reached())
		}
		if c.rateControlDelay > 0 && it.jump == nil {
			return transport.Forever
		}
		w.rateControlPassed, c.rateControlDelay = true, 0
		if held {
			c.transport.Rebase(w.now)
		}
		if c.transport.Skip(it.pos, w.now) {
			c.tick()
		}
	}
	w.deadline = c.transport.SetNext(it.pos)
	switch {
	case !step && w.now < w.deadline:
		return c.pacer.batcher.WakeUp(w.deadline)
	case it.jump != nil:
		return 0
	case !step && it.route.pauses && c.transport.PausesOnTopics() && !w.paused:
		w.paused = true
		c.transport.PauseFor(it.route.topic.name, w.now)
		c.notePaused(w.now)
		return transport.Forever
	case c.output.topicOf(it.route).takes():
		if late := w.now - w.deadline; w.blocked && late > maxCatchUp && !c.transport.Paused() {
			c.transport.RebaseTo(it.pos, w.now)
			w.deadline = w.now
		}
		return 0
	}
	return c.waitForRoom(c.output.topicOf(it.route), w)
}

// waitForRoom notes, and logs from time to time, that a subscriber of a topic has no room.
// It returns the time of the next check; a subscriber that frees room wakes play earlier.
func (c *controller) waitForRoom(t *outTopic, w *itemWait) (until time.Duration) {
	if w.nextReport == 0 {
		w.nextReport = w.now + firstFullReport
	}
	w.blocked, c.fullTopic = true, t
	if w.now >= w.nextReport {
		w.nextReport = w.now + fullReportInterval
		c.log.Warn("play waits for subscribers that do not read",
			zap.Strings("subscribers", abbreviate(notReading(t, t.publication.Stats()))))
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
func (c *controller) begin(it *item) {
	now := c.pacer.sleeper.Now()
	c.transport.Begin(it.at, it.pos, now)
	c.pacer.timing.Begin(now, c.transport.Paused())
	c.positionChanged()
}

// positionChanged informs rate control and the clock about a jump. Called with mu held.
func (c *controller) positionChanged() {
	if s := c.output.stamper; s != nil {
		s.reached = s.at(c.pacer.sleeper.Now())
	}
	c.rateControl.reset(c.reached())
	c.tick()
}

// reached returns the time of the last published message, or of the jump after it, as
// subscribers see it in stamps. Called with mu held.
func (c *controller) reached() rosbag.Time {
	if s := c.output.stamper; s != nil {
		return s.reached
	}
	return c.transport.Reached()
}

// nextPass ends a pass of the loop and begins the next.
func (c *controller) nextPass(j *jump) {
	now := c.pacer.sleeper.Now()
	c.transport.NextPass(j.to, j.shift, now)
	c.positionChanged() // before the state: a node that resets when time goes back must receive the state afterwards
	c.output.setLatched(j, now)
	c.notifyChange()
}

// finishJump completes a jump: the reader has reached the place and found the state there.
func (c *controller) finishJump(it *item) {
	now := c.pacer.sleeper.Now()
	c.transport.Arrive(it.at, it.jump.to, it.jump.step, now)
	c.pacer.timing.Begin(now, c.transport.Paused())
	c.positionChanged()
	c.output.setLatched(it.jump, now)
	c.notifyChange()
}

// publish publishes a message on its topic. The clock goes out first: a node on simulated
// time must not receive a message from its future.
func (c *controller) publish(it *item, w *itemWait) {
	o := &c.output
	var m outgoing // set by field: the compiler would make a literal elsewhere and copy it, for 10 ns
	m.frame, m.private, m.recorded, m.alone = it.frame, it.route.private, it.at.Stamp, true
	m.at.pos, m.at.due = it.pos, w.now
	tick := o.clockAll || c.transport.ClockIsBehind(it.pos) && o.clockHeard != nil && o.clockHeard()
	switch c.transport.Publish(it.at, it.pos, w.now) {
	case transport.ByStep:
		tick = true
	case transport.AtOnce:
		tick, m.alone = true, false
	case transport.OnTime:
		late := w.now - w.deadline
		c.pacer.batcher.Add(w.now, w.deadline)
		m.alone = late < floodLate
		if o.stamper != nil {
			m.at = o.stamper.onSchedule(late)
		}
		c.pacer.timing.Late(late)
	}
	if tick && it.route.clocked {
		c.tick()
	}
	o.publish(it.route, &m)
}

// floodLate is the lateness from which on messages are left to the links to be sent together.
const floodLate = time.Millisecond

// tick publishes the clock, if there is one and play has begun. Called with mu held.
func (c *controller) tick() {
	if c.output.clock == nil {
		return
	}
	now := c.pacer.sleeper.Now()
	t, ok := c.transport.Clock(now)
	if !ok {
		return
	}
	if s := c.output.stamper; s != nil {
		t = s.at(now)
	}
	c.output.clock(t)
}

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
		c.tick()
		c.mu.Unlock()
		next = next.Add(period)
		if late := time.Since(next); late > 0 {
			next = next.Add(late.Truncate(period)) // no burst of ticks after a delay
		}
		timer.Reset(time.Until(next))
	}
}
