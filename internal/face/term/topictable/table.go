// Package topictable draws the table of topics on the screens, with the rates of the topics and
// their curves of the last minute. The package is pure.
package topictable

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
)

// Column is a column before the names of the rows. Screens narrower than Needs leave the column out.
type Column[R any] struct {
	Head  string
	Width int
	Needs int
	Cell  func(*R) string
	Alarm func(*R) bool // the cell is marked as a problem; nil means never
}

// Table is a table of topics with rows of type R. The fields are set once.
type Table[R any] struct {
	Columns []Column[R]
	Name    func(p termtext.Pen, r *R, left int) string // at most left columns wide
	Idle    func(*R) bool                               // the row is dimmed

	// The last line sums up the rows without room.
	Load func(*R) (hz, bytes float64, lost uint64)
	Lost string // what lost messages are called
}

// Lines returns the table in at most most lines, with the first rows if not all fit.
func (g *Table[R]) Lines(p termtext.Pen, rows []R, w, most int) []string {
	switch {
	case len(rows) == 0 && most > 0:
		return []string{p.Write(p.Clip("no topics yet", w), termtext.Dim)}
	case most < 2 || most < 3 && len(rows) > 1:
		return nil
	}
	shown := rows
	if len(rows) > most-1 {
		shown = rows[:most-2]
	}
	lines := []string{g.heads(p, w)}
	for i := range shown {
		lines = append(lines, g.line(p, &shown[i], w))
	}
	if rest := rows[len(shown):]; len(rest) > 0 {
		lines = append(lines, strings.Join(p.Flow(g.others(rest), w, 1), ""))
	}
	return lines
}

func (g *Table[R]) heads(p termtext.Pen, w int) string {
	b := strings.Builder{}
	for _, c := range g.Columns {
		if w >= c.Needs {
			b.WriteString(termtext.Right(c.Head, c.Width))
		}
	}
	return p.Write(termtext.Head(b.String()+"  topic", w), termtext.Dim)
}

func (g *Table[R]) line(p termtext.Pen, r *R, w int) string {
	b := strings.Builder{}
	left := w
	as := termtext.Normal
	if g.Idle(r) {
		as = termtext.Dim
	}
	for _, c := range g.Columns {
		if w < c.Needs {
			continue
		}
		cell, look := c.Cell(r), as
		if c.Alarm != nil && c.Alarm(r) {
			cell, look = termtext.Sign+cell, termtext.Red
		}
		text := termtext.Right(cell, c.Width)
		b.WriteString(p.Write(text, look))
		left -= termtext.Width(text)
	}
	return b.String() + p.Write(termtext.Head("  "+g.Name(p, r, left-2), left), as)
}

// Heavier compares the bytes of two topics, rounded to powers of two: topics of similar size must
// not swap rows all the time.
func Heavier(a, b uint64) int { return cmp.Compare(bits.Len64(b), bits.Len64(a)) }

// others sums up the rows without room.
func (g *Table[R]) others(rest []R) []termtext.Part {
	var hz, bytes float64
	var lost uint64
	for i := range rest {
		h, b, n := g.Load(&rest[i])
		hz, bytes, lost = hz+h, bytes+b, lost+n
	}
	parts := termtext.Normal.Parts(fmt.Sprintf("and %d more", len(rest)), termtext.Short(hz)+" Hz",
		termtext.PerSecond(bytes))
	if lost > 0 {
		parts = slices.Insert(parts, 1, termtext.Problem(termtext.Count(lost)+" "+g.Lost))
	}
	return parts
}

// TopicName returns a topic with its type, if both fit.
func TopicName(p termtext.Pen, topic, kind string, left int) string {
	name := termtext.Plain(topic)
	if both := name + " : " + termtext.Plain(kind); kind != "" && termtext.Width(both) <= left {
		return both
	}
	return p.Clip(name, left)
}
