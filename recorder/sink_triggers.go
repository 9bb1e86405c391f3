package recorder

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/ring"
)

// Snapshots are taken one at a time, and after a burst one each second: a trigger that is
// stuck must not fill the directory.
const (
	snapshotBurst = 10
	snapshotEvery = time.Second
)

// snapshotRequest is a snapshot that is to begin, for all triggers that come before it does.
type snapshotRequest struct {
	triggers int
	last     time.Time     // of them
	begun    chan struct{} // closed when it has; then the following are final
	snapshot *snapshot
	err      error
}

// trigger begins a snapshot, or prolongs the one whose post-roll goes on. While another is
// written, all triggers together begin the next one.
func (w *snapshotWriter) trigger(now time.Time) (*snapshot, error) {
	return w.triggerAll(now, now, 1)
}

// triggerAll is trigger for several triggers, the first and the last of which came at the given
// times.
func (w *snapshotWriter) triggerAll(at, last time.Time, count int) (*snapshot, error) {
	if w == nil {
		return nil, ErrNoSnapshots
	}
	w.count(count)
	sn, err := w.prolong(at)
	if sn != nil && last.After(at) {
		at = last // of the next snapshot, if the post-roll has ended before it
		sn, err = w.prolong(at)
	}
	if sn != nil || err != nil {
		return sn, err
	}
	w.mu.Lock()
	r, first := w.next, w.next == nil
	if first {
		r = &snapshotRequest{begun: make(chan struct{})}
		w.next = r
	}
	r.triggers += count
	if last.After(r.last) {
		r.last = last
	}
	w.mu.Unlock()
	if first {
		w.in.RequestSnapshot(at)
		w.beginNext(r, at)
	}
	<-r.begun
	return r.snapshot, r.err
}

// prolong moves the end of the post-roll that goes on, and returns its snapshot; nil for none.
func (w *snapshotWriter) prolong(now time.Time) (*snapshot, error) {
	of, err := w.in.Prolong(now)
	if of == nil {
		return nil, err
	}
	return of.Job.(*snapshot), err
}

// count adds to the triggers that came until now.
func (w *snapshotWriter) count(triggers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.triggers += uint64(triggers)
}

// beginNext begins a snapshot when the one before is complete.
func (w *snapshotWriter) beginNext(r *snapshotRequest, at time.Time) {
	defer close(r.begun)
	w.starting.Lock()
	defer w.starting.Unlock()
	// Another may have begun meanwhile: to wait for its end would last as long as its post-roll.
	if r.snapshot, r.err = w.prolong(at); r.snapshot == nil && r.err == nil {
		w.in.RequestSnapshot(at) // the one before may have ended that
		r.err = w.awaitTurn()
	}
	w.mu.Lock()
	w.next = nil
	triggers, last := r.triggers, r.last
	w.mu.Unlock()
	switch {
	case r.err != nil:
	case r.snapshot != nil:
		w.in.EndRequest()
		_, r.err = w.prolong(last)
	default:
		r.snapshot, r.err = w.open(at, last, triggers)
	}
	if r.err != nil {
		w.in.EndRequest()
	}
	if r.err != nil && !errors.Is(r.err, ErrNotRecording) {
		w.mu.Lock()
		w.failed++
		w.mu.Unlock()
		w.sink.finished.fault(fmt.Errorf("a snapshot could not begin: %w", r.err))
	}
}

// awaitTurn waits until the latest snapshot is complete, and for the limiter. starting is
// held.
func (w *snapshotWriter) awaitTurn() error {
	if w.latest != nil {
		select {
		case <-w.latest.out.finished:
		case <-w.closing:
			return ErrNotRecording
		}
	}
	turn := time.NewTimer(w.limiter.Reserve().Delay())
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-w.closing:
	}
	if isClosed(w.closing) {
		return ErrNotRecording
	}
	return nil
}

// open creates the bag of a snapshot and begins it; at is the first trigger, last the last
// one. starting is held.
func (w *snapshotWriter) open(at, last time.Time, triggers int) (*snapshot, error) {
	if err := w.sink.disk.Short(); err != nil {
		return nil, err
	}
	out, err := createBag(w.outputs, at)
	if err != nil {
		return nil, err
	}
	out.snapshot = true
	sn := &snapshot{out: out, Taking: ring.Taking{At: at, Last: last, Target: out.Target}}
	sn.Job = sn
	if !w.in.BeginSnapshot(&sn.Taking) {
		return nil, errors.Join(ErrNotRecording, out.Discard())
	}
	w.latest = sn
	fields := []zap.Field(nil)
	if triggers > 1 {
		fields = append(fields, zap.Int("triggers", triggers))
	}
	w.log.Info("Triggered snapshot recording with name '"+out.Target()+"'.", fields...)
	w.sink.handover.Begun(out.Target())
	if w.sink.onOpen != nil {
		w.sink.onOpen(out.Target())
	}
	return sn, nil
}

// failures returns how many snapshots could not begin.
func (w *snapshotWriter) failures() int {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}
