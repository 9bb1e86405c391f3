package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

var sides = [2]string{"A", "B"}

// WriteText writes the report for people: what has come out, the topics that differ, the
// first differences, notes, times.
func (r *Report) WriteText(w io.Writer) error {
	sections := []string{r.summary(), r.topicsText(), r.differencesText(), r.notesText(), r.timesText()}
	sections = slices.DeleteFunc(sections, func(text string) bool { return text == "" })
	_, err := io.WriteString(w, strings.Join(sections, "\n"))
	return err
}

// summary says what has come out, and of which bags.
func (r *Report) summary() string {
	text := r.verdict() + "\n"
	for s, bag := range []Bag{r.A, r.B} {
		text += fmt.Sprintf("%s: %s, %s on %s\n", sides[s], wording.Escape(bag.Path),
			wording.Plural(bag.Messages, "message"), wording.Plural(bag.Topics, "topic"))
	}
	return text
}

// verdict is the first line.
func (r *Report) verdict() string {
	if r.Same {
		text := "Same"
		if r.Times.Max > 0 || r.Times.Shift != 0 {
			text += " but for the times"
		}
		if !r.Complete {
			text += ", as far as the bags can be read"
		}
		return fmt.Sprintf("%s: %s on %s", text, wording.Plural(r.Compared, "message"),
			wording.Plural(len(r.Topics), "topic"))
	}
	var topics, headers, times uint64
	var sum Counts
	only := make(map[string]uint64)
	for _, t := range r.Topics {
		if !t.Differs {
			continue
		}
		topics++
		only[t.OnlyIn]++
		if len(t.Headers) > 0 {
			headers++
		}
		if t.spaced() {
			times++
		}
		sum.Add(t.Counts)
	}
	var l list
	l.add(only["A"], "topic", " only in A")
	l.add(only["B"], "topic", " only in B")
	l.add(headers, "topic", " with other connection headers")
	l.addMessages(sum)
	l.add(sum.OtherTimes, "message", " with another time")
	l.add(times, "topic", " with times too far off")
	return fmt.Sprintf("Different in %d of %s: %s", topics, wording.Plural(len(r.Topics), "topic"),
		strings.Join(l, ", "))
}

// spaced reports whether times are different by their spacing, so that no single messages are counted.
func (t Topic) spaced() bool { return t.MaxTime > 0 && t.OtherTimes == 0 }

// list is what is different, in words.
type list []string

func (l *list) add(n uint64, of, what string) {
	if n > 0 {
		*l = append(*l, wording.Plural(n, of)+what)
	}
}

func (l *list) addMessages(c Counts) {
	l.add(c.Changed, "message", " changed")
	l.add(c.OnlyA, "message", " only in A")
	l.add(c.OnlyB, "message", " only in B")
	l.add(c.Moved, "message", " in another place")
}

// topicsText is a table of the topics that differ.
func (r *Report) topicsText() string {
	rows := [][]string{{"topic", "A", "B", "difference"}}
	for _, t := range r.Topics {
		if !t.Differs {
			continue
		}
		var texts []string
		if t.OnlyIn != "" {
			texts = append(texts, "topic only in "+t.OnlyIn)
		}
		for _, h := range t.Headers {
			texts = append(texts, h.text())
		}
		if text := t.text(); text != "" {
			texts = append(texts, text)
		}
		cells := []string{wording.Escape(t.Name), fmt.Sprint(t.MessagesA), fmt.Sprint(t.MessagesB)}
		for _, text := range texts {
			rows = append(rows, append(cells, text))
			cells = make([]string, 3)
		}
	}
	if len(rows) == 1 {
		return ""
	}
	var width [3]int
	for _, cells := range rows {
		for i := range width {
			width[i] = max(width[i], utf8.RuneCountInString(cells[i]))
		}
	}
	var b strings.Builder
	for _, c := range rows {
		fmt.Fprintf(&b, "%-*s  %*s  %*s  %s\n", width[0], c[0], width[1], c[1], width[2], c[2], c[3])
	}
	return b.String()
}

func (h Header) text() string {
	field := wording.Escape(h.Field)
	text := fmt.Sprintf("%s: %s -> %s", field, shown(h.A), shown(h.B))
	switch h.OnlyIn {
	case "A":
		text = fmt.Sprintf("only A has a connection with %s %s, not %s", field, shown(h.A), shown(h.B))
	case "B":
		text = fmt.Sprintf("only B has a connection with %s %s, not %s", field, shown(h.B), shown(h.A))
	}
	if h.Publisher != "" {
		text = wording.Escape(h.Publisher) + ": " + text
	}
	return text
}

