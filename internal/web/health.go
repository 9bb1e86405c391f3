package web

import (
	"net/http"
	"slices"
	"time"
)

// health is the response of /healthz to authorized clients.
type health struct {
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
		writeJSON(w, http.StatusOK, health{Status: healthy, Problems: []string{}, Master: s.MasterUp()}.brief())
	})
	probe("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.readiness(s.probeView(r)))
	})
	probe("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.health(s.probeView(r)))
	})
}

// brief returns only the status.
func (h health) brief() any {
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

func (s *Server) answer(w http.ResponseWriter, r *http.Request, h health) {
	status := http.StatusOK
	if h.Status != healthy {
		status = http.StatusServiceUnavailable
	}
	if !s.guard.admits(r) {
		writeJSON(w, status, h.brief())
		return
	}
	writeJSON(w, status, h)
}

// readiness is degraded until the program does what it was started for.
func (s *Server) readiness(v encodedView) health {
	h := health{Master: s.MasterUp()}
	h.require(h.Master, "the master does not answer")
	h.require(v.notReady == "", v.notReady)
	return h.withStatus()
}

// health is degraded when there is a problem that needs attention.
func (s *Server) health(v encodedView) health {
	h := v.health
	h.Problems = slices.Clip(h.Problems) // the slice is shared with other requests
	h.Master = s.MasterUp()
	h.require(h.Master, "the master does not answer")
	unread, _ := s.Unread()
	h.require(unread == "", "replies of the master cannot be read in full, so topics may be missing: "+unread)
	return h.withStatus()
}

// require records a problem unless well is set.
func (h *health) require(well bool, problem string) {
	if !well {
		h.Problems = append(h.Problems, problem)
	}
}

func (h health) withStatus() health {
	h.Status = healthy
	if len(h.Problems) > 0 {
		h.Status = degraded
	} else {
		h.Problems = []string{}
	}
	return h
}

// lastMinute computes the increase of a counter over the last minute.
type lastMinute struct {
	samples []counterSample // oldest first; the first one is the base: the newest that is older than a minute, or the first sample
}

type counterSample struct {
	at    time.Time
	count uint64
}

// add records the counter, and returns its increase.
func (m *lastMinute) add(now time.Time, count uint64) uint64 {
	if len(m.samples) == 0 {
		m.samples = []counterSample{{now, 0}} // the counter started at zero
	}
	if n := len(m.samples); now.Sub(m.samples[n-1].at) >= time.Second {
		m.samples = append(m.samples, counterSample{now, count})
	}
	for len(m.samples) > 1 && now.Sub(m.samples[1].at) >= time.Minute {
		m.samples = m.samples[1:]
	}
	return count - min(count, m.samples[0].count)
}
