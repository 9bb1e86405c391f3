package config

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/lazyre"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// expand normalizes a command line in rosbag's syntax: it returns each option as --name=value (a switch as
// --name), then "--" and the words that are no options.
//
// It accepts what rosbag's two parsers (boost::program_options and Python's
// optparse) accept: --opt=v and --opt v, unambiguous abbreviations of long
// options, short clusters (-ajOname), values that begin with a dash, options and
// words in any order, and for the options of Many a list that runs up to the next option.
// See ADR 0011.
func expand(args []string, all []*option) ([]string, error) {
	e := expander{long: map[string]*option{}, short: map[rune]*option{}, rest: args}
	for _, o := range all {
		e.long[o.Name] = o
		for _, alias := range o.Aliases {
			e.long[alias] = o
		}
		for _, c := range o.Short {
			e.short[c] = o
		}
	}
	for len(e.rest) > 0 {
		if err := e.next(); err != nil {
			return nil, err
		}
	}
	return append(append(e.options, "--"), e.words...), nil
}

// expander is the state of expand.
type expander struct {
	long    map[string]*option
	short   map[rune]*option
	rest    []string // arguments that were not read yet
	options []string // --name=value, or --name
	words   []string // arguments that are no options
}

// next consumes one option with its values, or one word.
func (e *expander) next() error {
	arg := e.rest[0]
	e.rest = e.rest[1:]
	switch {
	case arg == "--":
		e.words = append(e.words, e.rest...)
		e.rest = nil
		return nil
	case strings.HasPrefix(arg, "--"):
		return e.longOption(arg)
	case len(arg) > 1 && arg[0] == '-':
		return e.cluster(arg)
	}
	e.words = append(e.words, arg)
	return nil
}

func (e *expander) longOption(arg string) error {
	name, value, hasValue := strings.Cut(arg[2:], "=")
	o, err := e.find(name)
	if err != nil {
		return err
	}
	switch {
	case hasValue:
		e.emit(o, value)
	case o.bare() && !e.addressFollows(o):
		e.options = append(e.options, "--"+o.Name)
	case o.Value.many:
		return e.list(o, arg)
	default:
		return e.value(o, arg)
	}
	return nil
}

// addressFollows reports whether the value of o is an optional address, and the next argument has the
// form of an address, which no topic and no bag has. The name of a machine alone may be that of a topic;
// localhost is none.
func (e *expander) addressFollows(o *option) bool {
	if !o.Value.address || len(e.rest) == 0 {
		return false
	}
	word := e.rest[0]
	_, noIP := netip.ParseAddr(word)
	return noIP == nil || word == "localhost" || hostPort().MatchString(word) || o.Value.port &&
		port().MatchString(word)
}

// bare reports whether the option may stand without a value.
func (o *option) bare() bool { return o.Value.kind == toggle || o.Value.kind == optional }

// hostPort matches host:port, also with an address of IPv6 or without a host.
var hostPort = lazyre.New(`^([A-Za-z0-9._-]*|\[[0-9A-Fa-f:.%]+\]):[0-9]{1,5}$`)

// port matches a port alone: names of topics begin with a letter.
var port = lazyre.New(`^[0-9]{1,5}$`)

// list consumes every argument up to the next option as a value of o.
func (e *expander) list(o *option, arg string) error {
	n := 0
	for n < len(e.rest) && !strings.HasPrefix(e.rest[n], "-") {
		e.emit(o, e.rest[n])
		n++
	}
	if n == 0 {
		return missing(arg)
	}
	e.rest = e.rest[n:]
	return nil
}

// value consumes the next argument as the value of o, even if it begins with a dash.
func (e *expander) value(o *option, arg string) error {
	if len(e.rest) == 0 {
		return missing(arg)
	}
	e.emit(o, e.rest[0])
	e.rest = e.rest[1:]
	return nil
}

// cluster reads -abc, -Oname and -O name.
func (e *expander) cluster(arg string) error {
	for i, c := range arg[1:] {
		o, ok := e.short[c]
		if !ok {
			return fmt.Errorf("unrecognised option '-%c' in '%s': see --help", c, arg)
		}
		if o.bare() {
			e.options = append(e.options, "--"+o.Name)
			continue
		}
		if tail := arg[1+i+len(string(c)):]; tail != "" {
			e.emit(o, strings.TrimPrefix(tail, "="))
			return nil
		}
		if o.Value.many {
			return e.list(o, "-"+string(c))
		}
		return e.value(o, "-"+string(c))
	}
	return nil
}

func (e *expander) emit(o *option, value string) {
	e.options = append(e.options, "--"+o.Name+"="+value)
}

// find returns the option with a long name, or with an unambiguous abbreviation of it. If an abbreviation
// fits exactly one option that rosbag has, it means that option: our own options must not make
// abbreviations of rosbag ambiguous.
func (e *expander) find(name string) (*option, error) {
	if o, ok := e.long[name]; ok {
		return o, nil
	}
	var names, stock []string
	for n, o := range e.long {
		if name != "" && strings.HasPrefix(n, name) {
			names = append(names, "--"+n)
			if o.Stock {
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
		return nil, e.unrecognized(name)
	case 1:
		return e.long[names[0][2:]], nil
	}
	return nil, fmt.Errorf("option '--%s' is ambiguous: it could be %s", name, strings.Join(names, ", "))
}

// unrecognized returns rosbag's error for an unknown option, with the names of the options that may be
// meant: the one with a similar name, or those that say at the beginning of their help that they do it,
// such as --lz4 for --compress.
func (e *expander) unrecognized(name string) error {
	if like := wording.NearestName(name, slices.Sorted(maps.Keys(e.long))); like != "" {
		return fmt.Errorf("unrecognised option '--%s': did you mean --%s?", name, like)
	}
	var doing []string
	for _, long := range slices.Sorted(maps.Keys(e.long)) {
		o := e.long[long]
		verb, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(o.Help)), " ")
		if o.Name == long && len(name) > 4 && len(verb) > 4 &&
			(strings.HasPrefix(verb, name) || strings.HasPrefix(name, verb)) {
			doing = append(doing, "--"+long)
		}
	}
	if n := len(doing); n > 0 && n <= 3 {
		return fmt.Errorf("unrecognised option '--%s': did you mean %s?", name, strings.Join(doing, " or "))
	}
	return fmt.Errorf("unrecognised option '--%s': see --help", name)
}

func missing(arg string) error {
	return fmt.Errorf("the required argument for option '%s' is missing", arg)
}
