package rosmsg

import (
	"bytes"
	"iter"
	"strconv"
)

// Difference is a place in which two values differ.
type Difference struct {
	// Path leads there, as "poses[3].position.x". It is empty for the values themselves.
	Path string
	// A and B are what is there: the zero Value where only the other one has such a field.
	A, B Value
}

// Differences yields where a and b differ, which may be of different types. Fields are
// compared by name, elements of arrays by number, and both by their bytes in the payload,
// so that one NaN differs from another. Structs are compared by their fields, and arrays
// by the elements that both have; if their lengths differ, the arrays come before these.
// uint8[] and char[] are one value. It ends with the first error, of a payload that ends
// early.
func Differences(a, b Value) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		d := differ{yield: yield}
		d.values(a, b)
	}
}

// differ walks over two values. Its methods report whether to go on.
type differ struct {
	path  []byte
	yield func(Difference, error) bool
}

func (d *differ) differs(a, b Value) bool {
	return d.yield(Difference{Path: string(d.path), A: a, B: b}, nil)
}

// fail yields an error, if there is one.
func (d *differ) fail(errs ...error) bool {
	for _, err := range errs {
		if err != nil {
			d.yield(Difference{}, err)
			return false
		}
	}
	return true
}

// at walks with more of a path.
func (d *differ) at(more string, walk func() bool) bool {
	n := len(d.path)
	if n > 0 && more[0] != '[' {
		d.path = append(d.path, '.')
	}
	d.path = append(d.path, more...)
	goOn := walk()
	d.path = d.path[:n]
	return goOn
}

func (d *differ) values(a, b Value) bool {
	if a.Kind() != b.Kind() || a.wire == nil {
		return a.wire == b.wire || d.differs(a, b)
	}
	if sameLayout(a.wire, b.wire) {
		x, err := a.extent()
		y, err2 := b.extent()
		if err == nil && err2 == nil && bytes.Equal(x, y) {
			return true
		}
	}
	//exhaustive:ignore
	switch a.Kind() {
	case Struct:
		return d.structs(a, b)
	case Array:
		return d.arrays(a, b)
	}
	x, err := a.extent()
	y, err2 := b.extent()
	return d.fail(err, err2) && (bytes.Equal(x, y) || d.differs(a, b))
}

// sameLayout reports whether equal bytes of two types are equal values.
func sameLayout(x, y *wire) bool {
	for x.kind == Array && y.kind == Array && x.length == y.length {
		x, y = x.elem, y.elem
	}
	return x == y || x.kind == y.kind && (x.kind != Struct && x.kind != Array || x.kind == Struct && x.msg.md5sum == y.msg.md5sum)
}

// extent returns the bytes of a value.
func (v Value) extent() ([]byte, error) {
	c := cursor{p: v.p, off: v.off}
	if err := c.skip(v.wire); err != nil {
		return nil, v.root.blame(err)
	}
	return v.p[v.off:c.off], nil
}

func (d *differ) structs(a, b Value) bool {
	as, errA := a.fields()
	bs, errB := b.fields()
	places := make(map[string]int, len(bs))
	for i := range bs {
		places[b.wire.msg.fields[i].name] = i
	}
	compared := make([]bool, len(bs))
	for i, v := range as {
		name := a.wire.msg.fields[i].name
		var other Value
		if k, ok := places[name]; ok {
			other, compared[k] = bs[k], true
		} else if errB != nil {
			continue // it may be after what cannot be read
		}
		if !d.at(name, func() bool { return d.values(v, other) }) {
			return false
		}
	}
	for i, v := range bs {
		if !compared[i] && errA == nil && !d.at(b.wire.msg.fields[i].name, func() bool { return d.differs(Value{}, v) }) {
			return false
		}
	}
	return d.fail(errA, errB)
}

// fields returns the fields of a message; with an error, the fields before the bad one.
func (v Value) fields() ([]Value, error) {
	all := make([]Value, 0, len(v.wire.msg.fields))
	for m, err := range v.Members() {
		if err != nil {
			return all, err
		}
		all = append(all, m.Value)
	}
	return all, nil
}

func (d *differ) arrays(a, b Value) bool {
	if a.wire.raw() && b.wire.raw() {
		return bytes.Equal(a.Bytes(), b.Bytes()) || d.differs(a, b)
	}
	if a.Len() != b.Len() && !d.differs(a, b) {
		return false
	}
	if a.wire.elem.size == 0 && b.wire.elem.size == 0 {
		return true // elements without content
	}
	next, stop := iter.Pull2(b.Elements())
	defer stop()
	i := 0
	for x, errA := range a.Elements() {
		y, errB, more := next()
		if !more {
			break
		}
		if !d.fail(errA, errB) || !d.at("["+strconv.Itoa(i)+"]", func() bool { return d.values(x, y) }) {
			return false
		}
		i++
	}
	return true
}
