package player

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/output"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/player/internal/wanted"
	"github.com/gorosbag/gorosbag/player/internal/watchers"
	"github.com/gorosbag/gorosbag/rosbag"
)

// conductor leads one run of play: pace publishes the messages, and Control steers. Its lock guards what
// the goroutine of pace, the clock and the callers of Control share, and is the only lock that a message
// meets. Messages are published under that lock, so that nothing is published once Pause has returned,
// and no clock value overtakes a message. The lock is never held while waiting: tcpros.Source.Publish
// does not block. Methods whose names end in Locked need it. See ADR 0103.
type conductor struct {
	plan        *plan.Plan
	awaited     []*plan.Topic // topics that need a subscriber before play begins
	readahead   *readahead.Readahead
	damage      *source.DamageLog
	time        follow.TimeBase     // safe for any goroutine, without the lock
	rateControl *follow.RateControl // Options.RateControl
	watchers    *watchers.Watchers
	keepAlive   bool // Options.KeepAlive
	log         *zap.Logger
	pacer       pacer

	mu        sync.Mutex
	transport *transport.Transport
	output    *output.Output
	timing    pacing.Timing
	epoch     uint64 // of the latest read request: items of other epochs are discarded
	phase     control.Phase
	held      hold
	stop      context.CancelFunc // ends play, for Control.Stop
	stopped   bool               // by Control.Stop
	completed bool               // the last message of the last pass has been published
}

// hold says why a message that is due is not published.
type hold struct {
	full  *output.Topic // the topic whose full subscribers block play; nil if none
	ahead time.Duration // how far play is ahead, while rate control blocks it
}

// newConductor returns a conductor for a plan that is ready to play.
func newConductor(o *Options, p *plan.Plan, d *source.DamageLog, t follow.TimeBase,
	awaited []*plan.Topic,
) *conductor {
	c := &conductor{
		plan: p, awaited: awaited, readahead: readahead.New(p, timeline.New(orderOf(o, d.Report), p)),
		damage: d,
		time:   t, rateControl: o.RateControl, watchers: watchers.New(o.OnStatus), keepAlive: o.KeepAlive,
		log: o.Log,
		transport: transport.New(transport.Options{
			Schedule: transport.Schedule{Rate: o.Rate, Immediate: o.Immediate, Paused: o.Paused},
			Loop: transport.Loop{
				On: o.Loop, To: transport.Forever, Shift: o.LoopShift,
				Immediate: o.Immediate,
			},
			SkipEmpty:     o.SkipEmpty,
			PauseOnTopics: len(o.PauseTopics) > 0,
		}),
	}
	late := maxCatchUp
	if t.External != nil {
		late = follow.MaxClockPeriod
	}
	published := output.Options{
		Plan: p, Head: c.transport.Head(), ClockPerMessage: o.ClockPerMessage, Stamps: t.Stamps,
		MaxLate: late, Log: o.Log,
		Reuse:  c.readahead.Memory.Put,
		Wanted: wanted.New(wanted.Options{Convert: o.ToWanted, Known: o.Definitions, Log: o.Log}, p),
	}
	if o.Viewing != nil {
		published.Viewers = o.Viewing
	}
	c.output = output.New(published)
	c.readahead.Queue.OnSlow = func(waits time.Duration) {
		o.Log.Warn("play waits for the disk or the store", zap.Duration("for", waits.Round(time.Second)))
	}
	return c
}

// load sets the time of the first message, the length and how to stop. It is called before play.
func (c *conductor) load(zero rosbag.Time, length time.Duration, stop context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.Load(zero, length)
	c.stop = stop
}

// publishLatched publishes the state before the window.
func (c *conductor) publishLatched() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.PublishState(c.time.Now())
}

// tick publishes the clock.
func (c *conductor) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.Tick(c.time.Now())
}

// setPhase changes the phase and informs front ends.
func (c *conductor) setPhase(p control.Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enterPhaseLocked(p)
}

// enterPhaseLocked changes the phase and informs front ends.
func (c *conductor) enterPhaseLocked(p control.Phase) {
	c.phase = p
	c.watchers.EnterPhase(c.statusLocked())
	c.notifyChange()
}

// notifyChange wakes the pacer and everyone who waits on Changed. It needs no lock.
func (c *conductor) notifyChange() {
	c.watchers.Notify()
	c.time.Wake()
}

// positionChangedLocked informs rate control and the clock about a jump.
func (c *conductor) positionChangedLocked(now time.Duration) {
	c.output.Jumped(now)
	c.rateControl.Reset(c.output.Reached())
	c.output.Tick(now)
}

// notePausedLocked updates timing and watchers after a pause.
func (c *conductor) notePausedLocked(now time.Duration) {
	if !c.transport.Head().Ended() {
		c.timing.Pause(now)
	}
	c.notifyChange()
}

// applyLocked carries out the effects of a command.
func (c *conductor) applyLocked(e transport.Effects) {
	now := c.time.Now()
	if e.Moved {
		c.positionChangedLocked(now)
	}
	if e.Restarted {
		c.completed = false
		if !c.transport.Head().Paused() {
			c.timing.Resume(now)
		}
		c.enterPhaseLocked(control.PhasePlay)
	}
	if e.Read {
		c.epoch = c.readahead.Restart(e.Request)
	}
	if e.Changed {
		c.notifyChange()
	}
}
