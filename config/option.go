package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// option is one option of a program under all its names.
type option struct {
	flag *kong.Flag
	key  string // in a file
	env  string // the variable
	args bool   // positionals are values of it, too

	values []string // effective values, as given; nil means the default
	origin origin
}

// origin says where a value comes from.
type origin struct {
	place string // empty means the default
	file  bool   // place is file:line
}

const onCommandLine = "flag"

func (o origin) String() string {
	if o.place == "" {
		return "default"
	}
	return o.place
}

// flagOnlyOptions names the options that make no sense in a file or as a variable.
var flagOnlyOptions = []string{"help", "version", "man", "print-config"} //nolint:gochecknoglobals // a constant, but for the language

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

// validate decodes a value without storing it, to report an error with its origin.
func (o *option) validate(value string) error {
	target := reflect.New(o.flag.Target.Type()).Elem()
	ctx := &kong.DecodeContext{Value: o.flag.Value, Scan: kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: value})}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	if err := o.flag.Mapper.Decode(ctx, target); err != nil {
		return fmt.Errorf("%w (%s)", err, o.expected())
	}
	if o.flag.Enum != "" && !slices.Contains(o.flag.EnumSlice(), value) {
		return fmt.Errorf("%q is not allowed (%s)", value, o.expected())
	}
	return nil
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
	switch {
	case o.pairs():
		return "want " + o.flag.PlaceHolder + ", in a file written as " + strings.Replace(o.flag.PlaceHolder, "=", ": ", 1)
	case t == reflect.TypeFor[time.Duration]():
		return "want a time with its unit, such as 500ms or 5s"
	case t.Kind() == reflect.Bool:
		return "want true or false"
	case t.Kind() == reflect.Float64:
		return "want a number"
	case o.flag.PlaceHolder != "":
		return "want " + o.flag.PlaceHolder
	}
	return "want a value"
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
func (o *option) fromEnvironment() error {
	text := os.Getenv(o.env)
	if o.env == "" || text == "" { // compose files pass unset variables as empty
		return nil
	}
	o.values, o.origin = []string{text}, origin{place: "environment " + o.env}
	if o.list() {
		o.values = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	}
	for _, v := range o.values {
		if err := o.validate(v); err != nil {
			return fmt.Errorf("environment %s: %w", o.env, err)
		}
	}
	return nil
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
		if like := closestName(name, names); like != "" {
			warnings = append(warnings, fmt.Sprintf("the variable %s is not known; did you mean %s?", name, like))
		}
	}
	return warnings
}

// closestName returns the most similar one of names, or "" if none is similar.
func closestName(name string, names []string) string {
	best, least := "", 1+max(2, len(name)/4)
	for _, n := range names {
		if n == "" {
			continue
		}
		if d := editDistance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// editDistance counts the bytes to insert, delete, change or swap with the next between a and b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
