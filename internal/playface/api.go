package playface

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/internal/command"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/player/control"
)

// moveResult is the response to commands that change the playback.
type moveResult struct {
	Done     bool    `json:"done"` // false if there was nothing to do
	Paused   bool    `json:"paused"`
	Rate     float64 `json:"rate"`
	Position float64 `json:"position"`
}

// Routes implements web.Backend.
func (f *Page) Routes(s *web.Server) {
	for name, do := range map[string]func(control.Control) bool{
		"play": control.Control.Resume, "pause": control.Control.Pause, "step": control.Control.Step, "step_back": control.Control.StepBack,
		"toggle": func(c control.Control) bool { c.Toggle(); return true },
		"stop":   func(c control.Control) bool { c.Stop(); return true },
	} {
		s.Action(name, web.Simple(func(context.Context) (any, error) {
			return f.move(func(c control.Control) (bool, error) { return do(c), nil })
		}))
	}
	s.Action("bookmark", web.Simple(func(context.Context) (any, error) {
		return f.move(func(c control.Control) (bool, error) {
			_, err := c.Bookmark()
			return true, refusal(err)
		})
	}))
	s.Action("burst", web.With(f.burst))
	s.Action("seek", web.With(f.seek))
	s.Action("rate", web.With(func(_ context.Context, p struct {
		Rate float64 `json:"rate"`
	},
	) (any, error) {
		return f.move(func(c control.Control) (bool, error) { return true, invalid(c.SetRate(p.Rate)) })
	}))
	s.Action("loop", web.With(func(_ context.Context, p onOff) (any, error) { return f.setSwitch(p, control.Control.SetLoop) }))
	s.Action("pause_topics", web.With(func(_ context.Context, p onOff) (any, error) { return f.setSwitch(p, control.Control.PauseOnTopics) }))
	s.Action("marks", web.With(f.marks))
	s.Action("topic", web.With(f.topic))
	s.Handle("GET /api/v1/density", f.density)
	s.Handle("GET /api/v1/recorded_marks", f.recordedMarks)
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
func (f *Page) recordedMarks(w http.ResponseWriter, _ *http.Request) {
	c, err := f.controlOrError()
	if err != nil {
		web.WriteError(w, err)
		return
	}
	now, all := c.Status(), []recordedMark{}
	for _, m := range f.recorded {
		if at := now.PositionOf(m.Time); at >= 0 && at <= now.Length && len(all) < maxRecordedMarks {
			all = append(all, recordedMark{web.Seconds(at), float64(m.Time.Std().UnixMilli()) / 1e3, m.Text})
		}
	}
	web.WriteJSON(w, http.StatusOK, all)
}

// move executes a command and returns the position after it.
func (f *Page) move(do func(control.Control) (bool, error)) (any, error) {
	c, err := f.controlOrError()
	if err != nil {
		return nil, err
	}
	ok, err := do(c)
	if err != nil {
		return nil, err
	}
	at := c.Status()
	return moveResult{ok, at.Paused, at.Rate, web.Seconds(at.Position)}, nil
}

// refusal gives its kind to an error of a player.
func refusal(err error) error {
	switch {
	case errors.Is(err, control.ErrBookmarks):
		return command.Refuse(command.Conflict, err)
	case errors.Is(err, control.ErrOption):
		return command.Refuse(command.Invalid, err)
	}
	return err
}

// invalid says that an error is about a parameter.
func invalid(err error) error { return command.Refuse(command.Invalid, err) }

// maxBurst bounds the messages that one request may publish.
const maxBurst = 1_000_000

func (f *Page) burst(_ context.Context, p struct {
	N int `json:"n"`
},
) (any, error) {
	if p.N < 1 || p.N > maxBurst {
		return nil, command.Refused(command.Invalid, "n must be between 1 and "+strconv.Itoa(maxBurst))
	}
	return f.move(func(c control.Control) (bool, error) { return c.Burst(p.N), nil })
}

// target is the target of a seek: a position, or an offset from the current one.
type target struct {
	To *float64 `json:"to"`
	By *float64 `json:"by"`
}

func (f *Page) seek(_ context.Context, p target) (any, error) {
	if (p.To == nil) == (p.By == nil) {
		return nil, command.Refused(command.Invalid, "give to or by, in seconds")
	}
	return f.move(func(c control.Control) (bool, error) {
		if p.To != nil {
			to, err := web.Duration(*p.To)
			if err != nil {
				return false, err
			}
			c.Seek(to)
			return true, nil
		}
		by, err := web.Duration(*p.By)
		if err != nil {
			return false, err
		}
		c.Seek(max(c.Status().Position+by, 0))
		return true, nil
	})
}

func (f *Page) marks(_ context.Context, p struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
},
) (any, error) {
	from, err := web.Duration(p.From)
	if err != nil {
		return nil, err
	}
	to, err := web.Duration(p.To)
	if err != nil {
		return nil, err
	}
	return f.move(func(c control.Control) (bool, error) { return true, invalid(c.SetMarks(from, to)) })
}

// onOff is the parameter of a switch; it is required.
type onOff struct {
	On *bool `json:"on"`
}

var errOnOff = command.Refused(command.Invalid, "on must be true or false") //nolint:gochecknoglobals // a constant, but for the language

func (f *Page) setSwitch(p onOff, do func(control.Control, bool)) (any, error) {
	if p.On == nil {
		return nil, errOnOff
	}
	return f.move(func(c control.Control) (bool, error) {
		do(c, *p.On)
		return true, nil
	})
}

func (f *Page) topic(_ context.Context, p struct {
	Topic string `json:"topic"`
	On    *bool  `json:"on"`
},
) (any, error) {
	if p.On == nil {
		return nil, errOnOff
	}
	return f.move(func(c control.Control) (bool, error) { return true, invalid(c.SetTopic(p.Topic, *p.On)) })
}

// maxParts bounds the number of bins of the density.
const maxParts = 2000

func (f *Page) density(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 1 || n > maxParts {
		web.WriteError(w, command.Refused(command.Invalid, "n must be between 1 and "+strconv.Itoa(maxParts)))
		return
	}
	c, err := f.controlOrError()
	if err != nil {
		web.WriteError(w, err)
		return
	}
	web.WriteJSON(w, http.StatusOK, struct {
		Length   float64  `json:"length"`
		Messages []uint64 `json:"messages"` // null while not known
	}{web.Seconds(c.Status().Length.Round(time.Millisecond)), c.Density(n)})
}
