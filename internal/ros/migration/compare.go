package migration

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// Kind is the kind of a Change.
type Kind uint8

// The kinds of changes.
const (
	TypeRenamed Kind = iota
	FieldAdded
	FieldRemoved
	FieldRenamed
	FieldConverted
	FieldsReordered
	ConstantAdded
	ConstantRemoved
	ConstantChanged
)

// Loss says whether messages lose something by a change.
type Loss uint8

// What may be lost.
const (
	Nothing Loss = iota
	Perhaps      // a value that does not fit is an error
	Rounded      // as Perhaps, and values may be rounded
	Lost
)

// Change is one difference between two definitions.
type Change struct {
	Type string // whose field or constant it is, by its wanted name
	Kind Kind
	Name string // of the field or constant; of a renamed type its old name
	From string // its type, value or name before, if there was one
	To   string // and afterward
	Loss Loss

	Refused string // why messages are not converted; empty if they are
	Advice  string // the option that allows it
}

// String says what happens, without what is refused.
func (c Change) String() string {
	field := c.Type + "." + c.Name
	switch c.Kind {
	case TypeRenamed:
		return fmt.Sprintf("%s becomes %s", c.From, c.To)
	case FieldAdded:
		return fmt.Sprintf("%s (%s) is added", field, c.To)
	case FieldRemoved:
		return fmt.Sprintf("%s (%s) is dropped", field, c.From)
	case FieldRenamed:
		return fmt.Sprintf("%s is renamed to %s", field, c.To)
	case FieldConverted:
		return fmt.Sprintf("%s: %s becomes %s", field, c.From, c.To)
	case FieldsReordered:
		return fmt.Sprintf("%s has another order of fields", c.Type)
	case ConstantAdded:
		return fmt.Sprintf("constant %s=%s is added", field, c.To)
	case ConstantRemoved:
		return fmt.Sprintf("constant %s=%s is removed", field, c.From)
	case ConstantChanged:
		return fmt.Sprintf("constant %s is %s, and was %s: look whether the same number means the same",
			field, c.To, c.From)
	}
	return field
}

// Plan is how messages of one type become messages of another.
type Plan struct {
	From, To *rosmsg.Type
	Changes  []Change // each once, though several fields may have the type

	root *steps // nil if something is refused
	err  error  // of an option
}

// Compare makes a plan. o decides what needs a decision; nil decides nothing. An error is about a value of
// Options.Set, or says that a message would become too large.
func Compare(from, to *rosmsg.Type, o *Options) (*Plan, error) {
	if o == nil {
		o = &Options{}
	}
	c := &comparison{
		o: o, from: newLayouts(from), to: newLayouts(to), done: make(map[pair]*matched),
		set: make(map[*rosmsg.Type]bool), plan: &Plan{From: from, To: to},
	}
	c.names(from.Name(), to.Name())
	m := c.messages(pair{from, to})
	if c.plan.err == nil && len(c.plan.Refused()) == 0 {
		c.plan.root = c.compile(m)
	}
	if c.plan.err != nil {
		return nil, c.plan.err
	}
	return c.plan, nil
}

// Refused returns the changes that need a decision, or are impossible.
func (p *Plan) Refused() []Change {
	return slices.DeleteFunc(slices.Clone(p.Changes), func(c Change) bool { return c.Refused == "" })
}

// Loss returns the worst of what may be lost.
func (p *Plan) Loss() Loss {
	worst := Nothing
	for _, c := range p.Changes {
		worst = max(worst, c.Loss)
	}
	return worst
}

// SameBytes reports whether the bytes of messages stay as they are.
func (p *Plan) SameBytes() bool {
	return p.root != nil && (len(p.root.list) == 0 || len(p.root.list) == 1 && p.root.list[0].op == opCopy)
}

// pair is a type before and the type that it becomes.
type pair struct{ from, to *rosmsg.Type }

// comparison is the state of Compare.
type comparison struct {
	o    *Options
	from *layouts
	to   *layouts
	done map[pair]*matched
	set  map[*rosmsg.Type]bool // see sets
	plan *Plan
}

// matched is a pair with its fields side by side.
type matched struct {
	pair
	from    []member
	to      []member
	source  []int      // for each field of to, the field of from that it is made of; -1 if it is new
	inside  []*matched // for each field of to that is a message: its type and that of its source
	ordered bool       // the sources are in order

	compiled *steps
}

func (c *comparison) add(ch Change) { c.plan.Changes = append(c.plan.Changes, ch) }

// names compares the names of two types. It reports whether they mean the same.
func (c *comparison) names(from, to string) bool {
	if from == to || modern(from) == to {
		return true
	}
	ch := Change{Type: to, Kind: TypeRenamed, Name: from, From: from, To: to}
	if c.o.Renamed(from) != to {
		ch.Refused = fmt.Sprintf("%s and %s may be different things", from, to)
		ch.Advice = OptionRename + " " + from + "=" + to
	}
	if !slices.Contains(c.plan.Changes, ch) {
		c.add(ch)
	}
	return ch.Refused == ""
}

// modern is today's name of a type that had another one before ROS 1.2.
func modern(name string) string {
	if name == "roslib/Header" {
		return "std_msgs/Header"
	}
	return name
}

