// Package bagnote has the notes and marks of bags. A note is a key and a value and tells of
// the bag as a whole; a mark is a line of text and tells of one moment in it.
//
// Notes are messages of type std_msgs/String on /metadata, with a line "key: value" for each
// note: the convention of rosbag_metadata and of bag-database. Marks are messages of that type
// on a topic of our own, and the time of the message is that of the mark.
package bagnote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The topics, and what a std_msgs/String is.
const (
	NotesTopic = "/metadata"
	MarksTopic = "/gorecord/marks"

	Type       = "std_msgs/String"
	MD5Sum     = "992ce8a1687cec8c8bd883ec73ca41d1"
	Definition = "string data\n"
)

// Limits of what is written.
const (
	MaxKeyBytes   = 128
	MaxValueBytes = 4 << 10
	MaxNotesBytes = 64 << 10 // all notes of a bag, as text
	MaxMarkBytes  = 1 << 10
)

// Note is a key and its value.
type Note struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// ParseNote reads key=value as the user writes it. White space around both is dropped.
func ParseNote(s string) (Note, error) {
	key, value, ok := strings.Cut(s, "=")
	n := Note{strings.TrimSpace(key), strings.TrimSpace(value)}
	if !ok {
		return Note{}, refuse(s, "write key=value")
	}
	return n, n.check()
}

// ParseNotes reads several notes. Of a key that comes more than once the last value counts.
func ParseNotes(list []string) ([]Note, error) {
	var notes []Note
	for _, s := range list {
		n, err := ParseNote(s)
		if err != nil {
			return nil, err
		}
		notes = Merge(notes, n)
	}
	return notes, Check(notes)
}

// NoteError says why a note cannot be written.
type NoteError struct {
	Note   string // its start, or its key
	Reason string
}

// Error implements error.
func (e *NoteError) Error() string { return fmt.Sprintf("note %q: %s", e.Note, e.Reason) }

func refuse(note, format string, args ...any) error {
	return &NoteError{clip(note), fmt.Sprintf(format, args...)}
}

// Check reports why notes cannot be written.
func Check(notes []Note) error {
	for _, n := range notes {
		if err := n.check(); err != nil {
			return err
		}
	}
	if n := len(Text(notes)); n > MaxNotesBytes {
		return fmt.Errorf("the notes take %d bytes, at most %d are written", n, MaxNotesBytes)
	}
	return nil
}

// check reports why a note cannot be a line of the text.
func (n Note) check() error {
	switch {
	case n.Key == "":
		return refuse("="+n.Value, "the key is missing")
	case strings.Contains(n.Key, ":"):
		return refuse(n.Key, "a key must not contain a colon")
	case n.Value == "":
		return refuse(n.Key, "the value is missing")
	case len(n.Key) > MaxKeyBytes:
		return refuse(n.Key, "the key has %d bytes, at most %d are written", len(n.Key), MaxKeyBytes)
	case len(n.Value) > MaxValueBytes:
		return refuse(n.Key, "the value has %d bytes, at most %d are written", len(n.Value), MaxValueBytes)
	case !oneLine(n.Key) || !oneLine(n.Value) || strings.TrimSpace(n.Key) != n.Key || strings.TrimSpace(n.Value) != n.Value:
		return refuse(n.Key, "key and value must be one line of printable UTF-8 text")
	}
	return nil
}

// oneLine reports whether s is printable and has no line break.
func oneLine(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// clip shortens what an error quotes.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return cut(s, most) + "..."
}

// Merge returns notes with more: a key that is there gets the new value in its place.
func Merge(notes []Note, more ...Note) []Note {
	out := slices.Clone(notes)
	for _, n := range more {
		if i := slices.IndexFunc(out, func(o Note) bool { return o.Key == n.Key }); i >= 0 {
			out[i].Value = n.Value
			continue
		}
		out = append(out, n)
	}
	return out
}

// Text returns the text of a message with notes.
func Text(notes []Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.Key + ": " + n.Value + "\n")
	}
	return b.String()
}

// maxLines bounds how many notes are read of one message.
const maxLines = 1000

// FromText reads the notes of a message, whoever wrote it, as bag-database does: each line up
// to the first colon is a key. Lines without one are left out. plain reports that the text has
// nothing but notes as Text writes them.
func FromText(text string) (notes []Note, plain bool) {
	plain = true
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		n := Note{strings.TrimSpace(key), strings.TrimSpace(value)}
		if !ok || n.Key == "" || len(notes) == maxLines {
			plain = false
			continue
		}
		if n.check() != nil || strings.TrimRightFunc(line, unicode.IsSpace) != n.Key+": "+n.Value {
			plain = false
		}
		notes = append(notes, n)
	}
	return notes, plain
}

// ErrMark says that a text cannot be that of a mark.
var ErrMark = errors.New("the text of a mark must be one line of printable UTF-8")

// CheckMark returns the text of a mark without white space around it. Its error matches
// ErrMark.
func CheckMark(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || !oneLine(text):
		return "", ErrMark
	case len(text) > MaxMarkBytes:
		return "", fmt.Errorf("%w, of %d bytes at most: it has %d", ErrMark, MaxMarkBytes, len(text))
	}
	return text, nil
}

// Encode returns the std_msgs/String with a text.
func Encode(text string) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	return append(b, text...)
}

// Decode returns the text of a std_msgs/String; false if data is none.
func Decode(data []byte) (text string, ok bool) {
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) != int64(len(data)-4) {
		return "", false
	}
	return string(data[4:]), true
}
