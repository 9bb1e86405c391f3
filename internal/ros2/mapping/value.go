package mapping

import (
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros2/cdr"
	"github.com/gorosbag/gorosbag/internal/ros2/msg"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// value1 is the type of a ROS 1 field, taken apart.
type value1 struct {
	base   string // "float64", "geometry_msgs/Point"
	msg    *rosmsg.Type
	array  cdr.Array
	length int // of a fixed array, 0 included
}

// field1 is a field of a ROS 1 type.
type field1 struct {
	name  string
	value value1
}

// fields1 returns the fields of a ROS 1 type. parts has the types that it is made of.
func fields1(t *rosmsg.Type, parts map[string]*rosmsg.Type) []field1 {
	fields := t.Fields()
	all := make([]field1, len(fields))
	for i, f := range fields {
		base, length, array := strings.Cut(f.Type, "[")
		v := value1{base: base}
		if _, primitive := layouts1[base]; !primitive {
			v.msg = parts[base]
		}
		if array {
			v.array = cdr.Sequence
			if n, err := strconv.Atoi(strings.TrimSuffix(length, "]")); err == nil {
				v.array, v.length = cdr.Fixed, n
			}
		}
		all[i] = field1{name: f.Name, value: v}
	}
	return all
}

// empty says that the field has no bytes: ROS 2 has no arrays of length 0.
func (v value1) empty() bool { return v.array == cdr.Fixed && v.length == 0 }

// layout is the layout of a primitive, and whether its bits are a float.
type layout struct {
	kind  cdr.Kind
	float bool
}

var layouts1 = map[string]layout{
	"bool": {kind: cdr.Bool}, "int8": {kind: cdr.Width1}, "byte": {kind: cdr.Width1},
	"uint8": {kind: cdr.Width1},
	"char":  {kind: cdr.Width1}, "int16": {kind: cdr.Width2}, "uint16": {kind: cdr.Width2},
	"int32":  {kind: cdr.Width4},
	"uint32": {kind: cdr.Width4}, "int64": {kind: cdr.Width8}, "uint64": {kind: cdr.Width8},
	"float32": {kind: cdr.Width4, float: true}, "float64": {kind: cdr.Width8, float: true},
	"string": {kind: cdr.String},
	"time":   {kind: cdr.Time}, "duration": {kind: cdr.Duration},
}

var layouts2 = map[msg.Kind]layout{
	msg.Bool: {kind: cdr.Bool}, msg.Byte: {kind: cdr.Width1}, msg.Int8: {kind: cdr.Width1},
	msg.Uint8: {kind: cdr.Width1}, msg.Int16: {kind: cdr.Width2}, msg.Uint16: {kind: cdr.Width2},
	msg.Int32: {kind: cdr.Width4}, msg.Uint32: {kind: cdr.Width4}, msg.Int64: {kind: cdr.Width8},
	msg.Uint64: {kind: cdr.Width8}, msg.Float32: {kind: cdr.Width4, float: true},
	msg.Float64: {kind: cdr.Width8, float: true}, msg.String: {kind: cdr.String},
}

// layout2 is the layout of a ROS 2 value that is no message for CDR: times are none.
func layout2(v msg.Value) (layout, bool) {
	if v.Kind == msg.Message {
		switch v.Message.Name {
		case msg.TimeType:
			return layout{kind: cdr.Time}, true
		case msg.DurationType:
			return layout{kind: cdr.Duration}, true
		}
	}
	l, ok := layouts2[v.Kind]
	return l, ok
}

// array2 is what a ROS 2 value is as an array in CDR, and its length or bound.
func array2(v msg.Value) (cdr.Array, int) {
	switch v.Array {
	case msg.Single:
	case msg.Fixed:
		return cdr.Fixed, v.Length
	case msg.Bounded:
		return cdr.Sequence, v.Length
	case msg.Unbounded:
		return cdr.Sequence, 0
	}
	return cdr.Single, 0
}
