package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
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
	command.Failed: http.StatusInternalServerError, command.Invalid: http.StatusBadRequest,
	command.NotFound: http.StatusNotFound,
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

// badBody is the error for a body that could not be read to its end.
func badBody(err error) error {
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	return command.Refused(command.Invalid, "the body did not arrive whole")
}

// kinds are the types of parameters, in words.
var kinds = map[command.Type]string{
	command.Bool: "true or false", command.Number: "a number", command.Count: "a whole number",
	command.Text: "a text", command.Time: "a time",
}

// wanted says what the body of a command is.
func wanted(params []command.Param) string {
	if len(params) == 0 {
		return "want no body"
	}
	fields := make([]string, len(params))
	for i, p := range params {
		fields[i] = p.Name + " (" + kinds[p.Kind] + ")"
	}
	return "want a JSON object with " + strings.Join(fields, ", ")
}

// decode reads the parameters of a command from a JSON object. An empty body has no parameters.
func decode(params []command.Param, body []byte) (command.Params, error) {
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal(body, &fields); {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, nil // no parameters
	case err != nil:
		return nil, command.Refused(command.Invalid, "the body is not a JSON object: "+wanted(params))
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
			return nil, command.Refused(command.Invalid, p.Name+" must be "+kinds[p.Kind])
		}
		given[p.Name] = v
	}
	for name := range fields {
		return nil, command.Refused(command.Invalid,
			fmt.Sprintf("unknown field %q: %s", name, wanted(params)))
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
