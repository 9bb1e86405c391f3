package rosmsg

import (
	"crypto/md5" //nolint:gosec // ROS identifies types by md5
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/pytext"
)

// Kind is what a value is on the wire.
type Kind uint8

// The kinds of values. ROS's deprecated byte is an Int8 and its char a Uint8.
const (
	Bool Kind = iota + 1
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	String
	Time
	Duration
	Array
	Struct // a message
)

var kinds = map[string]Kind{
	"bool": Bool, "int8": Int8, "byte": Int8, "uint8": Uint8, "char": Uint8, "int16": Int16, "uint16": Uint16,
	"int32": Int32, "uint32": Uint32, "int64": Int64, "uint64": Uint64, "float32": Float32,
	"float64": Float64,
	"string":  String, "time": Time, "duration": Duration,
}

// size is the number of bytes of a kind of fixed size, and -1 of others.
func (k Kind) size() int64 {
	switch k {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64, Time, Duration:
		return 8
	case String, Array, Struct:
	}
	return -1
}

func (k Kind) unsigned() bool { return k == Uint8 || k == Uint16 || k == Uint32 || k == Uint64 }

func (k Kind) integer() bool { return k >= Int8 && k <= Uint64 }

// wire is how a value is laid out.
type wire struct {
	kind   Kind
	name   string // as ROS writes the type: "float64[36]", "geometry_msgs/Point"
	msg    *Type  // of a Struct
	elem   *wire  // of an Array
	length int    // of an Array: -1 if it is part of the payload
	size   int64  // bytes, if always the same; -1 otherwise
	least  int64  // bytes it has at least
	normal bool   // a time that ROS brings in order: a field of the message itself

	stamped bool // a message, or an array of messages, with stamps in it: see HeaderStamps
}

// element is the layout of an array's elements, or of the value itself.
func (w *wire) element() *wire {
	if w.kind == Array {
		return w.elem
	}
	return w
}

// raw says that the value is kept as bytes: uint8[] and char[].
func (w *wire) raw() bool { return w.kind == Array && w.elem.kind == Uint8 }

// Type is a message type made ready for decoding. It never changes.
type Type struct {
	name      string
	text      string // of the whole definition, if the type is not part of another one
	md5sum    string
	constants []Constant
	fields    []field
	runs      []run
	wire      wire
}

type field struct {
	name   string
	python string // the name that ROS's Python tools print
	wire   *wire
	offset int64 // in the message; -1 if something before it varies in size
}

// run is a part of a message: fields of fixed size, then a field whose size varies or that
// has stamps in it. A message is skipped run by run, so that fields without content cost
// nothing, however many there are.
type run struct {
	fixed int64  // bytes of the fields of fixed size
	stamp int64  // offset of a stamp in these bytes; -1 if none of the fields is one
	next  *field // the field after them; nil if the message ends with the fixed ones
	from  int    // the first of the fields of fixed size
}

// Field is one field of a type.
type Field struct {
	Name string
	Type string // with its package and brackets: "geometry_msgs/Point[]"
}

// Name returns the type's name, as "geometry_msgs/Pose".
func (t *Type) Name() string { return t.name }

// Definition returns the definition that [Parse] made the type of, and "" for a part of another type.
func (t *Type) Definition() string { return t.text }

// EmptyMD5Sum is the md5sum of types without fields and constants. Such types have an
// empty definition; of another type it means that none was recorded.
const EmptyMD5Sum = "d41d8cd98f00b204e9800998ecf8427e"

// clockMD5 identifies rosgraph_msgs/Clock, which is nothing but a time.
const clockMD5 = "a9c97c1d230cfc112e270351a944ee47"

// MD5Sum returns the checksum by which ROS tells versions of a type apart, computed
// from the definition: 32 hexadecimal digits.
func (t *Type) MD5Sum() string { return t.md5sum }

// Constants returns the type's constants in order.
func (t *Type) Constants() []Constant { return slices.Clone(t.constants) }

// Fields returns the type's fields in order.
func (t *Type) Fields() []Field {
	all := make([]Field, len(t.fields))
	for i, f := range t.fields {
		all[i] = Field{Name: f.name, Type: f.wire.name}
	}
	return all
}

