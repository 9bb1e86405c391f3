package cdr

import (
	"fmt"
)

// Options choose among ways to convert.
type Options struct {
	// RefuseLateTimes makes a time after 2038-01-19 an error instead of wrapping it.
	RefuseLateTimes bool
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
	0x02: "PL_CDR_BE", 0x03: "PL_CDR_LE", 0x06: "CDR2_BE (XCDR2)", 0x07: "CDR2_LE (XCDR2)",
	0x08: "D_CDR2_BE (XCDR2)",
	0x09: "D_CDR2_LE (XCDR2)", 0x0a: "PL_CDR2_BE (XCDR2)", 0x0b: "PL_CDR2_LE (XCDR2)",
	0x10: "CDR2_BE (XCDR2)",
	0x11: "CDR2_LE (XCDR2)", 0x12: "PL_CDR2_BE (XCDR2)", 0x13: "PL_CDR2_LE (XCDR2)",
	0x14: "D_CDR2_BE (XCDR2)",
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
	m := encoder{
		in: source{b: payload, side: ros1}, dst: append(dst, 0, littleEndian, 0, 0),
		limit: most(len(dst), len(payload)),
		late:  o.RefuseLateTimes,
	}
	m.base = len(m.dst)
	err := m.toCDR(p.top)
	if err == nil && m.in.pos < len(payload) {
		err = &Error{
			Offset: m.in.pos,
			Reason: fmt.Sprintf("%d bytes after the end of the message", len(payload)-m.in.pos),
			Err:    ErrTrailing,
		}
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
	if p.fieldless && len(message) == headerBytes {
		return dst, nil // rosbags before 0.10.9 left the dummy byte out
	}
	m := decoder{
		in: source{b: message[headerBytes:], side: ros2, big: message[1] == bigEndian}, dst: dst,
		limit: most(len(dst), len(message)),
	}
	err := m.fromCDR(p.top)
	if err == nil && len(m.in.b)-m.in.pos > maxTail {
		err = &Error{
			Offset: m.in.pos,
			Reason: fmt.Sprintf("%d bytes after the end of the message", len(m.in.b)-m.in.pos),
			Err:    ErrTrailing,
		}
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
