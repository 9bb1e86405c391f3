package web

import (
	"net/http"
	"slices"
)

// probes are the endpoints for supervisors, which have no token. Clients without a token get
// only one word.
func (s *Server) probes() {
	probe := func(pattern string, h http.HandlerFunc) {
		s.route(pattern, s.conns.holding(prober, h))
	}
	// The process is alive as long as it can collect its state. An unreachable master must not
	// cause a restart, which would interrupt the recording.
	probe("GET /livez", func(w http.ResponseWriter, r *http.Request) {
		s.probeView(r)
		WriteJSON(w, http.StatusOK,
			Health{Status: healthy, Problems: []string{}, Master: s.options.MasterUp()}.brief())
	})
	probe("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.readiness(s.probeView(r)))
	})
	probe("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.health(s.probeView(r)))
	})
}

// probeView returns the state for a probe. Unauthorized clients get a cached state, so that they
// cannot cause load.
func (s *Server) probeView(r *http.Request) encodedView {
	if s.guard.shows(r) {
		return s.poller.cached(0)
	}
	return s.poller.cached(minPollInterval)
}

// answer writes h, with the status 503 unless all is healthy. Unauthorized clients get no details.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, h Health) {
	status := http.StatusOK
	if h.Status != healthy {
		status = http.StatusServiceUnavailable
	}
	if !s.guard.shows(r) {
		WriteJSON(w, status, h.brief())
		return
	}
	WriteJSON(w, status, h)
}

// readiness is degraded until the program does what it was started for.
func (s *Server) readiness(v encodedView) Health {
	h := Health{Master: s.options.MasterUp()}
	h.Require(h.Master, "the master does not answer")
	h.Require(v.NotReady == "", v.NotReady)
	return h.withStatus()
}

// health is degraded when there is a problem that needs attention.
func (s *Server) health(v encodedView) Health {
	h := v.Health
	h.Problems = slices.Clip(h.Problems) // the slice is shared with other requests
	h.Master = s.options.MasterUp()
	h.Require(h.Master, "the master does not answer")
	unread, _ := s.options.Unread()
	h.Require(unread == "", "replies of the master cannot be read in full, so topics may be missing: "+unread)
	return h.withStatus()
}
