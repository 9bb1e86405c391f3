package player

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/control"
)

const (
	statusPeriod = 100 * time.Millisecond
	// A front end that writes to a frozen terminal or a full pipe may never return. At the
	// end Run waits this long for it.
	statusGrace = time.Second
)

// statusReporter calls OnStatus from its own goroutine, so that a slow front end skips
// periodic reports but does not delay play.
type statusReporter struct {
	control   *controller
	call      func(control.Status)
	abandoned atomic.Bool   // Run has returned
	wake      chan struct{} // holds a token after a phase was entered, and at the end

	pending []control.Status // one status for each phase not reported yet; guarded by control.mu
	done    bool             // the last phase has been added; guarded by control.mu
}

func newStatusReporter(c *controller, call func(control.Status)) *statusReporter {
	return &statusReporter{control: c, call: call, wake: make(chan struct{}, 1)}
}

// addPhase queues the status at a change of the phase. Called with control.mu held.
func (s *statusReporter) addPhase(status control.Status) {
	s.pending = append(s.pending, status)
	s.wakeUp()
}

// run reports until the last phase.
func (s *statusReporter) run() {
	t := time.NewTicker(statusPeriod)
	defer t.Stop()
	for regular := false; !s.abandoned.Load(); {
		status, ok, done := s.next(regular)
		regular = false
		switch {
		case ok:
			s.call(status)
			continue
		case done:
			return
		}
		select {
		case <-s.wake:
		case <-t.C:
			regular = true
		}
	}
}

// next returns the next phase to report or, with regular, the present status.
func (s *statusReporter) next(regular bool) (status control.Status, ok, done bool) {
	s.control.mu.Lock()
	defer s.control.mu.Unlock()
	if len(s.pending) > 0 {
		status = s.pending[0]
		s.pending = s.pending[1:]
		return status, true, false
	}
	if s.done || !regular {
		return status, false, s.done
	}
	return s.control.status(), true, false
}

// finish waits until all phases are reported, but at most statusGrace.
func (s *statusReporter) finish(reported <-chan struct{}, log *zap.Logger) {
	s.control.mu.Lock()
	s.done = true
	s.control.mu.Unlock()
	s.wakeUp()
	grace := time.NewTimer(statusGrace)
	defer grace.Stop()
	select {
	case <-reported:
	case <-grace.C:
		s.abandoned.Store(true)
		log.Warn("the display of the status does not return, leaving it behind")
	}
}

// wakeUp has run look again.
func (s *statusReporter) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // a token is there already
	}
}
