package cdr

import (
	"encoding/binary"
	"fmt"
	"math"
)

var le = binary.LittleEndian

// toCDR converts a struct.
func (m *machine) toCDR(p *plan) *Error {
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
		default:
			err = m.stepToCDR(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gatherToCDR finds all fields first, and then converts them in the order of ROS 2.
func (m *machine) gatherToCDR(g *gather) *Error {
	var offsets [maxGathered]int
	for i, f := range g.fields1 {
		offsets[i] = m.pos
		for k := range f.plan.steps {
			if err := m.skip1(&f.plan.steps[k]); err != nil {
				return err
			}
		}
	}
	end := m.pos
	for _, f := range g.fields2 {
		if f.peer < 0 {
			m.zeroAll2(f.plan)
			continue
		}
		m.pos = offsets[f.peer]
		if err := m.toCDR(f.plan); err != nil {
			return err
		}
	}
	m.pos = end
	return nil
}

// pad writes the padding before a value.
func (m *machine) pad(align int) {
	if over := (len(m.dst) - m.base) & (align - 1); over != 0 {
		m.dst = append(m.dst, zeros[:align-over]...)
	}
}

// stepToCDR converts a step that is on both sides.
func (m *machine) stepToCDR(s *step) *Error {
	switch s.op {
	case opRun:
		if len(m.src)-m.pos < s.size {
			return m.failed(s, ros1)
		}
		m.pad(s.align)
		m.dst = append(m.dst, m.src[m.pos:m.pos+s.size]...)
		m.pos += s.size
	case opBools:
		return m.bools(s, ros1)
	case opLevel:
		if m.pos >= len(m.src) {
			return m.failed(s, ros1)
		}
		m.dst = append(m.dst, level2(m.src[m.pos]))
		m.pos++
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
		n, err := m.count(s, le, s.sub.least1, ros1)
		if err != nil {
			return err
		}
		if s.bound > 0 && n > s.bound {
			return &Error{Path: s.name1, Offset: m.pos - 4, Reason: fmt.Sprintf("%d elements; ROS 2 allows at most %d", n, s.bound), Err: ErrLimit}
		}
		m.pad(4)
		m.dst = le.AppendUint32(m.dst, uint32(n))
		return m.elementsToCDR(s, n)
	case opEmpty: // never in ROS 1
	}
	return nil
}

// bools copies bools, which are 0 or 1 in the result: ROS 2 refuses others.
func (m *machine) bools(s *step, source side) *Error {
	if len(m.src)-m.pos < s.size {
		return m.failed(s, source)
	}
	for _, b := range m.src[m.pos : m.pos+s.size] {
		if b != 0 {
			b = 1
		}
		m.dst = append(m.dst, b)
	}
	m.pos += s.size
	return nil
}

func (m *machine) stringToCDR(s *step) *Error {
	text, err := m.string1(s)
	if err != nil {
		return err
	}
	if len(text) >= math.MaxInt32 {
		return &Error{Path: s.name1, Offset: m.pos, Reason: fmt.Sprintf("string of %d bytes", len(text)), Err: ErrLimit}
	}
	m.pad(4)
	m.dst = le.AppendUint32(m.dst, uint32(len(text)+1))
	m.dst = append(m.dst, text...)
	m.dst = append(m.dst, 0)
	return nil
}

// string1 reads a string of ROS 1. It borrows from the source.
func (m *machine) string1(s *step) ([]byte, *Error) {
	rest := m.src[m.pos:]
	if len(rest) < 4 {
		return nil, short(s.name1, m.pos, 4, len(rest))
	}
	n := int64(le.Uint32(rest))
	if rest = rest[4:]; n > int64(len(rest)) {
		return nil, short(s.name1, m.pos, int(n), len(rest))
	}
	m.pos += 4 + int(n)
	return rest[:n:n], nil
}

func (m *machine) timeToCDR(s *step) *Error {
	if len(m.src)-m.pos < 8 {
		return m.failed(s, ros1)
	}
	secs, nsecs := le.Uint32(m.src[m.pos:]), le.Uint32(m.src[m.pos+4:])
	if s.op == opTime {
		if secs > math.MaxInt32 || nsecs >= second {
			sec := int64(secs) + int64(nsecs/second)
			if nsecs >= second {
				nsecs %= second
				m.n.NormalizedTimes++
			}
			if sec > math.MaxInt32 {
				if m.late {
					return &Error{Path: s.name1, Offset: m.pos, Reason: fmt.Sprintf("time of %d s is after 2038-01-19, the end of time in ROS 2", sec), Err: ErrTime}
				}
				m.n.WrappedTimes++
			}
			secs = uint32(sec)
		}
	} else if nsecs >= second {
		secs, nsecs = m.normal(int64(int32(secs)), int64(int32(nsecs)))
	}
	m.pos += 8
	m.pad(4)
	m.dst = le.AppendUint32(m.dst, secs)
	m.dst = le.AppendUint32(m.dst, nsecs)
	return nil
}

// second is the nanoseconds of one.
const second = 1e9

// normal brings the nanoseconds of a duration between 0 and a second.
func (m *machine) normal(secs, nsecs int64) (uint32, uint32) {
	m.n.NormalizedTimes++
	secs, nsecs = secs+nsecs/second, nsecs%second
	if nsecs < 0 {
		secs, nsecs = secs-1, nsecs+second
	}
	if secs > math.MaxInt32 {
		m.n.ClampedTimes++
		return math.MaxInt32, second - 1
	}
	if secs < math.MinInt32 {
		m.n.ClampedTimes++
		return 1 << 31, 0 // the bits of math.MinInt32
	}
	return uint32(secs), uint32(nsecs)
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
func (m *machine) elementsToCDR(s *step, n int) *Error {
	if n == 0 { // a sequence; not even padding follows
		return nil
	}
	if run := s.sub.bulk(); run != nil {
		size := n * run.size // n was checked against what is left, or by Compile
		if len(m.src)-m.pos < size {
			return m.failed(s, ros1)
		}
		m.pad(run.align)
		m.dst = append(m.dst, m.src[m.pos:m.pos+size]...)
		m.pos += size
		return nil
	}
	for i := range n {
		if len(m.dst) > m.limit {
			return m.full(s, ros1)
		}
		if err := m.toCDR(s.sub); err != nil {
			return err.in(s.name1, i)
		}
	}
	return nil
}

// skip1 passes over a step in a ROS 1 payload.
func (m *machine) skip1(s *step) *Error {
	if s.side&ros1 == 0 {
		return nil
	}
	switch s.op {
	case opString:
		_, err := m.string1(s)
		return err
	case opStruct:
		if err := m.skipAll1(s.sub); err != nil {
			return err.in(s.name1, -1)
		}
	case opFixed:
		return m.skipElements1(s, s.size)
	case opSequence:
		n, err := m.count(s, le, s.sub.least1, ros1)
		if err != nil {
			return err
		}
		return m.skipElements1(s, n)
	case opEmpty:
	case opRun, opBools, opLevel, opTime, opDuration:
		if int64(len(m.src)-m.pos) < s.least1 {
			return m.failed(s, ros1)
		}
		m.pos += int(s.least1)
	}
	return nil
}

func (m *machine) skipAll1(p *plan) *Error {
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

func (m *machine) skipElements1(s *step, n int) *Error {
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
func (m *machine) zero2(s *step) {
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

func (m *machine) zeroAll2(p *plan) {
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
