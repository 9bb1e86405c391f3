package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// noField is Value.info of --help, which kong declares itself.
var noField = reflect.TypeFor[struct{}]()

// kong returns a parser of the options, which prints help, manual page and version, and completes command
// lines. Values are read by Option.Value instead.
func (p *Program) kong() (*kong.Kong, error) {
	var fields []reflect.StructField
	add := func(t reflect.Type, tags ...string) {
		tag := ""
		for i := 0; i < len(tags); i += 2 {
			if tags[i+1] != "" {
				tag += fmt.Sprintf("%s:%q ", tags[i], tags[i+1])
			}
		}
		fields = append(fields,
			reflect.StructField{
				Name: fmt.Sprintf("F%d", len(fields)), Type: t,
				Tag: reflect.StructTag(strings.TrimSpace(tag)),
			})
	}
	if p.Words.Name != "" {
		add(reflect.TypeFor[[]string](), "arg", "x", "optional", "x", "name", p.Words.Name, "help",
			lines(p.Words.Help))
	}
	for _, g := range p.Groups {
		title := g.Title
		if title != "" {
			title += ":"
		}
		for _, o := range g.Options {
			add(o.Value.field(), "name", o.Name, "short", o.Short, "aliases", strings.Join(o.Aliases, ","),
				"group", title, "placeholder", o.arg(),
				"default", o.Default, "enum", strings.Join(o.Value.choices, ","), "sep", "none", "help",
				lines(o.Help))
		}
	}
	help := p.Help + "\n\nOptions may also be set in the environment: --an-option as " + p.prefix() +
		"AN_OPTION, a list with one value in each line; " +
		"and in the file of --config as an_option: VALUE."
	return kong.New(reflect.New(reflect.StructOf(fields)).Interface(), kong.Name(p.Name),
		kong.Description(help), kong.UsageOnError(),
		kong.Vars{"version": p.Name + " " + p.Version})
}

// field returns the type of the field that stands for the option in the struct that kong reads.
func (v *Value) field() reflect.Type {
	switch {
	case v.info != nil:
		return v.info
	case v.kind == toggle || v.kind == optional:
		return reflect.TypeFor[bool]()
	case v.kind == one:
		return reflect.TypeFor[string]()
	}
	return reflect.TypeFor[[]string]()
}

// arg returns what stands for the value in the help.
func (o *Option) arg() string {
	if o.Arg == "" {
		return strings.Join(o.Value.choices, "|")
	}
	return o.Arg
}

// lines joins the lines of a text to one line.
func lines(text string) string { return strings.Join(strings.Fields(text), " ") }
