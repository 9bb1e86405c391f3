// Package screen is how gorecord looks in a terminal: the live screen and the summary.
package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Summary returns the closing table of gorecord. Names and other text of peers are quoted where
// they hold anything but plain text.
func Summary(s *control.Summary) string {
	tab := termtext.NewTable("messages", "bytes", "publishers", "lost", "missed", "topic")
	for i := range s.Topics {
		t := &s.Topics[i]
		tab.Row(t.Messages, humanize.IBytes(t.Bytes), len(t.Publishers)+t.Former.Count, lost(t), t.Missed(),
			topicCell(t))
	}
	return tab.Text() + fmt.Sprintf("%s%s%s%s%s%s%s%slost: %s\nmissed: %s\nbroken links: %s\n%s%s",
		totals(s), endedBy(s), files(s), snapshots(s), chunks(s), pickups(s), missing(s), stillWaiting(s),
		causes(s), missed(s), linksLost(s),
		refused(s)+unlinked(s)+unread(s)+unrecovered(s)+heldUp(s)+found(s), reconnected(s)+triggers(s))
}

// found returns a line for each kind of what was wrong with topics: how often, and how long in all.
func found(s *control.Summary) string {
	var text strings.Builder
	for kind := range finding.Kinds {
		var parts []string
		for i := range s.Findings {
			f := &s.Findings[i]
			if f.Kind != kind {
				continue
			}
			part := fmt.Sprintf("%s (%s, %s", termtext.Plain(f.Topic), wording.Plural(f.Episodes, "time"),
				finding.About(f.Time))
			if f.Untold > 0 {
				part += fmt.Sprintf(", and %s soon after it had come back",
					wording.Plural(f.Untold, "more time"))
			}
			if f.Open {
				part += ", until the end"
			}
			if f.Expected {
				part += ", against --expect"
			}
			parts = append(parts, part+")")
		}
		if len(parts) > 0 {
			fmt.Fprintf(&text, "%v: %s\n", kind, strings.Join(parts, ", "))
		}
	}
	return text.String()
}

// endedBy says what has ended the recording early: the disk, or which peer.
func endedBy(s *control.Summary) (text string) {
	if s.DiskFull {
		text = "ended early: the disk is nearly full\n"
	}
	if s.EndedBy != "" {
		text += "ended by another node or the master: " + termtext.Plain(s.EndedBy) + "\n"
	}
	return text
}

// unread returns the parts of the master's replies that could not be read.
func unread(s *control.Summary) string {
	if s.Unread == "" {
		return ""
	}
	return "the master's replies that could not be read in full: " + termtext.Plain(s.Unread) + "\n"
}

// unrecovered counts the files that were deleted before their messages were in a bag.
func unrecovered(s *control.Summary) string {
	if s.Unrecovered == 0 {
		return ""
	}
	return fmt.Sprintf("files of crashed recorders, deleted before they were recovered: %d\n", s.Unrecovered)
}

// totals sums up all files, snapshots among them. A snapshot lasts less long than the recording that it
// comes from.
func totals(s *control.Summary) string {
	what, last := "no bag", ""
	switch {
	case s.File == "":
	case s.Earlier.Files+len(s.Files) > 1:
		what, last = "all files", "; the last is "+termtext.Plain(s.File)
	default:
		what = termtext.Plain(s.File)
	}
	took := ", "
	if n, _ := countSnapshots(s); n > 0 && n == s.Earlier.Files+len(s.Files) {
		took = ", of a recording of "
	}
	took += s.Duration.Round(100 * time.Millisecond).String()
	return fmt.Sprintf("%s: %s, %s%s%s\n", what, wording.Plural(s.Messages(), "message"),
		humanize.IBytes(uint64(s.Bytes)), took, last)
}

// countSnapshots returns the number and the size of the snapshots.
func countSnapshots(s *control.Summary) (n int, bytes int64) {
	n, bytes = s.Earlier.Snapshots, s.Earlier.SnapshotBytes
	for _, f := range s.Files {
		if f.Snapshot {
			n++
			bytes += f.Bytes
		}
	}
	return n, bytes
}

// snapshots tells the number and the size of the snapshots.
func snapshots(s *control.Summary) string {
	n, bytes := countSnapshots(s)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("snapshots: %d, %s\n", n, humanize.IBytes(uint64(bytes)))
}

