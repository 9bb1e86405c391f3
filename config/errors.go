package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
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

// err returns e in order, or nil if it is empty.
func (e Errors) err() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b error) int { return cmp.Compare(lineOf(a), lineOf(b)) })
	return e
}

// lineOf returns the line of the file that an error is about; zero if it is about none.
func lineOf(err error) int {
	var at *placedError
	if errors.As(err, &at) {
		return at.line
	}
	return 0
}

// placedError is an error with the place where the value was set.
type placedError struct {
	line int // of the file; zero elsewhere
	text string
}

func (e *placedError) Error() string { return e.text }

// ValueError says what is wrong with a value of an option.
type ValueError struct {
	Option string // its long name, without dashes
	Value  string // as given, or the key of a pair; empty means the option as a whole
	Reason string // what is wrong, and what is allowed
}

// Error implements error.
func (e *ValueError) Error() string {
	if e.Value == "" {
		return "--" + e.Option + ": " + e.Reason
	}
	return "--" + e.Option + " " + valueText(e.Value, e.Reason)
}

// ValueErrors are what a program finds to be wrong with the values of options.
type ValueErrors []*ValueError

// Check adds what check returns for each value that is not empty. Its errors need not repeat the
// value.
func (v *ValueErrors) Check(option string, check func(value string) error, values ...string) {
	for _, value := range values {
		if value != "" {
			v.Add(option, value, check(value))
		}
	}
}

// Add adds an error about a value, unless it is nil.
func (v *ValueErrors) Add(option, value string, err error) {
	if err != nil {
		*v = append(*v, &ValueError{option, value, err.Error()})
	}
}

// valueText returns a value and what is wrong with it. The reason may begin with the value.
func valueText(value, reason string) string {
	if quoted := strconv.Quote(value); !strings.HasPrefix(reason, quoted) {
		return quoted + ": " + reason
	}
	return reason
}

// optionError is an error of Validate about the values of one or more options.
type optionError struct {
	text    string
	options []string // long names
}

func (c *optionError) Error() string { return c.text }

// errorAbout returns an error about options whose names are not in its text.
func errorAbout(text string, options ...string) error { return &optionError{text, options} }

// place adds to an error where the options that it is about were set.
func place(err error, all []*option) error {
	var at *placedError
	var bad *ValueError
	switch {
	case errors.As(err, &at):
		return err
	case !errors.As(err, &bad):
		return withOrigins(err, all)
	}
	i := slices.IndexFunc(all, func(o *option) bool { return o.flag.Name == bad.Option })
	if i < 0 {
		return err
	}
	return all[i].errorOf(bad)
}

// errorOf returns an error about a value of the option with the place where it was set.
func (o *option) errorOf(bad *ValueError) error {
	value, line := o.given(bad.Value)
	text := bad.Reason
	if value != "" && !o.flag.Tag.Has("secret") {
		text = valueText(withoutCredentials([]string{value})[0], bad.Reason)
	}
	name := o.key
	switch {
	case o.origin.path != "":
		line = max(line, 1)
		return &placedError{line, fmt.Sprintf("%s:%d: %s: %s", o.origin.path, line, name, text)}
	case o.origin.place != onCommandLine && o.origin.place != "":
		return &placedError{0, o.origin.place + ": " + text}
	case o.args:
		name = o.flag.Name // given without the option
	default:
		name = "--" + o.flag.Name
	}
	if value != "" && !o.flag.Tag.Has("secret") {
		return &placedError{0, name + " " + text}
	}
	return &placedError{0, name + ": " + text}
}

// given returns what the user wrote for a value, or for the key of a pair, and its line in the file.
func (o *option) given(value string) (text string, line int) {
	text = value
	if len(o.lines) > 0 {
		line = o.lines[0]
	}
	for i, v := range o.values {
		if v != value && (!o.pairs() || !strings.HasPrefix(v, value+"=")) && (o.list() || value == "") {
			continue
		}
		if i < len(o.lines) {
			line = o.lines[i]
		}
		return v, line
	}
	return text, line
}

// withOrigins adds the origins of the options to an error of Validate, unless they were set on the
// command line.
func withOrigins(err error, all []*option) error {
	names := namesIn(err)
	var first *option
	var others []string
	file := ""
	for _, o := range all {
		if o.key == "config" && len(o.values) > 0 {
			file = o.values[0]
		}
		switch {
		case !slices.Contains(names, o.flag.Name) || o.origin.place == "":
		case first == nil && o.origin.place != onCommandLine:
			first = o
		default:
			others = append(others, fmt.Sprintf("%s: %s", o.key, o.origin))
		}
	}
	switch {
	case first == nil && (file == "" || len(others) > 0):
		return err // everything is on the command line
	case first == nil:
		return fmt.Errorf("%s: %w", file, err)
	}
	text := fmt.Sprintf("%s: %s: %v", first.origin, first.key, err)
	if len(others) > 0 {
		text += " (" + strings.Join(others, "; ") + ")"
	}
	line := 0
	if len(first.lines) > 0 {
		line = first.lines[0]
	}
	return &placedError{line, text}
}

// namesIn returns the long names of the options that an error of Validate is about.
func namesIn(err error) []string {
	var names []string
	var about *optionError
	var bad *ValueError
	switch {
	case errors.As(err, &about):
		names = about.options
	case errors.As(err, &bad):
		names = []string{bad.Option}
	}
	for _, word := range strings.FieldsFunc(err.Error(), func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if name, ok := strings.CutPrefix(word, "--"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// certain reports whether an error of Validate holds although other values could not be read: it
// is about options that were set, and well.
func certain(err error, all []*option) bool {
	names := namesIn(err)
	for _, o := range all {
		if slices.Contains(names, o.flag.Name) && (o.bad || o.origin.place == "") {
			return false
		}
	}
	return len(names) > 0
}

// single returns the errors that are joined in err.
func single(err error) []error {
	if parse, ok := err.(*kong.ParseError); ok { //nolint:errorlint // what wraps it has a text of its own
		err = parse.Unwrap()
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, single(e)...)
	}
	return all
}
