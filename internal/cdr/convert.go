package cdr

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Options choose among ways to convert.
type Options struct {
	// RefuseLateTimes makes a time after 2038-01-19 an error instead of wrapping it.
	RefuseLateTimes bool
}

// machine is the state of one conversion. It lives on the stack.
type machine struct {
	src   []byte // ROS 1 payload, or CDR after its encapsulation
	pos   int    // in src
	dst   []byte
	base  int // in dst, of the byte from which CDR counts alignment
	limit int // most bytes of dst before another element of an array
	big   bool
	found bool // a value that was skipped was not empty
	late  bool // times after 2038-01-19 are errors
	n     Counts
}

var zeros [256]byte

// appendZeros appends n bytes of 0.
func appendZeros(dst []byte, n int64) []byte {
	for n > 0 {
		k := min(n, int64(len(zeros)))
		dst = append(dst, zeros[:k]...)
		n -= k
	}
	return dst
}

// most returns the most bytes that a payload may become.
func most(base, payload int) int { return base + freeBytes + maxGain*payload }

// encapsulations are the kinds of CDR that cannot be read, by the second byte of a message.
var encapsulations = map[byte]string{
	0x02: "PL_CDR_BE", 0x03: "PL_CDR_LE", 0x06: "CDR2_BE (XCDR2)", 0x07: "CDR2_LE (XCDR2)", 0x08: "D_CDR2_BE (XCDR2)",
	0x09: "D_CDR2_LE (XCDR2)", 0x0a: "PL_CDR2_BE (XCDR2)", 0x0b: "PL_CDR2_LE (XCDR2)", 0x10: "CDR2_BE (XCDR2)",
	0x11: "CDR2_LE (XCDR2)", 0x12: "PL_CDR2_BE (XCDR2)", 0x13: "PL_CDR2_LE (XCDR2)", 0x14: "D_CDR2_BE (XCDR2)",
	0x15: "D_CDR2_LE (XCDR2)",
}

// The encapsulation header: two bytes for the kind, two for options.
const (
	headerBytes  = 4
	bigEndian    = 0
	littleEndian = 1
)

// maxTail is the most padding after a message: RTPS fills up to four bytes.
const maxTail = 3

// ToCDR appends a ROS 1 payload as CDR, little endian with its encapsulation header, and
// returns the extended slice. It adds to n what had to change; n may be nil. Errors are an
// [Error], with dst as it was.
func (p *Plan) ToCDR(dst, payload []byte, n *Counts, o Options) ([]byte, error) {
	m := machine{src: payload, dst: append(dst, 0, littleEndian, 0, 0), limit: most(len(dst), len(payload)), late: o.RefuseLateTimes}
	m.base = len(m.dst)
	err := m.toCDR(p.top)
	if err == nil && m.pos < len(payload) {
		err = &Error{Offset: m.pos, Reason: fmt.Sprintf("%d bytes after the end of the message", len(payload)-m.pos), Err: ErrTrailing}
	}
	if err != nil {
		err.Type = p.name1
		return dst, err
	}
	if n != nil {
		n.Add(m.n)
	}
	return m.dst, nil
}

// FromCDR appends a CDR message, which starts with its encapsulation header, as ROS 1
// payload, and returns the extended slice. It adds to n what had to change; n may be nil.
// Errors are an [Error], with dst as it was.
func (p *Plan) FromCDR(dst, message []byte, n *Counts) ([]byte, error) {
	if len(message) < headerBytes {
		err := short("", 0, headerBytes, len(message))
		err.Type = p.name2
		return dst, err
	}
	if message[0] != 0 || message[1] > littleEndian {
		return dst, &Error{Type: p.name2, Reason: unsupported(message[0], message[1]), Err: ErrUnsupported}
	}
	m := machine{src: message[headerBytes:], dst: dst, limit: most(len(dst), len(message)), big: message[1] == bigEndian}
	err := m.fromCDR(p.top)
	if err == nil && len(m.src)-m.pos > maxTail {
		err = &Error{Offset: m.pos, Reason: fmt.Sprintf("%d bytes after the end of the message", len(m.src)-m.pos), Err: ErrTrailing}
	}
	if err != nil {
		err.Type = p.name2
		err.Offset += headerBytes
		return dst, err
	}
	if n != nil {
		n.Add(m.n)
	}
	return m.dst, nil
}

func unsupported(a, b byte) string {
	if name := encapsulations[b]; a == 0 && name != "" {
		return fmt.Sprintf("encapsulation %s; only CDR of version 1 is supported", name)
	}
	return fmt.Sprintf("unknown encapsulation %02x %02x; want 00 00 or 00 01", a, b)
}

// failed makes the error of a run or of another value of fixed width that the source is
// too short for.
func (m *machine) failed(s *step, source side) *Error {
	at, left := m.pos, max(len(m.src)-m.pos, 0)
	if s.op != opRun {
		return short(s.name(source), at, max(int(s.least1), int(s.least2)), left)
	}
	for _, f := range s.parts {
		if left < f.size {
			name := f.name1
			if source == ros2 {
				name = f.name2
			}
			return short(name, at, f.size, left)
		}
		at, left = at+f.size, left-f.size
	}
	return short(s.name(source), at, s.size, left)
}

// full makes the error of a payload that asks for too many elements.
func (m *machine) full(s *step, source side) *Error {
	return &Error{
		Path: s.name(source), Offset: m.pos, Err: ErrLimit,
		Reason: fmt.Sprintf("the message of %d bytes becomes more than %d times as long", len(m.src), maxGain),
	}
}

// count reads the number of elements of a sequence at pos, which passes the number. Each
// element has at least some bytes.
func (m *machine) count(s *step, order binary.ByteOrder, least int64, source side) (int, *Error) {
	if len(m.src)-m.pos < 4 {
		return 0, short(s.name(source), m.pos, 4, len(m.src)-m.pos)
	}
	n := int64(order.Uint32(m.src[m.pos:]))
	m.pos += 4
	if left := int64(len(m.src) - m.pos); n*least > left {
		return 0, &Error{
			Path: s.name(source), Offset: m.pos - 4, Err: io.ErrUnexpectedEOF, Reason: fmt.Sprintf("%d elements of at least %d bytes, %d bytes left", n, least, left),
		}
	}
	if n > math.MaxInt32 { // elements without content; each is a byte in CDR
		return 0, m.full(s, source)
	}
	return int(n), nil
}
