package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gorosbag/gorosbag/internal/command"
)

// statusError is an error with its HTTP status.
type statusError struct {
	status int
	text   string
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// statuses are the HTTP statuses of refusals.
var statuses = [...]int{ //nolint:gochecknoglobals // a constant, but for the language
	command.Failed: http.StatusInternalServerError, command.Invalid: http.StatusBadRequest, command.NotFound: http.StatusNotFound,
	command.Conflict: http.StatusConflict, command.Unavailable: http.StatusServiceUnavailable,
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	known := (*statusError)(nil)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &known):
		return known.status
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	}
	return statuses[command.KindOf(err)]
}

type errorAnswer struct {
	Error string `json:"error"`
}

// WriteError answers with an error, by its kind.
func WriteError(w http.ResponseWriter, err error) {
	WriteJSON(w, statusOf(err), errorAnswer{err.Error()})
}

// WriteJSON answers with v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("web: " + err.Error()) // only own types are marshaled
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(b, '\n')) //nolint:errcheck,gosec // whoever has gone does not need it
}

// badBody gives a kind to an error of reading a body.
func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return command.Refused(command.Invalid, "the body is not what was expected: "+err.Error())
}

// Decode decodes a body into v, which holds the defaults. The body may be empty.
func Decode(body io.Reader, v any) error {
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

// Seconds converts a duration to seconds, rounded to milliseconds.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}

// maxSeconds is the limit of times in requests: they must fit a Duration.
const maxSeconds = 100 * 365 * 24 * 3600

// Duration converts seconds to a duration.
func Duration(s float64) (time.Duration, error) {
	if !(s >= -maxSeconds && s <= maxSeconds) { // also NaN
		return 0, command.Refused(command.Invalid, "a time is out of range")
	}
	return time.Duration(s * float64(time.Second)), nil
}
