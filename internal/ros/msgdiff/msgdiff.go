// Package msgdiff finds the places in which two messages differ.
//
// It owns how fields and elements of two messages, which may be of different types, are matched. It is pure.
// Package diff calls it, and tests that convert messages there and back.
package msgdiff

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/rosmsg"
)

// Difference is a place in which two values differ.
type Difference struct {
	// Path leads there, as "poses[3].position.x". It is empty for the values themselves.
	Path string
	// A and B are what is there: the zero Value where only the other one has such a field.
	A, B rosmsg.Value
}

// All yields where a and b differ, which may be of different types. Fields are
// compared by name, elements of arrays by number, and both by their bytes in the payload,
// so that one NaN differs from another. Structs are compared by their fields, and arrays
// by the elements that both have; if their lengths differ, the arrays come before these.
// uint8[] and char[] are one value. It ends with the first error, of a payload that ends
// early.
func All(a, b rosmsg.Value) iter.Seq2[Difference, error] {
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

func (d *differ) differs(a, b rosmsg.Value) bool {
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

func (d *differ) values(a, b rosmsg.Value) bool {
	if a.Kind() != b.Kind() || a.Kind() == 0 {
		return a.Kind() == b.Kind() || d.differs(a, b)
	}
	if sameLayout(a, b) {
		x, err := a.Extent()
		y, err2 := b.Extent()
		if err == nil && err2 == nil && bytes.Equal(x, y) {
			return true
		}
	}
	//exhaustive:ignore
	switch a.Kind() {
	case rosmsg.Struct:
		return d.structs(a, b)
	case rosmsg.Array:
		return d.arrays(a, b)
	}
	x, err := a.Extent()
	y, err2 := b.Extent()
	return d.fail(err, err2) && (bytes.Equal(x, y) || d.differs(a, b))
}

// sameLayout reports whether equal bytes of two values of a kind are equal values. It does not know that
// of arrays of messages, which are compared element by element.
func sameLayout(a, b rosmsg.Value) bool {
	if t := a.MessageType(); t != nil {
		return t == b.MessageType() || t.MD5Sum() == b.MessageType().MD5Sum()
	}
	return !a.OfMessages() && a.Type() == b.Type()
}

func (d *differ) structs(a, b rosmsg.Value) bool {
	as, errA := members(a)
	bs, errB := members(b)
	places := make(map[string]int, len(bs))
	for i, m := range bs {
		places[m.Name] = i
	}
	compared := make([]bool, len(bs))
	for _, m := range as {
		var other rosmsg.Value
		if k, ok := places[m.Name]; ok {
			other, compared[k] = bs[k].Value, true
		} else if errB != nil {
			continue // it may be after what cannot be read
		}
		if !d.at(m.Name, func() bool { return d.values(m.Value, other) }) {
			return false
		}
	}
	for i, m := range bs {
		if !compared[i] && errA == nil &&
			!d.at(m.Name, func() bool { return d.differs(rosmsg.Value{}, m.Value) }) {
			return false
		}
	}
	return d.fail(errA, errB)
}

// members returns the fields of a message; with an error, the fields before the bad one.
func members(v rosmsg.Value) (all []rosmsg.Member, err error) {
	for m, err := range v.Members() {
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
	return all, nil
}

func (d *differ) arrays(a, b rosmsg.Value) bool {
	if a.Bytes() != nil && b.Bytes() != nil {
		return bytes.Equal(a.Bytes(), b.Bytes()) || d.differs(a, b)
	}
	if a.Len() != b.Len() && !d.differs(a, b) {
		return false
	}
	if empty(a) && empty(b) {
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

// empty reports whether the elements of an array have no content.
func empty(v rosmsg.Value) bool {
	b, err := v.Extent()
	length := 0
	if strings.HasSuffix(v.Type(), "[]") {
		length = 4
	}
	return err == nil && len(b) == length
}
