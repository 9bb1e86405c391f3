// Package command declares the commands of a program as data. The doors (services and topics of ROS,
// HTTP, keys) carry them out. The package knows no program and no door, and has no state.
//
// Decisions: ADR 0120.
package command

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Patience is how long a door waits for a command that need not be waited for to its end. The command is
// carried out even if the door has given up.
const Patience = 10 * time.Second

// Command is a command that users can give to a program. A program declares each of its commands once, as
// an entry of a list; each door serves the entries that have a name there.
type Command struct {
	Params []Param

	// The names of the command at the doors by which it can be reached; empty for the others.
	Service string // below the node's name: std_srvs/SetBool if a Bool has to be given, else std_srvs/Trigger
	Topic   string // below the node's name: a message of std_msgs with the first parameter
	HTTP    string // below /api/v1/

	// Query says that the command changes nothing: doors do not log it.
	Query bool
	// Patient says that a service waits until the command is done, however long that takes;
	// otherwise it gives up after Patience, and the command goes on.
	Patient bool

	// Do carries out the command. A Result that comes with a refusal may have fields only.
	Do func(ctx context.Context, given Params) (Result, error)
}

// Result is the result of a command.
type Result struct {
	Text   string  // what was done, in a sentence without a full stop
	Brief  string  // the same without the directories of files; empty if Text names none
	Fields []Field // values for programs, beside the text
}

// Field is a named value in a Result.
type Field struct {
	Name  string
	Value any // as JSON
}

// Param is a parameter of a command.
type Param struct {
	Name string
	Kind Type
	Max  int // of a Count; zero means math.MaxInt32
}

// Type is the type of a parameter.
type Type int

// The types of parameters, with those of their values in Params.
const (
	Bool   Type = iota // bool: has to be given
	Number             // float64, which is a number
	Count              // int: at least 1
	Text               // string
	Time               // rosbag.Time
)

// Params are the parameters that were given, by name.
type Params map[string]any

// Has reports whether a parameter was given.
func (p Params) Has(name string) bool {
	_, ok := p[name]
	return ok
}

// Bool returns a parameter of type Bool.
func (p Params) Bool(name string) bool { return value[bool](p, name) }

// Number returns a parameter of type Number; zero if it was not given.
func (p Params) Number(name string) float64 { return value[float64](p, name) }

// Count returns a parameter of type Count.
func (p Params) Count(name string) int { return value[int](p, name) }

// Text returns a parameter of type Text; empty if it was not given.
func (p Params) Text(name string) string { return value[string](p, name) }

// Time returns a parameter of type Time.
func (p Params) Time(name string) rosbag.Time { return value[rosbag.Time](p, name) }

func value[T any](p Params, name string) T {
	v, _ := p[name].(T)
	return v
}

// Run checks the parameters, and carries out the command.
func (c *Command) Run(ctx context.Context, given Params) (Result, error) {
	for _, p := range c.Params {
		if err := p.check(given); err != nil {
			return Result{}, err
		}
	}
	return c.Do(ctx, given)
}

// check returns why the value of a parameter is invalid.
func (p *Param) check(given Params) error {
	switch p.Kind {
	case Bool:
		if !given.Has(p.Name) {
			return Refused(Invalid, p.Name+" must be true or false")
		}
	case Number:
		if math.IsNaN(given.Number(p.Name)) {
			return Refused(Invalid, "not a number")
		}
	case Count:
		most := p.Max
		if most == 0 {
			most = math.MaxInt32
		}
		if n := given.Count(p.Name); n < 1 || n > most {
			return Refused(Invalid, fmt.Sprintf("%s must be between 1 and %d", p.Name, most))
		}
	case Text, Time:
	}
	return nil
}

// Switch reports whether the command switches something on or off: its only parameter is a Bool.
func (c *Command) Switch() bool { return len(c.Params) == 1 && c.Params[0].Kind == Bool }

// ByService returns the command with the name of a service. There must be one.
func ByService(all []Command, service string) *Command {
	for i := range all {
		if all[i].Service == service {
			return &all[i]
		}
	}
	panic("command: there is no service " + service)
}
