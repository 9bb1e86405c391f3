package cdr

import (
	"cmp"
	"fmt"
	"math"
)

// side says on which sides a step has bytes.
type side uint8

const (
	ros1 side = 1 << iota
	ros2
	both = ros1 | ros2
)

type op uint8

const (
	opRun op = iota + 1 // values of fixed width, which have the same bytes on both sides
	opBools
	opString
	opTime
	opDuration
	opLevel
	opEmpty    // the byte that stands in CDR for a struct without fields
	opStruct   // a struct that has a plan of its own
	opFixed    // an array of fixed length
	opSequence // a sequence
)

// part is one field of a run.
type part struct {
	name1, name2 string
	width        int // bytes of an element
	size         int // bytes of all elements
}

// step converts some fields of a struct.
type step struct {
	op           op
	side         side
	align        int // of a run in CDR: the alignment of its first field, which no other exceeds
	size         int // bytes of a run; the number of elements of bools and a fixed array
	bound        int // of a sequence; 0 for none
	least1       int64
	least2       int64
	name1, name2 string
	parts        []part // of a run
	sub          *plan  // of a struct, or of an element
}

// name is what the source of a conversion calls the field.
func (s *step) name(source side) string {
	if source == ros1 {
		return s.name1
	}
	return s.name2
}

// plan converts a struct, or an element of an array.
type plan struct {
	steps  []step
	gather *gather // if not nil, the fields have another order in ROS 2, and there are no steps
	least1 int64   // fewest bytes in ROS 1
	least2 int64   // and in CDR, without padding
	weight int     // number of steps and of parts of runs
}

// bulk returns the run that is all there is in the struct, if many structs are the same
// bytes on both sides: a run that needs no padding after it.
func (p *plan) bulk() *step {
	if len(p.steps) != 1 || p.steps[0].op != opRun || p.steps[0].side != both ||
		p.steps[0].size%p.steps[0].align != 0 {
		return nil
	}
	return &p.steps[0]
}

// maxGathered bounds the fields of a struct that are in another order on the other side:
// their offsets are kept on the stack.
const maxGathered = 32

// gather converts a struct whose fields have another order on the other side.
type gather struct {
	fields1, fields2 []gathered
}

type gathered struct {
	plan *plan // of the field alone
	peer int
}

// Plan converts the messages of one pair of types. It never changes.
type Plan struct {
	name1, name2 string
	top          *plan
	fieldless    bool // the type has no fields on either side
}

// Compile makes the plan of a struct. Errors are a [LimitError].
func Compile(s *Struct) (*Plan, error) {
	c := &compiler{done: make(map[*Struct]*plan)}
	top, err := c.compile(s)
	if err != nil {
		return nil, err
	}
	return &Plan{name1: s.Name1, name2: s.Name2, top: top, fieldless: len(s.Fields1)+len(s.Fields2) == 0}, nil
}

// compiler makes plans, one for each struct.
type compiler struct {
	done map[*Struct]*plan // nil while the plan is made
}

// maxInlined bounds the weight of a struct into which others are inlined.
const maxInlined = 256

// maxGain and freeBytes bound what a payload may ask for beyond its own size.
const (
	maxGain   = 64
	freeBytes = 1 << 20
)

func (c *compiler) compile(s *Struct) (*plan, error) {
	if p, ok := c.done[s]; ok {
		if p == nil {
			return nil, &LimitError{Type: s.Name2, Reason: "contains itself"}
		}
		return p, nil
	}
	c.done[s] = nil
	checkPeers(s)
	p := &plan{}
	var err error
	if inOrder(s) {
		err = c.inOrder(p, s)
	} else {
		err = c.gather(p, s)
	}
	if err != nil {
		return nil, err
	}
	if len(s.Fields2) == 0 {
		p.add(step{op: opEmpty, side: ros2, least2: 1})
	}
	if least := max(p.least1, p.least2); least > math.MaxInt32 {
		return nil, &LimitError{Type: s.Name2, Reason: "a message of more than 2 GiB"}
	}
	if p.least2 > freeBytes+maxGain*p.least1 {
		return nil, &LimitError{
			Type:   s.Name2,
			Reason: fmt.Sprintf("%d bytes of ROS 1 are %d bytes of CDR", p.least1, p.least2),
		}
	}
	c.done[s] = p
	return p, nil
}

