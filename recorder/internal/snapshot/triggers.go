package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// triggers is the queue of triggers: a single request, because all triggers that wait share it. It is for
// concurrent use.
type triggers struct {
	asked  chan *request // gets each request; closed by EndTriggers
	ending chan struct{} // closed by EndTriggers
	count  atomic.Uint64 // all triggers
	failed atomic.Int64  // snapshots that could not begin
	vain   atomic.Int64  // triggers that were messages and began no snapshot

	mu    sync.Mutex // guards the following fields
	next  *request   // the snapshot that is asked for; nil for none
	ended bool       // no snapshot is asked for any more
}

// request is a snapshot that is asked for, by all triggers that come before it begins.
type request struct {
	// when the first and the last of these triggers came
	at, last time.Time
	triggers int
	// of the triggers that are messages
	topic string
	// triggers that are messages
	messages int
	// closed when the snapshot has begun or failed to; then the following fields are final
	begun    chan struct{}
	snapshot *Snapshot
	err      error
}

// add asks for a snapshot. It returns nil after EndTriggers. topic is empty unless the n triggers are
// messages.
func (q *triggers) add(at time.Time, n int, topic string) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return nil
	}
	if q.next == nil {
		q.next = &request{at: at, begun: make(chan struct{})}
		q.asked <- q.next // does not block: the request before was taken
	}
	r := q.next
	r.triggers += n
	if topic != "" {
		r.topic = topic
		r.messages += n
	}
	if at.After(r.last) {
		r.last = at
	}
	return r
}

// Trigger begins a snapshot, or extends the one in its post-roll. While another snapshot is written, all
// triggers together begin the next one. The end of ctx ends the waiting, not the snapshot.
func (w *Writer) Trigger(ctx context.Context, at time.Time) (*Snapshot, error) {
	if w == nil {
		return nil, control.ErrNoSnapshots
	}
	sn, r, err := w.ask(at, 1, "")
	if r == nil {
		return sn, err
	}
	select {
	case <-r.begun:
		return r.snapshot, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// OnMessages is Trigger for messages that were received together on a topic. It does not wait. Nobody
// could get its error, so the Writer logs it.
func (w *Writer) OnMessages(topic string, messages int, received time.Time) {
	if _, _, err := w.ask(received, messages, topic); err != nil {
		w.logFailed(topic, messages, err)
	}
}

// ask extends the post-roll in progress, and returns its snapshot, or asks for a snapshot. topic is empty
// unless the n triggers are messages.
func (w *Writer) ask(at time.Time, n int, topic string) (*Snapshot, *request, error) {
	w.triggers.count.Add(uint64(n))
	if sn, err := w.extend(at); sn != nil || err != nil {
		return sn, nil, err
	}
	r := w.triggers.add(at, n, topic)
	if r == nil {
		return nil, nil, control.ErrNotRecording
	}
	return nil, r, nil
}

// extend extends the post-roll in progress, and returns its snapshot. If there is none, the ring keeps
// the window before a trigger at this time for the next snapshot.
func (w *Writer) extend(at time.Time) (*Snapshot, error) {
	of, err := w.In.Trigger(at)
	if of == nil {
		return nil, err
	}
	return of.Job.(*Snapshot), err
}

// start begins the snapshots that are asked for, one after the other.
func (w *Writer) start() {
	for r := range w.triggers.asked {
		w.beginNext(r)
	}
}

// EndTriggers begins the snapshot that is asked for, if there is one, and refuses later triggers.
func (w *Writer) EndTriggers() {
	if w == nil {
		return
	}
	q := &w.triggers
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	close(q.ending)
	close(q.asked)
	w.starter.Wait()
}

// beginNext begins the snapshot that is asked for when the one before is complete.
func (w *Writer) beginNext(r *request) {
	defer close(r.begun)
	sn, err := w.join(r)
	if sn == nil && err == nil {
		w.awaitTurn()
		var out *files.Bag
		out, err = w.create(r.at)
		w.triggers.mu.Lock()
		w.triggers.next = nil // r is final but for its result
		w.triggers.mu.Unlock()
		if err == nil {
			sn, err = w.begin(out, r)
		}
	}
	if r.snapshot, r.err = sn, err; err == nil {
		return
	}
	w.Buffers.EndRequest()
	if !errors.Is(err, control.ErrNotRecording) {
		w.triggers.failed.Add(1)
		w.Bags.Finished.Fail(fmt.Errorf("a snapshot could not begin: %w", err))
	}
	if r.messages > 0 {
		w.logFailed(r.topic, r.messages, err)
	}
}

// join extends the post-roll in progress for all triggers of r, and returns its snapshot, which may have
// begun after r was asked for. It returns nil if there is no post-roll, or if the post-roll ends before
// the last of the triggers.
func (w *Writer) join(r *request) (*Snapshot, error) {
	w.triggers.mu.Lock()
	defer w.triggers.mu.Unlock()
	sn, err := w.extend(r.at)
	if sn != nil && r.last.After(r.at) {
		sn, err = w.extend(r.last)
	}
	if sn != nil || err != nil {
		w.triggers.next = nil // r is final but for its result
	}
	return sn, err
}

// awaitTurn waits until the latest snapshot is complete and the limiter allows another one. The last
// snapshot of a recording waits for neither: the recording writes its last messages only after that
// snapshot has begun.
func (w *Writer) awaitTurn() {
	if w.latest != nil {
		select {
		case <-w.latest.Out.Finished:
		case <-w.triggers.ending:
			return
		}
	}
	turn := time.NewTimer(w.Limiter.Reserve().Delay())
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-w.triggers.ending:
	}
}

// create creates the bag of a snapshot that was triggered at a time.
func (w *Writer) create(at time.Time) (*files.Bag, error) {
	if err := w.Bags.Disk.Short(); err != nil {
		return nil, err
	}
	out, err := files.Create(w.Outputs, at)
	if err == nil {
		out.Snapshot = true
	}
	return out, err
}

// begin begins a snapshot.
func (w *Writer) begin(out *files.Bag, r *request) (*Snapshot, error) {
	sn := &Snapshot{Out: out, Snapshot: ring.Snapshot{At: r.at, Last: r.last, Target: out.Target}}
	sn.Job = sn
	if !w.In.BeginSnapshot(&sn.Snapshot) {
		return nil, errors.Join(control.ErrNotRecording, out.Discard())
	}
	w.latest = sn
	fields := []zap.Field(nil)
	if r.triggers > 1 {
		fields = append(fields, zap.Int("triggers", r.triggers))
	}
	w.Log.Info("Triggered snapshot recording with name '"+out.Target()+"'.", fields...)
	w.Bags.Announce(out)
	return sn, nil
}

// logFailed logs that messages of a topic begin no snapshot. It logs the number of all such messages so
// far: the log is limited, so the next line that is written also stands for lines that were left out.
func (w *Writer) logFailed(topic string, messages int, err error) {
	w.Log.Error("no snapshot", zap.String("trigger", topic),
		zap.Int64("times in all", w.triggers.vain.Add(int64(messages))), zap.Error(err))
}

// Failures returns how many snapshots could not begin.
func (w *Writer) Failures() int {
	if w == nil {
		return 0
	}
	return int(w.triggers.failed.Load())
}
