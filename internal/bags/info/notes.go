package info

import (
	"fmt"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// maxShown is the most notes, and the most marks, that the text shows.
const maxShown = 100

// noteText returns the part of the text about repeated messages, notes and marks; empty if there are none.
func (i *Info) noteText() string {
	var text strings.Builder
	var rows [][]string
	if n := i.Repeated.Count; n > 0 {
		table(&text, "repeated:",
			[][]string{{wording.Plural(n, "repeated latched message") + " at the beginning"}})
	}
	for n, note := range i.Notes {
		if n == maxShown {
			rows = append(rows, []string{more(uint64(len(i.Notes) - n))})
			break
		}
		rows = append(rows, []string{wording.Escape(note.Key) + ": " + wording.Escape(note.Value)})
	}
	table(&text, "notes:", rows)
	rows = nil
	for n, m := range i.Marks {
		if n == maxShown {
			rows = append(rows, []string{more(uint64(len(i.Marks)-n) + i.More)})
			break
		}
		rows = append(rows,
			[]string{fmt.Sprintf("+%.2fs", m.Time.Sub(i.Start).Seconds()), wording.Escape(m.Text)})
	}
	table(&text, "marks:", rows)
	return text.String()
}

func more(n uint64) string { return fmt.Sprintf("and %d more; --json shows them", n) }

// notePairs returns the part of the YAML about repeated messages, notes and marks; nil if there are none.
func (i *Info) notePairs() []pair {
	var list []pair
	if i.Repeated.Count > 0 {
		list = append(list,
			pair{key: "repeated_count", value: fmt.Sprint(i.Repeated.Count)},
			pair{key: "repeated_time", value: fmt.Sprintf("%.6f", seconds(i.Repeated.Time))})
	}
	if len(i.Notes) > 0 {
		p := pair{key: "notes"}
		for _, n := range i.Notes {
			p.items = append(p.items,
				[]pair{
					{key: "key", value: n.Key, from: quoted},
					{key: "value", value: n.Value, from: quoted},
				})
		}
		list = append(list, p)
	}
	if len(i.Marks) > 0 {
		p := pair{key: "marks"}
		for _, m := range i.Marks {
			p.items = append(p.items,
				[]pair{
					{key: "time", value: fmt.Sprintf("%.6f", seconds(m.Time))},
					{key: "text", value: m.Text, from: quoted},
				})
		}
		list = append(list, p)
	}
	return list
}
