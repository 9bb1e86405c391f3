package convert

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// report is the report of a conversion as JSON.
type report struct {
	Out     string      `json:"out"`
	DryRun  bool        `json:"dry_run,omitempty"`
	Distro  string      `json:"distro,omitempty"`  // empty: written for ROS 1
	Storage string      `json:"storage,omitempty"` // the same
	Files   int         `json:"files"`
	In      uint64      `json:"messages_in"`
	Written uint64      `json:"messages_out"`
	Topics  []topicLine `json:"topics"`

	topics []*ros2.TopicReport
}

type topicLine struct {
	Topic    string   `json:"topic"`
	Type     string   `json:"type"`
	OutTopic string   `json:"out_topic,omitempty"`
	OutType  string   `json:"out_type,omitempty"`
	In       uint64   `json:"messages_in"`
	Out      uint64   `json:"messages_out"`
	Latched  bool     `json:"latched"`
	Merged   int      `json:"merged_publishers,omitempty"`
	Changes  []change `json:"changes,omitempty"`
	Lossy    []string `json:"lossy,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Reason   string   `json:"left_out_because,omitempty"`
}

type change struct {
	Change string `json:"change"`
	Type   string `json:"type"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

// json prints the report as one line of JSON.
func (r *report) json(w io.Writer) error {
	r.Topics = []topicLine{}
	for _, t := range r.topics {
		one := topicLine{
			Topic: t.Topic, Type: t.Type, OutTopic: t.OutTopic, OutType: t.OutType, In: t.In, Out: t.Out,
			Latched: t.Latched, Merged: t.Merged, Lossy: t.Lossy(), Warnings: t.Warnings, Reason: t.Reason,
		}
		for _, n := range t.Notes {
			one.Changes = append(one.Changes, change{string(n.Change), n.Type, n.From, n.To})
		}
		r.In += t.In
		r.Written += t.Out
		r.Topics = append(r.Topics, one)
	}
	return wording.WriteEscapedJSON(w, r)
}

// text prints the report as text: a line for each topic, then what is changed in all messages of a
// type, once.
func (r *report) text(w io.Writer) error {
	var table, b strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	from, to := "TYPE", "TYPE IN ROS 2"
	if r.Distro == "" {
		from, to = "TYPE IN ROS 2", "TYPE"
	}
	_, _ = fmt.Fprintf(tab, "TOPIC\tMESSAGES\t%s\t%s\t\n", from, to) // a Builder takes all
	var total uint64
	var notes []string
	for _, t := range r.topics {
		total += t.Out
		count := fmt.Sprint(t.Out)
		if t.Lost() > 0 {
			count = fmt.Sprintf("%d of %d", t.Out, t.In)
		}
		_, _ = fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", wording.EscapeLine(t.Topic), count,
			wording.EscapeLine(t.Type), wording.EscapeLine(t.OutType), wording.EscapeLine(remarks(t)))
		for _, n := range t.Notes {
			if n.Change == mapping.TypeRenamed && n.Type == t.Type { // the line of the topic says so
				continue
			}
			if text := n.String(); !slices.Contains(notes, text) {
				notes = append(notes, text)
			}
		}
	}
	_ = tab.Flush() // nor does it fail here
	for line := range strings.Lines(table.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if len(notes) > 0 {
		b.WriteString("Changed in all messages:\n")
	}
	for _, n := range notes {
		b.WriteString("  " + wording.EscapeLine(n) + "\n")
	}
	verb := "written"
	if r.DryRun {
		verb = "would be written"
	}
	switch {
	case r.Distro == "" && r.DryRun: // otherwise the command says what is in the output
		fmt.Fprintf(&b, "%s: %s %s\n", wording.EscapeLine(r.Out), wording.Plural(total, "message"), verb)
	case r.Distro != "":
		fmt.Fprintf(&b, "%s: %s in %s, %s %s for %s\n", wording.EscapeLine(r.Out),
			wording.Plural(total, "message"), wording.Plural(r.Files, "file"), r.Storage, verb, r.Distro)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// remarks are what else is to be said of a topic.
func remarks(t *ros2.TopicReport) string {
	var all []string
	if t.OutTopic != "" && t.OutTopic != t.Topic {
		all = append(all, "topic "+t.OutTopic)
	}
	switch {
	case t.Merged > 0:
		all = append(all, fmt.Sprintf("latched, %d nodes merged", t.Merged))
	case t.Latched:
		all = append(all, "latched")
	}
	return strings.Join(append(all, t.Lossy()...), "; ")
}
