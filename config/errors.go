package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Errors are all errors of a configuration: at least one. Those of a file stand in the order of
// its lines, after the others.
type Errors []error

// Error implements error. It is one line.
func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the single errors.
func (e Errors) Unwrap() []error { return e }

// err returns e in the order of the lines, or nil if e is empty.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	return e
}

// lineOf returns the line of the file that an error is about; zero if the error is about no line.
func lineOf(err error) int {
	var at *placedError
	if errors.As(err, &at) {
		return at.line
	}
	return 0
}

// placedError is an error whose text begins with the place where an option was set.
type placedError struct {
	line int // of the file; zero elsewhere
	text string
}

func (e *placedError) Error() string { return e.text }

// errorAt returns an error about the option: where it was set, its name there, the value unless that is
// empty or secret, and the reason. line is that of the value in the file; zero stands for the line of the
// key.
func (o *option) errorAt(line int, value, reason string) *placedError {
	if value != "" && !o.Secret {
		reason = valueText(withoutCredentials([]string{value})[0], reason)
	}
	if o.origin.path == "" {
		return &placedError{0, o.at() + ": " + reason}
	}
	line = cmp.Or(line, o.origin.line)
	return &placedError{line, fmt.Sprintf("%s:%d: %s: %s", o.origin.path, line, o.key, reason)}
}

// at returns where the option was set, and its name there.
func (o *option) at() string {
	switch {
	case o.origin.place != onCommandLine && o.origin.place != "":
		return o.origin.place + ": " + o.key
	case o.words:
		return o.Name // given without the option
	}
	return "--" + o.Name
}

// valueText returns a value and what is wrong with it. A reason that begins with the value does not
// repeat it.
func valueText(value, reason string) string {
	if quoted := strconv.Quote(value); !strings.HasPrefix(reason, quoted) {
		return quoted + ": " + reason
	}
	return reason
}

// withoutCredentials removes credentials from URLs: user, password and, for http, the query. The query of
// another URL is removed if its endpoint has a password, which is an error later on.
func withoutCredentials(values []string) []string {
	shown := slices.Clone(values)
	for i, v := range shown {
		u, err := url.Parse(v)
		if err != nil || u.Host == "" || u.Scheme == "" {
			continue
		}
		if u.User != nil {
			u.User = url.User("not-shown")
			shown[i] = u.String()
		}
		web := u.Scheme == "http" || u.Scheme == "https"
		if web && u.RawQuery != "" || strings.Contains(u.Query().Get("endpoint"), "@") {
			u.RawQuery = "not-shown"
			shown[i] = u.String()
		}
	}
	return shown
}
