package player

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/output"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// maxCatchUp is the longest delay, caused by full subscribers or a slow disk, that play makes up for.
// A longer delay moves the schedule: a minute of waiting is not followed by a burst of messages.
const maxCatchUp = 100 * time.Millisecond

// maxOwnDelay is the longest delay of the pacer itself that play makes up for. A longer one means that
// the whole program did not run: somebody stopped it (Ctrl+Z, SIGSTOP), or the virtual machine stood
// still. That moves the schedule, too.
const maxOwnDelay = time.Second

// When the log first names the subscribers that block play, and how often it repeats them.
const (
	firstFullReport    = 3 * time.Second
	fullReportInterval = 10 * time.Second
)

// pacer is what only the goroutine of pace uses.
type pacer struct {
	batcher   pacing.Batcher
	nextCheck time.Duration // when the next item is checked, unless the program does not run
}

// pace publishes the messages of the read-ahead queue when they are due, until the queue or ctx ends: it
// takes an item, sleeps until it is due, and publishes it under the lock.
func (c *conductor) pace(ctx context.Context) {
	c.time.Attach()
	queue := c.readahead.Queue
	starved := false // the next message comes late
	for run := make([]readahead.Item, 0, readahead.RunItems); ; {
		var ok bool
		run, ok = queue.Pop(ctx, run[:0])
		c.pacer.nextCheck = transport.Forever // starved tells of a delay in Pop
		starved = starved || queue.LastWait > maxCatchUp
		for i := range run {
			if ok = ok && c.playItem(ctx, &run[i], starved); !ok {
				break
			}
			starved = starved && run[i].Memory()
			run[i] = readahead.Item{} // frees the chunk
		}
		if !ok && (len(run) > 0 || !c.waitAtEnd(ctx)) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.time.Now()
	c.transport.Finish(now)
	c.completed = c.completed || c.stopped
	c.timing.End(now)
}

// waitAtEnd is called when every message has been published. With keepAlive it waits until a command
// makes play read again. It reports whether play goes on.
func (c *conductor) waitAtEnd(ctx context.Context) bool {
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
		c.transport.Finish(c.time.Now())
		c.mu.Unlock()
		return false
	}
	c.transport.End()
	if !c.transport.Head().Paused() {
		c.timing.Pause(c.time.Now())
	}
	c.enterPhaseLocked(control.PhaseKeepAlive)
	epoch := c.epoch
	c.mu.Unlock()
	return c.readahead.Queue.AwaitRestart(ctx, epoch)
}

// playItem publishes one message, or carries out one jump, when it is due. It reports false
// when ctx ended. starved reports that the queue was empty before this item.
func (c *conductor) playItem(ctx context.Context, it *readahead.Item, starved bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := itemWait{blocked: starved}
	defer func() { c.held = hold{} }()
	for {
		switch {
		case ctx.Err() != nil:
			return false
		case it.Epoch != c.epoch:
			return true
		case it.Memory():
			c.output.Done(it.Frame)
			return true
		case it.Jump != nil && !it.Jump.EndOfPass:
			c.finishJumpLocked(it)
			return true
		case !c.transport.Head().Begun():
			c.beginLocked(it)
		}
		until := c.readyLocked(it, &w)
		if until == 0 {
			if it.Jump != nil {
				c.nextPassLocked(it.Jump)
			} else {
				c.publishLocked(it, &w)
			}
			return true
		}
		c.mu.Unlock()
		c.time.SleepUntil(until)
		c.pacer.nextCheck = until
		c.mu.Lock()
	}
}

// noteStopLocked notes that play checks an item so late that the program cannot have run meanwhile. The
// clock of a simulator may advance in long steps, which say nothing about this program.
func (c *conductor) noteStopLocked(w *itemWait) {
	late := w.now - c.pacer.nextCheck
	c.pacer.nextCheck = w.now
	if late <= maxOwnDelay || c.time.External != nil {
		return
	}
	w.blocked = true
	c.log.Warn("the program was stopped for a while: play continues where it was",
		zap.Duration("for", late.Round(time.Millisecond)))
}