// field returns the number of the field with a name, or -1.
func (t *Type) field(name string) int {
	return slices.IndexFunc(t.fields, func(f field) bool { return f.name == name })
}

// Dependencies returns all types that t is made of, at any depth, each once, in the order
// of their first use. t is not among them. The names in [Field.Type] are theirs.
func (t *Type) Dependencies() []*Type {
	var all []*Type
	seen := map[*Type]bool{t: true}
	var walk func(t *Type)
	walk = func(t *Type) {
		for _, f := range t.fields {
			w := f.wire.element()
			if w.kind == Struct && !seen[w.msg] {
				seen[w.msg] = true
				all = append(all, w.msg)
				walk(w.msg)
			}
		}
	}
	walk(t)
	return all
}

// Parse makes a type from its name and the definition that a connection header or a
// bag carries with it. Errors are a [DefinitionError].
func Parse(name, definition string) (*Type, error) {
	return ParseWith(name, definition, func(string) (string, bool) { return "", false })
}

// ParseWith is Parse for a definition that may be incomplete: missing returns the fields and constants,
// as text, of a type that the definition lacks, such as "std_msgs/Header", and false if it does not know
// the type either.
func ParseWith(name, definition string, missing func(name string) (text string, ok bool)) (*Type, error) {
	all, _, err := blocks(name, definition)
	if err != nil {
		return nil, err
	}
	c := &compiler{
		missing: missing, blocks: make(map[string]*block, len(all)),
		bare: make(map[string]*block, len(all)), done: make(map[string]*Type), root: all[0],
	}
	for _, b := range all[1:] {
		if !strings.ContainsAny(b.name, notOfFields) {
			c.blocks[b.name] = b // the last one counts, as for ROS
		}
	}
	for name, b := range c.blocks {
		bare := name[strings.LastIndexByte(name, '/')+1:]
		if _, other := c.bare[bare]; other {
			b = nil
		}
		c.bare[bare] = b
	}
	t, err := c.compile(all[0], 1)
	if err != nil {
		return nil, err
	}
	t.text = definition
	if t.md5sum == clockMD5 {
		t.runs[0].stamp, t.wire.stamped = 0, true
	}
	for _, f := range t.fields {
		f.wire.normal = f.wire.kind == Time || f.wire.kind == Duration // no other field has this wire
	}
	return t, nil
}

// compiler turns blocks into types, each once.
type compiler struct {
	root   *block
	blocks map[string]*block
	bare   map[string]*block // by the name without its package; nil if several have it
	done   map[string]*Type  // nil while its fields are looked at
	types  int
	fields int

	missing func(name string) (text string, ok bool) // as in ParseWith
}

func (c *compiler) compile(b *block, depth int) (*Type, error) {
	if c.types++; c.types > maxTypes {
		return nil, &DefinitionError{
			Type:   b.name,
			Reason: fmt.Sprintf("made of more than %d types", maxTypes), err: ErrLimit,
		}
	}
	if depth > maxDepth {
		return nil, &DefinitionError{
			Type: b.name, Line: b.line,
			Reason: fmt.Sprintf("types nest deeper than %d", maxDepth), err: ErrLimit,
		}
	}
	s, err := b.parse()
	if err != nil {
		return nil, err
	}
	if c.fields += len(s.fields); c.fields > maxFields {
		return nil, &DefinitionError{
			Type:   b.name,
			Reason: fmt.Sprintf("made of more than %d fields", maxFields), err: ErrLimit,
		}
	}
	c.done[b.name] = nil
	t := &Type{name: b.name, constants: s.constants, fields: make([]field, 0, len(s.fields))}
	size, least := int64(0), int64(0)
	for _, f := range s.fields {
		w, err := c.wire(b, f, depth)
		if err != nil {
			return nil, err
		}
		t.fields = append(t.fields,
			field{name: f.name, python: pytext.FieldName(f.name), wire: w, offset: size})
		if size < 0 || w.size < 0 {
			size = -1
		} else {
			size += w.size
		}
		if least += w.least; least > math.MaxInt32 {
			return nil, &DefinitionError{
				Type: b.name, Line: f.line, Reason: "a message of more than 2 GiB",
				err: ErrLimit,
			}
		}
	}
	t.wire = wire{kind: Struct, name: t.name, msg: t, size: size, least: least}
	t.makeRuns()
	t.md5sum = checksum(t, s)
	c.done[b.name] = t
	return t, nil
}

