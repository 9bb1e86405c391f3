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
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/player/internal/watchers"
	"github.com/gorosbag/gorosbag/rosbag"
)

// controller runs play and implements Control. Its lock guards the state that the
// publishing goroutine, the clock and the callers of Control share. Messages are published
// under that lock, so that nothing is published once Pause has returned, and no clock value
// overtakes a message. The lock is never held while waiting: tcpros.Source.Publish does not
// block.
type controller struct {
	plan        *plan.Plan
	readahead   *readahead.Readahead
	damage      *source.DamageLog
	rateControl *follow.RateControl // Options
	keepAlive   bool                // Options
	awaited     []*plan.Topic       // topics that need a subscriber before play begins
	external    *follow.Clock       // that play follows, or nil
	log         *zap.Logger
	watchers    *watchers.Watchers
	stop        context.CancelFunc // ends play, for Control.Stop

	mu               sync.Mutex
	transport        *transport.Transport
	output           *output.Output
	pacer            pacer
	phase            control.Phase
	fullTopic        *output.Topic // the topic whose full subscribers block play; nil if none
	rateControlDelay time.Duration // how far play is ahead, while rate control blocks it
	stopped          bool          // by Control.Stop
	completed        bool          // the last message of the last pass has been published
}

// pacer waits for deadlines and measures how punctually they are met.
type pacer struct {
	sleeper pacing.Sleeper // safe for any goroutine, without the lock
	batcher pacing.Batcher
	timing  pacing.Timing
	epoch   uint64 // current epoch: items of other epochs are discarded
}

// newController returns a controller for a plan that is ready to play.
func newController(o *Options, p *plan.Plan, d *source.DamageLog, t follow.TimeBase, awaited []*plan.Topic) *controller {
	c := &controller{
		plan: p, readahead: readahead.New(p, timeline.New(orderOf(o, d.Report), p)), damage: d, rateControl: o.RateControl, keepAlive: o.KeepAlive, awaited: awaited, log: o.Log,
		transport: transport.New(transport.Options{
			Schedule:      transport.Schedule{Rate: o.Rate, Immediate: o.Immediate, Paused: o.Paused},
			Loop:          transport.Loop{On: o.Loop, To: transport.Forever, Shift: o.LoopShift, Immediate: o.Immediate},
			SkipEmpty:     o.SkipEmpty,
			PauseOnTopics: len(o.PauseTopics) > 0,
		}),
		pacer:    pacer{sleeper: t},
		external: t.External, watchers: watchers.New(o.OnStatus),
	}
	c.readahead.Queue.OnSlow = c.logDiskWait
	late := maxCatchUp
	if t.External != nil {
		late = follow.MaxClockPeriod
	}
	out := output.Options{
		Plan: p, Transport: c.transport, ClockPerMessage: o.ClockPerMessage, Stamps: t.Stamps, MaxLate: late, Log: o.Log,
	}
	if o.Viewing != nil {
		out.Viewers = o.Viewing
	}
	c.output = output.New(out)
	return c
}

// load sets, before play, the first message, the length, and how to stop.
func (c *controller) load(zero rosbag.Time, length time.Duration, stop context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.Load(zero, length)
	c.stop = stop
}

// readAhead submits the first read request.
func (c *controller) readAhead() { c.readahead.Begin(c.transport.FirstRequest()) }

// publishLatched publishes the state before the window.
func (c *controller) publishLatched() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.PublishState(c.pacer.sleeper.Now())
}

// setPhase changes the phase and informs the front end.
func (c *controller) setPhase(p control.Phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setPhaseLocked(p)
}

func (c *controller) setPhaseLocked(p control.Phase) {
	c.phase = p
	c.watchers.EnterPhase(c.status())
	c.notifyChange()
}

// notifyChange wakes the pacer and everyone who waits on Changed. Called with mu held.
func (c *controller) notifyChange() {
	c.watchers.Notify()
	c.pacer.sleeper.Wake()
}

// Changed implements Control.
func (c *controller) Changed() <-chan struct{} { return c.watchers.Changed() }

// Status implements Control.
func (c *controller) Status() control.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status()
}

func (c *controller) status() control.Status {
	now := c.pacer.sleeper.Now()
	s := c.transport.State(now)
	return control.Status{
		Phase:    c.phase,
		Paused:   s.Paused,
		Rate:     s.Rate,
		Achieved: c.pacer.timing.Achieved(c.transport.Played(now), now),
		Late:     c.pacer.timing.LastLate(),
		BagTime:  s.BagTime,
		Position: s.Position,
		Length:   s.Length,
		Pass:     s.Pass,
		Messages: c.output.Messages(),

		Loop:          s.Loop,
		MarkFrom:      s.From,
		MarkTo:        s.To,
		Bookmarks:     s.Bookmarks,
		PauseOnTopics: s.PauseOnTopics && c.plan.Pauses,
		PausedBy:      s.PausedBy,
		Delayed:       c.rateControlDelay,
		Starving:      c.starving(),
		Seeks:         s.Jumps,
	}
}

// minStarving is the shortest wait for the disk that is reported.
const minStarving = time.Second

// starving returns how long play has been waiting for the disk, or 0 below minStarving.
func (c *controller) starving() time.Duration {
	d := c.readahead.Queue.StarvedFor()
	if d < minStarving {
		return 0
	}
	return d
}

// Stats implements Control.
func (c *controller) Stats() control.Stats {
	c.mu.Lock()
	s := control.Stats{Status: c.status(), Topics: c.output.Counts()}
	full := c.fullTopic
	c.mu.Unlock()
	c.output.AddSubscribers(s.Topics)
	s.Damage = c.damage.Count()
	s.Starved, s.AheadBytes = c.readahead.Queue.StarvedCount(), c.readahead.Queue.QueuedBytes()
	if full != nil {
		s.WaitingFor = full.NotReading()
	}
	switch {
	case s.Phase == control.PhaseWait:
		s.WaitingFor = stage.WithoutSubscriber(c.output.Awaited(c.awaited))
	case s.Phase <= control.PhasePlay && !s.Paused && c.external.StandsStill():
		s.WaitingFor = append(s.WaitingFor, c.external.Topic())
	}
	return s
}

// Density implements Control.
func (c *controller) Density(n int) []uint64 {
	c.mu.Lock()
	zero, length := c.transport.Span()
	c.mu.Unlock()
	return c.plan.Density(zero, length, n)
}

// summary returns the counts up to now.
func (c *controller) summary() control.Summary {
	var s control.Summary
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.Summarize(&s)
	s.Unplayable = c.plan.Unplayable()
	t, now := &c.pacer.timing, c.pacer.sleeper.Now()
	s.Played, s.Elapsed = c.transport.Played(now), t.Elapsed(now)
	s.Achieved = t.Achieved(s.Played, now)
	s.Timing = control.Timing(t.Quantiles())
	s.Starved = c.readahead.Queue.StarvedCount()
	s.Damage, s.RebuiltIndexes = c.damage.Found(), c.damage.RebuiltIndexes()
	return s
}
