package player

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
)

const (
	// A read that the kernel does not finish (a dead file server) cannot be canceled. Run
	// waits this long for it and then abandons it.
	readerGrace = time.Second
	drainReport = 2 * time.Second // a longer Drain is logged
)

// run is the state of one Run after planning.
type run struct {
	o         *Options
	graph     stage.Graph
	plan      *plan.Plan
	conductor *conductor
	noMaster  bool // the master never answered
}

// perform starts the goroutines and runs the phases.
func (r *run) perform(ctx context.Context) (control.Summary, error) {
	readCtx, stopReading := context.WithCancel(ctx)
	readerDone := make(chan struct{})
	// owner: perform; ends with readCtx or when everything is read.
	go func() {
		defer close(readerDone)
		r.conductor.readahead.Run(readCtx)
	}()
	defer awaitReader(readerDone, r.o.Log)
	defer stopReading()
	r.conductor.readahead.Begin(r.conductor.transport.FirstRequest())

	first, ok := r.conductor.readahead.Queue.Peek(ctx)
	if !ok {
		return r.emptySelection(ctx)
	}
	playCtx, stop := context.WithCancel(ctx)
	defer stop()
	stopWake := context.AfterFunc(playCtx, r.conductor.time.Wake)
	defer stopWake()
	r.conductor.load(first.At.Stamp, max(r.plan.Last.Sub(first.At.Stamp), 0), stop)
	if r.o.Viewing != nil {
		r.o.Viewing.Begin(r.conductor, first.At.Stamp)
		shown := make(chan struct{})
		// owner: perform; ends with readCtx, unless a read of a bag does not return.
		go func() {
			defer close(shown)
			r.o.Viewing.Run(readCtx)
		}()
		defer awaitReader(shown, r.o.Log)
		defer stopReading()
	}
	if r.o.OnStart != nil {
		r.o.OnStart(r.conductor)
	}

	if r.o.OnStatus != nil {
		reported := make(chan struct{})
		// owner: perform; ends after the last phase, unless OnStatus does not return.
		go func() {
			defer close(reported)
			r.conductor.watchers.Report(r.conductor.Status)
		}()
		defer r.conductor.watchers.Finish(reported, r.o.Log)
	}
	s, err := r.phases(ctx, playCtx)
	r.conductor.setPhase(control.PhaseDone)
	return s, err
}

// emptySelection returns the result of a Run whose selection has no messages.
func (r *run) emptySelection(ctx context.Context) (control.Summary, error) {
	s := r.summary()
	s.Interrupted = ctx.Err() != nil
	if s.Interrupted || s.Lossy() {
		return s, nil
	}
	return s, plan.ErrNoMessages
}

// awaitReader waits until done is closed, but at most readerGrace.
func awaitReader(done <-chan struct{}, log *zap.Logger) {
	grace := time.NewTimer(readerGrace)
	defer grace.Stop()
	select {
	case <-done:
	case <-grace.C:
		log.Warn("a read of a bag does not return, leaving it behind")
	}
}

// phases runs all phases from registration to draining. playCtx ends before ctx when
// Control.Stop is called.
func (r *run) phases(ctx, playCtx context.Context) (control.Summary, error) {
	if err := r.prepare(playCtx); err != nil {
		return r.summary(), err
	}
	if ctx.Err() == nil {
		r.conductor.setPhase(control.PhasePlay)
		r.publish(playCtx)
	}
	s := r.summary()
	s.Interrupted = !r.conductor.completed
	if ctx.Err() != nil {
		return s, nil
	}
	r.conductor.setPhase(control.PhaseDrain)
	slow := time.AfterFunc(drainReport, func() {
		r.o.Log.Info("all is published; subscribers are still reading what is queued for them")
	})
	defer slow.Stop()
	if err := r.graph.Drain(ctx); err != nil {
		if ctx.Err() != nil {
			s.Interrupted = true
			return s, nil
		}
		r.o.Log.Warn("not every subscriber took all messages", zap.Error(err))
		s.Undelivered = err
	}
	return s, nil
}

// prepare waits for registration and subscribers, and publishes the latched messages from
// before the window.
func (r *run) prepare(ctx context.Context) error {
	r.conductor.setPhase(control.PhaseRegister)
	query := stage.Ask(ctx, r.graph)
	r.noMaster = !r.graph.Registered(ctx, r.conductor.output.Published())
	if r.o.Delay > 0 && ctx.Err() == nil {
		r.conductor.setPhase(control.PhaseDelay)
		pacing.Wait(ctx, r.o.Delay)
	}
	live := query.Live(ctx, r.conductor.output.Published())
	if ctx.Err() != nil {
		return nil //nolint:nilerr // to be interrupted is no error
	}
	stage.LogLive(live, r.o.Log)
	if clock := r.conductor.time.External; clock != nil {
		if clock.Await(ctx); ctx.Err() != nil {
			return nil //nolint:nilerr // as above
		}
	}
	r.conductor.publishLatched()
	if r.o.LinkTimeout > 0 {
		stage.WaitForLinks(ctx, r.graph, r.conductor.output.Publications(), live, r.o.LinkTimeout, r.o.Log)
	}
	if len(r.conductor.awaited) == 0 {
		return nil
	}
	r.conductor.setPhase(control.PhaseWait)
	return stage.WaitForSubscribers(ctx, r.conductor.output.Awaited(r.conductor.awaited), r.o.WaitTimeout,
		r.o.Log)
}

// publish plays and, concurrently, publishes the clock. The clock does not depend on the goroutine that
// plays: while play waits for the disk or is behind, the clock is still published, with the time that
// play has reached. Between two ticks the pacer publishes the clock before a message that is ahead of
// the clock.
func (r *run) publish(ctx context.Context) {
	clockCtx, stopClock := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stopClock()
	if r.o.Clock {
		// owner: publish; ends with clockCtx.
		wg.Go(func() {
			pacing.Repeat(clockCtx, time.Duration(float64(time.Second)/r.o.Hz),
				r.conductor.tick)
		})
	}
	var paced sync.WaitGroup
	// owner: publish; ends with ctx or after the last message. The pacer may lock its thread, so it
	// needs a goroutine that ends.
	paced.Go(func() { r.conductor.pace(ctx) })
	paced.Wait()
}

// summary returns the counts up to now.
func (r *run) summary() control.Summary {
	var s control.Summary
	c := r.conductor
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.Summarize(&s)
	s.Unplayable, s.NoMaster = c.plan.Unplayable(), r.noMaster
	t, now := &c.timing, c.time.Now()
	s.Played, s.Elapsed = c.transport.Head().Played(now), t.Elapsed(now)
	s.Timing = control.Timing(t.Quantiles())
	s.Starved = c.readahead.Queue.StarvedCount()
	s.Damage, s.RebuiltIndexes = c.damage.Found(), c.damage.RebuiltIndexes()
	return s
}
