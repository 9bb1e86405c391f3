package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/player/control"
)

// moveResult is the response to commands that change the playback.
type moveResult struct {
	Done     bool    `json:"done"` // false if there was nothing to do
	Paused   bool    `json:"paused"`
	Rate     float64 `json:"rate"`
	Position float64 `json:"position"`
}

// routes implements Backend.
func (f *Player) routes(s *Server) {
	for name, do := range map[string]func(control.Control) bool{
		"play": control.Control.Resume, "pause": control.Control.Pause, "step": control.Control.Step, "step_back": control.Control.StepBack,
		"toggle": func(c control.Control) bool { c.Toggle(); return true },
		"stop":   func(c control.Control) bool { c.Stop(); return true },
	} {
		s.action(name, simple(func(context.Context) (any, error) {
			return f.move(func(c control.Control) (bool, error) { return do(c), nil })
		}))
	}
	s.action("bookmark", simple(func(context.Context) (any, error) {
		return f.move(func(c control.Control) (bool, error) {
			_, err := c.Bookmark()
			return true, err
		})
	}))
	s.action("burst", with(f.burst))
	s.action("seek", with(f.seek))
	s.action("rate", with(func(_ context.Context, p struct {
		Rate float64 `json:"rate"`
	},
	) (any, error) {
		return f.move(func(c control.Control) (bool, error) { return true, badRequest(c.SetRate(p.Rate)) })
	}))
	s.action("loop", with(func(_ context.Context, p onOff) (any, error) { return f.setSwitch(p, control.Control.SetLoop) }))
	s.action("pause_topics", with(func(_ context.Context, p onOff) (any, error) { return f.setSwitch(p, control.Control.PauseOnTopics) }))
	s.action("marks", with(f.marks))
	s.action("topic", with(f.topic))
	s.handle("GET /api/v1/density", f.density)
	s.handle("GET /api/v1/recorded_marks", f.recordedMarks)
}

// recordedMark is a mark of the bags as JSON.
type recordedMark struct {
	Position float64 `json:"position"`
	Time     float64 `json:"time"` // seconds since 1970
	Text     string  `json:"text"`
}

// maxRecordedMarks is how many are listed.
const maxRecordedMarks = 1000

// recordedMarks lists the first marks of what is played.
func (f *Player) recordedMarks(w http.ResponseWriter, _ *http.Request) {
	c, err := f.controlOrError()
	if err != nil {
		writeError(w, err)
		return
	}
	now, all := c.Status(), []recordedMark{}
	for _, m := range f.recorded {
		if at := now.PositionOf(m.Time); at >= 0 && at <= now.Length && len(all) < maxRecordedMarks {
			all = append(all, recordedMark{seconds(at), float64(m.Time.Std().UnixMilli()) / 1e3, m.Text})
		}
	}
	writeJSON(w, http.StatusOK, all)
}

// move executes a command and returns the position after it.
func (f *Player) move(do func(control.Control) (bool, error)) (any, error) {
	c, err := f.controlOrError()
	if err != nil {
		return nil, err
	}
	ok, err := do(c)
	if err != nil {
		return nil, err
	}
	at := c.Status()
	return moveResult{ok, at.Paused, at.Rate, seconds(at.Position)}, nil
}

// badRequest converts an error about a parameter to status 400.
func badRequest(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{http.StatusBadRequest, err.Error()}
}

// maxBurst bounds the messages that one request may publish.
const maxBurst = 1_000_000

func (f *Player) burst(_ context.Context, p struct {
	N int `json:"n"`
},
) (any, error) {
	if p.N < 1 || p.N > maxBurst {
		return nil, &statusError{http.StatusBadRequest, "n must be between 1 and " + strconv.Itoa(maxBurst)}
	}
	return f.move(func(c control.Control) (bool, error) { return c.Burst(p.N), nil })
}

// target is the target of a seek: a position, or an offset from the current one.
type target struct {
	To *float64 `json:"to"`
	By *float64 `json:"by"`
}

func (f *Player) seek(_ context.Context, p target) (any, error) {
	if (p.To == nil) == (p.By == nil) {
		return nil, &statusError{http.StatusBadRequest, "give to or by, in seconds"}
	}
	return f.move(func(c control.Control) (bool, error) {
		if p.To != nil {
			to, err := duration(*p.To)
			if err != nil {
				return false, err
			}
			c.Seek(to)
			return true, nil
		}
		by, err := duration(*p.By)
		if err != nil {
			return false, err
		}
		c.Seek(max(c.Status().Position+by, 0))
		return true, nil
	})
}

func (f *Player) marks(_ context.Context, p struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
},
) (any, error) {
	from, err := duration(p.From)
	if err != nil {
		return nil, err
	}
	to, err := duration(p.To)
	if err != nil {
		return nil, err
	}
	return f.move(func(c control.Control) (bool, error) { return true, badRequest(c.SetMarks(from, to)) })
}

// onOff is the parameter of a switch; it is required.
type onOff struct {
	On *bool `json:"on"`
}

var errOnOff = &statusError{http.StatusBadRequest, "on must be true or false"} //nolint:gochecknoglobals // a constant, but for the language

func (f *Player) setSwitch(p onOff, do func(control.Control, bool)) (any, error) {
	if p.On == nil {
		return nil, errOnOff
	}
	return f.move(func(c control.Control) (bool, error) {
		do(c, *p.On)
		return true, nil
	})
}

func (f *Player) topic(_ context.Context, p struct {
	Topic string `json:"topic"`
	On    *bool  `json:"on"`
},
) (any, error) {
	if p.On == nil {
		return nil, errOnOff
	}
	return f.move(func(c control.Control) (bool, error) { return true, badRequest(c.SetTopic(p.Topic, *p.On)) })
}

// maxParts bounds the number of bins of the density.
const maxParts = 2000

func (f *Player) density(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 1 || n > maxParts {
		writeError(w, &statusError{http.StatusBadRequest, "n must be between 1 and " + strconv.Itoa(maxParts)})
		return
	}
	c, err := f.controlOrError()
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Length   float64  `json:"length"`
		Messages []uint64 `json:"messages"` // null while not known
	}{seconds(c.Status().Length.Round(time.Millisecond)), c.Density(n)})
}
