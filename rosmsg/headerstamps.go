package rosmsg

// clockMD5 identifies rosgraph_msgs/Clock, which is nothing but a time.
const clockMD5 = "a9c97c1d230cfc112e270351a944ee47"

// HeaderStamps finds the stamps in messages of one type: the field stamp of each
// std_msgs/Header, wherever it is in the message, and the time of a rosgraph_msgs/Clock.
// Other times, such as those in the IDs of actionlib's goals, are none.
type HeaderStamps struct {
	root *Type
	plan *stampPlan
}

// HeaderStamps returns what finds the stamps in messages of the type, or nil if they have
// none.
func (t *Type) HeaderStamps() *HeaderStamps {
	plan := stampPlans{}.of(t)
	if t.md5sum == clockMD5 {
		plan = &stampPlan{t, []stampStep{{stamp: true, field: 0}, {field: -1}}}
	}
	if plan == nil {
		return nil
	}
	return &HeaderStamps{root: t, plan: plan}
}

// AppendOffsets appends the offset of each stamp in a payload, in order, and returns the
// extended slice. A stamp is eight bytes, seconds and nanoseconds. It allocates nothing but
// what dst needs.
//
// With a payload that ends early, a [DecodeError], it returns dst as it was. Bytes after the
// message do not matter.
func (h *HeaderStamps) AppendOffsets(dst []int, payload []byte) ([]int, error) {
	c := stampCursor{cursor{p: payload}, dst}
	if err := c.message(h.plan); err != nil {
		return dst, h.root.blame(err)
	}
	return c.offsets, nil
}

// stampPlan says how to find the stamps in a message: in few steps, because fields of fixed
// size that have no stamp are passed over together.
type stampPlan struct {
	msg   *Type
	steps []stampStep
}

// stampStep passes over fields of fixed size, then over a field that is a stamp, has stamps
// or varies in size.
type stampStep struct {
	fixed int64 // bytes of the fields of fixed size
	from  int   // the first of them
	field int   // the field after them; -1 if the message ends with them
	stamp bool
	plan  *stampPlan // of the field, or of the elements of an array; nil if there is no stamp in it
}

// stampPlans are the plans of types; nil for those without a stamp. Types share them, so that
// their size is that of the definition, not of the message.
type stampPlans map[*Type]*stampPlan

func (all stampPlans) of(t *Type) *stampPlan {
	if p, ok := all[t]; ok {
		return p
	}
	p, found := &stampPlan{msg: t}, false
	fixed, from := int64(0), 0
	for i, f := range t.fields {
		s := stampStep{fixed: fixed, from: from, field: i, stamp: t.name == headerType && f.name == "stamp" && f.wire.kind == Time}
		// What has no bytes has no stamp: it could be any number of elements, each a step.
		if elem := f.wire.element(); elem.kind == Struct && elem.size != 0 && f.wire.size != 0 {
			s.plan = all.of(elem.msg)
		}
		if !s.stamp && s.plan == nil && f.wire.size >= 0 {
			fixed += f.wire.size
			continue
		}
		p.steps, fixed, from = append(p.steps, s), 0, i+1
		found = found || s.stamp || s.plan != nil
	}
	p.steps = append(p.steps, stampStep{fixed: fixed, from: from, field: -1})
	if !found {
		p = nil
	}
	all[t] = p
	return p
}

// stampCursor collects the offsets of stamps.
type stampCursor struct {
	cursor
	offsets []int
}

// message passes over a message. It does not nest deeper than the definition.
func (c *stampCursor) message(p *stampPlan) error {
	for i := range p.steps {
		s := &p.steps[i]
		if s.fixed > int64(len(c.p)-c.off) {
			return c.short(p.msg, s)
		}
		c.off += int(s.fixed)
		if s.field < 0 {
			break
		}
		f := &p.msg.fields[s.field]
		if err := c.collect(s, f.wire); err != nil {
			return under(err, f.name)
		}
	}
	return nil
}

// short makes the error of a payload that ends in the fields of fixed size of a step: it
// finds the field.
func (c *stampCursor) short(t *Type, s *stampStep) error {
	for _, f := range t.fields[s.from:] {
		if err := c.skip(f.wire); err != nil {
			return under(err, f.name)
		}
	}
	return c.cursor.short(s.fixed, t.name) // not reached: the fields' sizes add up to the step's
}

// collect passes over a field, or notes that it is a stamp.
func (c *stampCursor) collect(s *stampStep, w *wire) error {
	switch {
	case s.stamp:
		at := c.off
		if _, err := c.take(int(w.size), w); err != nil {
			return err
		}
		c.offsets = append(c.offsets, at)
		return nil
	case s.plan == nil:
		return c.skip(w)
	case w.kind == Struct:
		return c.message(s.plan)
	}
	n, err := c.count(w)
	if err != nil {
		return err
	}
	for i := range n { // count saw that there is room for each
		if err := c.message(s.plan); err != nil {
			return underElement(err, i)
		}
	}
	return nil
}