// itemWait is the state of the wait for one item.
type itemWait struct {
	rateControlPassed bool          // rate control permits the item
	paused            bool          // play was paused for the topic of the item
	blocked           bool          // the disk was slow, a subscriber had no room, or the program was stopped
	nextReport        time.Duration // when to log the full subscribers; zero if none was full
	now               time.Duration // the time of the last check
	deadline          time.Duration // when the item is due at the present rate
}

// readyLocked returns 0 if the item is due, and otherwise the time of the next check.
func (c *conductor) readyLocked(it *readahead.Item, w *itemWait) (until time.Duration) {
	step := c.transport.Stepping()
	w.now = c.time.Now()
	c.noteStopLocked(w)
	if !w.rateControlPassed && !step {
		held := c.held.ahead > 0
		if c.rateControl != nil {
			c.held.ahead = c.rateControl.Ahead(c.output.Reached())
		}
		if c.held.ahead > 0 && it.Jump == nil {
			return transport.Forever
		}
		w.rateControlPassed, c.held.ahead = true, 0
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
		c.transport.PauseFor(string(it.Route.Topic.Name), w.now)
		c.notePausedLocked(w.now)
		return transport.Forever
	case c.output.Topic(it.Route).Takes():
		if late := w.now - w.deadline; w.blocked && late > maxCatchUp && !c.transport.Head().Paused() {
			c.transport.RebaseTo(it.Pos, w.now)
			w.deadline = w.now
		}
		return 0
	}
	return c.waitForRoomLocked(c.output.Topic(it.Route), w)
}

// waitForRoomLocked notes, and logs from time to time, that a subscriber of a topic has no room.
// It returns the time of the next check; a subscriber that frees room wakes play earlier.
func (c *conductor) waitForRoomLocked(t *output.Topic, w *itemWait) (until time.Duration) {
	if w.nextReport == 0 {
		w.nextReport = w.now + firstFullReport
	}
	w.blocked, c.held.full = true, t
	if w.now >= w.nextReport {
		w.nextReport = w.now + fullReportInterval
		c.log.Warn("play waits for subscribers that do not read",
			zap.Strings("subscribers", plan.Abbreviate(t.NotReading())))
	}
	return w.nextReport
}

// beginLocked makes the first message due now.
func (c *conductor) beginLocked(it *readahead.Item) {
	now := c.time.Now()
	c.transport.Begin(it.At, it.Pos, now)
	c.timing.Begin(now, c.transport.Head().Paused())
	c.positionChangedLocked(now)
}

// nextPassLocked ends a pass of the loop and begins the next.
func (c *conductor) nextPassLocked(j *readahead.Jump) {
	now := c.time.Now()
	c.transport.NextPass(j.To, j.Shift, now)
	// before the state: a node that resets when time goes back must receive the state afterwards
	c.positionChangedLocked(now)
	c.output.SetLatched(j.Latched, true, now)
	c.notifyChange()
}

// finishJumpLocked completes a jump: the reader has reached the place and found the state there.
func (c *conductor) finishJumpLocked(it *readahead.Item) {
	now := c.time.Now()
	c.transport.Arrive(it.At, it.Jump.To, it.Jump.Step, now)
	c.timing.Begin(now, c.transport.Head().Paused())
	c.positionChangedLocked(now)
	c.output.SetLatched(it.Jump.Latched, false, now)
	c.notifyChange()
}

// publishLocked publishes a message on its topic. The clock is published first: a node on simulated
// time must not receive a message from its future.
func (c *conductor) publishLocked(it *readahead.Item, w *itemWait) {
	o := c.output
	// set field by field: a literal would be built elsewhere and copied, which takes 10 ns
	var m output.Message
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
		c.timing.Late(late)
	}
	if tick && it.Route.Clocked {
		o.Tick(w.now)
	}
	o.Publish(it.Route, &m)
}

// A message that is late by floodLate is not sent at once: links send it together with the next ones.
const floodLate = time.Millisecond
