package note

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/rosbag"
)

// Mark is a line of text about a moment of a bag.
type Mark struct {
	Time rosbag.Time
	Text string
}

// Limits of what is read of a bag. Any node may publish on the topics.
const (
	MaxMarks      = 10_000
	maxNoteTexts  = 1000    // messages with notes that are all read
	maxTextBytes  = 1 << 20 // of a message; longer ones are left out
	maxNotesTotal = 10_000  // notes with different keys
	maxNotesBytes = 4 * MaxNotesBytes
)

// Found is what Read returns.
type Found struct {
	Notes []Note // each with its latest value, in the order in which the keys appeared
	Marks []Mark // by time, MaxMarks at most
	More  uint64 // the number of marks that are not in Marks
}

// Read reads the notes and marks of a bag. If the bag has none, only its index is read. damaged is called for
// what cannot be read; an error that it returns ends the reading.
func Read(s rosbag.Source, damaged func(error) error) (Found, error) {
	var f Found
	notes, err := ReadNotes(s, damaged)
	if err != nil {
		return f, err
	}
	f.Notes = notes
	f.Marks, f.More, err = ReadMarks(s, damaged)
	return f, err
}

// ReadNotes reads the notes of a bag, as Read does.
func ReadNotes(s rosbag.Source, damaged func(error) error) ([]Note, error) {
	t := textsOn(s, NotesTopic)
	c := collector{at: map[string]int{}}
	var err error
	// whoever publishes so often repeats: the latest messages have all
	if latest, ok := s.(rosbag.Latest); ok && t.messages > maxNoteTexts {
		err = t.latest(latest, c.add, damaged)
	} else {
		err = t.each(func(m *rosbag.Message) bool {
			c.add(m)
			return true
		}, damaged)
	}
	return c.notes, err
}

// collector collects the notes of messages.
type collector struct {
	notes []Note
	bytes int            // of all keys and values
	at    map[string]int // index in notes, by key
}

func (c *collector) add(m *rosbag.Message) {
	text, ok := textOf(m)
	if !ok {
		return
	}
	notes, _ := FromText(text)
	for _, n := range notes {
		n = Note{cut(n.Key, MaxKeyBytes), cut(n.Value, MaxValueBytes)}
		i, known := c.at[n.Key]
		grows := len(n.Key) + len(n.Value)
		if known {
			grows = len(n.Value) - len(c.notes[i].Value)
		}
		if c.bytes+grows > maxNotesBytes || !known && len(c.notes) == maxNotesTotal {
			continue
		}
		c.bytes += grows
		if known {
			c.notes[i] = n
			continue
		}
		c.at[n.Key] = len(c.notes)
		c.notes = append(c.notes, n)
	}
}

// ReadMarks returns the marks of a bag by time, MaxMarks at most, and the number of the others.
func ReadMarks(s rosbag.Source, damaged func(error) error) (marks []Mark, more uint64, err error) {
	return FirstMarks(s, MaxMarks, damaged)
}

// FirstMarks is ReadMarks of most marks.
func FirstMarks(s rosbag.Source, most int, damaged func(error) error) (marks []Mark, more uint64, err error) {
	t := textsOn(s, MarksTopic)
	seen := uint64(0)
	err = t.each(func(m *rosbag.Message) bool {
		seen++
		if text, ok := textOf(m); ok {
			marks = append(marks, Mark{m.Time, cut(text, MaxMarkBytes)})
		}
		return len(marks) < most
	}, damaged)
	if len(marks) == most && t.messages > seen { // an index may count less than there is
		more = t.messages - seen
	}
	return marks, more, err
}

// Find returns the index of the first mark with exactly this text or, if there is none, of the first mark
// whose text begins with it.
func Find(marks []Mark, text string) (int, bool) {
	i := slices.IndexFunc(marks, func(m Mark) bool { return m.Text == text })
	if i < 0 && text != "" {
		i = slices.IndexFunc(marks, func(m Mark) bool { return strings.HasPrefix(m.Text, text) })
	}
	return i, i >= 0
}

// Lookup returns the mark that Find finds, or an error that names the marks that there are.
func Lookup(marks []Mark, text string) (Mark, error) {
	if i, ok := Find(marks, text); ok {
		return marks[i], nil
	}
	if len(marks) == 0 {
		return Mark{}, errors.New("there are no marks in the bag")
	}
	const most = 10
	var names []string
	for _, m := range marks[:min(len(marks), most)] {
		names = append(names, strconv.Quote(clip(m.Text)))
	}
	if len(marks) > most {
		names = append(names, "...")
	}
	return Mark{}, fmt.Errorf("no mark begins with %q; there are %s", clip(text), strings.Join(names, ", "))
}

// texts reads the messages of type std_msgs/String on one topic.
type texts struct {
	source   rosbag.Source
	conns    map[*rosbag.Connection]bool // a map, because any node may publish there: there may be thousands
	messages uint64                      // as the index counts them
}

func textsOn(s rosbag.Source, topic string) texts {
	t := texts{source: s, conns: map[*rosbag.Connection]bool{}}
	for _, c := range s.Connections() {
		if c.Topic == topic && c.Header.Type() == Type {
			t.conns[c] = true
		}
	}
	if len(t.conns) == 0 {
		return t
	}
	for c, n := range rosbag.Counts(s) {
		if t.conns[c] {
			t.messages += n
		}
	}
	return t
}

// each calls take for each message, by time, until take returns false.
func (t *texts) each(take func(*rosbag.Message) bool, damaged func(error) error) error {
	if t.messages == 0 {
		return nil
	}
	for m, err := range rosbag.Messages(t.source,
		rosbag.Query{Keep: func(c *rosbag.Connection) bool { return t.conns[c] }}) {
		if err == nil {
			if !take(m) {
				return nil
			}
		} else if err = damaged(err); err != nil {
			return err
		}
	}
	return nil
}

// latest calls take for the last message of each connection, by time.
func (t *texts) latest(s rosbag.Latest, take func(*rosbag.Message), damaged func(error) error) error {
	var all []*rosbag.Message
	for _, last := range s.Latest(t.source.Info().End,
		func(c *rosbag.Connection) bool { return t.conns[c] }) {
		if last.Err != nil {
			if err := damaged(last.Err); err != nil {
				return err
			}
		}
		if last.Message != nil {
			all = append(all, last.Message)
		}
	}
	slices.SortStableFunc(all, func(a, b *rosbag.Message) int { return a.Time.Compare(b.Time) })
	for _, m := range all {
		take(m)
	}
	return nil
}

// cut returns a copy of at most the first most bytes of s.
func cut(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return strings.Clone(s)
}

// textOf returns the text of m; ok is false if m is too long, or no std_msgs/String.
func textOf(m *rosbag.Message) (text string, ok bool) {
	if len(m.Data()) > maxTextBytes {
		return "", false
	}
	return Decode(m.Data())
}
