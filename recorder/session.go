package recorder

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/health"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/repair"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/sink"
	"github.com/gorosbag/gorosbag/recorder/internal/subscribe"
)

// session is one Run: it connects the packages, and has the loop with the timers. The goroutine of the
// loop owns the fields.
type session struct {
	o       Options
	started time.Time
	subs    *subscribe.Set
	in      *intake.Intake // nil before the recording begins, as are the following
	own     *annotations.Writer
	sink    *sink.Sink
	health  *health.Watcher
	wall    simtime.Wall
	late    bool // the master was away at the start, so it is not known whether the graph has a clock

	// ADR 0128: a recording without a master is a loss.
	splits *rate.Limiter // limits how often commands begin a file; set before the first one

	noMaster atomic.Bool // the master has never answered; for any goroutine
}

// run subscribes, and then is the loop with the timers until the recording ends.
func (r *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer func() {
		r.in.UnblockLinks()
		r.subs.NoteWaiting()
		r.noteMaster()
		if r.noMaster.Load() {
			r.o.Log.Warn("the master never answered: no topic could be recorded",
				zap.String("master", r.o.Node.MasterURI()))
		}
		r.subs.Close()
	}()
	defer cancel()

	r.subs.Record(r.in, r.in.Accounts)
	if err := r.listen(); err != nil {
		return err
	}
	r.own.Notes(r.o.Notes)
	r.subs.LetIn()
	for _, name := range r.o.Select.literal {
		if err := r.subs.Add(name, subscribe.Named, time.Time{}); err != nil {
			return err
		}
	}
	r.o.sim.Release()
	r.subs.LogNew()
	for _, node := range slices.Concat(r.o.Select.Nodes, r.o.Select.NodePublications) {
		r.o.Log.Info("Recording from: " + node)
	}
	found := make(chan graph.Found)
	asked := r.o.graph()
	for _, d := range asked.Discoverers() {
		// owner: run; ends when ctx is done.
		wg.Go(func() { asked.Discover(ctx, d, found) })
	}
	if r.o.Params {
		// owner: run; ends when ctx is done or both are stored.
		wg.Go(func() { r.own.Params(ctx, r.o.Node.Master()) })
	}
	// owner: run; ends when ctx is done.
	wg.Go(func() { asked.Verify(ctx, r.in.Accounts) })
	// owner: run; ends when ctx is done.
	wg.Go(func() { r.health.Run(ctx) })
	// owner: run; ends when ctx is done or nothing is left to suggest.
	wg.Go(func() { asked.Suggest(ctx, r.missing()) })
	if r.late {
		// owner: run; ends when ctx is done or the master has answered.
		wg.Go(func() { simtime.FindLate(ctx, r.o.Node, r.o.Log) })
	}
	// owner: run; ends when ctx is done or the disk is full.
	wg.Go(func() { r.watchDisk(ctx) })
	tick := time.NewTicker(min(r.o.FlushInterval/4, 250*time.Millisecond))
	defer tick.Stop()
	changed := r.o.Control.Changed()
	over := r.over()
	for {
		select {
		case seen := <-found:
			r.subs.Update(seen)
		case now := <-tick.C:
			r.noteMaster()
			r.tick(now)
		case <-r.in.Limited():
			if r.subs.EndLimited() && (r.o.Limit > 0 || !r.o.Select.polls()) {
				return nil
			}
		case <-r.sink.Failed:
			return nil // close returns the error
		case <-r.sink.Bags.Disk.Full:
			return ErrMinSpace
		case <-r.in.AtSize():
			return nil
		case <-over:
			return nil
		case <-changed:
			changed = r.o.Control.Changed()
			over = r.over()
		case <-ctx.Done():
			return nil
		}
	}
}

// awaitClock finds out whether the graph has a clock of its own, and waits for the first time of that
// clock. Topics that the user named are linked to meanwhile, so that no message after the first time is
// missed. awaitClock returns ErrNotBegun if ctx ends before.
func (r *session) awaitClock(ctx context.Context) error {
	var err error
	if r.o.sim, r.late, err = simtime.Find(ctx, r.o.Node); err != nil {
		return err
	}
	if r.o.sim == nil {
		return nil
	}
	r.subs.UseClock(r.o.sim)
	r.o.Tap.Follow(r.o.sim)
	for i, name := range r.o.Select.literal {
		if r.o.Select.resolved[i] == r.o.sim.Topic() {
			continue // Await waits for the clock
		}
		if err := r.subs.Add(name, subscribe.Named, time.Time{}); err != nil {
			return err
		}
	}
	r.subs.LogNew()
	return r.o.sim.Await(ctx, r.o.Log)
}

// listen subscribes to the trigger of snapshots, if there are any.
func (r *session) listen() error {
	if r.o.Snapshot.Mode == control.SnapshotOff {
		return nil
	}
	name, err := r.o.Node.Resolve(subscribe.TriggerTopic)
	if err != nil {
		return err
	}
	s := r.o.Snapshot
	r.o.Log.Info("Keeping the latest messages for snapshots", zap.String("trigger", name),
		zap.Int64("bytes", s.Bytes), zap.Duration("pre-roll", s.PreRoll),
		zap.Duration("post-roll", s.PostRoll))
	return r.subs.Listen(topicname.InGraph(name), r.o.Select.selects, r.sink.Snapshotter.OnMessages)
}

