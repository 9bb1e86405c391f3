package cdr

import (
	"fmt"
	"math"
)

// encoder is the state of one conversion to CDR. It lives on the stack.
type encoder struct {
	in    source
	dst   []byte
	base  int  // in dst, of the byte from which CDR counts alignment
	limit int  // most bytes of dst before another element of an array
	late  bool // times after 2038-01-19 are errors
	n     Counts
}

// toCDR converts a struct.
func (m *encoder) toCDR(p *plan) *Error {
	if p.gather != nil {
		return m.gatherToCDR(p.gather)
	}
	for i := range p.steps {
		s := &p.steps[i]
		var err *Error
		switch s.side {
		case ros1:
			err = m.skip1(s)
		case ros2:
			m.zero2(s)
		case both:
			err = m.stepToCDR(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gatherToCDR finds all fields first, and then converts them in the order of ROS 2.
func (m *encoder) gatherToCDR(g *gather) *Error {
	var offsets [maxGathered]int
	for i, f := range g.fields1 {
		offsets[i] = m.in.pos
		for k := range f.plan.steps {
			if err := m.skip1(&f.plan.steps[k]); err != nil {
				return err
			}
		}
	}
	end := m.in.pos
	for _, f := range g.fields2 {
		if f.peer < 0 {
			m.zeroAll2(f.plan)
			continue
		}
		m.in.pos = offsets[f.peer]
		if err := m.toCDR(f.plan); err != nil {
			return err
		}
	}
	m.in.pos = end
	return nil
}

// pad writes the padding before a value.
func (m *encoder) pad(align int) {
	if over := (len(m.dst) - m.base) & (align - 1); over != 0 {
		m.dst = append(m.dst, zeros[:align-over]...)
	}
}

// stepToCDR converts a step that is on both sides.
func (m *encoder) stepToCDR(s *step) *Error {
	switch s.op {
	case opRun:
		if len(m.in.b)-m.in.pos < s.size {
			return m.in.failed(s)
		}
		m.pad(s.align)
		m.dst = append(m.dst, m.in.b[m.in.pos:m.in.pos+s.size]...)
		m.in.pos += s.size
	case opBools:
		var err *Error
		m.dst, err = m.in.bools(m.dst, s)
		return err
	case opLevel:
		if m.in.pos >= len(m.in.b) {
			return m.in.failed(s)
		}
		m.dst = append(m.dst, level2(m.in.b[m.in.pos]))
		m.in.pos++
	case opString:
		return m.stringToCDR(s)
	case opTime, opDuration:
		return m.timeToCDR(s)
	case opStruct:
		if err := m.toCDR(s.sub); err != nil {
			return err.in(s.name1, -1)
		}
	case opFixed:
		return m.elementsToCDR(s, s.size)
	case opSequence:
		n, err := m.in.count(s, s.sub.least1)
		if err != nil {
			return err
		}
		if s.bound > 0 && n > s.bound {
			return &Error{
				Path: s.name1, Offset: m.in.pos - 4,
				Reason: fmt.Sprintf("%d elements; ROS 2 allows at most %d", n, s.bound), Err: ErrLimit,
			}
		}
		m.pad(4)
		m.dst = le.AppendUint32(m.dst, uint32(n))
		return m.elementsToCDR(s, n)
	case opEmpty: // never in ROS 1
	}
	return nil
}

func (m *encoder) stringToCDR(s *step) *Error {
	text, err := m.in.string1(s)
	if err != nil {
		return err
	}
	if len(text) >= math.MaxInt32 {
		return &Error{
			Path: s.name1, Offset: m.in.pos, Reason: fmt.Sprintf("string of %d bytes", len(text)),
			Err: ErrLimit,
		}
	}
	m.pad(4)
	m.dst = le.AppendUint32(m.dst, uint32(len(text)+1))
	m.dst = append(m.dst, text...)
	m.dst = append(m.dst, 0)
	return nil
}

func (m *encoder) timeToCDR(s *step) *Error {
	if len(m.in.b)-m.in.pos < 8 {
		return m.in.failed(s)
	}
	secs, nsecs := le.Uint32(m.in.b[m.in.pos:]), le.Uint32(m.in.b[m.in.pos+4:])
	if s.op == opTime {
		if secs > math.MaxInt32 || nsecs >= second {
			sec := int64(secs) + int64(nsecs/second)
			if nsecs >= second {
				nsecs %= second
				m.n.NormalizedTimes++
			}
			if sec > math.MaxInt32 {
				if m.late {
					return &Error{
						Path: s.name1, Offset: m.in.pos,
						Reason: fmt.Sprintf("time of %d s is after 2038-01-19, the end of time in ROS 2",
							sec), Err: ErrTime,
					}
				}
				m.n.WrappedTimes++
			}
			secs = uint32(sec)
		}
	} else if nsecs >= second {
		secs, nsecs = m.n.normal(int64(int32(secs)), int64(int32(nsecs)))
	}
	m.in.pos += 8
	m.pad(4)
	m.dst = le.AppendUint32(m.dst, secs)
	m.dst = le.AppendUint32(m.dst, nsecs)
	return nil
}

// level2 is the level of a log entry in ROS 2. Others than the five of ROS stay.
func level2(b byte) byte {
	switch b {
	case 1:
		return 10
	case 2:
		return 20
	case 4:
		return 30
	case 8:
		return 40
	case 16:
		return 50
	}
	return b
}

// elementsToCDR converts the elements of an array.
func (m *encoder) elementsToCDR(s *step, n int) *Error {
	if n == 0 { // a sequence; not even padding follows
		return nil
	}
	if run := s.sub.bulk(); run != nil {
		size := n * run.size // n was checked against what is left, or by Compile
		if len(m.in.b)-m.in.pos < size {
			return m.in.failed(s)
		}
		m.pad(run.align)
		m.dst = append(m.dst, m.in.b[m.in.pos:m.in.pos+size]...)
		m.in.pos += size
		return nil
	}
	for i := range n {
		if len(m.dst) > m.limit {
			return m.in.full(s)
		}
		if err := m.toCDR(s.sub); err != nil {
			return err.in(s.name1, i)
		}
	}
	return nil
}

// skip1 passes over a step in a ROS 1 payload.
func (m *encoder) skip1(s *step) *Error {
	if s.side&ros1 == 0 {
		return nil
	}
	switch s.op {
	case opString:
		_, err := m.in.string1(s)
		return err
	case opStruct:
		if err := m.skipAll1(s.sub); err != nil {
			return err.in(s.name1, -1)
		}
	case opFixed:
		return m.skipElements1(s, s.size)
	case opSequence:
		n, err := m.in.count(s, s.sub.least1)
		if err != nil {
			return err
		}
		return m.skipElements1(s, n)
	case opEmpty:
	case opRun, opBools, opLevel, opTime, opDuration:
		if int64(len(m.in.b)-m.in.pos) < s.least1 {
			return m.in.failed(s)
		}
		m.in.pos += int(s.least1)
	}
	return nil
}

func (m *encoder) skipAll1(p *plan) *Error {
	if p.gather != nil {
		for _, f := range p.gather.fields1 {
			if err := m.skipAll1(f.plan); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range p.steps {
		if err := m.skip1(&p.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *encoder) skipElements1(s *step, n int) *Error {
	if s.sub.least1 == 0 { // then it is always empty: what varies in size has a length
		return nil
	}
	for i := range n {
		if err := m.skipAll1(s.sub); err != nil {
			return err.in(s.name1, i)
		}
	}
	return nil
}

// zero2 writes a step that ROS 1 lacks: zeros, empty strings and empty sequences.
func (m *encoder) zero2(s *step) {
	if s.side&ros2 == 0 {
		return
	}
	switch s.op {
	case opRun:
		m.pad(s.align)
		for _, f := range s.parts {
			m.dst = appendZeros(m.dst, int64(f.size))
		}
	case opBools, opLevel, opEmpty:
		m.dst = appendZeros(m.dst, s.least2)
	case opString:
		m.pad(4)
		m.dst = append(m.dst, 1, 0, 0, 0, 0)
	case opTime, opDuration, opSequence:
		m.pad(4)
		m.dst = appendZeros(m.dst, s.least2)
	case opStruct:
		m.zeroAll2(s.sub)
	case opFixed:
		for range s.size {
			m.zeroAll2(s.sub)
		}
	}
}

func (m *encoder) zeroAll2(p *plan) {
	if p.gather != nil {
		for _, f := range p.gather.fields2 {
			m.zeroAll2(f.plan)
		}
		return
	}
	for i := range p.steps {
		m.zero2(&p.steps[i])
	}
}
