package fix

import (
	"fmt"
	"io"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/migration"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Refusals says why messages of an item are not converted, and which options allow it.
func (i *Item) Refusals() []string {
	if i.State != Refused {
		return nil
	}
	if i.Reason != "" {
		return []string{fmt.Sprintf("%s: %s", i.From.Type, i.Reason)}
	}
	var all []string
	for _, c := range i.Plan.Refused() {
		s := fmt.Sprintf("%v: %s", c, c.Refused)
		if c.Advice != "" {
			s += ": " + c.Advice
		}
		all = append(all, s)
	}
	return all
}

// maxTopics is how many topics a line names.
const maxTopics = 3

// heading says what becomes of messages.
func (i *Item) heading() string {
	topics := strings.Join(i.Topics[:min(len(i.Topics), maxTopics)], ", ")
	if more := len(i.Topics) - maxTopics; more > 0 {
		topics += fmt.Sprintf(" and %d more", more)
	}
	what := fmt.Sprintf("%s (%s, %s)", i.From.Type, topics, wording.Plural(i.messages, "message"))
	if i.messages == 0 {
		what = fmt.Sprintf("%s (%s, no messages in the index)", i.From.Type, topics)
	}
	switch i.State {
	case AsWanted:
		return what + ": as wanted"
	case Unknown:
		return what + ": stays, because nothing else is wanted"
	case TextOnly:
		switch {
		case i.Fault != "":
			return what + ": the messages stay, and their definition is repaired: " + i.Fault
		case i.From.MD5Sum == i.To.MD5Sum && i.From.Type == i.To.Type:
			return what + ": the messages stay, and get the text of the wanted definition"
		}
		return fmt.Sprintf("%s: the messages stay; md5sum %s becomes %s", what, i.From.MD5Sum, i.To.MD5Sum)
	case Refused:
		return what + ": cannot be converted"
	case Converted:
	}
	s := fmt.Sprintf("%s: converted, md5sum %s becomes %s", what, i.From.MD5Sum, i.To.MD5Sum)
	if i.Fault != "" {
		s += "; " + i.Fault
	}
	return s
}

// loss says what is lost by a change.
func loss(c migration.Change) string {
	switch c.Loss {
	case migration.Lost:
		return " (lost)"
	case migration.Rounded:
		return " (each value is checked, and may be rounded)"
	case migration.Perhaps:
		return " (each value is checked)"
	case migration.Nothing:
	}
	return ""
}

// Print writes what becomes of all messages: one line for each definition, and one below it for each
// change. lossy says that messages are missing, and that it was reported.
func (p *Planner) Print(w io.Writer, lossy bool) error {
	var b strings.Builder
	for _, i := range p.list {
		if i.unused() {
			continue
		}
		b.WriteString(wording.EscapeLine(i.heading()) + "\n")
		if i.Plan != nil {
			for _, c := range i.Plan.Changes {
				line := fmt.Sprintf("  %v", c)
				if c.Refused == "" {
					line += loss(c)
				}
				b.WriteString(wording.EscapeLine(line) + "\n")
			}
		}
		for _, r := range i.Refusals() {
			b.WriteString(wording.EscapeLine("  refused: "+r) + "\n")
		}
		if n := i.Rounded(); n > 0 {
			fmt.Fprintf(&b, "  %s rounded\n", wording.Plural(n, "value"))
		}
	}
	b.WriteString(p.verdict(lossy) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// unused reports whether an item is of a connection that only recovery has found, and that would have
// been refused if it had a message.
func (i *Item) unused() bool { return i.State == Refused && i.messages == 0 }

// verdict says in one line what the whole comes to.
func (p *Planner) verdict(lossy bool) string {
	missing := ""
	if lossy {
		missing = "; messages are missing, as reported"
	}
	n := p.Count()
	worst := migration.Nothing
	for _, i := range p.list {
		if i.Plan != nil && i.State == Converted {
			worst = max(worst, i.Plan.Loss())
		}
	}
	switch {
	case n[Refused] > 0:
		return fmt.Sprintf("%s cannot be converted: nothing is written",
			wording.Plural(n[Refused], "definition"))
	case n[Converted]+n[TextOnly] == 0:
		return "nothing to do" + missing
	case worst == migration.Lost:
		return "values are lost, as asked" + missing
	case worst == migration.Rounded:
		return "values may be rounded, as asked" + missing
	case lossy:
		return "the conversion loses nothing" + missing
	}
	return "nothing is lost"
}

// Count returns how many definitions of messages are in each state.
func (p *Planner) Count() map[State]int {
	n := make(map[State]int)
	for _, i := range p.list {
		if !i.unused() {
			n[i.State]++
		}
	}
	return n
}