// noteMaster notes whether the master has ever answered, and which parts of its replies could not be read
// or used.
func (r *session) noteMaster() {
	r.noMaster.Store(r.o.Node.Master().LastContact().Answers == 0)
	now, ever := r.o.Node.Unread()
	if bad := r.subs.NotRecorded(); bad != "" {
		now, ever = strings.Trim(now+"; "+bad, "; "), strings.Trim(ever+"; "+bad, "; ")
	}
	r.in.Accounts.NoteUnread(now, ever)
}

// lossesNow returns the account of what was lost until now.
func (r *session) lossesNow() control.Summary {
	s := r.in.Accounts.Summary(time.Now())
	s.NoMaster, s.Findings = r.noMaster.Load(), r.health.Sums()
	return s
}

// missing returns the names in the graph of the topics that are recorded or watched by name: any of them
// may be misspelled.
func (r *session) missing() (all []string) {
	named := r.o.Select.resolved
	if r.o.Watch != nil {
		named = slices.Concat(named, r.o.Watch.Topics())
	}
	for _, name := range named {
		all = append(all, string(name))
	}
	return all
}

// over returns a channel that gets the time when Options.Duration has elapsed; nil if the recording has none.
func (r *session) over() <-chan time.Time {
	begun := r.in.BegunAt()
	if r.o.Duration == 0 || r.o.Split || begun.IsZero() {
		return nil
	}
	if r.o.sim != nil {
		return r.o.sim.Until(begun.Add(r.o.Duration))
	}
	return time.After(time.Until(begun.Add(r.o.Duration)))
}

// diskEvery is how often the free space is checked, and old files are deleted.
const diskEvery = time.Second

// repairOrphans begins to repair the orphans, or only logs their names. end ends the repair; the caller
// passes the error of the recording to end.
func (r *session) repairOrphans(ctx context.Context, found []string) (end func(error)) {
	p := r.sink
	if !r.o.Recover {
		repair.Report(r.o.Log, p.Bags.Outputs.DirName, found)
		return func(error) {}
	}
	// What is kept only for its repair comes first.
	waiting, others := []string(nil), []string(nil)
	for _, base := range found {
		if p.Bags.Retain.Waits(p.Bags.Outputs, base) {
			waiting = append(waiting, base)
		} else {
			others = append(others, base)
		}
	}
	stop := repair.Start(ctx, repair.Options{
		Series: p.Bags.Outputs, Log: r.o.Log, Finished: p.Bags.Handover.Finished,
		Kept:    func(bag, original string) { p.Bags.Retain.Recovered(p.Bags.Outputs, bag, original) },
		Trying:  func(orphan string) func(later bool) { return p.Bags.Retain.Trying(p.Bags.Outputs, orphan) },
		Crowded: func() bool { return r.in.Usage().Crowded(r.o.MemoryBytes()) }, Buffer: r.o.MemoryBytes(),
		MinSpace: r.o.MinSpace,
	}, append(waiting, others...))
	return func(err error) { stop(!errors.Is(err, ErrDiskHangs)) } // a repair would hang on the same disk
}

// watchDisk checks the free space and deletes old files, each second until ctx is done or the recording
// has to end.
func (r *session) watchDisk(ctx context.Context) {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		r.sink.Bags.Retain.Enforce(now)
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

// record runs the recording, closes its files, and logs when the disk takes long. After
// ctx is done, it does not wait for a disk that hangs.
func (r *session) record(ctx context.Context) error {
	var err error
	ended := make(chan struct{})
	// owner: record; ends when the files are closed, unless the disk hangs.
	go func() {
		defer close(ended)
		err = r.run(ctx)
		err = errors.Join(err, r.close())
	}()
	watchdog := r.sink.Bags.Outputs.Watchdog
	endedAt, end := time.Time{}, ctx.Done()
	tick := time.NewTicker(watchdog.Limit / 20)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return err
		case <-end:
			endedAt, end = time.Now(), nil
		case <-tick.C:
			now := time.Now() // the tick may be old, if the process was stopped
			watchdog.Report(now)
			if endedAt.IsZero() || now.Sub(endedAt) < watchdog.Limit {
				continue
			}
			if hangs := watchdog.Hanging(now); hangs != nil {
				r.abandon()
				return hangs
			}
		}
	}
}

// tick calls what has to be called regularly: it seals an old chunk, begins a new file, starts a sync,
// and logs news.
func (r *session) tick(now time.Time) {
	r.wall.Look(now, r.o.Log)
	r.in.Tick(now)
	r.sink.Tick(now)
}

// close begins the snapshot that is asked for, ends the intake, writes the queue and closes the files. After
// Options.Hurry is closed, it drops the rest of the queue instead.
func (r *session) close() error {
	r.sink.Snapshotter.EndTriggers()
	r.in.Close()
	return r.sink.Close()
}

// abandon ends the intake and counts as lost all messages that are not in a file: the disk hangs, and Run
// does not wait for it.
func (r *session) abandon() {
	r.sink.Abandoned.Store(true)
	r.in.Abandon()
}
