// Package escape makes texts of bags fit for a terminal: bags are untrusted.
package escape

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text escapes what could control a terminal.
func Text(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1: // no UTF-8: 0x9b alone begins a control sequence
			fmt.Fprintf(&b, "\\x%02x", s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\x%02x", r)
		}
		s = s[n:]
	}
	return b.String()
}

// Line makes one line of a text: what could control a terminal is escaped, and the lines of
// joined errors are divided by semicolons.
func Line(s string) string { return Text(strings.ReplaceAll(s, "\n", "; ")) }

// JSON escapes, in a JSON document, what JSON allows but what could control a terminal: DEL, C1
// and what changes the direction of the text.
func JSON(text string) []byte {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r == '\n' || unicode.IsPrint(r) {
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, "\\u%04x", u)
		}
	}
	return b
}

// WriteJSON writes a value as one line of JSON, escaped as by JSON.
func WriteJSON(w io.Writer, v any) error {
	var line strings.Builder
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // the line is read by people, too
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(JSON(line.String()))
	return err
}
