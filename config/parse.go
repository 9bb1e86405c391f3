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
// was set; several are Errors. Then model has the values without errors. --version prints the
// program's name and version.
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
	var errs Errors
	if !infoOnly {
		errs = append(checkCommandLine(all), fromEnvironmentAndFile(all)...)
	}
	if _, err := k.Parse(readable(expanded, all)); err != nil {
		unsure := len(errs) > 0
		for _, err := range single(err) {
			if !unsure || certain(err, all) {
				errs = append(errs, place(err, all))
			}
		}
	}
	if m, ok := model.(keeper); ok {
		m.keep(all, unknownVariables(strings.ToUpper(program)+"_", all))
	}
	return errs.err()
}

// checkCommandLine reads what the command line sets, to find all that is wrong.
func checkCommandLine(all []*option) (errs Errors) {
	for _, o := range all {
		if o.origin.place == onCommandLine {
			errs = append(errs, o.validate()...)
		}
	}
	return errs
}

// readable returns a command line with the values of all options that can be read. expanded is
// the given one.
func readable(expanded []string, all []*option) []string {
	bad := map[string]bool{}
	var args []string
	for _, o := range all {
		bad[o.flag.Name] = o.bad
		if o.origin.place != onCommandLine && !o.bad {
			args = append(args, o.arguments()...)
		}
	}
	end := slices.Index(expanded, "--")
	for _, arg := range expanded[:end] {
		if name, _, _ := strings.Cut(arg[2:], "="); !bad[name] {
			args = append(args, arg)
		}
	}
	return append(args, expanded[end:]...)
}

func newKong(program, help, version string, model any) (*kong.Kong, error) {
	prefix := strings.ToUpper(program) + "_"
	help += "\n\nOptions may also be set in the environment: --an-option as " + prefix + "AN_OPTION, a list with one value in each line; " +
		"and in the file of --config as an_option: VALUE."
	return kong.New(model, kong.Name(program), kong.Description(help), kong.UsageOnError(),
		kong.Vars{"version": program + " " + version, "master": DefaultMasterAddress, "http": DefaultHTTPAddress},
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
func fromEnvironmentAndFile(all []*option) (errs Errors) {
	var file *option
	var fromFile []*option
	for _, o := range all {
		if o.origin.place == "" {
			errs = append(errs, o.fromEnvironment()...)
		}
		if o.key == "config" && len(o.values) > 0 {
			file = o
		}
		fromFile = append(fromFile, &option{flag: o.flag, key: o.key, env: o.env, args: o.args})
	}
	if file == nil {
		return errs
	}
	path := file.values[0]
	if path == "" {
		return append(errs, errors.New("--config: want the name of a file, not an empty one"))
	}
	var bad *fs.PathError
	switch err := readFile(path, fromFile); {
	case errors.As(err, &bad):
		return append(errs, fmt.Errorf("--config %s (%s): %w: name a YAML file that can be read", path, file.origin, bad.Err))
	case err != nil:
		errs = append(errs, single(err)...)
	}
	for i, o := range all {
		if o.origin.place == "" && o.key != "" {
			o.values, o.lines, o.origin, o.bad = fromFile[i].values, fromFile[i].lines, fromFile[i].origin, fromFile[i].bad
		}
	}
	return errs
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
