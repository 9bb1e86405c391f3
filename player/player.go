// Package player publishes the messages of bags again: in their order, at their
// time, on their topics, with the latching of each original publisher.
//
// A reader goroutine merges the bags and reads ahead. The pacer, on a thread of
// its own, waits for the deadline of each message and hands its frame, the very
// bytes of the bag, to the publication; a slow subscriber has a queue and does
// not hold up the others. A front end steers through Control.
package player

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Options says what to play and how. Node and Bags are needed.
type Options struct {
	Node *tcpros.Node
	Bags []*Bag // played as one, merged by time

	// What to play. Topics, names or globs of recorded names, and Types, globs, add up;
	// none of both means all. Exclude is stronger. With Regex Topics, Exclude, Deny,
	// WaitFor and the first half of each Rename are expressions that match whole names.
	Topics  []string
	Types   []string
	Exclude []string
	Regex   bool

	Rename []string // FROM=TO: recorded names to be played under another name
	Prefix string   // put in front of each name, before name resolution
	Deny   []string // refuse to publish on a topic of such a resolved name

	Start    time.Duration // offset of the window from the earliest message of all bags
	Duration time.Duration // length of the window, end inclusive; zero means to the end

	// ByHeader plays by the stamps of headers instead of by the time of receipt. A stamp
	// further than HeaderReach, zero means 1 s, from that time does not count.
	ByHeader    bool
	HeaderReach time.Duration

	Rate      float64 // bag time per wall time; zero means 1
	Immediate bool    // publish without waiting for time; pausing still works
	Paused    bool    // start paused
	Loop      bool    // start again after the last message, for ever
	LoopShift bool    // in each pass of a loop times go on: those of messages move by the length of the pass
	KeepAlive bool    // after the last message stay until the context ends

	// NewNode, if it is not nil, opens a node with a full name, for each original
	// publisher: what it published comes from there. Run closes them.
	NewNode func(ctx context.Context, name string) (*tcpros.Node, error)

	SkipEmpty   time.Duration // jump over gaps that are longer; zero means never
	PauseTopics []string      // recorded names; play pauses before each message of theirs
	RateControl *RateControl  // holds play up while somebody is behind; nil means nobody does

	Queue    int      // messages held for each subscriber; zero means unlimited
	Overflow Overflow // what to do when a subscriber does not take more

	Delay              time.Duration // between advertising and the first message
	WaitForSubscribers bool          // do not begin before each topic has a subscriber
	WaitFor            []string      // nor before these have one, by their resolved names
	WaitTimeout        time.Duration // give up waiting for them with a *WaitError; zero means never

	Clock bool    // publish the bag time on topic clock
	Hz    float64 // how often at least, by the wall, 0.001 to 1e6; zero means 100
	// ClockTopics are recorded names. The time goes out before messages of theirs only,
	// beside Hz, so that others may come from the future; none means all topics.
	ClockTopics []string
	// ClockPerMessage publishes the time before each such message, even if nobody
	// subscribes to it or it is the same as before.
	ClockPerMessage bool

	Log *zap.Logger // nil means none

	// OnStart is called once, when play is prepared, with the control of this Run.
	OnStart func(Control)
	// OnStatus is called at each change of the phase, and ten times a second. Calls
	// come one at a time, from a goroutine of their own: one that takes long does not
	// hold up play. At the end Run waits a second for it and then leaves it behind.
	OnStatus func(Status)
}

// Overflow says what to do when a subscriber does not take more.
type Overflow int

const (
	// OverflowDefault is OverflowBlock with Options.Immediate, else OverflowDrop.
	OverflowDefault Overflow = iota
	// OverflowDrop drops the oldest message of a subscriber whose queue is full, and
	// counts it, as stock does.
	OverflowDrop
	// OverflowBlock holds play up until all subscribers of the next message's topic can
	// take it: each gets every message. Options.Queue is of no effect.
	OverflowBlock
)

// Limits of Options.Hz. The period must fit a Duration, and the timer must keep up.
const (
	minHz = 1e-3
	maxHz = 1e6
)

// ErrOption matches every *OptionError.
var ErrOption = errors.New("player: invalid option")

// OptionError says which option is wrong.
type OptionError struct {
	Option string
	Reason string
}

// Error implements error.
func (e *OptionError) Error() string { return fmt.Sprintf("player: option %s %s", e.Option, e.Reason) }

// Is reports whether target is ErrOption.
func (e *OptionError) Is(target error) bool { return target == ErrOption }