// checkPeers panics if a field is not the peer of its peer.
func checkPeers(s *Struct) {
	check := func(fields, others []Field) {
		for i, f := range fields {
			if f.Peer >= 0 && (f.Peer >= len(others) || others[f.Peer].Peer != i) {
				panic(fmt.Sprintf("cdr: field %s of %s is not the peer of its peer", f.Name, s.Name2))
			}
		}
	}
	check(s.Fields1, s.Fields2)
	check(s.Fields2, s.Fields1)
}

// inOrder says whether the fields that are on both sides have the same order there.
func inOrder(s *Struct) bool {
	last := -1
	for _, f := range s.Fields1 {
		if f.Peer < 0 {
			continue
		}
		if f.Peer < last {
			return false
		}
		last = f.Peer
	}
	return true
}

// inOrder merges the fields of both sides into one list of steps.
func (c *compiler) inOrder(p *plan, s *Struct) error {
	i, j := 0, 0
	for i < len(s.Fields1) || j < len(s.Fields2) {
		var err error
		switch {
		case i < len(s.Fields1) && s.Fields1[i].Peer < 0:
			err = c.emit(p, s.Fields1[i].Value, ros1, s.Fields1[i].Name, "")
			i++
		case j < len(s.Fields2) && s.Fields2[j].Peer < 0:
			err = c.emit(p, s.Fields2[j].Value, ros2, "", s.Fields2[j].Name)
			j++
		default:
			err = c.emit(p, s.Fields2[j].Value, both, s.Fields1[i].Name, s.Fields2[j].Name)
			i, j = i+1, j+1
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gather makes a plan for each field.
func (c *compiler) gather(p *plan, s *Struct) error {
	if len(s.Fields1) > maxGathered || len(s.Fields2) > maxGathered {
		return &LimitError{
			Type:   s.Name2,
			Reason: fmt.Sprintf("more than %d fields, in another order than in ROS 1", maxGathered),
		}
	}
	g := &gather{}
	for _, f := range s.Fields2 {
		one, name1 := &plan{}, ""
		if f.Peer >= 0 {
			name1 = s.Fields1[f.Peer].Name
		}
		if err := c.emit(one, f.Value, both, name1, f.Name); err != nil {
			return err
		}
		g.fields2 = append(g.fields2, gathered{plan: one, peer: f.Peer})
		p.least2 = saturate(p.least2 + one.least2)
	}
	for _, f := range s.Fields1 {
		one := &plan{}
		if f.Peer >= 0 {
			one = g.fields2[f.Peer].plan
		} else if err := c.emit(one, f.Value, both, f.Name, ""); err != nil {
			return err
		}
		g.fields1 = append(g.fields1, gathered{plan: one, peer: f.Peer})
		p.least1 = saturate(p.least1 + one.least1)
	}
	p.gather = g
	return nil
}

var widths = map[Kind]int{Width1: 1, Width2: 2, Width4: 4, Width8: 8}

// emit adds the steps of one field. The names are paths if structs are inlined.
func (c *compiler) emit(p *plan, v Value, on side, name1, name2 string) error {
	s := step{side: on, name1: name1, name2: name2}
	width := widths[v.Kind]
	switch {
	case v.Array == Sequence:
		s.op, s.bound = opSequence, v.Length
		s.least1, s.least2 = 4, 4
	case v.Array == Fixed && (v.Length <= 0 || v.Length > math.MaxInt32/8):
		return &LimitError{
			Type:   cmp.Or(name2, name1),
			Reason: fmt.Sprintf("an array of %d elements", v.Length),
		}
	case width > 0:
		n := 1
		if v.Array == Fixed {
			n = v.Length
		}
		p.addRun(on, width, n, name1, name2)
		return nil
	case v.Kind == Bool:
		s.op, s.size = opBools, 1
		if v.Array == Fixed {
			s.size = v.Length
		}
		s.least1, s.least2 = int64(s.size), int64(s.size)
	case v.Array == Fixed:
		s.op, s.size = opFixed, v.Length
	case v.Kind == String:
		s.op, s.least1, s.least2 = opString, 4, 4
	case v.Kind == Time, v.Kind == Duration:
		s.op, s.least1, s.least2 = opTime, 8, 8
		if v.Kind == Duration {
			s.op = opDuration
		}
	case v.Kind == Level:
		s.op, s.least1, s.least2 = opLevel, 1, 1
	case v.Kind == Message:
		sub, err := c.compile(v.Struct)
		if err != nil {
			return err
		}
		if sub.gather == nil && sub.weight+p.weight <= maxInlined {
			p.inline(sub, on, name1, name2)
			return nil
		}
		s.op, s.sub, s.least1, s.least2 = opStruct, sub, sub.least1, sub.least2
	default:
		panic(fmt.Sprintf("cdr: kind %d of a field", v.Kind))
	}
	if s.op == opSequence || s.op == opFixed {
		elem, err := c.element(v)
		if err != nil {
			return err
		}
		s.sub = elem
		if s.op == opFixed {
			n := int64(v.Length)
			s.least1, s.least2 = saturate(n*elem.least1), saturate(n*elem.least2)
		}
	}
	p.add(s)
	return nil
}

// element makes the plan of an element of an array.
func (c *compiler) element(v Value) (*plan, error) {
	v.Array, v.Length = Single, 0
	if v.Kind == Message {
		return c.compile(v.Struct)
	}
	p := &plan{}
	return p, c.emit(p, v, both, "", "")
}

// add adds a step, without the bytes of a side that it is not on. A step that is in ROS 1
// alone and has no bytes there is left out: each field of a message of 2^60 messages
// without fields would be one.
func (p *plan) add(s step) {
	if s.side&ros1 == 0 {
		s.least1 = 0
	}
	if s.side&ros2 == 0 {
		s.least2 = 0
	}
	if s.side == ros1 && s.least1 == 0 {
		return
	}
	p.steps = append(p.steps, s)
	p.weight += 1 + len(s.parts)
	p.least1, p.least2 = saturate(p.least1+s.least1), saturate(p.least2+s.least2)
}

// saturate keeps sums of lengths far from overflow: no factor exceeds 2^28.
func saturate(n int64) int64 { return min(n, 1<<33) }

// addRun adds n values of a width, to the run before if that needs no padding between.
func (p *plan) addRun(on side, width, n int, name1, name2 string) {
	size := width * n
	one := part{name1: name1, name2: name2, width: width, size: size}
	if k := len(p.steps); k > 0 {
		last := &p.steps[k-1]
		if last.op == opRun && last.side == on && width <= last.align && last.size%width == 0 &&
			last.size+size < math.MaxInt32 {
			last.size += size
			last.parts = append(last.parts, one)
			p.weight++
			p.grow(last, size)
			return
		}
	}
	p.add(step{
		op: opRun, side: on, align: width, size: size, least1: int64(size), least2: int64(size),
		name1: name1, name2: name2, parts: []part{one},
	})
}

// grow adds to the fewest bytes of a run and its plan.
func (p *plan) grow(s *step, size int) {
	if s.side&ros1 != 0 {
		s.least1 += int64(size)
		p.least1 = saturate(p.least1 + int64(size))
	}
	if s.side&ros2 != 0 {
		s.least2 += int64(size)
		p.least2 = saturate(p.least2 + int64(size))
	}
}

// inline adds the steps of a struct to those of the struct that it is a field of.
func (p *plan) inline(sub *plan, on side, name1, name2 string) {
	for _, s := range sub.steps {
		if s.side &= on; s.side == 0 {
			continue
		}
		if s.op == opRun {
			for _, f := range s.parts {
				p.addRun(s.side, f.width, f.size/f.width, join(name1, f.name1), join(name2, f.name2))
			}
			continue
		}
		s.name1, s.name2 = join(name1, s.name1), join(name2, s.name2)
		p.add(s)
	}
}