// messages compares two types.
func (c *comparison) messages(p pair) *matched {
	if m, ok := c.done[p]; ok {
		return m
	}
	m := &matched{pair: p, from: members(p.from, c.from.parts), to: members(p.to, c.to.parts), ordered: true}
	c.done[p] = m // definitions cannot contain themselves
	c.constants(p)
	m.source, m.inside = make([]int, len(m.to)), make([]*matched, len(m.to))
	places := make(map[string]int, len(m.from))
	renamed := make([]bool, len(m.from))
	for i, f := range m.from {
		name := c.o.field(p.from.Name(), p.to.Name(), f.name)
		renamed[i] = name != f.name
		if old, taken := places[name]; !taken || renamed[i] && !renamed[old] {
			places[name] = i
		}
	}
	kept := make([]bool, len(m.from))
	var added, removed []member
	last := -1
	for i, t := range m.to {
		k, ok := places[t.name]
		if ok && !fits(m.from[k], t) {
			ok = !c.o.allows(&c.o.drop, OptionDrop, p.from.Name(), p.to.Name(), m.from[k].name)
		}
		if !ok {
			m.source[i] = -1
			added = append(added, t)
			continue
		}
		m.source[i], kept[k] = k, true
		m.ordered = m.ordered && k > last
		last = k
		if renamed[k] {
			c.add(Change{
				Type: p.to.Name(), Kind: FieldRenamed, Name: m.from[k].name, From: m.from[k].name,
				To: t.name,
			})
		}
		m.inside[i] = c.values(p, m.from[k], t)
	}
	for i, f := range m.from {
		if !kept[i] {
			removed = append(removed, f)
		}
	}
	if !m.ordered {
		c.add(Change{Type: p.to.Name(), Kind: FieldsReordered})
	}
	alike := make(map[string][]string) // added fields by their type
	for _, t := range added {
		alike[t.value.typed()] = append(alike[t.value.typed()], t.name)
	}
	for _, f := range removed {
		c.removed(p, f, alike[f.value.typed()])
	}
	for _, t := range added {
		c.add(Change{Type: p.to.Name(), Kind: FieldAdded, Name: t.name, To: t.value.typed()})
	}
	return m
}

// removed notes a field that only old messages have. alike are the new fields of its type.
func (c *comparison) removed(p pair, f member, alike []string) {
	ch := Change{Type: p.to.Name(), Kind: FieldRemoved, Name: f.name, From: f.value.typed(), Loss: Lost}
	if !c.o.allows(&c.o.drop, OptionDrop, p.from.Name(), p.to.Name(), f.name) {
		ch.Refused = "it would get lost"
		ch.Advice = fmt.Sprintf("%s %s.%s", OptionDrop, p.to.Name(), f.name)
		if len(alike) == 1 {
			ch.Advice = fmt.Sprintf("%s %s.%s=%s if that is its new name; else %s", OptionField, p.to.Name(),
				f.name, alike[0], ch.Advice)
		}
	}
	c.add(ch)
}

// constants compares the constants of two types.
func (c *comparison) constants(p pair) {
	before := make(map[string]rosmsg.Constant)
	for _, k := range p.from.Constants() {
		before[k.Name] = k
	}
	for _, k := range p.to.Constants() {
		old, ok := before[k.Name]
		switch {
		case !ok:
			c.add(Change{Type: p.to.Name(), Kind: ConstantAdded, Name: k.Name, To: k.Value})
		case old.Value != k.Value:
			c.add(Change{
				Type: p.to.Name(), Kind: ConstantChanged, Name: k.Name, From: old.Value,
				To: k.Value,
			})
		}
		delete(before, k.Name)
	}
	for _, k := range p.from.Constants() {
		if _, gone := before[k.Name]; gone {
			c.add(Change{Type: p.to.Name(), Kind: ConstantRemoved, Name: k.Name, From: k.Value})
		}
	}
}

// fits reports whether the values of a field can become those of another, perhaps with an option.
func fits(from, to member) bool {
	f, t := from.value, to.value
	switch {
	case f.array != t.array || f.array && f.length != variable && t.length != variable &&
		f.length != t.length:
		return false
	case f.class == message && t.class == message:
		return true
	}
	return fitOf(f.element, t.element) != never
}

// values compares two fields that belong together. It returns what their messages have become.
func (c *comparison) values(p pair, from, to member) *matched {
	f, t := from.value, to.value
	ch := Change{Type: p.to.Name(), Kind: FieldConverted, Name: to.name, From: f.typed(), To: t.typed()}
	if !fits(from, to) {
		ch.Refused, ch.Loss = "one cannot become the other", Lost
		ch.Advice = fmt.Sprintf("%s %s.%s, and perhaps %s %s.%s=VALUE", OptionDrop, p.to.Name(), from.name,
			OptionSet, p.to.Name(), to.name)
		c.add(ch)
		return nil
	}
	if f.length == variable && t.array && t.length != variable {
		ch.Loss = Perhaps
	}
	var inside *matched
	if f.class == message {
		if !c.names(f.msg.Name(), t.msg.Name()) {
			return nil // what they have in common is no matter before they are known to be the same
		}
		inside = c.messages(pair{f.msg, t.msg})
	} else {
		switch fitOf(f.element, t.element) {
		case checks:
			ch.Loss = Perhaps
		case loses:
			ch.Loss = Rounded
		case same, wider, never:
		}
		if fit := fitOf(f.element, t.element); fit >= checks &&
			!c.o.allows(&c.o.convert, OptionConvert, p.from.Name(), p.to.Name(), from.name) {
			ch.Refused = "not every value fits"
			ch.Advice = fmt.Sprintf("%s %s.%s, which looks at each", OptionConvert, p.to.Name(), to.name)
		}
	}
	if f.array == t.array && f.length == t.length && (f.class == message || f.name == t.name) {
		return inside // its name, and what is in it, were compared
	}
	c.add(ch)
	return inside
}

// Needs returns the options that allow what is refused, as a command takes them; nothing if not all of it
// can be allowed.
func (p *Plan) Needs() string {
	var all []string
	for _, c := range p.Refused() {
		if c.Advice == "" {
			return ""
		}
		all = append(all, c.Advice)
	}
	return strings.Join(all, "; ")
}
