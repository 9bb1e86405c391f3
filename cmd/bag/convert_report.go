package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gorosbag/gorosbag/internal/escape"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/ros2bag"
	"github.com/gorosbag/gorosbag/internal/ros2map"
)

// ros2Report is the report of a conversion as JSON.
type ros2Report struct {
	Out     string      `json:"out"`
	DryRun  bool        `json:"dry_run"`
	Distro  string      `json:"distro"`
	Storage string      `json:"storage"`
	Files   int         `json:"files"`
	In      uint64      `json:"messages_in"`
	Written uint64      `json:"messages_out"`
	Topics  []ros2Topic `json:"topics"`
}

type ros2Topic struct {
	Topic    string       `json:"topic"`
	Type     string       `json:"type"`
	OutTopic string       `json:"out_topic,omitempty"`
	OutType  string       `json:"out_type,omitempty"`
	In       uint64       `json:"messages_in"`
	Out      uint64       `json:"messages_out"`
	Latched  bool         `json:"latched"`
	Merged   int          `json:"merged_publishers,omitempty"`
	Changes  []ros2Change `json:"changes,omitempty"`
	Lossy    []string     `json:"lossy,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	Reason   string       `json:"left_out_because,omitempty"`
}

type ros2Change struct {
	Change string `json:"change"`
	Type   string `json:"type"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

// writeROS2JSON prints the report as one line of JSON.
func writeROS2JSON(w io.Writer, f *convertFlags, out string, sink *ros2bag.Sink) error {
	r := ros2Report{Out: out, DryRun: f.DryRun, Distro: f.Distro, Storage: f.Storage, Files: sink.Files(), Topics: []ros2Topic{}}
	for _, t := range sink.Report().Topics {
		one := ros2Topic{
			Topic: t.Topic, Type: t.Type, OutTopic: t.OutTopic, OutType: t.OutType, In: t.In, Out: t.Out,
			Latched: t.Latched, Merged: t.Merged, Lossy: t.Lossy(), Warnings: t.Warnings, Reason: t.Reason,
		}
		for _, n := range t.Notes {
			one.Changes = append(one.Changes, ros2Change{string(n.Change), n.Type, n.From, n.To})
		}
		r.In += t.In
		r.Written += t.Out
		r.Topics = append(r.Topics, one)
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", line)
	}
	return err
}

// writeROS2Report prints the report as text: a line for each topic, then what is changed in all
// messages of a type, once.
func writeROS2Report(w io.Writer, f *convertFlags, out string, sink *ros2bag.Sink) error {
	var table, b strings.Builder
	tab := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tab, "TOPIC\tMESSAGES\tTYPE\tTYPE IN ROS 2\t") // a Builder takes all
	var total uint64
	var notes []string
	topics := sink.Report().Topics
	for _, t := range topics {
		total += t.Out
		count := fmt.Sprint(t.Out)
		if t.Lost() > 0 {
			count = fmt.Sprintf("%d of %d", t.Out, t.In)
		}
		_, _ = fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", escape.Line(t.Topic), count, escape.Line(t.Type), escape.Line(t.OutType), escape.Line(remarks(t)))
		for _, n := range t.Notes {
			if n.Change == ros2map.TypeRenamed && n.Type == t.Type { // the line of the topic says so
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
		b.WriteString("  " + escape.Line(n) + "\n")
	}
	verb := "written"
	if f.DryRun {
		verb = "would be written"
	}
	fmt.Fprintf(&b, "%s: %s in %s, %s %s for %s\n", escape.Line(out), plural.Of(total, "message"), plural.Of(sink.Files(), "file"), f.Storage, verb, f.Distro)
	_, err := io.WriteString(w, b.String())
	return err
}

// remarks are what else is to be said of a topic.
func remarks(t *ros2bag.TopicReport) string {
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