func (o Options) withDefaults() (Options, error) {
	if o.Rate == 0 {
		o.Rate = 1
	}
	if o.Hz == 0 {
		o.Hz = 100
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Overflow == OverflowDefault {
		o.Overflow = OverflowDrop
		if o.Immediate {
			o.Overflow = OverflowBlock
		}
	}
	switch {
	case o.Node == nil:
		return o, &OptionError{"Node", "is missing"}
	case len(o.Bags) == 0:
		return o, &OptionError{"Bags", "is empty"}
	case checkRate(o.Rate) != nil:
		return o, checkRate(o.Rate)
	case !(o.Hz >= minHz) || o.Hz > maxHz: // also NaN
		return o, &OptionError{"Hz", fmt.Sprintf("must be between %g and %g", minHz, maxHz)}
	case o.Start < 0, o.Duration < 0, o.HeaderReach < 0, o.Delay < 0, o.WaitTimeout < 0:
		return o, &OptionError{"Start, Duration, HeaderReach, Delay or WaitTimeout", "is negative"}
	case o.SkipEmpty < 0:
		return o, &OptionError{"SkipEmpty", "is negative"}
	case o.Overflow != OverflowDrop && o.Overflow != OverflowBlock:
		return o, &OptionError{"Overflow", "is none of the constants"}
	case o.Queue < 0:
		return o, &OptionError{"Queue", "is negative"}
	}
	return o, nil
}

// checkRate returns an *OptionError for what is no rate.
func checkRate(rate float64) error {
	if !(rate > 0) || math.IsInf(rate, 0) { // also NaN
		return &OptionError{"Rate", "must be positive"}
	}
	return nil
}

// Run plays until the last message, or for ever with Loop or KeepAlive, or until
// ctx ends, which is no error. What could not be played is in the Summary. Run
// returns ErrNoMessages when there is nothing to play. The node stays open, but
// is drained when play comes to its end by itself.
func Run(ctx context.Context, o Options) (Summary, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Summary{}, err
	}
	s := newSleeper(o.Log)
	defer s.Close()
	if o.NewNode == nil {
		return play(ctx, &o, nodeGraph{o.Node}, s)
	}
	g := newManyNodes(&o)
	defer g.close() //nolint:contextcheck // the nodes leave the graph after ctx has ended, too
	return play(ctx, &o, g, s)
}

// play is Run against a given graph and clock.
func play(ctx context.Context, o *Options, g graph, s sleeper) (Summary, error) {
	cache := bagfmt.NewCache(cacheChunkBytes, cacheFrameBytes)
	for _, b := range o.Bags {
		b.reader.Use(cache)
		defer b.reader.Use(nil)
	}
	p, err := patientPlan(ctx, o, g.Resolve)
	switch {
	case ctx.Err() != nil:
		return Summary{Interrupted: true}, nil
	case errors.Is(err, ErrNoMessages) && len(p.damage) > 0: // the messages may have been there
		r := newReader(p, nil)
		r.reportAll(p.damage)
		return Summary{Damage: r.damages(), Mended: r.mendings()}, nil
	case err != nil:
		return Summary{}, err
	}
	awaited, err := p.check(g, o)
	if err != nil {
		return Summary{}, err
	}
	if err := g.Publishers(ctx, p.callers()); err != nil {
		if ctx.Err() != nil {
			return Summary{Interrupted: true}, nil
		}
		return Summary{}, err
	}
	block := tcpros.OverflowDrop
	if o.Overflow == OverflowBlock {
		block = tcpros.OverflowBlock
	}
	p.advertise(g, tcpros.AdvertiseOptions{QueueFrames: o.Queue, Overflow: block, Freed: s.Wake})
	defer p.close()
	r := &run{o: o, graph: g, plan: p, queue: newQueue(maxAheadBytes, maxAheadMessages)}
	r.reader = newReader(p, r.queue)
	r.head = &playhead{
		sleeper: s, plan: p, awaited: awaited, log: o.Log, queue: r.queue, reader: r.reader, keepAlive: o.KeepAlive,
		schedule:  schedule{rate: o.Rate, immediate: o.Immediate, paused: o.Paused},
		loop:      loop{on: o.Loop, to: forever, shift: o.LoopShift, immediate: o.Immediate},
		latched:   p.latched,
		sources:   p.latchedSources(),
		skipEmpty: o.SkipEmpty, rateControl: o.RateControl, clockAll: o.ClockPerMessage,
		pauseOn: len(o.PauseTopics) > 0,
	}
	r.queue.slow = r.head.waitsForDisk
	p.mark(o)
	if o.RateControl != nil {
		o.RateControl.attach(s.Wake)
	}
	r.reader.reportAll(p.damage)
	if o.Clock {
		clock, err := advertiseClock(g, p)
		if err != nil {
			return Summary{}, fmt.Errorf("player: clock: %w", err)
		}
		defer clock.close()
		var frames clockFrames
		publish := clock.PublishNow
		if o.Immediate {
			publish = clock.Publish // as many as messages
		}
		r.head.publishClock = func(t bagfmt.Time) { publish(frames.frame(t)) }
		r.head.clockHeard = clock.heard
	}
	return r.perform(ctx)
}

// patientPlan makes the plan. A read that does not return is left behind with its
// goroutine, soon after ctx has ended: nobody uses that plan any more.
func patientPlan(ctx context.Context, o *Options, resolve func(string) (string, error)) (p *plan, err error) {
	type result struct {
		plan *plan
		err  error
	}
	planned := make(chan result, 1)
	done := make(chan struct{})
	// owner: patientPlan; ends when all is read, or with ctx.
	go func() {
		defer close(done)
		p, err := newPlan(ctx, o, resolve)
		planned <- result{p, err}
	}()
	select {
	case r := <-planned:
		<-done
		return r.plan, r.err
	case <-ctx.Done():
		awaitRead(done, o.Log)
		return nil, ctx.Err()
	}
}
