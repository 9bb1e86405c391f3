package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
	recording "github.com/gorosbag/gorosbag/recorder/control"
)

// statusError is an error with its HTTP status.
type statusError struct {
	status int
	text   string
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// errNoPlayer means that the player has not begun yet.
var errNoPlayer = &statusError{http.StatusServiceUnavailable, "nothing is played yet"}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	known := (*statusError)(nil)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, recording.ErrNotRecording):
		return http.StatusServiceUnavailable
	case errors.Is(err, recording.ErrStopped), errors.Is(err, recording.ErrPaused), errors.Is(err, recording.ErrNoSnapshots), errors.Is(err, recording.ErrOnlySnapshots), errors.Is(err, control.ErrBookmarks):
		return http.StatusConflict
	case errors.Is(err, recording.ErrNoBag):
		return http.StatusNotFound
	case errors.Is(err, recording.ErrNoRoom):
		return http.StatusServiceUnavailable
	case errors.Is(err, control.ErrOption), errors.Is(err, bagnote.ErrMark):
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
		panic("web: " + err.Error()) // only own types are marshaled
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(b, '\n')) //nolint:errcheck,gosec // whoever has gone does not need it
}

// handle serves a pattern with a method to authorized clients, whose connections are then held.
func (s *Server) handle(pattern string, h http.HandlerFunc) {
	s.route(pattern, s.guard.requireToken(s.conns.holding(authorized, h)))
}

// route serves a pattern with a method. The answer to other methods says how to ask: mostly
// somebody has typed an address into a browser, or has forgotten an option of curl.
func (s *Server) route(pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, h)
	method, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		options := ""
		if method != http.MethodGet {
			options = "-X " + method + " "
		}
		w.Header().Set("Allow", method)
		writeError(w, &statusError{http.StatusMethodNotAllowed, "only " + method + " is served here, as by: " + s.curl(r, options, path)})
	})
}

// plainHost is a host that is also plain in a shell, where somebody pastes the line.
var plainHost = regexp.MustCompile(`^[a-zA-Z0-9.:\[\]-]+$`)

// curl returns the command line that requests a path of this server as the client sees it.
func (s *Server) curl(r *http.Request, options, path string) string {
	host := r.Host
	if !plainHost.MatchString(host) {
		host = s.addr.String()
	}
	if s.guard.token != "" {
		options += "-H 'Authorization: Bearer TOKEN' "
	}
	return "curl " + options + "http://" + host + path
}

// action serves a command: do gets the body, and returns the response.
func (s *Server) action(name string, do func(ctx context.Context, body io.Reader) (answer any, err error)) {
	s.handle("POST /api/v1/"+name, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), actionTimeout)
		defer cancel()
		answer, err := s.perform(ctx, w, r, do)
		s.poller.wake()
		status := http.StatusOK
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			status, answer = http.StatusAccepted, done{Message: "it is being done, behind what waits for the disk"}
		case err != nil:
			status = statusOf(err)
			answer = errorAnswer{err.Error()}
		}
		s.Log.Info("web command", loglimit.OnRequest(), zap.String("command", name), zap.String("peer", r.RemoteAddr), zap.Int("status", status), zap.Error(err))
		writeJSON(w, status, answer)
	})
}

// done is the response to a command.
type done struct {
	Message string `json:"message"`
	File    string `json:"file,omitempty"` // its name, without the directory
}

func (s *Server) perform(ctx context.Context, w http.ResponseWriter, r *http.Request, do func(context.Context, io.Reader) (any, error)) (any, error) {
	if r.ContentLength != 0 { // forms of other pages cannot send this type
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			_, path, _ := strings.Cut(r.Pattern, " ")
			how := s.curl(r, "-H 'Content-Type: application/json' -d '...' ", path)
			return nil, &statusError{http.StatusUnsupportedMediaType, "the body must be application/json, as of: " + how}
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return nil, badBody(err)
	}
	s.conns.hold(r, authorized)
	return do(ctx, bytes.NewReader(body))
}

// badBody converts an error of reading a body to its status.
func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return &statusError{http.StatusBadRequest, "the body is not what was expected: " + err.Error()}
}

// decode decodes a body into v, which holds the defaults. The body may be empty.
func decode(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more data after the object")
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
	w.Write(s.poller.current().json) //nolint:errcheck,gosec // whoever has gone does not need it
}

// seconds converts a duration to seconds, rounded to milliseconds.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}

// maxSeconds is the limit of times in requests: they must fit a Duration.
const maxSeconds = 100 * 365 * 24 * 3600

// duration converts seconds to a duration.
func duration(s float64) (time.Duration, error) {
	if !(s >= -maxSeconds && s <= maxSeconds) { // also NaN
		return 0, &statusError{http.StatusBadRequest, "a time is out of range"}
	}
	return time.Duration(s * float64(time.Second)), nil
}
