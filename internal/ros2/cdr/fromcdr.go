package cdr

import (
	"fmt"
	"io"
	"math"
)

// decoder is the state of one conversion from CDR. It lives on the stack.
type decoder struct {
	in    source
	dst   []byte
	limit int  // most bytes of dst before another element of an array
	found bool // a value that was skipped was not empty
	n     Counts
}

// fromCDR converts a struct.
func (m *decoder) fromCDR(p *plan) *Error {
	if p.gather != nil {
		return m.gatherFromCDR(p.gather)
	}
	for i := range p.steps {
		s := &p.steps[i]
		var err *Error
		switch s.side {
		case ros1:
			m.dst = appendZeros(m.dst, s.least1)
		case ros2:
			err = m.drop2(s)
		case both:
			err = m.stepFromCDR(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gatherFromCDR finds all fields first, and then converts them in the order of ROS 1.
func (m *decoder) gatherFromCDR(g *gather) *Error {
	var offsets [maxGathered]int
	for i, f := range g.fields2 {
		offsets[i] = m.in.pos
		m.found = false
		if err := m.skipAll2(f.plan); err != nil {
			return err
		}
		if m.found && f.peer < 0 {
			m.n.DroppedValues++
		}
	}
	end := m.in.pos
	for _, f := range g.fields1 {
		if f.peer < 0 {
			m.dst = appendZeros(m.dst, f.plan.least1)
			continue
		}
		m.in.pos = offsets[f.peer]
		if err := m.fromCDR(f.plan); err != nil {
			return err
		}
	}
	m.in.pos = end
	return nil
}

// drop2 passes over a step that ROS 1 lacks, and counts it if it is not empty.
func (m *decoder) drop2(s *step) *Error {
	m.found = false
	err := m.skip2(s)
	if m.found {
		m.n.DroppedValues++
	}
	return err
}

// stepFromCDR converts a step that is on both sides.
func (m *decoder) stepFromCDR(s *step) *Error {
	switch s.op {
	case opRun:
		m.in.align(s.align)
		if len(m.in.b)-m.in.pos < s.size {
			return m.in.failed(s)
		}
		if m.in.big {
			m.swap(s)
			return nil
		}
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
		m.dst = append(m.dst, level1(m.in.b[m.in.pos]))
		m.in.pos++
	case opString:
		text, err := m.in.string2(s)
		if err != nil {
			return err
		}
		m.dst = le.AppendUint32(m.dst, uint32(len(text)))
		m.dst = append(m.dst, text...)
	case opTime, opDuration:
		return m.timeFromCDR(s)
	case opStruct:
		if err := m.fromCDR(s.sub); err != nil {
			return err.in(s.name2, -1)
		}
	case opFixed:
		return m.elementsFromCDR(s, s.size)
	case opSequence:
		n, err := m.count2(s)
		if err != nil {
			return err
		}
		m.dst = le.AppendUint32(m.dst, uint32(n))
		return m.elementsFromCDR(s, n)
	case opEmpty: // never on both sides
	}
	return nil
}

// count2 reads the number of elements of a sequence.
func (m *decoder) count2(s *step) (int, *Error) {
	m.in.align(4)
	if m.in.pos > len(m.in.b) {
		return 0, short(s.name2, m.in.pos, 4, 0)
	}
	return m.in.count(s, s.sub.least2)
}

// swap converts a run of a message that is big endian. There are enough bytes.
func (m *decoder) swap(s *step) {
	for _, f := range s.parts {
		for end := m.in.pos + f.size; m.in.pos < end; m.in.pos += f.width {
			for k := f.width - 1; k >= 0; k-- {
				m.dst = append(m.dst, m.in.b[m.in.pos+k])
			}
		}
	}
}

func (m *decoder) timeFromCDR(s *step) *Error {
	m.in.align(4)
	if len(m.in.b)-m.in.pos < 8 {
		return m.in.failed(s)
	}
	sec, nanosec := m.in.uint32At(m.in.pos), m.in.uint32At(m.in.pos+4)
	m.in.pos += 8
	if s.op == opDuration {
		if nanosec >= second {
			sec, nanosec = m.n.normal(int64(int32(sec)), int64(nanosec))
		}
	} else if sec > math.MaxInt32 || nanosec >= second {
		secs := int64(int32(sec)) + int64(nanosec/second)
		if nanosec >= second {
			nanosec %= second
			m.n.NormalizedTimes++
		}
		if secs < 0 {
			secs, nanosec = 0, 0
			m.n.ClampedTimes++
		}
		sec = uint32(secs)
	}
	m.dst = le.AppendUint32(m.dst, sec)
	m.dst = le.AppendUint32(m.dst, nanosec)
	return nil
}

// level1 is the level of a log entry in ROS 1. Others than the five of ROS stay.
func level1(b byte) byte {
	switch b {
	case 10:
		return 1
	case 20:
		return 2
	case 30:
		return 4
	case 40:
		return 8
	case 50:
		return 16
	}
	return b
}

// elementsFromCDR converts the elements of an array.
func (m *decoder) elementsFromCDR(s *step, n int) *Error {
	if n == 0 { // a sequence; not even padding follows
		return nil
	}
	if run := s.sub.bulk(); run != nil {
		m.in.align(run.align)
		size := n * run.size // n was checked against what is left, or by Compile
		if len(m.in.b)-m.in.pos < size {
			return short(s.name2, m.in.pos, int64(size), max(len(m.in.b)-m.in.pos, 0))
		}
		if m.in.big {
			for range n {
				m.swap(run)
			}
			return nil
		}
		m.dst = append(m.dst, m.in.b[m.in.pos:m.in.pos+size]...)
		m.in.pos += size
		return nil
	}
	for i := range n {
		if len(m.dst) > m.limit {
			return m.in.full(s)
		}
		if err := m.fromCDR(s.sub); err != nil {
			return err.in(s.name2, i)
		}
	}
	return nil
}

// skip2 passes over a step in CDR. It sets found if a value is not empty.
func (m *decoder) skip2(s *step) *Error {
	if s.side&ros2 == 0 {
		return nil
	}
	switch s.op {
	case opRun, opTime, opDuration:
		align := s.align
		if s.op != opRun {
			align = 4
		}
		m.in.align(align)
		return m.skipBytes(s)
	case opBools, opLevel, opEmpty:
		return m.skipBytes(s)
	case opString:
		text, err := m.in.string2(s)
		if len(text) > 0 {
			m.found = true
		}
		return err
	case opStruct:
		if err := m.skipAll2(s.sub); err != nil {
			return err.in(s.name2, -1)
		}
	case opFixed:
		return m.skipElements2(s, s.size)
	case opSequence:
		n, err := m.count2(s)
		if err != nil {
			return err
		}
		if n > 0 {
			m.found = true
		}
		return m.skipElements2(s, n)
	}
	return nil
}

// skipBytes passes over a value of fixed width.
func (m *decoder) skipBytes(s *step) *Error {
	if int64(len(m.in.b)-m.in.pos) < s.least2 {
		if s.op == opEmpty {
			return &Error{
				Path: s.name2, Offset: m.in.pos,
				Reason: fmt.Sprintf("%d bytes left, one expected for a message without fields",
					max(len(m.in.b)-m.in.pos, 0)), Err: io.ErrUnexpectedEOF,
			}
		}
		return m.in.failed(s)
	}
	for _, b := range m.in.b[m.in.pos : m.in.pos+int(s.least2)] {
		if b != 0 && s.op != opEmpty {
			m.found = true
			break
		}
	}
	m.in.pos += int(s.least2)
	return nil
}

func (m *decoder) skipAll2(p *plan) *Error {
	if p.gather != nil {
		for _, f := range p.gather.fields2 {
			if err := m.skipAll2(f.plan); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range p.steps {
		if err := m.skip2(&p.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *decoder) skipElements2(s *step, n int) *Error {
	for i := range n {
		if err := m.skipAll2(s.sub); err != nil {
			return err.in(s.name2, i)
		}
	}
	return nil
}
