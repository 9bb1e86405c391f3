package mapping_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// made is a definition made up at random.
type made struct {
	name   string // ROS 1
	fields []madeField
}

type madeField struct {
	name   string
	base   string
	sub    *made // instead of base
	array  bool
	length int // of a fixed array; -1 of others
}

// maker makes up definitions, and messages that fit them.
type maker struct {
	r     *rand.Rand
	types []*made
}

var widths = map[string]int{
	"bool": 1, "int8": 1, "uint8": 1, "byte": 1, "char": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4,
	"int64": 8, "uint64": 8, "float64": 8,
}

var bases = []string{
	"bool", "int8", "uint8", "byte", "char", "int16", "uint16", "int32", "uint32", "float32", "int64", "uint64", "float64",
	"string", "time", "duration",
}

// definition makes up a type. Types are made of those made before.
func (m *maker) definition(depth int) *made {
	d := &made{name: fmt.Sprintf("made_msgs/M%d", len(m.types))}
	m.types = append(m.types, d)
	for i := range m.r.IntN(6) {
		f := madeField{name: fmt.Sprintf("f%d", i), length: -1}
		switch m.r.IntN(4) {
		case 0:
			f.array = true
		case 1:
			f.array, f.length = true, 1+m.r.IntN(4)
		}
		if depth > 0 && m.r.IntN(3) == 0 {
			f.sub = m.definition(depth - 1)
		} else {
			f.base = bases[m.r.IntN(len(bases))]
		}
		d.fields = append(d.fields, f)
	}
	return d
}

// text is the definition as bags have it.
func (d *made) text() string {
	var b strings.Builder
	d.own(&b)
	seen := []*made{d}
	var walk func(d *made)
	walk = func(d *made) {
		for _, f := range d.fields {
			if f.sub != nil && !slices.Contains(seen, f.sub) {
				seen = append(seen, f.sub)
				b.WriteString(dashes + "MSG: " + f.sub.name + "\n")
				f.sub.own(&b)
				walk(f.sub)
			}
		}
	}
	walk(d)
	return b.String()
}

func (d *made) own(b *strings.Builder) {
	for _, f := range d.fields {
		typ := f.base
		if f.sub != nil {
			typ = f.sub.name
		}
		switch {
		case f.array && f.length < 0:
			typ += "[]"
		case f.array:
			typ += fmt.Sprintf("[%d]", f.length)
		}
		fmt.Fprintf(b, "%s %s\n", typ, f.name)
	}
}

// written is one message, written value by value without any plan.
type written struct {
	ros1    []byte
	little  []byte // CDR after its encapsulation
	big     []byte
	padding []bool   // which bytes of CDR are padding
	script  []string // for the program that writes it with Fast-CDR
}

func (w *written) align(n int) {
	for len(w.little)%n != 0 {
		w.little, w.big, w.padding = append(w.little, 0), append(w.big, 0), append(w.padding, true)
	}
}

// number writes a number of some bytes.
func (w *written) number(width int, bits uint64, one bool) {
	w.align(width)
	b := binary.LittleEndian.AppendUint64(nil, bits)[:width]
	w.little = append(w.little, b...)
	if one {
		w.ros1 = append(w.ros1, b...)
	}
	slices.Reverse(b)
	w.big = append(w.big, b...)
	w.padding = append(w.padding, make([]bool, width)...)
	w.script = append(w.script, fmt.Sprintf("%d %d", width, bits<<(64-8*width)>>(64-8*width)))
}

func (w *written) bytes(b []byte, one bool) {
	w.little, w.big = append(w.little, b...), append(w.big, b...)
	if one {
		w.ros1 = append(w.ros1, b...)
	}
	w.padding = append(w.padding, make([]bool, len(b))...)
}

// message makes up a message.
func (m *maker) message(d *made, w *written) {
	if len(d.fields) == 0 {
		w.number(1, 0, false)
	}
	for _, f := range d.fields {
		n := 1
		switch {
		case f.array && f.length >= 0:
			n = f.length
		case f.array:
			if n = m.r.IntN(4); m.r.IntN(3) == 0 {
				n = 0
			}
			w.number(4, uint64(n), true)
		}
		for range n {
			m.value(f, w)
		}
	}
}

func (m *maker) value(f madeField, w *written) {
	switch {
	case f.sub != nil:
		m.message(f.sub, w)
	case f.base == "string":
		b := make([]byte, m.r.IntN(10))
		for i := range b {
			b[i] = byte(1 + m.r.IntN(255))
		}
		w.align(4)
		w.ros1 = binary.LittleEndian.AppendUint32(w.ros1, uint32(len(b)))
		w.little = binary.LittleEndian.AppendUint32(w.little, uint32(len(b)+1))
		w.big = binary.BigEndian.AppendUint32(w.big, uint32(len(b)+1))
		w.padding = append(w.padding, make([]bool, 4)...)
		w.bytes(b, true)
		w.bytes([]byte{0}, false)
		w.script = append(w.script, "s "+hex.EncodeToString(b))
	case f.base == "time", f.base == "duration":
		sec := uint64(m.r.IntN(math.MaxInt32))
		if f.base == "duration" && m.r.IntN(2) == 0 {
			sec = uint64(uint32(-int32(sec)))
		}
		w.number(4, sec, true)
		w.number(4, uint64(m.r.IntN(1e9)), true)
	case f.base == "bool":
		w.number(1, m.r.Uint64N(2), true)
	case f.base == "float64" && m.r.IntN(4) == 0:
		w.number(8, 0x7ff4deadbeef0001, true) // a NaN that signals
	default:
		w.number(widths[f.base], m.r.Uint64(), true)
	}
}
