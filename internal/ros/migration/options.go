package migration

import (
	"fmt"
	"slices"
	"strings"
)

// Field is a field of a type: "pkg/Type.field" is {"pkg/Type", "field"}.
type Field struct{ Type, Name string }

func (f Field) String() string { return f.Type + "." + f.Name }

// Options are what only a person can decide. The zero value decides nothing. An Options belongs to one
// goroutine.
type Options struct {
	renameTypes  map[string]string // wanted name by name
	renameFields map[Field]string  // wanted name by old field
	drop         choice
	convert      choice
	set          map[Field]string // text by new field

	used map[string]bool // "--drop pkg/Type.field"
}

// choice is a set of fields, or all.
type choice struct {
	all    bool
	fields map[Field]bool
}

// The options by which commands call what Options has.
const (
	OptionRename  = "--rename"
	OptionField   = "--field"
	OptionDrop    = "--drop"
	OptionConvert = "--convert"
	OptionSet     = "--set"
)

// everything is the argument of --drop and --convert that means all fields.
const everything = "all"

// RenameType adds "pkg/Old=pkg/New": messages of the type, and fields, become those of the new one.
func (o *Options) RenameType(rule string) error {
	from, to, ok := strings.Cut(rule, "=")
	if !ok || !isType(from) || !isType(to) {
		return fmt.Errorf("%s %s: write old_pkg/Type=new_pkg/Type", OptionRename, rule)
	}
	if o.renameTypes == nil {
		o.renameTypes = make(map[string]string)
	}
	o.renameTypes[from] = to
	return nil
}

// RenameField adds "pkg/Type.old=new".
func (o *Options) RenameField(rule string) error {
	from, to, ok := strings.Cut(rule, "=")
	f, isField := parseField(from)
	if !ok || !isField || to == "" {
		return fmt.Errorf("%s %s: write pkg/Type.old=new", OptionField, rule)
	}
	if o.renameFields == nil {
		o.renameFields = make(map[Field]string)
	}
	o.renameFields[f] = to
	return nil
}

// Drop adds a field "pkg/Type.field" that may get lost, or "all".
func (o *Options) Drop(what string) error { return o.drop.add(OptionDrop, what) }

// Convert adds a field "pkg/Type.field" whose values may become numbers that not every value fits, or "all".
func (o *Options) Convert(what string) error { return o.convert.add(OptionConvert, what) }

// Set adds "pkg/Type.field=value": the value of a field that old messages do not have.
func (o *Options) Set(rule string) error {
	name, text, ok := strings.Cut(rule, "=")
	f, isField := parseField(name)
	if !ok || !isField {
		return fmt.Errorf("%s %s: write pkg/Type.field=value", OptionSet, rule)
	}
	if o.set == nil {
		o.set = make(map[Field]string)
	}
	o.set[f] = text
	return nil
}

// Unused returns the options that no plan has needed: they may be misspelt.
func (o *Options) Unused() []string {
	var all []string
	for from, to := range o.renameTypes {
		all = append(all, OptionRename+" "+from+"="+to)
	}
	for f, to := range o.renameFields {
		all = append(all, OptionField+" "+f.String()+"="+to)
	}
	for f := range o.drop.fields {
		all = append(all, OptionDrop+" "+f.String())
	}
	for f := range o.convert.fields {
		all = append(all, OptionConvert+" "+f.String())
	}
	for f, value := range o.set {
		all = append(all, OptionSet+" "+f.String()+"="+value)
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(s string) bool { return o.used[s] })
}

// Renamed returns the name of a type in the wanted definitions.
func (o *Options) Renamed(typ string) string {
	to, ok := o.renameTypes[typ]
	if !ok {
		return typ
	}
	o.use(OptionRename + " " + typ + "=" + to)
	return to
}

// field returns the wanted name of a field of from, which becomes a message of to.
func (o *Options) field(from, to, name string) string {
	for _, t := range []string{from, to} {
		if wanted, ok := o.renameFields[Field{t, name}]; ok {
			o.use(OptionField + " " + t + "." + name + "=" + wanted)
			return wanted
		}
	}
	return name
}

// allows reports whether a choice has a field of from, which becomes a message of to.
func (o *Options) allows(c *choice, option, from, to, name string) bool {
	for _, t := range []string{from, to} {
		if c.fields[Field{t, name}] {
			o.use(option + " " + t + "." + name)
			return true
		}
	}
	return c.all
}

// value returns the text of a field that old messages do not have.
func (o *Options) value(typ, name string) (string, bool) {
	s, ok := o.set[Field{typ, name}]
	if ok {
		o.use(OptionSet + " " + typ + "." + name + "=" + s)
	}
	return s, ok
}

func (o *Options) use(option string) {
	if o.used == nil {
		o.used = make(map[string]bool)
	}
	o.used[option] = true
}

func (c *choice) add(option, what string) error {
	if what == everything {
		c.all = true
		return nil
	}
	f, ok := parseField(what)
	if !ok {
		return fmt.Errorf("%s %s: write pkg/Type.field, or %s", option, what, everything)
	}
	if c.fields == nil {
		c.fields = make(map[Field]bool)
	}
	c.fields[f] = true
	return nil
}

func parseField(s string) (Field, bool) {
	typ, name, ok := strings.Cut(s, ".")
	return Field{typ, name}, ok && isType(typ) && name != ""
}

func isType(s string) bool {
	pkg, name, ok := strings.Cut(s, "/")
	return ok && pkg != "" && name != "" && !strings.ContainsAny(name, "/.= ")
}
