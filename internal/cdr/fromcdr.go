package cdr

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

func (m *machine) order() binary.ByteOrder {
	if m.big {
		return binary.BigEndian
	}
	return le
}

// uint32At reads a number at an offset in CDR.
func (m *machine) uint32At(at int) uint32 {
	if m.big {
		return binary.BigEndian.Uint32(m.src[at:])
	}
	return le.Uint32(m.src[at:])
}

// align passes the padding before a value. The position may then be behind the end.
func (m *machine) align(n int) { m.pos = (m.pos + n - 1) &^ (n - 1) }

// fromCDR converts a struct.
func (m *machine) fromCDR(p *plan) *Error {
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
		default:
			err = m.stepFromCDR(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gatherFromCDR finds all fields first, and then converts them in the order of ROS 1.
func (m *machine) gatherFromCDR(g *gather) *Error {
	var offsets [maxGathered]int
	for i, f := range g.fields2 {
		offsets[i] = m.pos
		m.found = false
		if err := m.skipAll2(f.plan); err != nil {
			return err
		}
		if m.found && f.peer < 0 {
			m.n.DroppedValues++
		}
	}
	end := m.pos
	for _, f := range g.fields1 {
		if f.peer < 0 {
			m.dst = appendZeros(m.dst, f.plan.least1)
			continue
		}
		m.pos = offsets[f.peer]
		if err := m.fromCDR(f.plan); err != nil {
			return err
		}
	}
	m.pos = end
	return nil
}

// drop2 passes over a step that ROS 1 lacks, and counts it if it is not empty.
func (m *machine) drop2(s *step) *Error {
	m.found = false
	err := m.skip2(s)
	if m.found {
		m.n.DroppedValues++
	}
	return err
}

// stepFromCDR converts a step that is on both sides.
func (m *machine) stepFromCDR(s *step) *Error {
	switch s.op {
	case opRun:
		m.align(s.align)
		if len(m.src)-m.pos < s.size {
			return m.failed(s, ros2)
		}
		if m.big {
			m.swap(s)
			return nil
		}
		m.dst = append(m.dst, m.src[m.pos:m.pos+s.size]...)
		m.pos += s.size
	case opBools:
		return m.bools(s, ros2)
	case opLevel:
		if m.pos >= len(m.src) {
			return m.failed(s, ros2)
		}
		m.dst = append(m.dst, level1(m.src[m.pos]))
		m.pos++
	case opString:
		text, err := m.string2(s)
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
func (m *machine) count2(s *step) (int, *Error) {
	m.align(4)
	if m.pos > len(m.src) {
		return 0, short(s.name2, m.pos, 4, 0)
	}
	return m.count(s, m.order(), s.sub.least2, ros2)
}

// swap converts a run of a message that is big endian. There are enough bytes.
func (m *machine) swap(s *step) {
	for _, f := range s.parts {
		for end := m.pos + f.size; m.pos < end; m.pos += f.width {
			for k := f.width - 1; k >= 0; k-- {
				m.dst = append(m.dst, m.src[m.pos+k])
			}
		}
	}
}

// string2 reads a string of CDR, without its NUL. It borrows from the source. Some
// libraries write the empty string without a NUL, with a length of 0.
func (m *machine) string2(s *step) ([]byte, *Error) {
	m.align(4)
	if len(m.src)-m.pos < 4 {
		return nil, short(s.name2, m.pos, 4, max(len(m.src)-m.pos, 0))
	}
	n := int64(m.uint32At(m.pos))
	rest := m.src[m.pos+4:]
	if n > int64(len(rest)) {
		return nil, short(s.name2, m.pos, int(n), len(rest))
	}
	m.pos += 4 + int(n)
	if n > 0 && rest[n-1] == 0 {
		n--
	}
	return rest[:n:n], nil
}

func (m *machine) timeFromCDR(s *step) *Error {
	m.align(4)
	if len(m.src)-m.pos < 8 {
		return m.failed(s, ros2)
	}
	sec, nanosec := m.uint32At(m.pos), m.uint32At(m.pos+4)
	m.pos += 8
	if s.op == opDuration {
		if nanosec >= second {
			sec, nanosec = m.normal(int64(int32(sec)), int64(nanosec))
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
func (m *machine) elementsFromCDR(s *step, n int) *Error {
	if n == 0 { // a sequence; not even padding follows
		return nil
	}
	if run := s.sub.bulk(); run != nil {
		m.align(run.align)
		size := n * run.size // n was checked against what is left, or by Compile
		if len(m.src)-m.pos < size {
			return short(s.name2, m.pos, size, max(len(m.src)-m.pos, 0))
		}
		if m.big {
			for range n {
				m.swap(run)
			}
			return nil
		}
		m.dst = append(m.dst, m.src[m.pos:m.pos+size]...)
		m.pos += size
		return nil
	}
	for i := range n {
		if len(m.dst) > m.limit {
			return m.full(s, ros2)
		}
		if err := m.fromCDR(s.sub); err != nil {
			return err.in(s.name2, i)
		}
	}
	return nil
}

// skip2 passes over a step in CDR. It sets found if a value is not empty.
func (m *machine) skip2(s *step) *Error {
	if s.side&ros2 == 0 {
		return nil
	}
	switch s.op {
	case opRun, opTime, opDuration:
		align := s.align
		if s.op != opRun {
			align = 4
		}
		m.align(align)
		return m.skipBytes(s)
	case opBools, opLevel, opEmpty:
		return m.skipBytes(s)
	case opString:
		text, err := m.string2(s)
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
func (m *machine) skipBytes(s *step) *Error {
	if int64(len(m.src)-m.pos) < s.least2 {
		if s.op == opEmpty {
			return &Error{Path: s.name2, Offset: m.pos, Reason: fmt.Sprintf("%d bytes left, one expected for a message without fields", max(len(m.src)-m.pos, 0)), Err: io.ErrUnexpectedEOF}
		}
		return m.failed(s, ros2)
	}
	for _, b := range m.src[m.pos : m.pos+int(s.least2)] {
		if b != 0 && s.op != opEmpty {
			m.found = true
			break
		}
	}
	m.pos += int(s.least2)
	return nil
}

func (m *machine) skipAll2(p *plan) *Error {
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

func (m *machine) skipElements2(s *step, n int) *Error {
	for i := range n {
		if err := m.skipAll2(s.sub); err != nil {
			return err.in(s.name2, i)
		}
	}
	return nil
}
