package config

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Parse fills model from a command line (without the program's name), the environment
// and the file that --config names, in this order of precedence. An error is a usage
// error: one line that names the option and, unless it was on the command line, where it
// was set.
func Parse(program, help, version string, args []string, model any, multitoken ...string) error {
	k, err := newKong(program, help, version, model)
	if err != nil {
		return err
	}
	if completes(k) {
		k.Exit(0)
	}
	all := optionsOf(k)
	expanded, err := Expand(args, k, multitoken...)
	if err != nil {
		return err
	}
	infoOnly := commandLine(expanded, all)
	if !infoOnly {
		if err := fromEnvironmentAndFile(all); err != nil {
			return err
		}
	}
	var merged []string
	for _, o := range all {
		if o.origin.place != onCommandLine {
			merged = append(merged, o.arguments()...)
		}
	}
	if _, err = k.Parse(append(merged, expanded...)); err != nil {
		return withOrigins(err, all)
	}
	if m, ok := model.(keeper); ok {
		m.keep(settingsOf(all), unknownVariables(strings.ToUpper(program)+"_", all))
	}
	return nil
}

func newKong(program, help, version string, model any) (*kong.Kong, error) {
	prefix := strings.ToUpper(program) + "_"
	help += "\n\nOptions may also be set in the environment: --an-option as " + prefix + "AN_OPTION, a list with one value in each line; " +
		"and in the file of --config as an_option: VALUE."
	return kong.New(model, kong.Name(program), kong.Description(help), kong.UsageOnError(),
		kong.Vars{"version": version, "master": DefaultMasterAddress, "http": DefaultHTTPAddress},
		kong.KindMapper(reflect.Int, kong.MapperFunc(decimal)), kong.KindMapper(reflect.Int64, kong.MapperFunc(decimal)))
}

// commandLine records the options that the expanded command line sets. infoOnly reports that only
// information about the program is requested, such as the help, which must work even with an
// invalid configuration file.
func commandLine(expanded []string, all []*option) (infoOnly bool) {
	end := slices.Index(expanded, "--")
	for _, o := range all {
		for _, arg := range expanded[:end] {
			name, value, hasValue := strings.Cut(arg[2:], "=")
			if name != o.flag.Name {
				continue
			}
			if !hasValue {
				value = "true"
			}
			o.set(value)
			infoOnly = infoOnly || slices.Contains([]string{"help", "version", "man"}, name)
		}
		if o.args {
			for _, word := range expanded[end+1:] {
				o.set(word)
			}
		}
	}
	return infoOnly
}

// set adds a value from the command line.
func (o *option) set(value string) {
	if !o.list() {
		o.values = nil // the last one counts
	}
	o.values, o.origin = append(o.values, value), origin{place: onCommandLine}
}

// fromEnvironmentAndFile sets options that are not on the command line from the environment and the file.
func fromEnvironmentAndFile(all []*option) error {
	var file *option
	var fromFile []*option
	for _, o := range all {
		set := o.origin.place != ""
		if !set {
			if err := o.fromEnvironment(); err != nil {
				return err
			}
		}
		if o.key == "config" && len(o.values) > 0 {
			file = o
		}
		fromFile = append(fromFile, &option{flag: o.flag, key: o.key, env: o.env, args: o.args})
	}
	if file == nil {
		return nil
	}
	path := file.values[0]
	if path == "" {
		return errors.New("--config: want the name of a file, not an empty one")
	}
	var bad *fs.PathError
	switch err := readFile(path, fromFile); {
	case errors.As(err, &bad):
		return fmt.Errorf("--config (%s): %w", file.origin, err)
	case err != nil:
		return err
	}
	for i, o := range all {
		if o.origin.place == "" && o.key != "" {
			o.values, o.origin = fromFile[i].values, fromFile[i].origin
		}
	}
	return nil
}

// optionError is an error of Validate about the values of one or more options.
type optionError struct {
	text    string
	options []string // long names
}

func (c *optionError) Error() string { return c.text }

// errorAbout returns an error about options whose names are not in its text.
func errorAbout(text string, options ...string) error { return &optionError{text, options} }

// withOrigins adds the origins of the options to an error of Validate, unless they were set on the
// command line.
func withOrigins(err error, all []*option) error {
	var c *optionError
	names := []string(nil)
	if errors.As(err, &c) {
		names = c.options
	}
	for _, word := range strings.FieldsFunc(err.Error(), func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		if name, ok := strings.CutPrefix(word, "--"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
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
	err = fmt.Errorf("%s: %s: %w", first.origin, first.key, err)
	if len(others) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(others, "; "))
	}
	return err
}

// decimal reads integers as stock does: 010 is ten, and 0x10 is none.
func decimal(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("number", &text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, target.Type().Bits())
	if err != nil {
		return fmt.Errorf("%q: want a whole number", text)
	}
	target.SetInt(n)
	return nil
}
