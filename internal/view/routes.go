package view

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/stream"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
)

// Routes registers the endpoints, and the files of the panels.
func (v *Viewer) Routes(s *web.Server) {
	s.Assets(Assets())
	v.handle(s, "GET", "state", v.state)
	v.handle(s, "GET", "size", v.size)
	for name, h := range map[string]handler{
		"density": v.density, "findings": v.findings, "message": v.message, "copy": v.copyMessage,
		"values": v.values, "plot": v.plot, "csv": v.csv,
		"search": v.search, "cut": v.download, "picture": v.picture, "hints": v.hints, "scene": v.scene,
	} {
		v.handle(s, "GET", name, v.reading(h))
	}
	v.handle(s, "POST", "save", v.reading(v.save))
}

// handler answers a request, or returns why not.
type handler func(w *stream.Stream, r *http.Request) error

// handle serves an endpoint. An error after a part of the answer becomes its last line.
func (v *Viewer) handle(s *web.Server, method, name string, h handler) {
	s.Handle(method+" /api/v1/view/"+name, func(w http.ResponseWriter, r *http.Request) {
		out := stream.New(w)
		select {
		case <-v.shows:
		default:
			if name != "state" {
				web.WriteError(out, command.Refused(command.Unavailable, "the bags are being opened"))
				return
			}
			web.WriteJSON(out, http.StatusOK, struct {
				Opening Opening `json:"opening"`
			}{v.opening()})
			return
		}
		r.Body = http.MaxBytesReader(out, r.Body, 0) // all parameters are in the address
		err := h(out, r)
		switch {
		case err == nil || r.Context().Err() != nil:
		case out.Begun:
			// whoever has gone does not need it
			_ = json.NewEncoder(out).Encode(searchAnswer{Error: err.Error()})
		default:
			web.WriteError(out, explain(err))
		}
	})
}

// reading makes a handler wait for its turn.
func (v *Viewer) reading(h handler) handler {
	return func(w *stream.Stream, r *http.Request) error {
		select {
		case v.reads <- struct{}{}:
		case <-r.Context().Done():
			return r.Context().Err()
		}
		defer func() { <-v.reads }()
		return h(w, r)
	}
}

// explain gives an error its kind, by which the status of the answer goes.
func explain(err error) error {
	switch {
	case command.KindOf(err) != command.Failed:
		return err
	case errors.Is(err, recorded.ErrNone):
		return command.Refused(command.NotFound, err.Error())
	}
	return command.Refused(command.Invalid, err.Error())
}
