package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/internal/nearest"
)

// option is one option of a program under all its names.
type option struct {
	flag *kong.Flag
	key  string // in a file
	env  string // the variable
	args bool   // positionals are values of it, too

	values []string // effective values, as given; nil means the default
	lines  []int    // of the values in the file; none elsewhere
	origin origin
	bad    bool // a value cannot be read
}

// origin says where a value comes from.
type origin struct {
	place string // empty means the default
	path  string // of the file, whose line is in place; empty elsewhere
}

const onCommandLine = "flag"

func (o origin) String() string {
	if o.place == "" {
		return "default"
	}
	return o.place
}

// flagOnlyOptions names the options that make no sense in a file or as a variable.
var flagOnlyOptions = []string{"help", "version", "man", "print-config", "check-config"} //nolint:gochecknoglobals // a constant, but for the language

// optionsOf lists the options of k, and removes their environment variables from kong, which
// could not tell the origin of a value. We read them ourselves.
func optionsOf(k *kong.Kong) []*option {
	prefix := strings.ToUpper(k.Model.Name) + "_"
	var all []*option
	for _, f := range k.Model.Flags {
		o := &option{flag: f, key: snake(f.Name), env: prefix + strings.ToUpper(snake(f.Name))}
		if len(f.Envs) > 0 {
			o.env = f.Envs[0]
		}
		f.Envs, f.Tag.Envs = nil, nil
		for _, p := range k.Model.Positional {
			if f.Name == p.Name || f.Name == p.Name+"s" {
				o.key, o.args = p.Name+"s", true
			}
		}
		if slices.Contains(flagOnlyOptions, f.Name) {
			o.key, o.env = "", ""
		}
		all = append(all, o)
	}
	return all
}

func snake(name string) string { return strings.ReplaceAll(name, "-", "_") }

// list reports whether the option may be given several times.
func (o *option) list() bool {
	kind := o.flag.Target.Kind()
	return kind == reflect.Slice || kind == reflect.Map
}

// pairs reports whether its values have the form of KEY=VALUE.
func (o *option) pairs() bool {
	return o.flag.Target.Kind() == reflect.Map || o.list() && strings.Contains(o.flag.PlaceHolder, "=")
}

// validate decodes the values without storing them, and returns what is wrong with each.
func (o *option) validate() (errs Errors) {
	for i, value := range o.values {
		reason := o.refuses(value)
		if reason == "" {
			continue
		}
		o.bad = true
		one := *o
		if one.values = []string{value}; i < len(o.lines) {
			one.lines = o.lines[i : i+1]
		}
		errs = append(errs, one.errorOf(&ValueError{o.flag.Name, value, reason}))
	}
	return errs
}

// refuses returns why a value cannot be read; empty if it can.
func (o *option) refuses(value string) string {
	target := reflect.New(o.flag.Target.Type()).Elem()
	ctx := &kong.DecodeContext{Value: o.flag.Value, Scan: kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	err := o.flag.Mapper.Decode(ctx, target)
	switch {
	case err == nil && (o.flag.Enum == "" || slices.Contains(o.flag.EnumSlice(), value)):
		return ""
	case err == nil || o.plain():
		return o.expected()
	}
	return err.Error()
}

// plain reports whether kong decodes the values, whose errors do not say what is allowed. Types
// of this package say so.
func (o *option) plain() bool {
	t := o.flag.Target.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() == "" || t == reflect.TypeFor[time.Duration]()
}

// expected says what a value may be.
func (o *option) expected() string {
	if o.flag.Enum != "" {
		return "want one of " + strings.Join(o.flag.EnumSlice(), ", ")
	}
	t := o.flag.Target.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := o.flag.PlaceHolder
	switch {
	case o.pairs():
		text := "want " + name + ", in a file written as " + strings.Replace(name, "=", ": ", 1)
		_, value, _ := strings.Cut(name, "=")
		if t.Kind() == reflect.Map {
			text += ", where " + value + " is " + numberKind(t.Elem().Kind())
		}
		return text
	case t == reflect.TypeFor[time.Duration]():
		return "want a time with its unit, such as 500ms or 5s"
	case t.Kind() == reflect.Bool:
		return "want true or false"
	case t.PkgPath() == "" && numberKind(t.Kind()) != "" && (name == "MiB" || name == "KiB"):
		return "want " + numberKind(t.Kind()) + " of " + name
	case t.PkgPath() == "" && numberKind(t.Kind()) != "":
		return "want " + numberKind(t.Kind())
	case name != "":
		return "want " + name
	}
	return "want a value"
}

// numberKind says what a number of a kind may be; empty if it is no number.
func numberKind(k reflect.Kind) string {
	switch k { //nolint:exhaustive // those that options have
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return ""
}

// arguments returns the command line arguments that pass the values to kong.
func (o *option) arguments() []string {
	var args []string
	for _, v := range o.values {
		args = append(args, "--"+o.flag.Name+"="+v)
	}
	return args
}

// fromEnvironment takes the option's value from its variable, if that is set. A list
// may have several lines.
func (o *option) fromEnvironment() Errors {
	text := os.Getenv(o.env)
	if o.env == "" || text == "" { // compose files pass unset variables as empty
		return nil
	}
	o.values, o.origin = []string{text}, origin{place: "environment " + o.env}
	if o.list() {
		o.values = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	}
	return o.validate()
}

// unknownVariables lists variables with our prefix that are no options. They are no error:
// container engines derive variables from the names of services.
func unknownVariables(prefix string, all []*option) []string {
	var names, warnings []string
	for _, o := range all {
		names = append(names, o.env)
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(names, name) {
			continue
		}
		if like := nearest.Name(name, names); like != "" {
			warnings = append(warnings, fmt.Sprintf("the variable %s is not known; did you mean %s?", name, like))
		}
	}
	return warnings
}
