package recorder

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/own"
	"github.com/gorosbag/gorosbag/recorder/internal/repair"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/sink"
)

// session is the state of one Run. Its own goroutine owns the maps.
type session struct {
	Options
	started time.Time
	in      *intake.Intake // nil before the recording begins
	sink    *sink.Sink
	own     *own.Writer
	wall    simtime.Wall             // owned by tick
	subs    map[string]*subscription // by resolved topic
	tried   map[string]bool          // topics of the master that were refused or are in subs
	left    map[string]*intake.Topic // accounts of topics that were left, by resolved name
	trigger *trigger                 // nil without snapshots
	late    bool                     // the master was away at the start: it may have a clock
	fresh   []string                 // with CountTopics: subscribed to and not logged yet
	ready   chan struct{}            // closed when there is an intake for the links
	given   chan struct{}            // closed when there will be none
}

// run is the owner loop: it subscribes, keeps time and ends the intake.
func (r *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() {
		r.in.Links().UnblockLinks()
		r.noteWaiting()
		r.noteUnread()
		r.closeSubscriptions()
	}()
	defer cancel()

	if err := r.listen(); err != nil {
		return err
	}
	r.own.Notes(r.Notes)
	r.begin()
	for _, name := range r.Select.literal {
		if err := r.subscribe(name, priorityNamed, time.Time{}); err != nil {
			return err
		}
	}
	r.sim.Release()
	r.logSubscribed()
	for _, node := range slices.Concat(r.Select.Nodes, r.Select.NodePublications) {
		r.Log.Info("Recording from: " + node)
	}
	found := make(chan graph.Found)
	asked := r.graph()
	for _, d := range asked.Discoverers() {
		// owner: run; ends when ctx is done.
		wg.Go(func() { asked.Discover(ctx, d, found) })
	}
	if r.trigger != nil {
		// owner: run; ends when ctx is done.
		wg.Go(func() { r.answerTriggers(ctx) })
	}
	if r.Params {
		// owner: run; ends when ctx is done or both are stored.
		wg.Go(func() { r.own.Params(ctx, r.Node.Master()) })
	}
	// owner: run; ends when ctx is done.
	wg.Go(func() { r.verifyLosses(ctx) })
	// owner: run; ends when ctx is done or nothing is left to suggest.
	wg.Go(func() { r.suggest(ctx) })
	if r.late {
		// owner: run; ends when ctx is done or the master has answered.
		wg.Go(func() { r.lookLate(ctx) })
	}
	// owner: run; ends when ctx is done or the disk is full.
	wg.Go(func() { r.watchDisk(ctx) })
	tick := time.NewTicker(min(r.FlushInterval/4, 250*time.Millisecond))
	defer tick.Stop()
	changed := r.Control.Changed()
	over := r.over()
	for {
		select {
		case seen := <-found:
			if !seen.Same { // a large graph is mostly the same each second
				for i, name := range seen.Names {
					priority := priorityRest
					if i < seen.Live {
						priority = priorityLive
					}
					r.consider(name, priority, seen.Since)
				}
				r.logSubscribed()
			}
			if seen.All && (!seen.Same || len(r.subs) > len(seen.Names)) { // otherwise none is deserted
				r.leaveDeserted(seen.Names)
			}
		case now := <-tick.C:
			r.noteUnread()
			r.tick(now)
		case <-r.in.Links().Limited():
			if r.endLimited() && (r.Limit > 0 || !r.Select.polls()) {
				return nil
			}
		case <-r.sink.Failed:
			return nil // the sink keeps the error and returns it from close
		case <-r.sink.Disk.Full:
			return ErrMinSpace
		case <-r.in.Commands().AtSize():
			return nil
		case <-over:
			return nil
		case <-changed:
			changed = r.Control.Changed()
			over = r.over()
		case <-ctx.Done():
			return nil
		}
	}
}

// over returns what tells that the duration is over; nil while there is none.
func (r *session) over() <-chan time.Time {
	begun := r.in.Commands().BegunAt()
	if r.Duration == 0 || r.Split || begun.IsZero() {
		return nil
	}
	if r.sim != nil {
		return r.sim.Until(begun.Add(r.Duration))
	}
	return time.After(time.Until(begun.Add(r.Duration)))
}

// diskEvery is how often the free space is looked at, and old files with it.
const diskEvery = time.Second

// repairOrphans names the orphans, or begins to repair them. The caller ends that with
// what the recording ended with.
func (r *session) repairOrphans(ctx context.Context, found []string) (end func(error)) {
	p := r.sink
	if !r.Recover {
		repair.Report(r.Log, p.Outputs.DirName, found)
		return func(error) {}
	}
	stop := repair.Start(ctx, repair.Options{
		Series: p.Outputs, Log: r.Log, Finished: p.Handover.Finished, Kept: func(bag, original string) { p.Retain.Recovered(p.Outputs, bag, original) },
		Crowded: r.in.Accounts().QueueCrowded, Buffer: r.MemoryBytes(), MinSpace: r.MinSpace,
	}, found)
	return func(err error) { stop(!errors.Is(err, ErrDiskHangs)) } // else this would hang, too
}

// watchDisk looks every second until ctx is done or the recording has to end, and
// deletes old files.
func (r *session) watchDisk(ctx context.Context) {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		r.sink.Retain.Enforce(now)
		if r.sink.LowDisk(now) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// record runs the recording, closes its files, and says when the disk takes long. Once
// ctx is done it does not wait for a disk that hangs.
func (r *session) record(ctx context.Context) error {
	var err error
	ended := make(chan struct{})
	// owner: record, which waits for it unless the disk hangs.
	go func() {
		defer close(ended)
		err = r.run(ctx)
		err = errors.Join(err, r.close())
	}()
	watchdog := r.sink.Outputs.Watchdog
	asked, end := time.Time{}, ctx.Done()
	tick := time.NewTicker(watchdog.Limit / 20)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return err
		case <-end:
			asked, end = time.Now(), nil
		case <-tick.C:
			now := time.Now() // the tick may be from before a stop of the process
			watchdog.Report(now)
			if asked.IsZero() || now.Sub(asked) < watchdog.Limit {
				continue
			}
			if hangs := watchdog.Hanging(now); hangs != nil {
				r.abandon()
				return hangs
			}
		}
	}
}
