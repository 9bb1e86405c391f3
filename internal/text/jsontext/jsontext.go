// Package jsontext writes the strings and floats of messages as JSON for people and programs: what is not
// printable is escaped, and floats have the digits of Python.
//
// It is pure, and knows neither messages nor bags. Its callers are rosmsg and what prints topics beside
// messages.
package jsontext

import (
	"math"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/text/pytext"
)

// AppendFloat appends a float64 with the digits that identify it. NaN and the infinities, which JSON
// lacks, are the strings "NaN", "Infinity" and "-Infinity".
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return pytext.AppendFloat(dst, f)
}

const hexDigits = "0123456789abcdef"

// AppendString writes a string without what is not printable, also where JSON allows
// it: a terminal would obey control characters, and those that change the direction of text.
// Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst, b []byte) []byte {
	dst = append(dst, '"')
	for {
		n := pytext.PlainASCII(b)
		dst = append(dst, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return append(dst, '"')
		}
		r, n := pytext.DecodeRune(b)
		b = b[n:]
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		default:
			for _, u := range utf16.AppendRune(nil, r) {
				dst = append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15],
					hexDigits[u&15])
			}
		}
	}
}
