// Package fix makes recordings whose messages have the definitions that are wanted. A Planner decides
// what becomes of each definition that a recording has, and says so; Run writes the result.
//
// How a message changes is the business of package migration. The command owns the options.
package fix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/bags/definitions"
	"github.com/gorosbag/gorosbag/internal/ros/migration"
	"github.com/gorosbag/gorosbag/internal/ros/mismatch"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// State is what becomes of messages.
type State uint8

// The states.
const (
	AsWanted  State = iota // they stay, because they are what is wanted
	Unknown                // they stay, because nothing else is wanted
	TextOnly               // they stay; type, md5sum or definition of their connections change
	Converted              // their bytes change
	Refused                // something has to be decided first
)

// Item is one definition of a recording and what becomes of its messages.
type Item struct {
	State  State
	From   mismatch.Definition // as the connections have it
	To     mismatch.Definition // as they get it
	Fault  string              // of From; empty if it is right
	Plan   *migration.Plan     // nil without a wanted definition
	Reason string              // why it is refused, without what Plan says
	Topics []string            // in order, each once

	messages  uint64            // that the index knows of
	real      mismatch.Resolved // what the messages are
	converter *migration.Converter
}

// Rounded returns how many values were rounded so far.
func (i *Item) Rounded() uint64 {
	if i.converter == nil {
		return 0
	}
	return i.converter.Rounded()
}

// Planner plans what becomes of connections. It belongs to one goroutine.
type Planner struct {
	wanted definitions.Set
	known  definitions.List // of what messages may be
	here   definitions.Set  // what is installed
	o      *migration.Options
	items  map[mismatch.Definition]*Item
	list   []*Item

	// Misfit is called for a message that does not have the definition of its connection: it is left out.
	Misfit func(error)
}

// NewPlanner returns a planner of what becomes of messages if wanted is wanted.
func NewPlanner(wanted definitions.List, o *migration.Options) *Planner {
	here := definitions.Installed()
	return &Planner{
		wanted: wanted, known: append(slices.Clone(wanted), here, definitions.Noetic()), here: here, o: o,
		items: make(map[mismatch.Definition]*Item), Misfit: func(error) {},
	}
}

// Add plans what becomes of a connection with so many messages.
func (p *Planner) Add(c *rosbag.Connection, messages uint64) {
	p.item(c).messages += messages
}

// Items returns what was planned, in the order of the first connections.
func (p *Planner) Items() []*Item { return p.list }

// item returns the plan for a connection.
func (p *Planner) item(c *rosbag.Connection) *Item {
	from := mismatch.Definition{
		Type: c.Header.Type(), MD5Sum: c.Header.MD5Sum(),
		Text: c.Header.MessageDefinition(),
	}
	i := p.items[from]
	if i == nil {
		i = &Item{From: from, To: from}
		p.decide(i)
		p.items[from] = i
		p.list = append(p.list, i)
	}
	if at, found := slices.BinarySearch(i.Topics, c.Topic); !found {
		i.Topics = slices.Insert(i.Topics, at, c.Topic)
	}
	return i
}

// decide plans what becomes of a definition.
func (p *Planner) decide(i *Item) {
	refuse := func(err error) { i.State, i.Reason = Refused, err.Error() }
	name := p.o.Renamed(i.From.Type)
	wanted, ok, err := definitions.Wanted(p.wanted, name)
	switch {
	case err != nil:
		refuse(err)
		return
	case !ok && name != i.From.Type:
		refuse(fmt.Errorf("no definition of %s is known, which it shall become", name))
		return
	case !ok:
		i.State = Unknown
		return
	}
	if i.real, err = mismatch.Resolve(i.From, p.known); err != nil {
		refuse(err)
		return
	}
	i.Fault = i.real.Fault
	to, err := rosmsg.Parse(wanted.Type, wanted.Text)
	if err == nil {
		i.Plan, err = migration.Compare(i.real.Parsed, to, p.o)
	}
	switch {
	case err != nil:
		refuse(err)
		return
	case len(i.Plan.Refused()) > 0:
		i.State = Refused
		return
	}
	i.To = wanted
	switch {
	case !i.Plan.SameBytes():
		i.State = Converted
	case i.From.MD5Sum == wanted.MD5Sum && i.Fault == "" && len(i.Plan.Changes) == 0 &&
		p.keepsText(i.From.Text, wanted):
		i.State, i.To = AsWanted, i.From
	default:
		i.State = TextOnly
	}
}

// keepsText reports whether a text is not worth to be replaced by one that means the same: it is the
// same, or may have comments that the other one lacks. Stock's rosbag check compares the texts with those
// that are installed, comments included.
func (p *Planner) keepsText(have string, wanted mismatch.Definition) bool {
	return strings.TrimSpace(have) == strings.TrimSpace(wanted.Text) || definitions.IsBare(wanted, p.here)
}

// Edit implements rosbag's way to change connections. Of those that Add was not called for, because no
// index knows of them, what is refused is an error of the first message.
func (p *Planner) Edit(c *rosbag.Connection) *rosbag.Edit {
	i := p.item(c)
	switch i.State {
	case AsWanted, Unknown:
		return nil
	case Refused:
		return &rosbag.Edit{
			Header: c.Header,
			Payload: func(dst, _ []byte, _ rosbag.Time) ([]byte, bool, error) {
				return dst, false, fmt.Errorf("topic %s: %s", c.Topic, strings.Join(i.Refusals(), "; "))
			},
		}
	case TextOnly, Converted:
	}
	e := &rosbag.Edit{Header: header(c.Header, i.To)}
	if i.State == Converted || i.Fault != "" {
		if i.converter == nil {
			i.converter = i.Plan.Converter()
		}
		e.Payload = func(dst, payload []byte, t rosbag.Time) ([]byte, bool, error) {
			return p.convert(c, i, dst, payload, t)
		}
	}
	return e
}

// convert makes a message what is wanted.
func (p *Planner) convert(
	c *rosbag.Connection, i *Item, dst, payload []byte, t rosbag.Time,
) (out []byte, keep bool, err error) {
	out, err = i.converter.Append(dst, payload, t)
	switch {
	case err == nil:
		return out, true, nil
	case !errors.Is(err, rosmsg.ErrCorrupt):
		return out, false, fmt.Errorf("topic %s, message of %s: %w", c.Topic, t, err)
	case i.real.Unproven:
		return out, false,
			fmt.Errorf("topic %s, message of %s: %s, and its messages do not have that definition either: %w",
				c.Topic, t, i.Fault, err)
	}
	p.Misfit(&rosbag.TopicError{Conn: c, Err: fmt.Errorf("message of %s is left out: %w", t, err)})
	return out, false, nil
}

// header returns a header with another definition. All other fields, and their order, stay.
func header(h rosbag.Header, d mismatch.Definition) rosbag.Header {
	h = slices.Clone(h)
	for _, f := range []rosbag.Field{
		{Key: rosbag.KeyType, Value: d.Type},
		{Key: rosbag.KeyMD5Sum, Value: d.MD5Sum},
		{Key: rosbag.KeyMessageDefinition, Value: d.Text},
	} {
		if at := slices.IndexFunc(h, func(g rosbag.Field) bool { return g.Key == f.Key }); at >= 0 {
			h[at] = f
		} else {
			h = append(h, f)
		}
	}
	return h
}
