// Package note reads and writes the notes and marks of bags. A note is a key with a value and describes
// the whole bag; a mark is a line of text and describes one moment of it.
//
// Notes are messages of type std_msgs/String on the topic /metadata, with a line "key: value" for each
// note. That is the convention of rosbag_metadata and of bag-database. Marks are messages of the same type on
// the topic /gorecord/marks; the time of the message is the time of the mark.
//
// Decisions: ADR 0057, 0084.
package note

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The topics, and the type of their messages.
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

// ParseNote parses key=value as users write it, and drops white space around the key and the value.
func ParseNote(s string) (Note, error) {
	key, value, ok := strings.Cut(s, "=")
	n := Note{strings.TrimSpace(key), strings.TrimSpace(value)}
	if !ok {
		return Note{}, refuse(s, "write key=value")
	}
	return n, n.check()
}

// ParseNotes parses several notes. If a key comes more than once, its last value counts.
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

// Error says why a note cannot be written.
type Error struct {
	Note   string // the key, or the beginning of what the user wrote
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("note %q: %s", e.Note, e.Reason) }

func refuse(note, format string, args ...any) error {
	return &Error{clip(note), fmt.Sprintf(format, args...)}
}

// Check returns an error if notes cannot be written to one bag.
func Check(notes []Note) error {
	for _, n := range notes {
		if err := n.check(); err != nil {
			return err
		}
	}
	if n := len(Text(notes)); n > MaxNotesBytes {
		return fmt.Errorf("the notes have %d bytes; at most %d are allowed", n, MaxNotesBytes)
	}
	return nil
}

// check returns an error if n cannot be a line of the text.
func (n Note) check() error {
	switch {
	case n.Key == "":
		return refuse("="+n.Value, "the key is missing")
	case strings.Contains(n.Key, ":"):
		return refuse(n.Key, "a key must not contain a colon")
	case n.Value == "":
		return refuse(n.Key, "the value is missing")
	case len(n.Key) > MaxKeyBytes:
		return refuse(n.Key, "the key has %d bytes; at most %d are allowed", len(n.Key), MaxKeyBytes)
	case len(n.Value) > MaxValueBytes:
		return refuse(n.Key, "the value has %d bytes; at most %d are allowed", len(n.Value), MaxValueBytes)
	case !oneLine(n.Key) || !oneLine(n.Value) || strings.TrimSpace(n.Key) != n.Key ||
		strings.TrimSpace(n.Value) != n.Value:
		return refuse(n.Key, "key and value must be one line of printable UTF-8 text")
	}
	return nil
}

// oneLine reports whether s is UTF-8 of printable characters only, without line breaks.
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

// Merge returns notes with more appended. Where notes has a key of more, the value is replaced.
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

// maxLines is how many notes of one message are read at most.
const maxLines = 1000

// FromText returns the notes in the text of a message of any program, as bag-database does: in each line, the
// key ends at the first colon. Lines without a colon are left out. plain is true if the text is what Text
// returns for the notes, but for blank lines.
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

// ErrMark says that a text is not allowed for a mark.
var ErrMark = errors.New("the text of a mark must be one line of printable UTF-8")

// CheckMark returns text without white space around it, or an error that matches ErrMark if it is not allowed
// for a mark.
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

// Encode returns text as a serialized std_msgs/String.
func Encode(text string) []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	return append(b, text...)
}

// Decode returns the text of a serialized std_msgs/String; ok is false if data is none.
func Decode(data []byte) (text string, ok bool) {
	if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) != int64(len(data)-4) {
		return "", false
	}
	return string(data[4:]), true
}
