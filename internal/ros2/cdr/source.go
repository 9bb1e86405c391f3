package cdr

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

var le = binary.LittleEndian

// source is a payload and how far it has been read.
type source struct {
	b    []byte // ROS 1 payload, or CDR after its encapsulation
	pos  int    // beyond the end of b only after padding
	side side   // which of the two b is
	big  bool   // CDR, big endian
}

// failed makes the error of a run or of another value of fixed width that the source is
// too short for.
func (r *source) failed(s *step) *Error {
	at, left := r.pos, max(len(r.b)-r.pos, 0)
	if s.op != opRun {
		return short(s.name(r.side), at, max(s.least1, s.least2), left)
	}
	for _, f := range s.parts {
		if left < f.size {
			name := f.name1
			if r.side == ros2 {
				name = f.name2
			}
			return short(name, at, int64(f.size), left)
		}
		at, left = at+f.size, left-f.size
	}
	return short(s.name(r.side), at, int64(s.size), left)
}

// full makes the error of a payload that asks for too many elements.
func (r *source) full(s *step) *Error {
	return &Error{
		Path: s.name(r.side), Offset: r.pos, Err: ErrLimit,
		Reason: fmt.Sprintf("the message of %d bytes becomes more than %d times as long", len(r.b), maxGain),
	}
}

// count reads the number of elements of a sequence at pos, which passes the number. Each
// element has at least some bytes.
func (r *source) count(s *step, least int64) (int, *Error) {
	if len(r.b)-r.pos < 4 {
		return 0, short(s.name(r.side), r.pos, 4, len(r.b)-r.pos)
	}
	n := int64(r.uint32At(r.pos))
	r.pos += 4
	if left := int64(len(r.b) - r.pos); n*least > left {
		return 0, &Error{
			Path: s.name(r.side), Offset: r.pos - 4, Err: io.ErrUnexpectedEOF,
			Reason: fmt.Sprintf("%d elements of at least %d bytes, %d bytes left", n, least, left),
		}
	}
	if n > math.MaxInt32 { // elements without content; each is a byte in CDR
		return 0, r.full(s)
	}
	return int(n), nil
}

// bools appends bools, which are 0 or 1 in the result: ROS 2 refuses others.
func (r *source) bools(dst []byte, s *step) ([]byte, *Error) {
	if len(r.b)-r.pos < s.size {
		return dst, r.failed(s)
	}
	for _, b := range r.b[r.pos : r.pos+s.size] {
		if b != 0 {
			b = 1
		}
		dst = append(dst, b)
	}
	r.pos += s.size
	return dst, nil
}

// string1 reads a string of ROS 1. It borrows from the source.
func (r *source) string1(s *step) ([]byte, *Error) {
	rest := r.b[r.pos:]
	if len(rest) < 4 {
		return nil, short(s.name1, r.pos, 4, len(rest))
	}
	n := int64(le.Uint32(rest))
	if rest = rest[4:]; n > int64(len(rest)) {
		return nil, short(s.name1, r.pos, n, len(rest))
	}
	r.pos += 4 + int(n)
	return rest[:n:n], nil
}

// uint32At reads a number at an offset.
func (r *source) uint32At(at int) uint32 {
	if r.big {
		return binary.BigEndian.Uint32(r.b[at:])
	}
	return le.Uint32(r.b[at:])
}

// align passes the padding before a value. The position may then be after the end.
func (r *source) align(n int) { r.pos = (r.pos + n - 1) &^ (n - 1) }

// string2 reads a string of CDR, without its NUL. It borrows from the source. Some
// libraries write the empty string without a NUL, with a length of 0.
func (r *source) string2(s *step) ([]byte, *Error) {
	r.align(4)
	if len(r.b)-r.pos < 4 {
		return nil, short(s.name2, r.pos, 4, max(len(r.b)-r.pos, 0))
	}
	n := int64(r.uint32At(r.pos))
	rest := r.b[r.pos+4:]
	if n > int64(len(rest)) {
		return nil, short(s.name2, r.pos, n, len(rest))
	}
	r.pos += 4 + int(n)
	if n > 0 && rest[n-1] == 0 {
		n--
	}
	return rest[:n:n], nil
}
