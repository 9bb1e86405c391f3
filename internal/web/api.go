package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/recorder"
)

// statusError is an error with what HTTP calls it.
type statusError struct {
	status int
	text   string
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// errNoPlayer means that the player has not begun yet.
var errNoPlayer = &statusError{http.StatusServiceUnavailable, "nothing is played yet"}

// statusOf returns what HTTP calls an error.
func statusOf(err error) int {
	known := (*statusError)(nil)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, recorder.ErrNotRecording):
		return http.StatusServiceUnavailable
	case errors.Is(err, recorder.ErrStopped), errors.Is(err, recorder.ErrNoSnapshots), errors.Is(err, recorder.ErrOnlySnapshots):
		return http.StatusConflict
	case errors.Is(err, recorder.ErrNoBag):
		return http.StatusNotFound
	case errors.Is(err, player.ErrOption):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

type errorAnswer struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, err error) {
	writeJSON(w, statusOf(err), errorAnswer{err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error()) // all that is marshaled is ours
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(b, '\n')) //nolint:errcheck,gosec // whoever has gone does not need it
}

// handle serves a pattern to those who are let in, whose connections are then held.
func (s *Server) handle(pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, s.guard.only(s.conns.holding(authorized, h)))
}

// action serves a command: do gets the body, and says what was done.
func (s *Server) action(name string, do func(ctx context.Context, body io.Reader) (answer any, err error)) {
	s.handle("POST /api/v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), actionTime)
		defer cancel()
		answer, err := s.perform(ctx, w, r, do)
		s.watch.wake()
		status := http.StatusOK
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			status, answer = http.StatusAccepted, done{Message: "it is being done, behind what waits for the disk"}
		case err != nil:
			status = statusOf(err)
			answer = errorAnswer{err.Error()}
		}
		s.Log.Info("web command", zap.String("command", name), zap.String("peer", r.RemoteAddr), zap.Int("status", status), zap.Error(err))
		writeJSON(w, status, answer)
	})
}

// done is what a command answers with.
type done struct {
	Message string `json:"message"`
	File    string `json:"file,omitempty"` // its name, without the directory
}

func (s *Server) perform(ctx context.Context, w http.ResponseWriter, r *http.Request, do func(context.Context, io.Reader) (any, error)) (any, error) {
	if r.ContentLength != 0 { // forms of other pages cannot send this type
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			return nil, &statusError{http.StatusUnsupportedMediaType, "the body must be application/json"}
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return nil, badBody(err)
	}
	s.conns.hold(r, authorized)
	return do(ctx, bytes.NewReader(body))
}

// badBody says what is wrong with a body.
func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return &statusError{http.StatusBadRequest, "the body is not what was expected: " + err.Error()}
}

// decode reads a body into v, which has its defaults. There may be no body.
func decode(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something behind the object")
		}
	}
	if err != nil {
		return badBody(err)
	}
	return nil
}

// simple adapts a command without parameters.
func simple(do func(ctx context.Context) (any, error)) func(context.Context, io.Reader) (any, error) {
	return func(ctx context.Context, body io.Reader) (any, error) {
		if err := decode(body, &struct{}{}); err != nil {
			return nil, err
		}
		return do(ctx)
	}
}

// with adapts a command with parameters.
func with[P any](do func(ctx context.Context, p P) (any, error)) func(context.Context, io.Reader) (any, error) {
	return func(ctx context.Context, body io.Reader) (any, error) {
		var p P
		if err := decode(body, &p); err != nil {
			return nil, err
		}
		return do(ctx, p)
	}
}

func (s *Server) getState(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(s.watch.fresh().json) //nolint:errcheck,gosec // whoever has gone does not need it
}

// seconds writes a time as people and programs read it alike.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}

// longest is the most that a time in a request may be: it must fit a Duration.
const longest = 100 * 365 * 24 * 3600

// duration reads a time in seconds.
func duration(s float64) (time.Duration, error) {
	if !(s >= -longest && s <= longest) { // also NaN
		return 0, &statusError{http.StatusBadRequest, "a time is out of range"}
	}
	return time.Duration(s * float64(time.Second)), nil
}
