// Package watchers tells front ends of changes of play: those that wait for the next change, and the
// function that gets the status. Its lock is taken after the lock of play, and is held for a few
// instructions only.
package watchers

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
)

const (
	statusPeriod = 100 * time.Millisecond
	// Grace is how long Finish waits for a call that does not return. A front end that writes
	// to a frozen terminal or a full pipe may never return.
	Grace = time.Second
)

// Watchers are those who watch one run of play. Use New.
type Watchers struct {
	call      func(control.Status) // gets the status; may be nil
	abandoned atomic.Bool          // Finish has given up
	wake      chan struct{}        // holds a token after a phase was entered, and after the last one

	mu      sync.Mutex
	changed chan struct{}    // closed at the next change; nil if nobody has asked for it
	pending []control.Status // one status for each phase that is not reported yet
	done    bool             // no further phase comes
}

// New returns the watchers of a run of play. call, which may be nil, gets the status from Report.
func New(call func(control.Status)) *Watchers {
	return &Watchers{call: call, wake: make(chan struct{}, 1)}
}

// Changed returns a channel that is closed at the next change.
func (w *Watchers) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

// Notify reports a change.
func (w *Watchers) Notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// EnterPhase queues the status at a change of the phase, for Report.
func (w *Watchers) EnterPhase(s control.Status) {
	if w.call == nil {
		return
	}
	w.mu.Lock()
	w.pending = append(w.pending, s)
	w.mu.Unlock()
	w.wakeUp()
}

// Report reports each queued status, and what current returns ten times a second. It returns after
// the last phase. A slow call skips periodic reports, and delays nothing else.
func (w *Watchers) Report(current func() control.Status) {
	t := time.NewTicker(statusPeriod)
	defer t.Stop()
	for regular := false; !w.abandoned.Load(); {
		var s control.Status
		if regular {
			s = current() // before the look at the queue, so that no later phase is reported before it
		}
		phase, queued, done := w.take()
		switch {
		case queued:
			s = phase
		case done:
			return
		case !regular:
			select {
			case <-w.wake:
			case <-t.C:
				regular = true
			}
			continue
		}
		regular = false
		w.call(s)
	}
}

// take takes the oldest status from the queue. done reports that the queue is empty for good.
func (w *Watchers) take() (s control.Status, queued, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return s, false, w.done
	}
	s = w.pending[0]
	w.pending = w.pending[1:]
	return s, true, false
}

// Finish lets Report return once it has reported the last phase, and waits for that: until reported is
// closed, but at most for Grace.
func (w *Watchers) Finish(reported <-chan struct{}, log *zap.Logger) {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.wakeUp()
	grace := time.NewTimer(Grace)
	defer grace.Stop()
	select {
	case <-reported:
	case <-grace.C:
		w.abandoned.Store(true)
		log.Warn("the display of the status does not return, leaving it behind")
	}
}

// wakeUp has Report look at the queue again.
func (w *Watchers) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // a token is there already
	}
}
