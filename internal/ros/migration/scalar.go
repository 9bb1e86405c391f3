package migration

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
)

var le = binary.LittleEndian

// class is a group of types among which numbers can be converted.
type class uint8

const (
	boolean class = iota + 1
	signed
	unsigned
	floating
	moment // time and duration: other numbers mean something else
	chars
	message
)

// element is a value, or one element of an array.
type element struct {
	class class
	bytes int          // on the wire; 0 if that varies, and of messages
	name  string       // as written, with its package: "char", "geometry_msgs/Point"
	msg   *rosmsg.Type // of a message
}

var scalars = map[string]element{
	"bool": {class: boolean, bytes: 1},
	"int8": {class: signed, bytes: 1}, "int16": {class: signed, bytes: 2}, "int32": {class: signed, bytes: 4},
	"int64": {class: signed, bytes: 8},
	"uint8": {class: unsigned, bytes: 1}, "uint16": {class: unsigned, bytes: 2},
	"uint32": {class: unsigned, bytes: 4}, "uint64": {class: unsigned, bytes: 8},
	"byte": {class: signed, bytes: 1}, "char": {class: unsigned, bytes: 1}, // ROS's old names
	"float32": {class: floating, bytes: 4}, "float64": {class: floating, bytes: 8},
	"time": {class: moment, bytes: 8}, "duration": {class: moment, bytes: 8},
	"string": {class: chars},
}

// variable is the length of an array that is part of the payload.
const variable = -1

// value is the type of a field.
type value struct {
	element
	array  bool
	length int // of an array: of all messages, or variable
}

// typed returns the type as ROS writes it.
func (v value) typed() string {
	switch {
	case !v.array:
		return v.name
	case v.length == variable:
		return v.name + "[]"
	}
	return v.name + "[" + strconv.Itoa(v.length) + "]"
}

// member is a field of a type.
type member struct {
	name  string
	value value
}

// members returns the fields of a type. parts has the types that they are made of, by name.
func members(t *rosmsg.Type, parts map[string]*rosmsg.Type) []member {
	var all []member
	for _, f := range t.Fields() {
		m := member{name: f.Name}
		base, brackets, array := strings.Cut(f.Type, "[")
		if m.value.array = array; array {
			m.value.length = variable
			if digits := strings.TrimSuffix(brackets, "]"); digits != "" {
				m.value.length, _ = strconv.Atoi(digits) // rosmsg has parsed it
			}
		}
		e, ok := scalars[base]
		if !ok {
			e = element{class: message, msg: parts[base]}
		}
		e.name = base
		m.value.element = e
		all = append(all, m)
	}
	return all
}

// partsOf returns a type and all that it is made of, by name.
func partsOf(t *rosmsg.Type) map[string]*rosmsg.Type {
	all := map[string]*rosmsg.Type{t.Name(): t}
	for _, d := range t.Dependencies() {
		all[d.Name()] = d
	}
	return all
}

// fit says how well the values of one scalar become those of another one.
type fit uint8

const (
	never  fit = iota // they mean different things
	same              // their bytes are the same
	wider             // each value fits
	checks            // each value has to be looked at: it may not fit
	loses             // as checks, and a value that fits may be rounded
)

// fitOf compares two scalars.
func fitOf(from, to element) fit {
	numbers := func(e element) bool { return e.class >= boolean && e.class <= floating }
	switch {
	case from.class == chars && to.class == chars:
		return same
	case from.class == moment && to.class == moment && from.name == to.name:
		return same
	case !numbers(from) || !numbers(to):
		return never
	case from.class == to.class && from.bytes == to.bytes:
		return same
	case from.bytes == 1 && to.bytes == 1 && from.class != signed && to.class != signed: // bool and uint8
		return same
	case from.class == to.class && from.bytes < to.bytes:
		return wider
	case from.class == unsigned && to.class == signed && from.bytes < to.bytes:
		return wider
	case from.class == floating || to.class == floating && from.bytes*2 > to.bytes:
		// 24 bits of a float32, 53 of a float64
		return loses
	}
	return checks
}

// number converts one number. ok is false if the value does not fit. exact is false if it was rounded.
type number struct{ from, to element }

