package mapping

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// deriver2 makes ROS 2 types of the types of one ROS 1 message.
type deriver2 struct {
	mapper  *Mapper
	pairing *pairing
	done    map[string]*msg.Type // by ROS 1 name
	notes   []Note
}

// derive returns the ROS 2 type of a ROS 1 type: one that ships with ROS 2, or else one
// with the same fields.
func (d *deriver2) derive(one *rosmsg.Type) (*msg.Type, error) {
	if t := d.done[one.Name()]; t != nil {
		return t, nil
	}
	name := d.mapper.name2(one.Name())
	t := d.mapper.twin2(name)
	if t == nil {
		var err error
		if t, err = d.make(one, name); err != nil {
			return nil, err
		}
	} else if stock := stock1(one.Name()); stock != nil && !slices.Equal(stock.Fields(), one.Fields()) {
		d.notes = append(d.notes, Note{Change: TypeMigrated, Type: one.Name(), From: one.Name(), To: name})
	}
	d.done[one.Name()] = t
	return t, nil
}

// make makes a ROS 2 type with the fields of a ROS 1 type.
func (d *deriver2) make(one *rosmsg.Type, name string) (*msg.Type, error) {
	t := &msg.Type{Name: name}
	d.constants(t, one)
	names := newNumbered()
	for _, f := range fields1(one, d.pairing.parts) {
		if f.value.empty() {
			continue
		}
		v, err := d.value(f.value)
		if err != nil {
			return nil, err
		}
		t.Fields = append(t.Fields, msg.Field{Name: names.name(msg.LegalName(f.name), "_"), Value: v})
	}
	d.pairing.same[pair{one, t}] = true
	return t, nil
}

// numbered gives each name once: names that are taken get a number. The numbers that a name
// has used are remembered, so that many equal names cost no more than many others.
type numbered struct {
	taken map[string]bool
	last  map[string]int
}

func newNumbered() *numbered {
	return &numbered{taken: make(map[string]bool), last: make(map[string]int)}
}

// name returns a free name: the one that is asked for, or that with a suffix and a number.
func (n *numbered) name(want, suffix string) string {
	name := want
	for n.taken[name] {
		n.last[want] = max(n.last[want], 1) + 1
		name = want + suffix + strconv.Itoa(n.last[want])
	}
	n.taken[name] = true
	return name
}

var kinds2 = map[string]msg.Kind{
	"bool": msg.Bool, "byte": msg.Byte, "char": msg.Uint8, "int8": msg.Int8, "uint8": msg.Uint8,
	"int16": msg.Int16, "uint16": msg.Uint16, "int32": msg.Int32, "uint32": msg.Uint32,
	"int64": msg.Int64, "uint64": msg.Uint64, "float32": msg.Float32, "float64": msg.Float64,
	"string": msg.String,
}

// value is the ROS 2 type of a field.
func (d *deriver2) value(one value1) (msg.Value, error) {
	v := msg.Value{Kind: kinds2[one.base]}
	switch one.array {
	case cdr.Single:
	case cdr.Fixed:
		v.Array, v.Length = msg.Fixed, one.length
	case cdr.Sequence:
		v.Array = msg.Unbounded
	}
	switch {
	case one.msg != nil:
		t, err := d.derive(one.msg)
		v.Kind, v.Message = msg.Message, t
		return v, err
	case one.base == "time":
		v.Kind, v.Message = msg.Message, d.mapper.stock2(msg.TimeType)
	case one.base == "duration":
		v.Kind, v.Message = msg.Message, d.mapper.stock2(msg.DurationType)
	}
	return v, nil
}

// constants gives a type the constants of a ROS 1 type that the grammar of ROS 2 can express.
func (d *deriver2) constants(t *msg.Type, one *rosmsg.Type) {
	names := make(map[string]bool)
	for _, c := range one.Constants() {
		typ, value, ok := constant2(c)
		name := msg.LegalConstant(c.Name)
		switch {
		case !ok || names[name] || len(name) > msg.MaxNameBytes:
			d.notes = append(d.notes, Note{Change: ConstantDropped, Type: one.Name(), From: c.Name})
			continue
		case name != c.Name:
			d.notes = append(d.notes, Note{Change: ConstantRenamed, Type: one.Name(), From: c.Name, To: name})
		}
		names[name] = true
		t.Constants = append(t.Constants, msg.Constant{Type: typ, Name: name, Value: value})
	}
}

// constant2 is the type and the value of a constant in ROS 2, if its grammar can express them.
func constant2(c rosmsg.Constant) (typ, value string, ok bool) {
	switch c.Type {
	case "string":
		// A # starts a comment also inside of quotes, and readers differ about escapes.
		if strings.ContainsAny(c.Value, "#\"'\\") || !utf8.ValidString(c.Value) ||
			strings.ContainsFunc(c.Value, control) {
			return "", "", false
		}
		return "string", `"` + c.Value + `"`, true
	case "bool":
		switch c.Value {
		case "True", "False":
			return "bool", c.Value, true
		}
		v, err := strconv.ParseFloat(c.Value, 64)
		return "bool", map[bool]string{true: "True", false: "False"}[v != 0], err == nil
	case "float32", "float64":
		v, err := strconv.ParseFloat(c.Value, 64)
		return c.Type, c.Value, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
	case "byte":
		if strings.HasPrefix(c.Value, "-") { // byte is unsigned in ROS 2
			return "int8", c.Value, true
		}
	case "char":
		return "uint8", c.Value, true
	}
	return c.Type, c.Value, !strings.Contains(c.Value, "_")
}

func control(r rune) bool { return r < ' ' || r == 0x7f }
