package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/internal/nearest"
)

// Expand normalizes a command line in rosbag's syntax to a form that kong always parses the
// same way: each option as --name=value (a switch as --name), then "--" and the positionals.
//
// It accepts what rosbag's two parsers (boost::program_options and Python's
// optparse) accept: --opt=v and --opt v, unambiguous abbreviations of long
// options, short clusters (-ajOname), values that begin with a dash, options and
// positionals in any order, and for the options named in multitoken a list that
// runs up to the next option. k knows the options.
func Expand(args []string, k *kong.Kong, multitoken ...string) ([]string, error) {
	e := expander{long: map[string]*kong.Flag{}, short: map[rune]*kong.Flag{}, multitoken: multitoken, rest: args}
	for _, group := range k.Model.AllFlags(false) {
		for _, f := range group {
			e.long[f.Name] = f
			for _, alias := range f.Aliases {
				e.long[alias] = f
			}
			if f.Short != 0 {
				e.short[f.Short] = f
			}
		}
	}
	for len(e.rest) > 0 {
		if err := e.next(); err != nil {
			return nil, err
		}
	}
	return append(append(e.options, "--"), e.positionals...), nil
}

type expander struct {
	long        map[string]*kong.Flag
	short       map[rune]*kong.Flag
	multitoken  []string
	rest        []string // not read yet
	options     []string
	positionals []string
}

// next consumes one option with its values, or one positional.
func (e *expander) next() error {
	arg := e.rest[0]
	e.rest = e.rest[1:]
	switch {
	case arg == "--":
		e.positionals = append(e.positionals, e.rest...)
		e.rest = nil
		return nil
	case strings.HasPrefix(arg, "--"):
		return e.longOption(arg)
	case len(arg) > 1 && arg[0] == '-':
		return e.cluster(arg)
	}
	e.positionals = append(e.positionals, arg)
	return nil
}

func (e *expander) longOption(arg string) error {
	name, value, hasValue := strings.Cut(arg[2:], "=")
	f, err := e.find(name)
	if err != nil {
		return err
	}
	switch {
	case hasValue:
		e.emit(f, value)
	case f.IsBool() && !e.addressFollows(f):
		e.options = append(e.options, "--"+f.Name)
	case slices.Contains(e.multitoken, f.Name):
		return e.list(f, arg)
	default:
		return e.value(f, arg)
	}
	return nil
}

// addressFollows reports whether f has an optional address and the next argument is one: no
// topic and no bag has such a name.
func (e *expander) addressFollows(f *kong.Flag) bool {
	t := f.Target.Type()
	return (t == reflect.TypeFor[Address]() || t == reflect.TypeFor[HTTPAddress]()) && len(e.rest) > 0 && hostPort.MatchString(e.rest[0])
}

// hostPort matches host:port, also with an address of IPv6 or without a host.
var hostPort = regexp.MustCompile(`^([A-Za-z0-9._-]*|\[[0-9A-Fa-f:.%]+\]):[0-9]{1,5}$`)

// list consumes every argument up to the next option as a value of f.
func (e *expander) list(f *kong.Flag, arg string) error {
	n := 0
	for n < len(e.rest) && !strings.HasPrefix(e.rest[n], "-") {
		e.emit(f, e.rest[n])
		n++
	}
	if n == 0 {
		return missing(arg)
	}
	e.rest = e.rest[n:]
	return nil
}

// value consumes the next argument as the value of f, even if it begins with a dash.
func (e *expander) value(f *kong.Flag, arg string) error {
	if len(e.rest) == 0 {
		return missing(arg)
	}
	e.emit(f, e.rest[0])
	e.rest = e.rest[1:]
	return nil
}

// cluster reads -abc, -Oname and -O name.
func (e *expander) cluster(arg string) error {
	for i, c := range arg[1:] {
		f, ok := e.short[c]
		if !ok {
			return fmt.Errorf("unrecognised option '-%c' in '%s': see --help", c, arg)
		}
		if f.IsBool() {
			e.options = append(e.options, "--"+f.Name)
			continue
		}
		if tail := arg[1+i+len(string(c)):]; tail != "" {
			e.emit(f, strings.TrimPrefix(tail, "="))
			return nil
		}
		if slices.Contains(e.multitoken, f.Name) {
			return e.list(f, "-"+string(c))
		}
		return e.value(f, "-"+string(c))
	}
	return nil
}

func (e *expander) emit(f *kong.Flag, value string) {
	e.options = append(e.options, "--"+f.Name+"="+value)
}

// find resolves a long option by its name or an unambiguous abbreviation. An abbreviation
// that fits exactly one option of stock means that one: our own options must not make stock's
// abbreviations ambiguous.
func (e *expander) find(name string) (*kong.Flag, error) {
	if f, ok := e.long[name]; ok {
		return f, nil
	}
	var names, stock []string
	for n, f := range e.long {
		if name != "" && strings.HasPrefix(n, name) {
			names = append(names, "--"+n)
			if f.Tag.Has("stock") {
				stock = append(stock, "--"+n)
			}
		}
	}
	if len(stock) == 1 {
		names = stock
	}
	sort.Strings(names)
	switch len(names) {
	case 0:
		return nil, unrecognized(name, slices.Collect(maps.Keys(e.long)))
	case 1:
		return e.long[names[0][2:]], nil
	}
	return nil, fmt.Errorf("option '--%s' is ambiguous: it could be %s", name, strings.Join(names, ", "))
}

// unrecognized returns stock's error for an unknown option, with the one that may be meant.
func unrecognized(name string, known []string) error {
	slices.Sort(known)
	if like := nearest.Name(name, known); like != "" {
		return fmt.Errorf("unrecognised option '--%s': did you mean --%s?", name, like)
	}
	return fmt.Errorf("unrecognised option '--%s': see --help", name)
}

func missing(arg string) error {
	return fmt.Errorf("the required argument for option '%s' is missing", arg)
}
