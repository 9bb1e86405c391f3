// This file makes texts of bags fit for a terminal: bags are untrusted.

package wording

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape escapes what could control a terminal.
func Escape(s string) string {
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

// EscapeLine makes one line of a text: what could control a terminal is escaped, and the lines of
// joined errors are divided by semicolons.
func EscapeLine(s string) string { return Escape(strings.ReplaceAll(s, "\n", "; ")) }

// EscapeJSON escapes, in a JSON document, what JSON allows but what could control a terminal: DEL, C1
// and what changes the direction of the text.
func EscapeJSON(text string) []byte {
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

// WriteEscapedJSON writes a value as one line of JSON, escaped as by JSON.
func WriteEscapedJSON(w io.Writer, v any) error {
	var line strings.Builder
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // the line is read by people, too
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(line.String()))
	return err
}
