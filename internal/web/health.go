package web

import (
	"net/http"
	"slices"
	"time"
)

// health is the answer of /healthz to authorized clients.
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
		s.mux.HandleFunc(pattern, s.conns.holding(prober, h))
	}
	// The process is alive as long as it can collect its state. An unreachable master must not
	// cause a restart, which would interrupt the recording.
	probe("GET /livez", func(w http.ResponseWriter, r *http.Request) {
		s.glance(r)
		writeJSON(w, http.StatusOK, health{Status: healthy, Problems: []string{}, Master: s.MasterUp()}.brief())
	})
	probe("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.readiness(s.glance(r)))
	})
	probe("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, s.health(s.glance(r)))
	})
}

// brief removes everything but the status.
func (h health) brief() any {
	return struct {
		Status string `json:"status"`
	}{h.Status}
}

// glance returns the state for a probe. It is cached, so that unauthorized clients cannot cause
// load.
func (s *Server) glance(r *http.Request) look {
	if s.guard.admits(r) {
		return s.watch.within(0)
	}
	return s.watch.within(soonest)
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
func (s *Server) readiness(v look) health {
	h := health{Master: s.MasterUp()}
	h.require(h.Master, "the master does not answer")
	h.require(v.unripe == "", v.unripe)
	return h.judged()
}

// health is degraded when there is a problem that needs attention.
func (s *Server) health(v look) health {
	h := v.health
	h.Problems = slices.Clip(h.Problems) // others may have the same look
	h.Master = s.MasterUp()
	h.require(h.Master, "the master does not answer")
	return h.judged()
}

// require records a problem unless well is set.
func (h *health) require(well bool, problem string) {
	if !well {
		h.Problems = append(h.Problems, problem)
	}
}

func (h health) judged() health {
	h.Status = healthy
	if len(h.Problems) > 0 {
		h.Status = degraded
	} else {
		h.Problems = []string{}
	}
	return h
}

// minute computes by how much a counter has grown within the last minute.
type minute struct {
	marks []mark // oldest first; the first is the last one that is older than a minute, or the first of all
}

type mark struct {
	at    time.Time
	count uint64
}

// add records the counter, and returns its growth.
func (m *minute) add(now time.Time, count uint64) uint64 {
	if len(m.marks) == 0 {
		m.marks = []mark{{now, 0}} // the program has begun with the first look
	}
	if n := len(m.marks); now.Sub(m.marks[n-1].at) >= time.Second {
		m.marks = append(m.marks, mark{now, count})
	}
	for len(m.marks) > 1 && now.Sub(m.marks[1].at) >= time.Minute {
		m.marks = m.marks[1:]
	}
	return count - min(count, m.marks[0].count)
}
