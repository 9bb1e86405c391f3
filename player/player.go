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

	"github.com/gorosbag/gorosbag/tcpros"
)

// Options says what to play and how. Node and Bags are needed.
type Options struct {
	Node *tcpros.Node
	Bags []*Bag // played as one, merged by time

	Topics   []string      // recorded names to play; none means all
	Prefix   string        // put in front of each recorded name, before name resolution
	Start    time.Duration // offset of the window from the earliest message of all bags
	Duration time.Duration // length of the window, end inclusive; zero means to the end

	Rate      float64 // bag time per wall time; zero means 1
	Immediate bool    // publish without waiting for time; pausing still works
	Paused    bool    // start paused
	Loop      bool    // start again after the last message, for ever
	KeepAlive bool    // after the last message stay until the context ends

	Queue int // messages held for each subscriber; zero means unlimited

	Delay              time.Duration // between advertising and the first message
	WaitForSubscribers bool          // do not begin before each topic has a subscriber

	Clock bool    // publish the bag time on topic clock
	Hz    float64 // how often at least, by the wall, 0.001 to 1e6; zero means 100

	Log *zap.Logger // nil means none

	// OnStart is called once, when play is prepared, with the control of this Run.
	OnStart func(Control)
	// OnStatus is called at each change of the phase, and ten times a second. Calls
	// come one at a time, from a goroutine of their own: one that takes long does not
	// hold up play. At the end Run waits a second for it and then leaves it behind.
	OnStatus func(Status)
}

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
	switch {
	case o.Node == nil:
		return o, &OptionError{"Node", "is missing"}
	case len(o.Bags) == 0:
		return o, &OptionError{"Bags", "is empty"}
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0): // also NaN
		return o, &OptionError{"Rate", "must be positive"}
	case !(o.Hz >= minHz) || o.Hz > maxHz: // also NaN
		return o, &OptionError{"Hz", fmt.Sprintf("must be between %g and %g", minHz, maxHz)}
	case o.Start < 0, o.Duration < 0, o.Delay < 0:
		return o, &OptionError{"Start, Duration or Delay", "is negative"}
	case o.Queue < 0:
		return o, &OptionError{"Queue", "is negative"}
	}
	return o, nil
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
	return play(ctx, &o, nodeGraph{o.Node}, s)
}

// play is Run against a given graph and clock.
func play(ctx context.Context, o *Options, g graph, s sleeper) (Summary, error) {
	p, err := patientPlan(ctx, o, g.Resolve)
	switch {
	case ctx.Err() != nil:
		return Summary{Interrupted: true}, nil
	case errors.Is(err, ErrNoMessages) && len(p.damage) > 0: // the messages may have been there
		r := &reader{plan: p}
		r.reportAll(p.damage)
		return Summary{Damage: r.damages(), Mended: r.mendings()}, nil
	case err != nil:
		return Summary{}, err
	}
	if o.Clock {
		if err := checkClock(g, p); err != nil {
			return Summary{}, err
		}
	}
	p.advertise(g, o.Queue)
	defer p.close()
	r := &run{o: o, graph: g, plan: p, queue: newQueue(maxAheadBytes, maxAheadMessages)}
	r.reader = &reader{plan: p, queue: r.queue, loop: o.Loop}
	r.head = &playhead{
		sleeper:  s,
		schedule: schedule{rate: o.Rate, immediate: o.Immediate, paused: o.Paused},
		latched:  p.latched,
	}
	r.reader.reportAll(p.damage)
	if o.Clock {
		clock, err := advertiseClock(g, p)
		if err != nil {
			return Summary{}, fmt.Errorf("player: clock: %w", err)
		}
		defer clock.close()
		var frames clockFrames
		r.head.publishClock = func(pos time.Duration) { clock.Publish(frames.frame(r.head.zero.Add(pos))) }
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
