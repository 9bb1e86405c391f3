package rosmsg_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// made is a message made up.
type made struct {
	name, definition string
	data             []byte
}

type maker struct{ *rand.Rand }

func (r maker) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r maker) message(name string) made {
	m := made{name: name}
	names := []string{name}
	for i := range r.IntN(4) {
		names = append(names, fmt.Sprintf("%s/%s_%d", r.pick("made_msgs", "other_msgs"), r.pick("Part", "sub"), i))
	}
	names = append(names, "std_msgs/Header")
	texts := make([]string, len(names))
	fill := make([]func() []byte, len(names))
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] == "std_msgs/Header" {
			texts[i] = "# header\nuint32 seq\ntime stamp\nstring frame_id\n"
			fill[i] = func() []byte { return slices.Concat(r.small(4), r.time(), r.text()) }
			continue
		}
		texts[i], fill[i] = r.block(names, i, fill)
	}
	m.definition = texts[0]
	for i, text := range texts[1:] {
		m.definition += "\n" + strings.Repeat("=", 80) + "\nMSG: " + names[i+1] + "\n" + text
	}
	m.data = fill[0]()
	return m
}

// block makes the definition of type i and what makes its payloads.
func (r maker) block(names []string, i int, fill []func() []byte) (string, func() []byte) {
	var b strings.Builder
	var parts []func() []byte
	n := r.IntN(6)
	if i == 0 {
		n += 2
	}
	for k := range n {
		if r.IntN(7) == 0 {
			b.WriteString(r.pick(
				"# a comment = nothing", "", "  ", "int32 A=5 # five", "uint8   MAX = 255", "string S= a # b 'c' ", "float64 PI=3.14", "string EMPTY=",
				"bool YES=True", "int8 LOW=-128", "byte B=1", "string T=a=b\t", "char C = 65 ", "uint64 BIG=18446744073709551615",
			) + "\n")
		}
		typ, part := r.field(names, i, fill)
		name := r.pick("a", "Field_", "x", "from", "data", "class") + fmt.Sprint(k)
		if i == 0 && k == 0 && !strings.ContainsAny(typ, "_H") { // genpy fails for messages of such names
			name = r.pick("lambda", "from", "self", "None") // which Python reserves
		}
		b.WriteString(r.pick("", "", " ", "\t") + typ + r.pick(" ", "   ", " \t ") + name + r.pick("\n", " # c\n", "\t\n", "\r\n", "#=\n"))
		parts = append(parts, part)
	}
	return b.String(), func() []byte {
		var all []byte
		for _, part := range parts {
			all = append(all, part()...)
		}
		return all
	}
}

func (r maker) field(names []string, i int, fill []func() []byte) (string, func() []byte) {
	types := map[string]func() []byte{
		"bool": func() []byte { return []byte{byte(r.IntN(3))} }, "int8": func() []byte { return r.bytes(1) }, "byte": func() []byte { return r.bytes(1) },
		"uint8": func() []byte { return r.bytes(1) }, "char": func() []byte { return r.bytes(1) }, "int16": func() []byte { return r.bytes(2) },
		"uint16": func() []byte { return r.bytes(2) }, "int32": func() []byte { return r.bytes(4) }, "uint32": func() []byte { return r.bytes(4) },
		"int64": func() []byte { return r.bytes(8) }, "uint64": func() []byte { return r.bytes(8) }, "float32": func() []byte { return r.float(4) },
		"float64": func() []byte { return r.float(8) }, "string": r.text, "time": r.time, "duration": r.duration,
	}
	typ := r.pick("bool", "int8", "byte", "uint8", "char", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string", "string", "string", "time", "duration")
	one := types[typ]
	if later := len(names) - i - 1; r.IntN(3) == 0 && later > 0 {
		k := i + 1 + r.IntN(later)
		typ, one = names[k], fill[k]
		if pkg, _, _ := strings.Cut(names[i], "/"); r.IntN(2) == 0 {
			typ = strings.TrimPrefix(typ, pkg+"/")
		}
		if typ == "std_msgs/Header" && r.IntN(2) == 0 {
			return "Header", one
		}
	}
	n := r.IntN(4)
	repeat := func() []byte {
		return bytes.Join(slices.Collect(func(yield func([]byte) bool) {
			for range n {
				yield(one())
			}
		}), nil)
	}
	switch r.IntN(5) {
	case 0:
		return typ + "[]", func() []byte { return append([]byte{byte(n), 0, 0, 0}, repeat()...) }
	case 1:
		return fmt.Sprintf("%s[%d]", typ, n), repeat
	}
	return typ, one
}

func (r maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func (r maker) small(n int) []byte { return append([]byte{byte(r.IntN(256))}, make([]byte, n-1)...) }

// time has less than a second of nanoseconds: only single times are normalized by stock.
func (r maker) time() []byte {
	ns := r.Uint32N(1e9)
	return append(r.bytes(4), byte(ns), byte(ns>>8), byte(ns>>16), byte(ns>>24))
}

func (r maker) duration() []byte { return r.time() }

func (r maker) float(n int) []byte {
	var f float64
	switch r.IntN(4) {
	case 0:
		return r.bytes(n)
	case 1:
		f = []float64{0, math.Copysign(0, -1), 1, 1e16, 1e-5, 0.0001, 1e22, 123456789, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324}[r.IntN(12)]
	case 2:
		f = r.NormFloat64()
	case 3:
		f = float64(r.IntN(1000)) / 10
	}
	bits, size := math.Float64bits(f), 8
	if n == 4 {
		bits, size = uint64(math.Float32bits(float32(f))), 4
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(bits >> (8 * i))
	}
	return b
}

func (r maker) text() []byte {
	s := r.string()
	return append([]byte{byte(len(s)), byte(len(s) >> 8), 0, 0}, s...)
}

func (r maker) string() string {
	if r.IntN(3) == 0 {
		return r.pick("", "a", "base_link", "true", "No", "null", "~", "12", "1.5", "0x1f", "1:30", "2001-01-01", "=", "<<", "- x", "-x", "a: b", "a:b", "a #b", "#b",
			"---", "...", "'", `"`, `a'b`, `a"b\c`, " lead", "trail ", "two\nlines", "\n", "a\n\nb", "a \nb", "a\n b", "tab\t", "\x1b[31m", "é", "日本", "😀",
			"\xff", "\xe2\x82", "\xe2\x28\xa1", "\xf0\x9f\x98", "\xed\xa0\x80", "\x00", "\u2028", "\u00a0", "\ufeff", "?", "? a", "%a", "@", "`", "[1]", "{a}", ",", "!x", "&a", "*a", "|", ">")
	}
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteString(r.pick("word", "a", " ", "  ", " ", "longer_word", "'", "\"", "\\", "é", "\n", "日本語", "\t", ":", "#", "12345", " x ", "\xff", "end.", "-", " and "))
	}
	return b.String()
}
