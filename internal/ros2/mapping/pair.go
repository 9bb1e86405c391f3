package mapping

import (
	"fmt"
	"slices"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// pair is a ROS 1 type and a ROS 2 type side by side. One of them is nil for a field that
// only one side has.
type pair struct {
	one *rosmsg.Type
	two *msg.Type
}

// difference is a field, or a type, that is not the same on both sides.
type difference struct {
	type1, type2 string
	name1, name2 string // of the field, empty where it is missing; both are empty for the type itself
}

// pairing lays types out side by side. It lives for one conversion.
type pairing struct {
	// the ROS 1 types by name
	parts map[string]*rosmsg.Type
	// pairs of which one type was made from the other: fields have the same order
	same      map[pair]bool
	done      map[pair]*cdr.Struct
	different []difference
	// the last wstring field that ROS 1 lacks
	err error
}

func newPairing(one *rosmsg.Type) *pairing {
	p := &pairing{
		parts: map[string]*rosmsg.Type{one.Name(): one}, same: make(map[pair]bool),
		done: make(map[pair]*cdr.Struct),
	}
	for _, d := range one.Dependencies() {
		p.parts[d.Name()] = d
	}
	return p
}

// lay lays two types out side by side.
func (p *pairing) lay(t pair) *cdr.Struct {
	if s, ok := p.done[t]; ok {
		return s
	}
	s := &cdr.Struct{}
	p.done[t] = s // definitions cannot contain themselves
	if t.one != nil {
		s.Name1 = t.one.Name()
	}
	if t.two != nil {
		s.Name2 = t.two.Name
	}
	if t.one != nil && t.two != nil {
		if plain(s.Name1) != s.Name2 {
			p.different = append(p.different, difference{type1: s.Name1, type2: s.Name2})
		}
		switch {
		case s.Name2 == msg.TimeType || s.Name2 == msg.DurationType:
			p.stamp(s, t)
			return s
		case s.Name1 == "rosgraph_msgs/Log" && s.Name2 == "rcl_interfaces/msg/Log":
			p.log(s, t)
			return s
		}
	}
	p.match(s, t)
	return s
}

// plain is the name in ROS 2 of a ROS 1 type whose name stays.
func plain(name1 string) string { return msg.FullName(name1) }

// match finds the fields that are the same on both sides.
func (p *pairing) match(s *cdr.Struct, t pair) {
	var all1 []field1
	if t.one != nil {
		for _, f := range fields1(t.one, p.parts) {
			if !f.value.empty() {
				all1 = append(all1, f)
			}
		}
	}
	var all2 []msg.Field
	if t.two != nil {
		all2 = t.two.Fields
	}
	peers1, peers2 := make([]int, len(all1)), make([]int, len(all2))
	values := make([]cdr.Value, len(all1))
	names := make(map[string]int, len(all2))
	for j, f := range all2 {
		peers2[j] = -1
		names[msg.LegalName(f.Name)] = j
	}
	for i, f := range all1 {
		j, ok := i, p.same[t]
		if !ok {
			j, ok = names[msg.LegalName(f.name)]
		}
		if peers1[i] = -1; !ok || peers2[j] >= 0 {
			continue
		}
		if values[i], ok = p.both(f.value, all2[j].Value); ok {
			peers1[i], peers2[j] = j, i
		}
	}
	for i, f := range all1 {
		d := difference{type1: s.Name1, type2: s.Name2, name1: f.name}
		if j := peers1[i]; j < 0 {
			values[i] = p.only1(f.value)
		} else {
			d.name2 = all2[j].Name
		}
		if t.two != nil && d.name1 != d.name2 {
			p.different = append(p.different, d)
		}
		s.Fields1 = append(s.Fields1, cdr.Field{Name: f.name, Value: values[i], Peer: peers1[i]})
	}
	for j, f := range all2 {
		field := cdr.Field{Name: f.Name, Peer: peers2[j]}
		if i := peers2[j]; i >= 0 {
			field.Value = values[i]
		} else {
			field.Value = p.only2(s.Name2, f)
			if t.one != nil {
				p.different = append(p.different, difference{type1: s.Name1, type2: s.Name2, name2: f.Name})
			}
		}
		s.Fields2 = append(s.Fields2, field)
	}
}

// both is the layout of a value on both sides, if one can become the other.
func (p *pairing) both(one value1, two msg.Value) (cdr.Value, bool) {
	array, length := array2(two)
	if one.array != array || array == cdr.Fixed && one.length != length {
		return cdr.Value{}, false
	}
	v := cdr.Value{Array: array, Length: length}
	if one.msg != nil {
		if two.Kind != msg.Message {
			return v, false
		}
		v.Kind, v.Struct = cdr.Message, p.lay(pair{one.msg, two.Message})
		return v, true
	}
	l, ok := layout2(two)
	v.Kind = l.kind
	return v, ok && l == layouts1[one.base]
}

// only1 is the layout of a value that ROS 2 lacks.
func (p *pairing) only1(one value1) cdr.Value {
	v := cdr.Value{Kind: layouts1[one.base].kind, Array: one.array, Length: one.length}
	if one.msg != nil {
		v.Kind, v.Struct = cdr.Message, p.lay(pair{one: one.msg})
	}
	return v
}

// only2 is the layout of a value that ROS 1 lacks.
func (p *pairing) only2(typ string, f msg.Field) cdr.Value {
	v := cdr.Value{}
	v.Array, v.Length = array2(f.Value)
	if l, ok := layout2(f.Value); ok {
		v.Kind = l.kind
		return v
	}
	if f.Value.Kind == msg.WString {
		p.err = fmt.Errorf("%s field %s: wstring has no layout that all of ROS 2 agrees on: %w", typ, f.Name,
			ErrType)
		v.Kind = cdr.String
		return v
	}
	v.Kind, v.Struct = cdr.Message, p.lay(pair{two: f.Value.Message})
	return v
}

// stamp lays out std_msgs/Time or Duration, whose field data is a whole message in ROS 2.
func (p *pairing) stamp(s *cdr.Struct, t pair) {
	kind := cdr.Time
	if t.two.Name == msg.DurationType {
		kind = cdr.Duration
	}
	fields := fields1(t.one, p.parts)
	if len(fields) != 1 || fields[0].value.array != cdr.Single ||
		layouts1[fields[0].value.base].kind != kind {
		p.match(s, t) // not the type that ships with ROS 1
		return
	}
	s.Fields1 = []cdr.Field{{Name: fields[0].name, Value: cdr.Value{Kind: kind}}}
	s.Fields2 = []cdr.Field{{Name: "sec", Value: cdr.Value{Kind: kind}}}
}

// log lays out an entry of a log. Its stamp is in the header in ROS 1, which is laid out
// as if its fields were those of the entry; the levels have other numbers.
func (p *pairing) log(s *cdr.Struct, t pair) {
	p.match(s, t)
	for i, f := range s.Fields1 {
		if j := f.Peer; f.Name == "level" && j >= 0 && f.Value.Kind == cdr.Width1 &&
			f.Value.Array == cdr.Single {
			s.Fields1[i].Value.Kind, s.Fields2[j].Value.Kind = cdr.Level, cdr.Level
		}
	}
	if len(s.Fields1) == 0 || len(s.Fields2) == 0 || s.Fields1[0].Name != "header" ||
		s.Fields1[0].Peer >= 0 || s.Fields1[0].Value.Kind != cdr.Message ||
		s.Fields2[0].Name != "stamp" || s.Fields2[0].Peer >= 0 || s.Fields2[0].Value.Kind != cdr.Time ||
		s.Fields2[0].Value.Array != cdr.Single {
		return
	}
	header := s.Fields1[0].Value.Struct.Fields1
	for i, f := range header {
		if f.Value.Kind != cdr.Time || f.Value.Array != cdr.Single {
			continue
		}
		var inner []cdr.Field
		var more []difference
		for k, g := range header {
			g.Name, g.Peer = "header."+g.Name, -1
			d := difference{type1: s.Name1, type2: s.Name2, name1: g.Name}
			if k == i {
				g.Peer, d.name2 = 0, "stamp"
			}
			more = append(more, d)
			inner = append(inner, g)
		}
		s.Fields1 = append(inner, s.Fields1[1:]...)
		for j := range s.Fields2 {
			if s.Fields2[j].Peer >= 0 {
				s.Fields2[j].Peer += len(header) - 1
			}
		}
		s.Fields2[0].Peer = i
		p.different = slices.DeleteFunc(p.different, func(d difference) bool {
			return d.type1 == s.Name1 && d.type2 == s.Name2 && (d.name1 == "header" || d.name2 == "stamp")
		})
		p.different = append(p.different, more...)
		return
	}
}

// notes says what the differences mean for messages that go to ROS 2, or from there.
func (p *pairing) notes(to2 bool) []Note {
	var all []Note
	for _, d := range p.different {
		n := Note{Type: d.type1, From: d.name1, To: d.name2}
		if !to2 {
			n = Note{Type: short(d.type2), From: d.name2, To: d.name1}
		}
		switch {
		case d.name1 == "" && d.name2 == "":
			n.Change, n.From, n.To = TypeRenamed, d.type1, d.type2
			if !to2 {
				n.From, n.To = n.To, n.From
			}
		case n.From == "":
			n.Change = FieldAdded
		case n.To == "":
			n.Change = FieldDropped
		default:
			n.Change = FieldRenamed
		}
		all = append(all, n)
	}
	return all
}

func short(name2 string) string { return (&msg.Type{Name: name2}).Short() }
