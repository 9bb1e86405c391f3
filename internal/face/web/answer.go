package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/command"
)

// statusError is an error with its HTTP status.
type statusError struct {
	status int
	text   string
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// statuses are the HTTP statuses of refusals.
var statuses = [...]int{
	command.Failed: http.StatusInternalServerError, command.Invalid: http.StatusBadRequest, command.NotFound: http.StatusNotFound,
	command.Conflict: http.StatusConflict, command.NoChange: http.StatusConflict,
	command.Unavailable: http.StatusServiceUnavailable,
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

// decode reads the parameters of a command from a JSON object. An empty body has no parameters.
func decode(params []command.Param, body []byte) (command.Params, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	var fields map[string]json.RawMessage
	if err := d.Decode(&fields); errors.Is(err, io.EOF) {
		return nil, nil // no parameters
	} else if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more data after the object")
	}
	given := command.Params{}
	for _, p := range params {
		raw, ok := fields[p.Name]
		delete(fields, p.Name)
		if !ok || string(raw) == "null" {
			continue
		}
		v, err := decodeParam(p.Kind, raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		given[p.Name] = v
	}
	for name := range fields {
		return nil, fmt.Errorf("unknown field %q", name)
	}
	return given, nil
}

// decodeParam reads the value of a parameter.
func decodeParam(kind command.Type, raw []byte) (v any, err error) {
	switch kind {
	case command.Bool:
		return decodeAs[bool](raw)
	case command.Number:
		return decodeAs[float64](raw)
	case command.Count:
		return decodeAs[int](raw)
	case command.Text:
		return decodeAs[string](raw)
	case command.Time: // no command over HTTP has one
	}
	return nil, errors.New("there is no such type")
}

func decodeAs[T any](raw []byte) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

// resultAnswer is the answer to a command: its message, then its fields.
type resultAnswer struct {
	message string
	fields  []command.Field
}

// MarshalJSON implements json.Marshaler.
func (a resultAnswer) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range append([]command.Field{{Name: "message", Value: a.message}}, a.fields...) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, f.Name), ':')
		v, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		b = append(b, v...)
	}
	return append(b, '}'), nil
}

// Seconds converts a duration to seconds, rounded to milliseconds.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond)) / float64(time.Second)
}