// makeRuns divides the fields into runs.
func (t *Type) makeRuns() {
	r := run{stamp: -1}
	for i := range t.fields {
		f := &t.fields[i]
		if f.wire.size < 0 || f.wire.stamped {
			r.next = f
			t.runs = append(t.runs, r)
			r = run{stamp: -1, from: i + 1}
			t.wire.stamped = t.wire.stamped || f.wire.stamped
			continue
		}
		if t.name == headerType && f.name == "stamp" && f.wire.kind == Time {
			r.stamp, t.wire.stamped = r.fixed, true
		}
		r.fixed += f.wire.size
	}
	t.runs = append(t.runs, r)
}

// wire lays out one field.
func (c *compiler) wire(b *block, f fieldSpec, depth int) (*wire, error) {
	elem, err := c.element(b, f, depth)
	if err != nil || !f.array {
		return elem, err
	}
	w := &wire{
		kind: Array, elem: elem, length: f.length, size: -1, least: 4, name: elem.name + "[]",
		stamped: elem.stamped,
	}
	if f.length < 0 {
		return w, nil
	}
	w.name = elem.name + "[" + strconv.Itoa(f.length) + "]"
	w.least = elem.least * int64(f.length) // below 2^31 * 2^24
	if elem.size >= 0 || f.length == 0 {
		w.size = w.least
	}
	w.stamped = elem.stamped && f.length > 0
	return w, nil
}

func (c *compiler) element(b *block, f fieldSpec, depth int) (*wire, error) {
	if k, ok := kinds[f.base]; ok {
		name, _, _ := strings.Cut(f.typ, "[")
		w := &wire{kind: k, name: name, size: k.size(), least: k.size()}
		if k == String {
			w.least = 4
		}
		return w, nil
	}
	sub, err := c.find(f)
	if err != nil {
		return nil, err
	}
	t, known := c.done[sub.name]
	if !known {
		if t, err = c.compile(sub, depth+1); err != nil {
			return nil, err
		}
	}
	if t == nil {
		return nil, &DefinitionError{
			Type: b.name, Line: f.line,
			Reason: fmt.Sprintf("%q contains itself", clip(sub.name)),
		}
	}
	return &t.wire, nil
}

// find returns the block of a field's type. A name that no block has exactly may
// still mean the only one of another package: definitions made by other libraries
// leave the package out.
func (c *compiler) find(f fieldSpec) (*block, error) {
	if b, ok := c.blocks[f.base]; ok {
		return b, nil
	}
	if f.base == c.root.name {
		return c.root, nil
	}
	written, _, _ := strings.Cut(f.typ, "[")
	if b := c.bare[written]; b != nil { // never if it has a package
		return b, nil
	}
	text, ok := c.missing(f.base)
	if !ok {
		return nil, &DefinitionError{
			Type: c.root.name, Line: f.line,
			Reason: fmt.Sprintf("no definition of %q", clip(f.base)),
		}
	}
	b := &block{name: f.base, line: 1, text: text}
	c.blocks[f.base] = b
	return b, nil
}

// checksum computes the md5sum of a type whose parts have theirs: constants first,
// then the fields, with the md5sum instead of the name of a message type.
func checksum(t *Type, s *spec) string {
	var b strings.Builder
	for _, c := range s.constants {
		fmt.Fprintf(&b, "%s %s=%s\n", c.Type, c.Name, c.Value)
	}
	for i, f := range s.fields {
		typ := f.typ
		if w := t.fields[i].wire.element(); w.kind == Struct {
			typ = w.msg.md5sum
		}
		fmt.Fprintf(&b, "%s %s\n", typ, f.name)
	}
	sum := md5.Sum([]byte(strings.TrimFunc(b.String(), isSpace))) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}
