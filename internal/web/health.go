package web

import (
	"net/http"
	"slices"
)

// Health is the response of /healthz to authorized clients.
type Health struct {
	Status   string   `json:"status"` // ok or degraded
	Problems []string `json:"problems"`
	Master   bool     `json:"master"`
	Details  any      `json:"details,omitempty"`
}

const (
	healthy  = "ok"
	degraded = "degraded"
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
		WriteJSON(w, http.StatusOK, Health{Status: healthy, Problems: []string{}, Master: s.MasterUp()}.brief())
	})
	probe("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.readiness(s.probeView(r)))
	})
	probe("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.health(s.probeView(r)))
	})
}

// brief returns only the status.
func (h Health) brief() any {
	return struct {
		Status string `json:"status"`
	}{h.Status}
}

// probeView returns the state for a probe. Unauthorized clients get a cached state, so that they
// cannot cause load.
func (s *Server) probeView(r *http.Request) encodedView {
	if s.guard.admits(r) {
		return s.poller.cached(0)
	}
	return s.poller.cached(minPollInterval)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, h Health) {
	status := http.StatusOK
	if h.Status != healthy {
		status = http.StatusServiceUnavailable
	}
	if !s.guard.admits(r) {
		WriteJSON(w, status, h.brief())
		return
	}
	WriteJSON(w, status, h)
}

// readiness is degraded until the program does what it was started for.
func (s *Server) readiness(v encodedView) Health {
	h := Health{Master: s.MasterUp()}
	h.Require(h.Master, "the master does not answer")
	h.Require(v.NotReady == "", v.NotReady)
	return h.withStatus()
}

// health is degraded when there is a problem that needs attention.
func (s *Server) health(v encodedView) Health {
	h := v.Health
	h.Problems = slices.Clip(h.Problems) // the slice is shared with other requests
	h.Master = s.MasterUp()
	h.Require(h.Master, "the master does not answer")
	unread, _ := s.Unread()
	h.Require(unread == "", "replies of the master cannot be read in full, so topics may be missing: "+unread)
	return h.withStatus()
}

// Require records a problem unless well is set.
func (h *Health) Require(well bool, problem string) {
	if !well {
		h.Problems = append(h.Problems, problem)
	}
}

func (h Health) withStatus() Health {
	h.Status = healthy
	if len(h.Problems) > 0 {
		h.Status = degraded
	} else {
		h.Problems = []string{}
	}
	return h
}