// shown prints the value of a header field.
func shown(s string) string {
	if s == "" {
		return `""`
	}
	return wording.Escape(Shortened(s))
}

func (t Topic) text() string {
	var l list
	l.addMessages(t.Counts)
	l.add(t.OtherTimes, "message", fmt.Sprintf(" with another time, up to %s off", rounded(t.MaxTime)))
	if t.spaced() {
		l = append(l, fmt.Sprintf("times up to %s off", rounded(t.MaxTime)))
	}
	return strings.Join(l, ", ")
}

// differencesText says in what messages differ.
func (r *Report) differencesText() string {
	var b strings.Builder
	for _, d := range r.Differences {
		b.WriteString(wording.Escape(d.Topic))
		if d.Publisher != "" {
			b.WriteString(" of " + wording.Escape(d.Publisher))
		}
		b.WriteString(", " + d.text() + "\n")
		if d.Note != "" {
			b.WriteString("    " + wording.Escape(d.Note) + "\n")
		}
		for _, f := range d.Fields {
			fmt.Fprintf(&b, "    %s: %s -> %s", wording.Escape(f.Path), wording.Escape(f.A),
				wording.Escape(f.B))
			if f.Note != "" {
				b.WriteString(" (" + f.Note + ")")
			}
			b.WriteString("\n")
		}
		if d.More > 0 {
			fmt.Fprintf(&b, "    %s more\n", wording.Plural(d.More, "field"))
		}
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "%s not shown\n", wording.Plural(r.More, "difference"))
	}
	return b.String()
}

func (d Difference) text() string {
	switch d.Kind {
	case KindOnlyA, KindOnlyB:
		text := fmt.Sprintf("message %d at %s: %s", d.At().Number, d.At().Time, d.Kind)
		if d.Repeats {
			text += ", where it repeats the message before it"
		}
		return text
	case KindMoved:
		return fmt.Sprintf("message %d at %s: is message %d in B, at %s", d.A.Number, d.A.Time, d.B.Number,
			d.B.Time)
	case KindTime:
		return fmt.Sprintf("message %s at %s: has the time %s in B", numbers(d), d.A.Time, d.B.Time)
	case KindChanged:
	}
	return fmt.Sprintf("message %s at %s: changed", numbers(d), d.A.Time)
}

// numbers names a pair of messages.
func numbers(d Difference) string {
	if d.A.Number == d.B.Number {
		return fmt.Sprint(d.A.Number)
	}
	return fmt.Sprintf("%d (%d in B)", d.A.Number, d.B.Number)
}

// notesText says how topics were compared, if not as others.
func (r *Report) notesText() string {
	var b strings.Builder
	for _, t := range r.Topics {
		for _, n := range t.Notes {
			fmt.Fprintf(&b, "%s: %s\n", wording.Escape(t.Name), wording.Escape(n))
		}
	}
	for s, bag := range []Bag{r.A, r.B} {
		if len(bag.Damage) > 0 {
			fmt.Fprintf(&b, "%s is damaged: gobag check says how\n", sides[s])
		}
	}
	return b.String()
}

// timesText says how far times differ.
func (r *Report) timesText() string {
	t := r.Times
	switch {
	case r.Compared == 0:
		return ""
	case t.Max == 0 && t.Shift == 0:
		return "Times: the same\n"
	}
	text := "Times: "
	switch {
	case t.Shift > 0:
		text += fmt.Sprintf("B is %s later; around that ", rounded(t.Shift))
	case t.Shift < 0:
		text += fmt.Sprintf("B is %s earlier; around that ", rounded(-t.Shift))
	}
	text += fmt.Sprintf("50 %% of the messages are within %s, 99 %% within %s, all within %s", rounded(t.P50),
		rounded(t.P99), rounded(t.Max))
	if f := t.Furthest; f != nil {
		text += fmt.Sprintf(" (%s, message %d at %s)", wording.Escape(f.Topic), f.Number, f.Time)
	}
	if t.Sampled {
		text += "; percentiles are those of a sample"
	}
	if !t.Count {
		text += ". That is no difference without --times or --spacing"
	}
	return text + "\n"
}

// rounded prints a duration with three or four digits.
func rounded(s Seconds) string {
	d := time.Duration(s)
	for unit := time.Nanosecond; unit <= time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
	if days := d / (24 * time.Hour); days > 1 {
		return fmt.Sprintf("%dd%s", days, (d % (24 * time.Hour)).Round(time.Second))
	}
	return d.Round(time.Second).String()
}

// MaxText is how much of a string is shown.
const MaxText = 60

// Shortened cuts a string to MaxText bytes.
func Shortened(s string) string {
	if len(s) <= MaxText {
		return s
	}
	n := MaxText
	for n > MaxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
