package migration

import (
	"github.com/gorosbag/gorosbag/rosmsg"
)

// layout is where a value ends on the wire.
type layout struct {
	parts []part
	size  int64 // in bytes; variable if it depends on the payload
	least int64 // bytes it has at least
}

// part is a piece of a layout.
type part struct {
	op   partOp
	n    int     // see partOp
	elem *layout // of sequence and repeat
}

type partOp uint8

const (
	fixed    partOp = iota // n bytes
	run                    // a count, then as many elements of n bytes
	sequence               // a count, then as many values of elem
	repeat                 // n values of elem
)

// maxInlinedParts is the most parts that a nested type adds to that of its parent.
const maxInlinedParts = 64

// add appends the parts of a layout. Neighboring bytes become one part.
func (l *layout) add(m *layout) {
	if l.size >= 0 && m.size >= 0 {
		l.size += m.size
	} else {
		l.size = variable
	}
	l.least += m.least
	if len(m.parts) > maxInlinedParts {
		l.parts = append(l.parts, part{op: repeat, n: 1, elem: m})
		return
	}
	for _, p := range m.parts {
		if k := len(l.parts); p.op == fixed && k > 0 && l.parts[k-1].op == fixed {
			l.parts[k-1].n += p.n
			continue
		}
		l.parts = append(l.parts, p)
	}
}

// layouts makes the layouts of types, each once.
type layouts struct {
	parts map[string]*rosmsg.Type // by name
	done  map[*rosmsg.Type]*layout
}

func newLayouts(t *rosmsg.Type) *layouts {
	return &layouts{parts: partsOf(t), done: make(map[*rosmsg.Type]*layout)}
}

// message returns the layout of a message.
func (a *layouts) message(t *rosmsg.Type) *layout {
	if l, ok := a.done[t]; ok {
		return l
	}
	l := &layout{}
	for _, m := range members(t, a.parts) {
		l.add(a.value(m.value))
	}
	a.done[t] = l
	return l
}

func (a *layouts) element(e element) *layout {
	//exhaustive:ignore
	switch e.class {
	case message:
		return a.message(e.msg)
	case chars:
		return &layout{parts: []part{{op: run, n: 1}}, size: variable, least: 4}
	}
	return fixedLayout(int64(e.bytes))
}

// value returns the layout of a field.
func (a *layouts) value(v value) *layout {
	e := a.element(v.element)
	switch {
	case !v.array:
		return e
	case v.length != variable && (e.size >= 0 || v.length == 0):
		return fixedLayout(int64(v.length) * max(e.size, 0)) // rosmsg has seen that it is below 2 GiB
	case v.length != variable:
		return &layout{
			parts: []part{{op: repeat, n: v.length, elem: e}}, size: variable,
			least: int64(v.length) * e.least,
		}
	case e.size >= 0:
		return &layout{parts: []part{{op: run, n: int(e.size)}}, size: variable, least: 4}
	}
	return &layout{parts: []part{{op: sequence, elem: e}}, size: variable, least: 4}
}

// fixedLayout is the layout of n bytes.
func fixedLayout(n int64) *layout {
	l := &layout{size: n, least: n}
	if n > 0 {
		l.parts = []part{{op: fixed, n: int(n)}}
	}
	return l
}

// end returns where a value at pos ends. It reports false if the payload ends before.
func (l *layout) end(in []byte, pos int) (int, bool) {
	for i := range l.parts {
		p := &l.parts[i]
		n, left := int64(p.n), int64(len(in)-pos)
		if p.op == run || p.op == sequence {
			if left < 4 {
				return 0, false
			}
			n = int64(le.Uint32(in[pos:]))
			pos, left = pos+4, left-4
		}
		switch p.op {
		case fixed:
			if n > left {
				return 0, false
			}
			pos += p.n
			continue
		case run:
			if n*int64(p.n) > left || p.n == 0 && n > maxEmptyElements { // below 2^32 * 2^31
				return 0, false
			}
			pos += int(n) * p.n
			continue
		case sequence, repeat:
		}
		if n*p.elem.least > left { // what is repeated has a size that varies, and so 4 bytes or more
			return 0, false
		}
		for range n {
			var ok bool
			if pos, ok = p.elem.end(in, pos); !ok {
				return 0, false
			}
		}
	}
	return pos, true
}
