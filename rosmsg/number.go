package rosmsg

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"
)

// appendFloat writes a float64 as Python does: the shortest digits that read back as
// the same number, always with a dot or an exponent.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, b := range dst[start:] {
		if b == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// appendInteger writes an integer of kind k.
func appendInteger(dst []byte, k Kind, b []byte) []byte {
	//exhaustive:ignore
	switch k {
	case Uint8:
		return strconv.AppendUint(dst, uint64(b[0]), 10)
	case Uint16:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint16(b)), 10)
	case Uint32:
		return strconv.AppendUint(dst, uint64(binary.LittleEndian.Uint32(b)), 10)
	case Uint64:
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(b), 10)
	case Int8:
		return strconv.AppendInt(dst, int64(int8(b[0])), 10)
	case Int16:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(b))), 10)
	case Int32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(b))), 10)
	default:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(b)), 10)
	}
}

func float(k Kind, b []byte) float64 {
	if k == Float32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// timeParts returns the seconds and nanoseconds of a time or duration, the latter
// brought between 0 and a second where ROS does so.
func timeParts(w *wire, b []byte) (secs, nsecs int64) {
	if w.kind == Time {
		s := stamp(b)
		secs, nsecs = int64(s.Secs), int64(s.Nsecs)
	} else {
		s := span(b)
		secs, nsecs = int64(s.Secs), int64(s.Nsecs)
	}
	if !w.normal {
		return secs, nsecs
	}
	over := nsecs / 1e9
	if nsecs%1e9 < 0 {
		over--
	}
	return secs + over, nsecs - over*1e9
}

// decodeRune decodes the first character of b as Python does: of what is not UTF-8,
// the bytes that begin a character together become one U+FFFD.
func decodeRune(b []byte) (rune, int) {
	r, n := utf8.DecodeRune(b)
	if r != utf8.RuneError || n != 1 {
		return r, n
	}
	want, low, high := 1, byte(0x80), byte(0xbf)
	switch first := b[0]; {
	case first >= 0xc2 && first <= 0xdf:
	case first >= 0xe0 && first <= 0xef:
		want = 2
		switch first {
		case 0xe0:
			low = 0xa0
		case 0xed:
			high = 0x9f
		}
	case first >= 0xf0 && first <= 0xf4:
		want = 3
		switch first {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	default:
		return utf8.RuneError, 1
	}
	for n = 1; n <= want && n < len(b) && b[n] >= low && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return utf8.RuneError, n
}

// appendValid writes b as Python decodes it.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := decodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}
