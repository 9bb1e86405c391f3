package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/units"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Option declares one option of a program.
type Option struct {
	Name    string   // on the command line, without dashes
	Short   string   // the letter that stands for Name; empty means none
	Aliases []string // other names on the command line
	Arg     string   // stands for the value in the help, such as TIME
	Default string   // as a user would write the value; empty means none
	Env     string   // variable of the environment; empty means PROGRAM_NAME
	Help    string   // text of any number of lines, in which ${default} stands for Default
	Value   Value

	// rosbag has the option: an abbreviation that fits only one such option means that option
	Stock bool
	// neither printed nor logged
	Secret bool
	// has no key in a file and no variable
	CommandLine bool
}

// Group is the options under one heading of the help.
type Group struct {
	// empty means no heading; several groups with one title make one
	Title   string
	Options []Option
	// conditions between values; called after all values are stored and completed (Program.Complete); nil
	// means none
	Rules func() []Rule
}

// option is a declared option with its other names and its values.
type option struct {
	Option
	group string
	key   string // in a file
	words bool   // arguments that are no options are values of this option

	values []given // effective values; without any, but with an origin, the user gave an empty list
	origin origin
	bad    bool // one of the values is wrong
}

// given is a value as the user gave it.
type given struct {
	text string
	line int    // of the file; zero elsewhere
	set  func() // stores the value
}

// texts returns the values.
func (o *option) texts() []string {
	texts := make([]string, 0, len(o.values))
	for _, v := range o.values {
		texts = append(texts, v.text)
	}
	return texts
}

// origin is the place where the values of an option were set.
type origin struct {
	place string // empty means the default
	path  string // of the file whose line is in place; empty elsewhere
	line  int    // of the key in the file; zero elsewhere
}

const onCommandLine = "flag"

func (o origin) String() string {
	if o.place == "" {
		return "default"
	}
	return o.place
}

func snake(name string) string { return strings.ReplaceAll(name, "-", "_") }

// list reports whether the option may be given several times.
func (o *option) list() bool { return o.Value.kind == list || o.Value.kind == pairs }

// pairs reports whether values have the form KEY=VALUE.
func (o *option) pairs() bool {
	return o.Value.kind == pairs || o.Value.kind == list && strings.Contains(o.Arg, "=")
}

// read reads the values without storing them, and returns what is wrong with each. Of several values of an
// option that is no list, only the last one remains.
func (o *option) read() (errs Errors) {
	for i := range o.values {
		var err error
		v := &o.values[i]
		if v.set, err = o.Value.read(v.text); err != nil {
			o.bad = true
			errs = append(errs, o.errorAt(v.line, v.text, o.reason(err)))
		}
	}
	if n := len(o.values); n > 1 && !o.list() {
		o.values = o.values[n-1:]
	}
	return errs
}

// errExpected stands for the text of option.expected.
var errExpected = errors.New("want something else")

// reason returns what an error of Value.read says about the option.
func (o *option) reason(err error) string {
	switch {
	case err == errExpected: //nolint:errorlint // the value itself
		return o.expected()
	case err == units.ErrWhole && (o.Arg == "MiB" || o.Arg == "KiB"): //nolint:errorlint // the value itself
		return err.Error() + " of " + o.Arg
	}
	return err.Error()
}

// expected says what a value may be.
func (o *option) expected() string {
	switch v := &o.Value; {
	case len(v.choices) > 0:
		return "want one of " + strings.Join(v.choices, ", ")
	case v.kind == toggle:
		return units.ErrSwitch.Error()
	case o.pairs():
		text := "want " + o.Arg + ", in a file written as " + strings.Replace(o.Arg, "=", ": ", 1)
		if _, name, _ := strings.Cut(o.Arg, "="); v.number != "" {
			text += ", where " + name + " is " + v.number
		}
		return text
	case o.Arg == "":
		return "want a value"
	}
	if _, err := o.Value.read(""); err != nil && strings.HasPrefix(err.Error(), "want ") {
		return o.reason(err) // which says more than Arg does
	}
	return "want " + o.Arg
}

// fromEnvironment sets the option from its variable, if that is set. A list may have several lines.
func (o *option) fromEnvironment() Errors {
	text := os.Getenv(o.Env)
	if o.Env == "" || text == "" { // compose files pass unset variables as empty
		return nil
	}
	o.origin = origin{place: "environment " + o.Env}
	values := []string{text}
	if o.list() {
		values = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	}
	for _, value := range values {
		o.values = append(o.values, given{text: value})
	}
	return o.read()
}

// unknownVariables returns warnings about variables that begin with prefix and resemble the variable of
// an option, but are none. Such variables are no errors: container engines derive variables from the
// names of services.
func unknownVariables(prefix string, all []*option) []string {
	var names, warnings []string
	for _, o := range all {
		names = append(names, o.Env)
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(names, name) {
			continue
		}
		if like := wording.NearestName(name, names); like != "" {
			warnings = append(warnings,
				fmt.Sprintf("the variable %s is not known; did you mean %s?", name, like))
		}
	}
	return warnings
}
