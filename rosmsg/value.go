package rosmsg

import (
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
)

// Value is a value inside a payload: a view, which borrows the payload's bytes and
// decodes only what is asked for. The zero Value has no kind.
type Value struct {
	wire *wire
	p    []byte // the payload
	off  int
	root *Type // whose payload it is
}

// Message returns a payload of the type as a value of kind [Struct]. The payload is
// looked at only as far as the methods of the value need it.
func (t *Type) Message(payload []byte) Value {
	return Value{wire: &t.wire, p: payload, root: t}
}

// Check reads through a payload and returns what is wrong with it.
func (t *Type) Check(payload []byte) error {
	c := cursor{p: payload}
	if err := c.skip(&t.wire); err != nil {
		return t.blame(err)
	}
	return c.end(t)
}

// Kind returns what the value is.
func (v Value) Kind() Kind {
	if v.wire == nil {
		return 0
	}
	return v.wire.kind
}

// Type returns the value's type as ROS writes it, as "float64[36]".
func (v Value) Type() string {
	if v.wire == nil {
		return ""
	}
	return v.wire.name
}

// MessageType returns the type of a message, and nil for other kinds.
func (v Value) MessageType() *Type {
	if v.Kind() != Struct {
		return nil
	}
	return v.wire.msg
}

// Extent returns the bytes of the value in the payload, with the lengths of strings and arrays. They are
// the payload's own.
func (v Value) Extent() ([]byte, error) {
	c := cursor{p: v.p, off: v.off}
	if v.wire == nil {
		return nil, nil
	}
	if err := c.skip(v.wire); err != nil {
		return nil, v.root.blame(err)
	}
	return v.p[v.off:c.off:c.off], nil
}

// Bool returns whether a number or bool is not zero.
func (v Value) Bool() bool { return v.Float() != 0 }

// Int returns an integer, or a bool as 0 or 1, and 0 for other kinds. An uint64 above
// the largest int64 wraps: see Uint.
func (v Value) Int() int64 {
	if k := v.Kind(); k == Bool || k.integer() {
		return integer(k, v.p[v.off:])
	}
	return 0
}

// Uint returns the same as Int, as an unsigned number.
func (v Value) Uint() uint64 { return uint64(v.Int()) }

// Float returns a number of any kind, a time or duration in seconds, and 0 for other
// kinds.
func (v Value) Float() float64 {
	//exhaustive:ignore
	switch k := v.Kind(); k {
	case Float32, Float64:
		return float(k, v.p[v.off:])
	case Time:
		return v.Time().Seconds()
	case Duration:
		return v.Duration().Seconds()
	case Uint64:
		return float64(v.Uint())
	default:
		return float64(v.Int())
	}
}

// Time returns a value of kind [Time], and zero for other kinds.
func (v Value) Time() Stamp {
	if v.Kind() != Time {
		return Stamp{}
	}
	return stamp(v.p[v.off:])
}

// Duration returns a value of kind [Duration], and zero for other kinds.
func (v Value) Duration() Span {
	if v.Kind() != Duration {
		return Span{}
	}
	return span(v.p[v.off:])
}

// Bytes returns the bytes of a string, uint8[] or char[], and nil for other kinds.
// They are the payload's own.
func (v Value) Bytes() []byte {
	switch {
	case v.Kind() == String, v.Kind() == Array && v.wire.raw() && v.wire.length < 0:
		n := int(binary.LittleEndian.Uint32(v.p[v.off:])) // checked when the value was made
		return v.p[v.off+4 : v.off+4+n : v.off+4+n]
	case v.Kind() == Array && v.wire.raw():
		return v.p[v.off : v.off+v.wire.length : v.off+v.wire.length]
	}
	return nil
}

// Wire returns the elements of an array of numbers as they are in the payload, little-endian, without the
// length before them, and nil for other kinds. The bytes are the payload's own.
func (v Value) Wire() []byte {
	if v.Kind() != Array || v.wire.elem.kind >= String {
		return nil
	}
	at := v.off
	if v.wire.length < 0 {
		at += 4
	}
	// inside the payload: the count was checked when the value was made
	end := at + v.Len()*int(v.wire.elem.size)
	return v.p[at:end:end]
}

// Text returns a copy of a string as it is in the payload, valid UTF-8 or not, and ""
// for other kinds.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return string(v.Bytes())
}

// Len returns the number of elements of an array, and 0 for other kinds.
func (v Value) Len() int {
	switch {
	case v.Kind() != Array:
		return 0
	case v.wire.length >= 0:
		return v.wire.length
	}
	return int(binary.LittleEndian.Uint32(v.p[v.off:])) // checked when the value was made
}