// chunks counts the chunks by compression, if --adaptive was used.
func chunks(s *control.Summary) string {
	if len(s.Chunks) == 0 {
		return ""
	}
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(s.Chunks)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.Chunks[c], c))
	}
	return "chunks: " + strings.Join(parts, ", ") + "\n"
}

// files returns the number of files, and of deleted files; empty if there was one file. Deleted files may
// be those of earlier recordings.
func files(s *control.Summary) string {
	all, deleted, repeated := s.Earlier.Files-s.Earlier.Snapshots, s.Earlier.Deleted, uint64(0)
	for _, f := range s.Files {
		if !f.Snapshot {
			all++
		}
		if f.Deleted {
			deleted++
		}
	}
	if all < 2 {
		return ""
	}
	for i := range s.Topics {
		repeated += s.Topics[i].Repeated
	}
	return fmt.Sprintf("%s, %d deleted; %s repeated\n", wording.Plural(all, "file"), deleted,
		wording.Plural(repeated, "latched message"))
}

// pickups reports how fast topics that appeared during the recording were linked.
func pickups(s *control.Summary) string {
	var all []time.Duration
	for i := range s.Topics {
		if d := s.Topics[i].Pickup; d > 0 {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return fmt.Sprintf("%s, linked to within %d ms of the registration (p99 %d ms)\n",
		wording.Plural(len(all), "new topic"), all[len(all)-1].Milliseconds(),
		all[len(all)*99/100].Milliseconds())
}

// missing names the requested topics that never appeared.
func missing(s *control.Summary) string {
	if len(s.Missing) == 0 {
		return ""
	}
	all := make([]string, len(s.Missing))
	for i, name := range s.Missing {
		all[i] = termtext.Plain(name)
	}
	return "never appeared: " + strings.Join(all, ", ") + "\n"
}

func topicCell(t *control.TopicSummary) string {
	switch {
	case len(t.Publishers)+t.Former.Count+t.Refused+t.Unlinked.Count == 0:
		return termtext.Plain(t.Topic) + "  (" + noPublisher(t.Waiting) + ")"
	case t.Type == "":
		return termtext.Plain(t.Topic)
	}
	cell := termtext.Plain(t.Topic) + " : " + termtext.Plain(t.Type)
	if t.LeftOut > 0 {
		cell += fmt.Sprintf("  (%d more left out, as asked)", t.LeftOut)
	}
	if t.Passed > 0 {
		cell += fmt.Sprintf("  (%d more while paused or stopped)", t.Passed)
	}
	return cell
}

// noPublisher returns why a topic has no publisher.
func noPublisher(w control.Waiting) string {
	switch w {
	case control.WaitingMaster:
		return "not registered with the master yet"
	case control.WaitingPublisher:
		return "a publisher is listed, but was not reached"
	case control.WaitingNone:
	}
	return "no publisher was seen"
}

// stillWaiting counts the topics that were never linked. Their messages are not in the bag, and
// their number is unknown.
func stillWaiting(s *control.Summary) string {
	var parts []string
	if n := s.Waiting(control.WaitingMaster); n > 0 {
		parts = append(parts, fmt.Sprintf("%d to be registered with the master", n))
	}
	if n := s.Waiting(control.WaitingPublisher); n > 0 {
		parts = append(parts, fmt.Sprintf("%d for publishers that are listed and were not reached", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return "topics still waiting at the end: " + strings.Join(parts, ", ") + "\n"
}

func lost(t *control.TopicSummary) uint64 {
	var n uint64
	for _, d := range t.Dropped {
		n += d
	}
	return n
}

// causes lists drops by cause over all topics.
func causes(s *control.Summary) string {
	if s.NoMaster {
		return "unknown, for the master never answered"
	}
	sum := map[string]uint64{}
	for i := range s.Topics {
		for cause, n := range s.Topics[i].Dropped {
			sum[cause] += n
		}
	}
	if len(sum) == 0 {
		return "none"
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(sum)) {
		parts = append(parts, fmt.Sprintf("%d %s", sum[cause], cause))
	}
	return strings.Join(parts, ", ")
}

// missed returns the messages that were published and never arrived.
func missed(s *control.Summary) string {
	if n := s.Missed(); n > 0 {
		return fmt.Sprintf("%d that were published and never arrived: the publisher's queue is too small, or the way to here too slow", n)
	}
	return "none"
}

// triggers returns one line for each trigger: how often it fired, and how often it did not.
func triggers(s *control.Summary) string {
	var text strings.Builder
	for i := range s.Triggers {
		t := &s.Triggers[i]
		parts := []string{"fired " + wording.Plural(t.Fired, "time")}
		for _, count := range []struct {
			n    uint64
			text string
		}{
			{t.Suppressed, fmt.Sprintf("%d more within the pause", t.Suppressed)},
			{t.Refused, fmt.Sprintf("%d not carried out", t.Refused)},
			{t.Skipped, wording.Plural(t.Skipped, "message") + " not looked at"},
			{t.Errors, wording.Plural(t.Errors, "message") + " not evaluated because of errors"},
		} {
			if count.n > 0 {
				parts = append(parts, count.text)
			}
		}
		for _, topic := range t.Silent {
			parts = append(parts, "no message of "+termtext.Plain(topic))
		}
		fmt.Fprintf(&text, "--%s %s: %s\n", t.Option, termtext.Plain(t.Expression), strings.Join(parts, ", "))
	}
	return text.String()
}

// heldUp names the topics whose publishers had to wait for room.
func heldUp(s *control.Summary) string {
	var parts []string
	for i := range s.Topics {
		if t := &s.Topics[i]; t.HeldUp > 0 {
			parts = append(parts,
				fmt.Sprintf("%s (%s)", termtext.Plain(t.Topic), t.HeldUp.Round(100*time.Millisecond)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "held up: " + strings.Join(parts, ", ") + "\n"
}

// linksLost names the publishers whose links were lost.
func linksLost(s *control.Summary) string {
	var parts []string
	for i := range s.Topics {
		for _, p := range s.Topics[i].Publishers {
			if p.LinksLost == 0 {
				continue
			}
			text := fmt.Sprintf("%s on %s (%d, %s without", termtext.Plain(p.CallerID),
				termtext.Plain(s.Topics[i].Topic), p.LinksLost, p.Without.Round(100*time.Millisecond))
			if p.Away {
				text += ", not back"
			}
			parts = append(parts, text+")")
		}
		if f := s.Topics[i].Former; f.LinksLost > 0 {
			parts = append(parts,
				fmt.Sprintf("former publishers on %s (%d)", termtext.Plain(s.Topics[i].Topic), f.LinksLost))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// refused names the topics of which publishers were refused.
func refused(s *control.Summary) string {
	var parts []string
	for i := range s.Topics {
		if t := &s.Topics[i]; t.Refused > 0 {
			parts = append(parts,
				fmt.Sprintf("%s (%s)", termtext.Plain(t.Topic), wording.Plural(t.Refused, "publisher")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "refused, their connection headers hold too much memory: " + strings.Join(parts, ", ") + "\n"
}

// unlinked names the publishers that there was no file descriptor for, the first of each topic.
func unlinked(s *control.Summary) string {
	var parts []string
	for i := range s.Topics {
		t := &s.Topics[i]
		if t.Unlinked.Count == 0 {
			continue
		}
		var named []string
		for _, uri := range t.Unlinked.URIs {
			named = append(named, termtext.Plain(uri))
		}
		if more := t.Unlinked.Count - len(named); more > 0 {
			named = append(named, fmt.Sprintf("and %d more", more))
		}
		parts = append(parts,
			fmt.Sprintf("%s (%s: %s)", termtext.Plain(t.Topic), wording.Plural(t.Unlinked.Count, "publisher"),
				strings.Join(named, ", ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return "not connected to, no file descriptor was left (ulimit -n): " + strings.Join(parts, ", ") + "\n"
}

// reconnected names the publishers that reconnected without a known loss, such as nodes that were
// restarted: each once, with the maximum over its topics.
func reconnected(s *control.Summary) string {
	type node struct {
		topics, times int
		without       time.Duration
	}
	nodes := map[string]node{}
	for i := range s.Topics {
		for _, p := range s.Topics[i].Publishers {
			if n := nodes[p.CallerID]; p.Reconnected > 0 {
				nodes[p.CallerID] = node{n.topics + 1, max(n.times, p.Reconnected), max(n.without, p.Without)}
			}
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[name]
		parts = append(parts,
			fmt.Sprintf("%s (%d on %s, %s without)", termtext.Plain(name), n.times,
				wording.Plural(n.topics, "topic"), n.without.Round(100*time.Millisecond)))
	}
	return "reconnected: " + strings.Join(parts, ", ") + "\n"
}
