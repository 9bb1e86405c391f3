package player

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// A read that the kernel does not finish (a dead file server) cannot be taken
	// back. Run waits this long for it and then leaves it behind.
	readerGrace = time.Second
	drainReport = 2 * time.Second // Drain taking longer is worth a line
)

// run is one Run after its preparation.
type run struct {
	o      *Options
	graph  graph
	plan   *plan
	head   *playhead
	queue  *queue
	reader *reader

	status *statusReporter // nil without OnStatus
}

// perform starts the goroutines and goes through the phases.
func (r *run) perform(ctx context.Context) (Summary, error) {
	readCtx, stopReading := context.WithCancel(ctx)
	read := make(chan struct{})
	// owner: perform; ends with readCtx or when all is read.
	go func() {
		defer close(read)
		r.reader.run(readCtx)
	}()
	defer awaitRead(read, r.o.Log)
	defer stopReading()
	r.reader.give(order{loop: r.head.loop})

	first, ok := r.queue.peek(ctx)
	if !ok {
		return r.nothing(ctx)
	}
	playCtx, stop := context.WithCancel(ctx)
	defer stop()
	stopWake := context.AfterFunc(playCtx, r.head.sleeper.Wake)
	defer stopWake()
	r.head.begins(first.stamp, max(r.plan.last.Sub(first.stamp), 0), stop)
	if r.o.OnStart != nil {
		r.o.OnStart(r.head)
	}

	if r.o.OnStatus != nil {
		r.status = newStatusReporter(r.head, r.o.OnStatus)
		r.head.entered = r.status.enter
		reported := make(chan struct{})
		// owner: perform; ends after the last phase, unless OnStatus does not return.
		go func() {
			defer close(reported)
			r.status.run()
		}()
		defer r.status.end(reported, r.o.Log)
	}
	s, err := r.phases(ctx, playCtx)
	r.enter(PhaseDone)
	return s, err
}

// nothing returns what to say when the selection turned out empty.
func (r *run) nothing(ctx context.Context) (Summary, error) {
	s := r.summary()
	s.Interrupted = ctx.Err() != nil
	if s.Interrupted || s.Lossy() {
		return s, nil
	}
	return s, ErrNoMessages
}

// awaitRead waits until read is closed, but not for ever.
func awaitRead(read <-chan struct{}, log *zap.Logger) {
	grace := time.NewTimer(readerGrace)
	defer grace.Stop()
	select {
	case <-read:
	case <-grace.C:
		log.Warn("a read of a bag does not return, leaving it behind")
	}
}

// phases plays from the first delay to the last message read by a subscriber. playCtx
// ends before ctx when somebody has stopped play.
func (r *run) phases(ctx, playCtx context.Context) (Summary, error) {
	if err := r.prepare(playCtx); err != nil {
		return r.summary(), err
	}
	if ctx.Err() == nil {
		r.enter(PhasePlay)
		r.publish(playCtx)
	}
	s := r.summary()
	s.Interrupted = !r.head.completed
	if ctx.Err() != nil {
		return s, nil
	}
	r.enter(PhaseDrain)
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

// prepare gives the subscribers time to connect, and the state before the window.
func (r *run) prepare(ctx context.Context) error {
	r.enter(PhaseRegister)
	asked := r.ask(ctx)
	r.graph.Registered(ctx, r.plan.published())
	if r.o.Delay > 0 && ctx.Err() == nil {
		r.enter(PhaseDelay)
		wait(ctx, r.o.Delay)
	}
	r.say(ctx, asked)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // to be interrupted is no error
	}
	r.head.mu.Lock()
	r.head.publishLatched()
	r.head.mu.Unlock()
	if len(r.head.awaited) == 0 {
		return nil
	}
	r.enter(PhaseWait)
	return r.plan.waitForSubscribers(ctx, r.head.awaited, r.o.WaitTimeout)
}

// publish runs the pacer and, beside it, the clock.
func (r *run) publish(ctx context.Context) {
	clockCtx, stopClock := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stopClock()
	if r.head.publishClock != nil {
		// owner: publish; ends with clockCtx.
		wg.Go(func() { r.head.runClock(clockCtx, r.o.Hz) })
	}
	paced := make(chan struct{})
	// owner: publish; ends with ctx or after the last message. It may lock its
	// thread, so it must be a goroutine that ends.
	go func() {
		defer close(paced)
		r.head.run(ctx)
	}()
	<-paced
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// enter changes the phase and tells the front end.
func (r *run) enter(p Phase) {
	r.head.mu.Lock()
	defer r.head.mu.Unlock()
	r.head.enter(p)
}

// summary collects what happened up to now.
func (r *run) summary() Summary {
	var s Summary
	r.head.mu.Lock()
	defer r.head.mu.Unlock()
	r.plan.summarize(&s)
	t := &r.head.timing
	now := r.head.sleeper.Now()
	s.Played, s.Elapsed, s.Achieved = t.played, t.elapsed(now), t.achieved(now)
	s.Timing = t.histogram.summary()
	s.Starved = r.queue.timesStarved()
	s.Damage, s.Mended = r.reader.damages(), r.reader.mendings()
	return s
}
