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
	o       *Options
	graph   stage.Graph
	plan    *plan.Plan
	control *controller
}

// perform starts the goroutines and runs the phases.
func (r *run) perform(ctx context.Context) (control.Summary, error) {
	readCtx, stopReading := context.WithCancel(ctx)
	readerDone := make(chan struct{})
	// owner: perform; ends with readCtx or when everything is read.
	go func() {
		defer close(readerDone)
		r.control.readahead.Run(readCtx)
	}()
	defer awaitReader(readerDone, r.o.Log)
	defer stopReading()
	r.control.readAhead()

	first, ok := r.control.readahead.Queue.Peek(ctx)
	if !ok {
		return r.emptySelection(ctx)
	}
	playCtx, stop := context.WithCancel(ctx)
	defer stop()
	stopWake := context.AfterFunc(playCtx, r.control.pacer.sleeper.Wake)
	defer stopWake()
	r.control.load(first.At.Stamp, max(r.plan.Last.Sub(first.At.Stamp), 0), stop)
	if r.o.Viewing != nil {
		shown := make(chan struct{})
		// owner: perform; ends with readCtx, unless a read of a bag does not return.
		go func() {
			defer close(shown)
			r.o.Viewing.Run(readCtx, r.control, first.At.Stamp)
		}()
		defer awaitReader(shown, r.o.Log)
		defer stopReading()
	}
	if r.o.OnStart != nil {
		r.o.OnStart(r.control)
	}

	if r.o.OnStatus != nil {
		reported := make(chan struct{})
		// owner: perform; ends after the last phase, unless OnStatus does not return.
		go func() {
			defer close(reported)
			r.control.watchers.Report(r.control.Status)
		}()
		defer r.control.watchers.Finish(reported, r.o.Log)
	}
	s, err := r.phases(ctx, playCtx)
	r.control.setPhase(control.PhaseDone)
	return s, err
}

// emptySelection returns the result of a Run whose selection has no messages.
func (r *run) emptySelection(ctx context.Context) (control.Summary, error) {
	s := r.control.summary()
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
		return r.control.summary(), err
	}
	if ctx.Err() == nil {
		r.control.setPhase(control.PhasePlay)
		r.publish(playCtx)
	}
	s := r.control.summary()
	s.Interrupted = !r.control.completed
	if ctx.Err() != nil {
		return s, nil
	}
	r.control.setPhase(control.PhaseDrain)
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
	r.control.setPhase(control.PhaseRegister)
	query := stage.Ask(ctx, r.graph)
	r.graph.Registered(ctx, r.control.output.Published())
	if r.o.Delay > 0 && ctx.Err() == nil {
		r.control.setPhase(control.PhaseDelay)
		pacing.Wait(ctx, r.o.Delay)
	}
	live := query.Live(ctx, r.control.output.Published())
	if ctx.Err() != nil {
		return nil //nolint:nilerr // to be interrupted is no error
	}
	stage.LogLive(live, r.o.Log)
	if clock := r.control.external; clock != nil {
		if clock.Await(ctx); ctx.Err() != nil {
			return nil //nolint:nilerr // as above
		}
	}
	r.control.publishLatched()
	if r.o.LinkTimeout > 0 {
		stage.WaitForLinks(ctx, r.graph, r.control.output.Publications(), live, r.o.LinkTimeout, r.o.Log)
	}
	if len(r.control.awaited) == 0 {
		return nil
	}
	r.control.setPhase(control.PhaseWait)
	return stage.WaitForSubscribers(ctx, r.control.output.Awaited(r.control.awaited), r.o.WaitTimeout, r.o.Log)
}

// publish plays and, concurrently, publishes the clock.
func (r *run) publish(ctx context.Context) {
	clockCtx, stopClock := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stopClock()
	if r.o.Clock {
		// owner: publish; ends with clockCtx.
		wg.Go(func() { r.control.runClock(clockCtx, r.o.Hz) })
	}
	paced := make(chan struct{})
	// owner: publish; ends with ctx or after the last message. It may lock its
	// thread, so it must be a goroutine that ends.
	go func() {
		defer close(paced)
		r.control.run(ctx)
	}()
	<-paced
}
