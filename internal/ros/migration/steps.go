package migration

// steps make a message of one type of a message of another.
type steps struct {
	list  []step
	least int64 // bytes that the message of the input has at least
	// all, if it is not nil, says where each field of the input ends: the steps of each field of the
	// output go back to their own, because the order of the fields is another one. gathered has their
	// numbers.
	all    []*layout
	source []int // for each of list, the field of the input that it begins at; -1 for none
}

// step is a piece of the output.
type step struct {
	op     op
	layout *layout // of opCopy and opSkip
	n      int     // bytes of opZero, elements of opNumbers, opElements and opExpect
	bytes  []byte  // of opWrite
	number number  // of opNumbers
	sub    *steps  // of opElements and opMessage
	counts bool    // opNumbers and opElements: the number of elements is in the input
	writes bool    // opNumbers and opElements: the number of elements is in the output
	name   string  // of the field, for errors
	typed  string  // its type in the output, for errors
}

type op uint8

const (
	opCopy     op = iota // values that stay
	opSkip               // values that get lost
	opZero               // n zero bytes of the output
	opWrite              // bytes of the output
	opReceived           // the time of receipt
	opExpect             // a count, which has to be n
	opNumbers            // numbers, converted
	opElements           // an array of messages
	opMessage            // a message
)

// maxInlinedSteps is the most steps that a nested message adds to those of its parent.
const maxInlinedSteps = 32

// compile makes the steps of a pair of types.
func (c *comparison) compile(m *matched) *steps {
	if m.compiled != nil {
		return m.compiled
	}
	s := &steps{least: c.from.message(m.pair.from).least}
	m.compiled = s
	if !m.ordered {
		for _, f := range m.from {
			s.all = append(s.all, c.from.value(f.value))
		}
	}
	next := 0 // the first field of the input that was not passed
	for i, t := range m.to {
		k := m.source[i]
		if s.all != nil {
			before := len(s.list)
			if k < 0 {
				c.insert(s, m.pair.to.Name(), t)
			} else {
				c.value(s, m, i)
			}
			for n := before; n < len(s.list); n++ {
				s.source = append(s.source, -1)
			}
			if k >= 0 && before < len(s.list) {
				s.source[before] = k
			}
			continue
		}
		for ; k >= 0 && next < k; next++ {
			s.skip(c.from.value(m.from[next].value))
		}
		if k < 0 {
			c.insert(s, m.pair.to.Name(), t)
			continue
		}
		c.value(s, m, i)
		next = k + 1
	}
	for ; s.all == nil && next < len(m.from); next++ {
		s.skip(c.from.value(m.from[next].value))
	}
	if len(s.list) == 0 && c.from.message(m.pair.from).size == 0 {
		s.all = nil // nothing is there that could be in another order
	}
	return s
}

// joins reports whether a step of an operation can be joined to the last one: not if the steps are gathered.
func (s *steps) joins(o op) *step {
	if n := len(s.list); n > 0 && s.all == nil && s.list[n-1].op == o {
		return &s.list[n-1]
	}
	return nil
}

func (s *steps) copy(l *layout) {
	if len(l.parts) == 0 {
		return
	}
	if last := s.joins(opCopy); last != nil {
		last.layout.add(l)
		return
	}
	own := &layout{}
	own.add(l)
	s.list = append(s.list, step{op: opCopy, layout: own})
}

func (s *steps) skip(l *layout) {
	if len(l.parts) == 0 {
		return
	}
	if last := s.joins(opSkip); last != nil {
		last.layout.add(l)
		return
	}
	own := &layout{}
	own.add(l)
	s.list = append(s.list, step{op: opSkip, layout: own})
}

func (s *steps) zero(n int64) {
	if n == 0 {
		return
	}
	if last := s.joins(opZero); last != nil {
		last.n += int(n)
		return
	}
	s.list = append(s.list, step{op: opZero, n: int(n)})
}

func (s *steps) write(b []byte) {
	if len(b) == 0 {
		return
	}
	if last := s.joins(opWrite); last != nil {
		last.bytes = append(last.bytes, b...)
		return
	}
	s.list = append(s.list, step{op: opWrite, bytes: b})
}

// value adds the steps of field i of the output.
func (c *comparison) value(s *steps, m *matched, i int) {
	from, to := m.from[m.source[i]].value, m.to[i].value
	name, typed := m.to[i].name, to.typed()
	if sub := m.inside[i]; sub != nil {
		inner := c.compile(sub)
		if !inner.copies() {
			c.messagesOf(s, inner, from, to, name)
			return
		}
	} else if fitOf(from.element, to.element) != same {
		n := number{from.element, to.element}
		st := step{op: opNumbers, n: 1, number: n, name: name, typed: typed}
		if from.array {
			st.n, st.counts, st.writes = max(from.length, to.length), from.length == variable,
				to.length == variable
		}
		if from.length == variable && to.array && to.length != variable {
			s.list = append(s.list, step{op: opExpect, n: to.length, name: name, typed: typed})
			st.counts, st.n = false, to.length
		}
		s.repeat(st)
		return
	}
	switch { // the bytes of elements stay
	case !from.array || from.length == to.length:
		s.copy(c.from.value(from))
	case to.length == variable:
		s.write(le.AppendUint32(nil, uint32(from.length)))
		s.copy(c.from.value(from))
	default:
		s.list = append(s.list, step{op: opExpect, n: to.length, name: name, typed: typed})
		from.length = to.length
		s.copy(c.from.value(from))
	}
}

// messagesOf adds the steps of a message that changes, or of an array of them.
func (c *comparison) messagesOf(s, inner *steps, from, to value, name string) {
	if !from.array {
		if inner.all == nil && s.all == nil && len(inner.list) <= maxInlinedSteps {
			s.inline(inner, name)
			return
		}
		s.list = append(s.list, step{op: opMessage, sub: inner, name: name})
		return
	}
	st := step{
		op: opElements, n: max(from.length, to.length), sub: inner, counts: from.length == variable,
		writes: to.length == variable, name: name, typed: to.typed(),
	}
	if st.counts && !st.writes {
		s.list = append(s.list, step{op: opExpect, n: to.length, name: name, typed: to.typed()})
		st.counts = false
	}
	s.repeat(st)
}

// repeat adds the step of an array, unless it has no elements and no count. So each step reads or writes
// a byte: arrays of messages without bytes, in arrays of such, would else have work without end.
func (s *steps) repeat(st step) {
	if st.n != 0 || st.counts || st.writes {
		s.list = append(s.list, st)
	}
}

// inline adds the steps of a message to those of its parent.
func (s *steps) inline(inner *steps, name string) {
	for _, st := range inner.list {
		switch st.op {
		case opCopy:
			s.copy(st.layout)
		case opSkip:
			s.skip(st.layout)
		case opZero:
			s.zero(int64(st.n))
		case opWrite:
			s.write(append([]byte(nil), st.bytes...))
		case opReceived, opExpect, opNumbers, opElements, opMessage:
			if st.name != "" {
				st.name = name + "." + st.name
			}
			s.list = append(s.list, st)
		}
	}
}

// copies reports whether the bytes of messages stay.
func (s *steps) copies() bool {
	return s.all == nil && (len(s.list) == 0 || len(s.list) == 1 && s.list[0].op == opCopy)
}
