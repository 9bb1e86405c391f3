// Package preflight is the table that one wants to see before pressing start: what was heard of each
// topic, what is expected of it, and what is ready beside the topics. The package is pure: the caller has
// listened.
package preflight

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Heard is what was heard.
type Heard struct {
	Before, After control.Stats // at the beginning, once links are there, and at the end
	Expect        []finding.Expectation
	Named         []string // topics that are asked for by name
	Simulated     bool     // stamps follow a clock of the graph, and are not judged
	Facts         []Fact
}

// Fact is the state of something beside the topics.
type Fact struct {
	What, Text string
	Bad        bool
}

// row is a line of the table.
type row struct {
	topic, expected, measured, stamps, verdict string
	bad                                        bool
}

// Write writes the table, what is bad first, and reports whether nothing is bad.
func (h *Heard) Write(w io.Writer) (good bool, err error) {
	rows := h.rows()
	slices.SortStableFunc(rows,
		func(a, b row) int { return cmp.Compare(word(a.bad, "", "x"), word(b.bad, "", "x")) })
	good = true
	cells := [][]string{{"topic", "expected", "measured", "stamps", "verdict"}}
	for _, r := range rows {
		good = good && !r.bad
		cells = append(cells,
			[]string{
				termtext.Plain(r.topic), r.expected, r.measured, r.stamps,
				word(r.bad, "! ", "") + r.verdict,
			})
	}
	text := table(cells) + "\n"
	cells = nil
	for _, f := range h.Facts {
		good = good && !f.Bad
		cells = append(cells, []string{f.What + ":", word(f.Bad, "! ", "") + termtext.Plain(f.Text)})
	}
	text += table(cells) + "\n" + word(good, "ready", "not ready: see the lines with !") + "\n"
	_, err = io.WriteString(w, text)
	return good, err
}

func word(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// table writes rows in columns, without blanks at the end of lines.
func table(rows [][]string) string {
	var width []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], termtext.Width(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			line += cell + strings.Repeat(" ", width[i]-termtext.Width(cell)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// rows judges each topic, and each expectation and name that no topic has met.
func (h *Heard) rows() (rows []row) {
	before := map[string]*control.TopicStats{}
	for i := range h.Before.Topics {
		before[h.Before.Topics[i].Topic] = &h.Before.Topics[i]
	}
	passed := h.After.Taken.Sub(h.Before.Taken).Seconds()
	for i := range h.After.Topics {
		t := &h.After.Topics[i]
		came := t.Came
		if b := before[t.Topic]; b != nil {
			came -= b.Came
		}
		rows = append(rows, h.judge(t, float64(came)/max(passed, 1e-3)))
	}
	for i := range h.Expect {
		e := &h.Expect[i]
		if !slices.ContainsFunc(h.After.Topics,
			func(t control.TopicStats) bool { return e.Matches(t.Topic) }) {
			rows = append(rows,
				row{topic: e.Topics, expected: e.Range.String(), verdict: "no such topic", bad: true})
		}
	}
	return rows
}

// judge judges a topic with a rate.
func (h *Heard) judge(t *control.TopicStats, hz float64) row {
	r := row{topic: t.Topic, measured: finding.Hz(hz) + " Hz", stamps: h.stamps(t), verdict: "ok"}
	want, isExpected := finding.Expected(h.Expect, t.Topic)
	if isExpected {
		r.expected = want.String()
	}
	var wrong []string
	for i := range h.After.Findings {
		if f := &h.After.Findings[i]; f.Topic == t.Topic && !f.Expected {
			wrong = append(wrong, f.Brief())
		}
	}
	switch isWanted := isExpected || slices.Contains(h.Named, t.Topic); {
	case len(wrong) > 0:
		r.verdict, r.bad = strings.Join(wrong, ", "), true
	case t.Came == 0 && t.Publishers == 0:
		r.verdict, r.bad = "no publisher", isWanted
	case t.Came == 0:
		r.verdict, r.bad = "no message", isExpected
	case isExpected && want.Wrong(hz) != "":
		r.verdict, r.bad = want.Wrong(hz), true
	case t.Latching:
		r.verdict = "ok, latched"
	}
	if t.Came == 0 {
		r.measured = "-"
	}
	return r
}

// stamps says how far stamps are from their arrival.
func (h *Heard) stamps(t *control.TopicStats) string {
	off := t.Stamped.Sub(t.Stamp)
	switch {
	case t.Stamp.IsZero() || t.Latching:
		return "-"
	case h.Simulated:
		return "simulated"
	case off.Abs() < time.Millisecond:
		return "0 ms"
	case off < 0:
		return finding.About(-off) + " ahead"
	}
	return finding.About(off) + " behind"
}
