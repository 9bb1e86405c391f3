package web

// View is the state at one time.
type View struct {
	State    any    // as JSON
	Health   Health // without the problems that the server adds, such as a master that does not answer
	NotReady string // reason why the program is not ready; empty if it is
}

// encodedView is a View with its JSON.
type encodedView struct {
	View
	json []byte
}

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

// brief returns only the status.
func (h Health) brief() any {
	return struct {
		Status string `json:"status"`
	}{h.Status}
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
