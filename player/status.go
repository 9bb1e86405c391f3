package player

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	statusPeriod = 100 * time.Millisecond
	// A front end that writes to a frozen terminal or a full pipe may never return.
	// Run waits this long for it at the end.
	statusGrace = time.Second
)

// statusReporter calls OnStatus from its own goroutine, so that a slow front end
// misses regular reports but delays nothing.
type statusReporter struct {
	head     *playhead
	call     func(Status)
	entered  chan Status // each phase as it was entered; sent with head.mu held
	deserted atomic.Bool // Run has returned
}

func newStatusReporter(h *playhead, call func(Status)) *statusReporter {
	// Run enters a phase at most once, so sending never blocks.
	return &statusReporter{head: h, call: call, entered: make(chan Status, PhaseDone+1)}
}

// run reports until the last phase.
func (s *statusReporter) run() {
	t := time.NewTicker(statusPeriod)
	defer t.Stop()
	for !s.deserted.Load() {
		select {
		case status, more := <-s.entered:
			if !more {
				return
			}
			s.call(status)
		case <-t.C:
			if status, ok := s.regular(); ok {
				s.call(status)
			}
		}
	}
}

// regular returns the status now, unless a phase waits to be reported before.
func (s *statusReporter) regular() (Status, bool) {
	s.head.mu.Lock()
	defer s.head.mu.Unlock()
	return s.head.status(), len(s.entered) == 0
}

// end waits until all phases are reported, but not for ever.
func (s *statusReporter) end(reported <-chan struct{}, log *zap.Logger) {
	close(s.entered)
	grace := time.NewTimer(statusGrace)
	defer grace.Stop()
	select {
	case <-reported:
	case <-grace.C:
		s.deserted.Store(true)
		log.Warn("the display of the status does not return, leaving it behind")
	}
}