// OfMessages reports whether the value is an array of messages.
func (v Value) OfMessages() bool { return v.Kind() == Array && v.wire.elem.kind == Struct }

// Elements iterates over an array; over nothing for other kinds. It ends with the first
// error.
func (v Value) Elements() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		if v.Kind() != Array {
			return
		}
		c := v.cursor()
		n, _ := c.count(v.wire) // checked when the value was made
		for i := range n {
			if i > 0 {
				if err := c.skip(v.wire.elem); err != nil {
					yield(Value{}, v.root.blame(underElement(err, i-1)))
					return
				}
			}
			at := c
			e, err := at.value(v.wire.elem, v.root)
			if err != nil {
				err = underElement(err, i)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Member is a field of a message with its value.
type Member struct {
	Name  string
	Value Value
}

// Members iterates over the fields of a message, in their order; over nothing for other kinds. It ends
// with the first error.
func (v Value) Members() iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		if v.Kind() != Struct {
			return
		}
		c := cursor{p: v.p, off: v.off}
		for _, f := range v.wire.msg.fields {
			at := c
			x, err := at.value(f.wire, v.root)
			if err == nil {
				err = c.skip(f.wire)
			}
			if err != nil {
				err = v.root.blame(under(err, f.name))
			}
			if !yield(Member{f.name, x}, err) || err != nil {
				return
			}
		}
	}
}

// Index returns an element of an array; a negative index counts from its end. Elements
// that vary in size are counted from the start: [Value.Elements] is faster for all.
func (v Value) Index(i int) (Value, error) {
	if v.Kind() != Array {
		return Value{}, &FieldError{
			Type: v.name(), Path: "[" + strconv.Itoa(i) + "]",
			Reason: v.Type() + " is no array",
		}
	}
	c := cursor{p: v.p, off: v.off}
	if err := c.element(v.wire, i, v.root); err != nil {
		return Value{}, v.root.blame(err)
	}
	return c.value(v.wire.elem, v.root)
}

// element moves from an array to one of its elements.
func (c *cursor) element(w *wire, i int, root *Type) error {
	n, err := c.count(w)
	if err != nil {
		return err
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return &FieldError{
			Type: root.name, Path: "[" + strconv.Itoa(i) + "]",
			Reason: fmt.Sprintf("index %d of %s with %d elements", i, w.name, n),
		}
	}
	if w.elem.size >= 0 {
		c.off += i * int(w.elem.size) // inside the payload: the count was checked
		return nil
	}
	for k := range i {
		if err := c.skip(w.elem); err != nil {
			return underElement(err, k)
		}
	}
	return nil
}

// Field returns a field of a message.
func (v Value) Field(name string) (Value, error) {
	i := -1
	if v.Kind() == Struct {
		i = v.wire.msg.field(name)
	}
	if i < 0 {
		return Value{}, &FieldError{
			Type: v.name(), Path: name,
			Reason: fmt.Sprintf("%s has no field %q", v.Type(), clip(name)),
		}
	}
	c := cursor{p: v.p, off: v.off}
	if err := c.field(v.wire.msg, i); err != nil {
		return Value{}, v.root.blame(err)
	}
	return c.value(v.wire.msg.fields[i].wire, v.root)
}

// field moves from a message to its field i.
func (c *cursor) field(t *Type, i int) error {
	if at := t.fields[i].offset; at >= 0 && at <= int64(len(c.p)-c.off) {
		c.off += int(at)
		return nil
	}
	for k := range t.fields[:i] {
		if err := c.skip(t.fields[k].wire); err != nil {
			return under(err, t.fields[k].name)
		}
	}
	return nil
}

func (v Value) name() string {
	if v.root == nil {
		return ""
	}
	return v.root.name
}

// blame adds the message's type to an error.
func (t *Type) blame(err error) error {
	if e, ok := err.(*DecodeError); ok && e.Type == "" { //nolint:errorlint // never wrapped in here
		e.Type = t.name
	}
	return err
}

// cursor returns a cursor at the value, with a count of what its payload may unfold into.
func (v Value) cursor() cursor {
	return cursor{p: v.p, off: v.off, nodes: freeNodes + nodesPerByte*len(v.p)}
}

// finish ends a pass over a whole value, which err has ended if it is not nil: it adds the
// message's type to err, and checks that nothing follows if the value is the message.
func (v Value) finish(c *cursor, err error) error {
	if err != nil {
		return v.root.blame(err)
	}
	if v.off == 0 && v.wire == &v.root.wire {
		return c.end(v.root)
	}
	return nil
}
