// Package config reads the options of a program from its command line, the environment and a file, and
// prints them: help, manual page, reference and configuration. A program declares its options as data.
//
// Decisions: ADR 0036, 0068, 0119.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	kongcompletion "github.com/jotaen/kong-completion"
)

// Program describes the options of a program.
type Program struct {
	Name    string // in lower case
	Version string
	Help    string // introduces the help
	Words   Words
	Groups  []Group // in the order of the help

	// Complete is called after the values are stored, and before the rules of the groups. It sets the
	// variables that depend on several options; nil sets none.
	Complete func()
}

// Words describes the arguments that are not options. They are values of the option Option.
type Words struct {
	Name   string // what one word is; the key in a file is the plural
	Option string // long name of the option
	Help   string
}

// Settings are the options of a program with their values and the places where these were set.
type Settings struct {
	options []*option
	unknown []string
}

// Unknown returns warnings about environment variables that have the program's prefix but are no options.
func (s *Settings) Unknown() []string { return s.unknown }

// Parse reads a command line (without the program's name), the environment, and the file that the option
// config names, in this order of precedence, and stores the values. The error is one line that says which
// option is wrong, where it was set, and what to write; several such errors are Errors. Options without
// an error are stored even if others have one. An option that only prints something, such as --help, ends
// the process.
func (p *Program) Parse(args []string) (*Settings, error) {
	all := p.options()
	s := &Settings{options: all}
	k, err := p.kong()
	if err != nil {
		return s, err
	}
	if os.Getenv("COMP_LINE") != "" { // a shell asks how the command line may go on
		kongcompletion.Register(k)
	}
	expanded, err := expand(args, all)
	if err != nil {
		return s, err
	}
	if prints := commandLine(expanded, all); prints != "" { // also with an invalid file
		_, err := k.Parse([]string{prints})
		return s, err
	}
	s.unknown = unknownVariables(p.prefix(), all)
	var errs Errors
	for _, o := range all {
		if o.origin.place == onCommandLine {
			errs = append(errs, o.read()...)
		}
	}
	errs = append(errs, fromEnvironmentAndFile(all)...)
	for _, o := range all {
		o.store()
	}
	errs = append(errs, p.brokenRules(all, len(errs) > 0)...)
	return s, errs.err()
}

// brokenRules completes the values, and returns an error for each broken rule.
func (p *Program) brokenRules(all []*option, othersWrong bool) (errs Errors) {
	if p.Complete != nil {
		p.Complete()
	}
	for _, g := range p.Groups {
		if g.Rules == nil {
			continue
		}
		for _, r := range g.Rules() {
			if err := r.broken(all, othersWrong); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// prefix returns how the names of variables begin.
func (p *Program) prefix() string { return strings.ToUpper(p.Name) + "_" }

// options returns the options of the program without values, and --help.
func (p *Program) options() []*option {
	help := Option{
		Name: "help", Short: "h", CommandLine: true, Value: Switch(new(bool)),
		Help: "Show context-sensitive help.",
	}
	help.Value.info = noField
	all := []*option{{Option: help}}
	for _, g := range p.Groups {
		for _, declared := range g.Options {
			o := &option{Option: declared, group: g.Title, key: snake(declared.Name)}
			switch {
			case o.CommandLine:
				o.key = ""
			case o.Env == "":
				o.Env = p.prefix() + strings.ToUpper(o.key)
			}
			if o.Name == p.Words.Option {
				o.words, o.key = true, p.Words.Name+"s"
			}
			all = append(all, o)
		}
	}
	return all
}

// store stores the values of the option, or its default if it has no values or a wrong one.
func (o *option) store() {
	if o.origin.place != "" && !o.bad {
		for _, v := range o.values {
			v.set()
		}
	} else if o.Default != "" {
		set, err := o.Value.read(o.Default)
		if err != nil {
			panic(fmt.Sprintf("config: default of --%s: %v", o.Name, err))
		}
		set()
	}
}

// commandLine records the options that the expanded command line sets. It returns the argument that asks
// to print something about the program instead; empty if there is none.
func commandLine(expanded []string, all []*option) (prints string) {
	end := slices.Index(expanded, "--")
	for _, o := range all {
		if o.words {
			for _, word := range expanded[end+1:] {
				o.set(word)
			}
		}
		for _, arg := range expanded[:end] {
			name, value, hasValue := strings.Cut(arg[2:], "=")
			if name != o.Name {
				continue
			}
			if !hasValue {
				value = "true"
			}
			o.set(value)
			if o.Value.info != nil {
				prints = arg
			}
		}
	}
	return prints
}

// set adds a value from the command line.
func (o *option) set(value string) {
	o.values, o.origin = append(o.values, given{text: value}), origin{place: onCommandLine}
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
		fromFile = append(fromFile, &option{Option: o.Option, key: o.key, words: o.words})
	}
	if file == nil {
		return errs
	}
	path := file.values[0].text
	if path == "" {
		return append(errs, file.errorAt(0, "", "want the name of a file, not an empty one"))
	}
	var bad *fs.PathError
	switch err := readFile(path, fromFile); {
	case errors.As(err, &bad):
		return append(errs,
			file.errorAt(0, path, fmt.Sprintf("%v: name a YAML file that can be read", bad.Err)))
	case err != nil:
		var several Errors
		if !errors.As(err, &several) {
			several = Errors{err}
		}
		errs = append(errs, several...)
	}
	for i, o := range all {
		if from := fromFile[i]; o.origin.place == "" && o.key != "" {
			o.values, o.origin, o.bad = from.values, from.origin, from.bad
		}
	}
	return errs
}
