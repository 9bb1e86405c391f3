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
	deserted atomic.Bool   // Run has returned
	news     chan struct{} // holds a token after a phase was entered, and at the end

	entered []Status // each phase as it was entered, not reported yet; with head.mu held
	done    bool     // no more will come; with head.mu held
}

func newStatusReporter(h *playhead, call func(Status)) *statusReporter {
	return &statusReporter{head: h, call: call, news: make(chan struct{}, 1)}
}

// enter is told a change of the phase. Called with head.mu held.
func (s *statusReporter) enter(status Status) {
	s.entered = append(s.entered, status)
	signal(s.news)
}

// run reports until the last phase.
func (s *statusReporter) run() {
	t := time.NewTicker(statusPeriod)
	defer t.Stop()
	for regular := false; !s.deserted.Load(); {
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
		case <-s.news:
		case <-t.C:
			regular = true
		}
	}
}

// next returns the next phase to be reported, or the status now if it is time.
func (s *statusReporter) next(regular bool) (status Status, ok, done bool) {
	s.head.mu.Lock()
	defer s.head.mu.Unlock()
	if len(s.entered) > 0 {
		status = s.entered[0]
		s.entered = s.entered[1:]
		return status, true, false
	}
	if s.done || !regular {
		return status, false, s.done
	}
	return s.head.status(), true, false
}

// end waits until all phases are reported, but not for ever.
func (s *statusReporter) end(reported <-chan struct{}, log *zap.Logger) {
	s.head.mu.Lock()
	s.done = true
	s.head.mu.Unlock()
	signal(s.news)
	grace := time.NewTimer(statusGrace)
	defer grace.Stop()
	select {
	case <-reported:
	case <-grace.C:
		s.deserted.Store(true)
		log.Warn("the display of the status does not return, leaving it behind")
	}
}

// Stats implements Control.
func (h *playhead) Stats() Stats {
	h.mu.Lock()
	s := Stats{Status: h.status()}
	full := h.full
	for _, t := range h.plan.topics {
		if t.publication != nil {
			s.Topics = append(s.Topics, TopicStats{
				Name: t.publication.Topic(), Type: t.typ, Latching: t.latching, Off: t.off, Pauses: t.pauses,
				Messages: t.messages, Bytes: t.bytes,
			})
		}
	}
	h.mu.Unlock()
	s.Starved, s.AheadBytes = h.queue.timesStarved(), h.queue.ahead()
	i := 0
	for _, t := range h.plan.topics {
		if t.publication == nil {
			continue
		}
		subscribers := t.publication.Stats()
		s.Topics[i].Subscribers, s.Topics[i].Dropped = subscribers, t.publication.Dropped()
		i++
		if t == full {
			s.WaitingFor = notReading(t, subscribers)
		}
	}
	if s.Phase == PhaseWait {
		s.WaitingFor = withoutSubscriber(h.awaited)
	}
	return s
}
