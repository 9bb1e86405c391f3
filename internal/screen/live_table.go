package screen

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// column stands before the name of a row, on screens that have the width it needs.
type column[R any] struct {
	head  string
	width int
	needs int
	cell  func(*R) string
	alarm func(*R) bool // the cell is marked as a problem; nil means never
}

// grid is a table of topics.
type grid[R any] struct {
	columns []column[R]
	name    func(p pen, r *R, left int) string // at most left columns wide
	idle    func(*R) bool                      // the row is dimmed
	more    func(rest []R) []part              // summarizes the rows without room
}

// lines returns the table in at most most lines, with the first rows if not all fit.
func (g *grid[R]) lines(p pen, rows []R, w, most int) []string {
	switch {
	case len(rows) == 0 && most > 0:
		return []string{p.write(p.clip("no topics yet", w), dim)}
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
		lines = append(lines, strings.Join(p.flow(g.more(rest), w, 1), ""))
	}
	return lines
}

func (g *grid[R]) heads(p pen, w int) string {
	b := strings.Builder{}
	for _, c := range g.columns {
		if w >= c.needs {
			b.WriteString(right(c.head, c.width))
		}
	}
	return p.write(head(b.String()+"  topic", w), dim)
}

func (g *grid[R]) line(p pen, r *R, w int) string {
	b := strings.Builder{}
	left := w
	as := plain
	if g.idle(r) {
		as = dim
	}
	for _, c := range g.columns {
		if w < c.needs {
			continue
		}
		cell, look := c.cell(r), as
		if c.alarm != nil && c.alarm(r) {
			cell, look = mark+cell, red
		}
		text := right(cell, c.width)
		b.WriteString(p.write(text, look))
		left -= width(text)
	}
	return b.String() + p.write(head("  "+g.name(p, r, left-2), left), as)
}

// heavier compares the bytes of two topics, rounded to powers of two: topics of similar size must
// not swap rows all the time.
func heavier(a, b uint64) int { return cmp.Compare(bits.Len64(b), bits.Len64(a)) }

// others summarizes topics without room; lost is the label for lost messages.
func others(topics int, hz, bytes float64, n uint64, lost string) []part {
	parts := []part{plain.part(fmt.Sprintf("and %d more", topics)), plain.part(short(hz) + " Hz"), plain.part(perSecond(bytes))}
	if n > 0 {
		parts = slices.Insert(parts, 1, problem(count(n)+" "+lost))
	}
	return parts
}

// topicName returns a topic with its type, if both fit.
func topicName(p pen, topic, kind string, left int) string {
	name := Plain(topic)
	if both := name + " : " + Plain(kind); kind != "" && width(both) <= left {
		return both
	}
	return p.clip(name, left)
}
