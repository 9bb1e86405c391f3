// Package pytext prints scalars as Python 3 and PyYAML do, so that our output is that of rostopic echo and
// rosbag info byte for byte.
//
// It is pure, and knows neither messages nor bags. Its callers are rosmsg and info.
package pytext

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendFloat appends a float64 as repr prints it: the shortest digits that read back as the same number,
// always with a dot or an exponent.
func AppendFloat(dst []byte, f float64) []byte {
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
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendBytes appends bytes as repr prints them.
func AppendBytes(dst, b []byte) []byte {
	const hex = "0123456789abcdef"
	quote := byte('\'')
	if bytes.IndexByte(b, '\'') >= 0 && bytes.IndexByte(b, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, 'b', quote)
	for _, c := range b {
		switch {
		case c == quote || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < 0x20 || c >= 0x7f:
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, quote)
}

// DecodeRune decodes the first character of b as bytes.decode does with errors="replace", and returns its
// length in bytes. Where b is not UTF-8, the longest beginning of a character becomes one U+FFFD.
func DecodeRune(b []byte) (rune, int) {
	r, n := utf8.DecodeRune(b)
	if r != utf8.RuneError || n != 1 {
		return r, n
	}
	// b[:n] begins a character as long as FullRune waits for more bytes.
	for n < len(b) && !utf8.FullRune(b[:n+1]) {
		n++
	}
	return utf8.RuneError, n
}

// AppendValid appends b as UTF-8, with U+FFFD for what is none: see DecodeRune.
func AppendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

// FieldName is how ROS's Python calls a field whose name Python reserves.
func FieldName(name string) string {
	switch name {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
		"def",
		"del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
		"lambda",
		"nonlocal", "not", "or", "pass", "raise", "return", "self", "try", "while", "with", "yield":
		return name + "_"
	}
	return name
}