// convert reads a number of n.from at the start of in, and appends it to dst as one of n.to.
func (n number) convert(dst, in []byte) (out []byte, exact, ok bool) {
	if n.from.class == floating {
		return n.fromFloat(dst, readFloat(in, n.from.bytes))
	}
	negative, magnitude := readInteger(in, n.from)
	//exhaustive:ignore
	switch n.to.class {
	case floating:
		f := float64(magnitude)
		if n.to.bytes == 4 {
			f = float64(float32(magnitude))
		}
		exact = f < 1<<64 && uint64(f) == magnitude
		if negative {
			f = -f
		}
		return appendFloat(dst, f, n.to.bytes), exact, true
	case boolean:
		return append(dst, byte(magnitude)), true, !negative && magnitude <= 1
	case unsigned:
		return appendInteger(dst, magnitude, n.to.bytes), true, !negative &&
			magnitude <= math.MaxUint64>>(64-8*n.to.bytes)
	}
	most := uint64(math.MaxInt64) >> (64 - 8*n.to.bytes)
	if negative {
		return appendInteger(dst, -magnitude, n.to.bytes), true, magnitude <= most+1
	}
	return appendInteger(dst, magnitude, n.to.bytes), true, magnitude <= most
}

// fromFloat appends f as a number of n.to.
func (n number) fromFloat(dst []byte, f float64) (out []byte, exact, ok bool) {
	if n.to.class == floating {
		if n.to.bytes == 8 {
			return appendFloat(dst, f, 8), true, true
		}
		short := float64(float32(f))
		return appendFloat(dst, short, 4), short == f || f != f, !math.IsInf(short, 0) || math.IsInf(f, 0)
	}
	whole := math.Trunc(f)
	low, high := 0.0, math.Ldexp(1, 8*n.to.bytes)
	//exhaustive:ignore
	switch n.to.class {
	case signed:
		high = math.Ldexp(1, 8*n.to.bytes-1)
		low = -high
	case boolean:
		high = 2
	}
	if !(whole >= low && whole < high) { // also NaN
		return dst, false, false
	}
	if n.to.class == signed {
		return appendInteger(dst, uint64(int64(whole)), n.to.bytes), whole == f, true
	}
	return appendInteger(dst, uint64(whole), n.to.bytes), whole == f, true
}

// print returns the number at the start of in as a text.
func (n number) print(in []byte) string {
	if n.from.class == floating {
		return strconv.FormatFloat(readFloat(in, n.from.bytes), 'g', -1, 8*n.from.bytes)
	}
	negative, magnitude := readInteger(in, n.from)
	s := strconv.FormatUint(magnitude, 10)
	if negative {
		return "-" + s
	}
	return s
}

// readInteger reads an integer or a bool: its sign and its magnitude.
func readInteger(in []byte, e element) (negative bool, magnitude uint64) {
	var u uint64
	switch e.bytes {
	case 1:
		u = uint64(in[0])
	case 2:
		u = uint64(le.Uint16(in))
	case 4:
		u = uint64(le.Uint32(in))
	default:
		u = le.Uint64(in)
	}
	if e.class == signed && u>>(8*e.bytes-1) != 0 {
		u |= math.MaxUint64 << (8*e.bytes - 1) // the sign, in all higher bits
		return true, -u
	}
	return false, u
}

func readFloat(in []byte, bytes int) float64 {
	if bytes == 4 {
		return float64(math.Float32frombits(le.Uint32(in)))
	}
	return math.Float64frombits(le.Uint64(in))
}

func appendInteger(dst []byte, u uint64, bytes int) []byte {
	switch bytes {
	case 1:
		return append(dst, byte(u))
	case 2:
		return le.AppendUint16(dst, uint16(u))
	case 4:
		return le.AppendUint32(dst, uint32(u))
	}
	return le.AppendUint64(dst, u)
}

func appendFloat(dst []byte, f float64, bytes int) []byte {
	if bytes == 4 {
		return le.AppendUint32(dst, math.Float32bits(float32(f)))
	}
	return le.AppendUint64(dst, math.Float64bits(f))
}
