package snapshot

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/files"
	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// Snapshots are taken one at a time, and after a burst at most one each second: a trigger that fires
// without end must not fill the directory.
const (
	burst         = 10
	snapshotEvery = time.Second
)

// request is a snapshot that is to begin, for all triggers that come before it begins.
type request struct {
	triggers int
	last     time.Time     // when the last of these triggers came
	begun    chan struct{} // closed when the snapshot has begun or failed to; then the following fields are final
	snapshot *Snapshot
	err      error
}

// Trigger begins a snapshot, or extends the one in its post-roll. While another snapshot is written, all
// triggers together begin the next one.
func (w *Writer) Trigger(now time.Time) (*Snapshot, error) {
	return w.TriggerAll(now, now, 1)
}

// TriggerAll is Trigger for count triggers, the first of which came at at, and the last at last.
func (w *Writer) TriggerAll(at, last time.Time, count int) (*Snapshot, error) {
	if w == nil {
		return nil, control.ErrNoSnapshots
	}
	w.CountTriggers(count)
	sn, err := w.extend(at)
	if sn != nil && last.After(at) {
		at = last // the post-roll may have ended between the two times
		sn, err = w.extend(at)
	}
	if sn != nil || err != nil {
		return sn, err
	}
	w.mu.Lock()
	r, first := w.next, w.next == nil
	if first {
		r = &request{begun: make(chan struct{})}
		w.next = r
	}
	r.triggers += count
	if last.After(r.last) {
		r.last = last
	}
	w.mu.Unlock()
	if first {
		w.In.RequestSnapshot(at)
		w.beginNext(r, at)
	}
	<-r.begun
	return r.snapshot, r.err
}

// extend extends the post-roll in progress, and returns its snapshot; nil if there is none.
func (w *Writer) extend(now time.Time) (*Snapshot, error) {
	of, err := w.In.Extend(now)
	if of == nil {
		return nil, err
	}
	return of.Job.(*Snapshot), err
}

// CountTriggers adds to the number of triggers.
func (w *Writer) CountTriggers(triggers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.triggers += uint64(triggers)
}

// beginNext begins a snapshot when the one before is complete.
func (w *Writer) beginNext(r *request, at time.Time) {
	defer close(r.begun)
	w.starting.Lock()
	defer w.starting.Unlock()
	// Another snapshot may have begun meanwhile. It is extended: waiting for its end would take its whole post-roll.
	if r.snapshot, r.err = w.extend(at); r.snapshot == nil && r.err == nil {
		w.In.RequestSnapshot(at) // again: the snapshot before may have ended the request
		r.err = w.awaitTurn()
	}
	w.mu.Lock()
	w.next = nil
	triggers, last := r.triggers, r.last
	w.mu.Unlock()
	switch {
	case r.err != nil:
	case r.snapshot != nil:
		w.In.EndRequest()
		_, r.err = w.extend(last)
	default:
		r.snapshot, r.err = w.open(at, last, triggers)
	}
	if r.err == nil {
		return
	}
	w.In.EndRequest()
	if !errors.Is(r.err, control.ErrNotRecording) {
		w.mu.Lock()
		w.counts.failed++
		w.mu.Unlock()
		w.Bags.Finished.Fail(fmt.Errorf("a snapshot could not begin: %w", r.err))
	}
}

// awaitTurn waits until the latest snapshot is complete and the limiter allows another one. w.starting is
// held.
func (w *Writer) awaitTurn() error {
	if w.latest != nil {
		select {
		case <-w.latest.Out.Finished:
		case <-w.closing:
			return control.ErrNotRecording
		}
	}
	turn := time.NewTimer(w.Limiter.Reserve().Delay())
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-w.closing:
	}
	select { // closing counts even if the turn has come at the same time
	case <-w.closing:
		return control.ErrNotRecording
	default:
		return nil
	}
}

// open creates the bag of a snapshot and begins the snapshot; the first trigger came at at, the last one at
// last. w.starting is held.
func (w *Writer) open(at, last time.Time, triggers int) (*Snapshot, error) {
	if err := w.Bags.Disk.Short(); err != nil {
		return nil, err
	}
	out, err := files.Create(w.Outputs, at)
	if err != nil {
		return nil, err
	}
	out.Snapshot = true
	sn := &Snapshot{Out: out, Snapshot: ring.Snapshot{At: at, Last: last, Target: out.Target}}
	sn.Job = sn
	if !w.In.BeginSnapshot(&sn.Snapshot) {
		return nil, errors.Join(control.ErrNotRecording, out.Discard())
	}
	w.latest = sn
	fields := []zap.Field(nil)
	if triggers > 1 {
		fields = append(fields, zap.Int("triggers", triggers))
	}
	w.Log.Info("Triggered snapshot recording with name '"+out.Target()+"'.", fields...)
	w.Bags.Announce(out)
	return sn, nil
}

// Failures returns how many snapshots could not begin.
func (w *Writer) Failures() int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts.failed
}
