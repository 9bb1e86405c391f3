package screen

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/recorder"
)

// frame draws what is known of a recording in fewer lines than the terminal has, each
// narrower than it is, so that neither the lines nor the cursor ever wrap.
func (l *Live) frame(s *recorder.Stats, width, height int) []string {
	w := width - 1
	room := max(1, min(height-1, height*3/4)) // the rest is the log's
	lines := []string{l.rule(s, w)}
	if room == 1 || w < 8 {
		return lines
	}
	most := func(n int) int { return max(0, min(n, room-len(lines))) }
	footer := l.footer(s, w, most(1+room/12))
	room -= len(footer)
	if l.help {
		footer = append(l.pen().flow(helpParts, w, most(8)), footer...)
		room -= len(footer) - 1
	}
	lines = append(lines, l.pen().flow(l.status(s), w, most(1+min(2, room/8)))...)
	lines = append(lines, l.table(s, w, most(room))...)
	return append(lines, footer...)
}

func (l *Live) pen() pen { return pen(l.Color) }

// rule is the line between the log and the frame: the state, the time and the file.
func (l *Live) rule(s *recorder.Stats, w int) string {
	state, as := strings.ToUpper(s.State.String()), bold
	switch {
	case s.Ending:
		state = "CLOSING"
	case s.State == recorder.StateRecording && s.Snapshots.Mode == recorder.SnapshotOnly:
		state = "SNAPSHOTS ONLY" // "recording" would promise a bag
	case s.State != recorder.StateRecording:
		as = yellow
	}
	state = head(state, w)
	left, line := w-width(state), l.pen().write(state, as)
	add := func(text string) {
		if n := width(text); n <= left {
			line += text
			left -= n
		}
	}
	add(" " + clock(s.Elapsed) + " ")
	if name := clip(Plain(filepath.Base(s.File)), left-4); s.File != "" && width(name) > 4 {
		add("- " + name + " ")
	}
	return line + strings.Repeat("-", left)
}

// status tells of the whole recording, the most important first.
func (l *Live) status(s *recorder.Stats) []part {
	var hz, bytes float64
	for i := range s.Topics {
		h, b := l.rates.of(s.Topics[i].Topic)
		hz, bytes = hz+h, bytes+b
	}
	parts := []part{
		{short(bytes/1e6) + " MB/s", plain},
		l.losses(s),
		l.file(s),
		l.buffer(s),
		l.disk(s),
		l.snapshot(s),
		{l.next(s), plain},
		{short(hz) + " msg/s", plain},
	}
	if s.Part > 0 {
		parts = append(parts, part{"all " + size(s.Bytes), plain})
	}
	if s.Ending {
		parts = slices.Insert(parts, 0, part{"writing what is in memory, then the index", bold})
	}
	return parts
}

// losses tells of messages that arrived and are lost, and of those that never arrived.
func (l *Live) losses(s *recorder.Stats) part {
	var dropped, missed uint64
	for i := range s.Topics {
		dropped += s.Topics[i].Dropped
		missed += s.Topics[i].Missed
	}
	switch {
	case dropped+missed == 0:
		return part{"nothing lost", plain}
	case missed == 0:
		return part{count(dropped) + " lost", red}
	}
	return part{count(dropped) + " lost, " + count(missed) + " missed", red}
}

// nearlyFull is the share of the buffer from which on drops are near.
const nearlyFull = 0.8

func (l *Live) buffer(s *recorder.Stats) part {
	if s.BufferMost < 0 {
		return part{"buffer " + size(s.Buffered), plain}
	}
	p := part{fmt.Sprintf("buffer %s of %s", size(s.Buffered), size(s.BufferMost)), plain}
	if float64(s.Buffered) > nearlyFull*float64(s.BufferMost) {
		p.as = red
	}
	return p
}

func (l *Live) file(s *recorder.Stats) part {
	if s.Snapshots.Mode == recorder.SnapshotOnly {
		return part{fmt.Sprintf("snapshots: %d", s.Snapshots.Taken), plain}
	}
	if s.File == "" {
		return part{"no file", yellow}
	}
	text := "file "
	if s.Part > 0 {
		text += strconv.Itoa(s.Part+1) + ": "
	}
	text += size(s.FileBytes)
	if l.FileBytes > 0 {
		text += " of " + size(l.FileBytes)
	}
	return part{text, plain}
}

// snapshot tells how far back a snapshot would reach.
func (l *Live) snapshot(s *recorder.Stats) part {
	switch {
	case s.Snapshots.Mode == recorder.SnapshotOff:
		return part{}
	case s.Snapshots.File != "":
		return part{"snapshot under way", bold}
	}
	return part{"snapshot of " + about(s.Snapshots.Held), plain}
}

// soon is when a disk that fills up is worth a color.
const soon = 10 * time.Minute

func (l *Live) disk(s *recorder.Stats) part {
	switch {
	case s.DiskFree < 0:
		return part{}
	case s.TimeLeft < 0:
		return part{fmt.Sprintf("disk %s free", size(s.DiskFree)), plain}
	}
	p := part{fmt.Sprintf("disk %s free, %s left", size(s.DiskFree), about(s.TimeLeft)), plain}
	if s.TimeLeft < soon {
		p.as = red
	}
	return p
}

// next tells when the file, or the recording, is over by itself.
func (l *Live) next(s *recorder.Stats) string {
	switch {
	case l.FileTime == 0 || s.File == "" || s.Ending:
		return ""
	case l.Split:
		return "next file in " + clock(l.FileTime-s.Taken.Sub(l.fileSince))
	}
	return "ends in " + clock(l.FileTime-s.Taken.Sub(l.fileSince))
}

func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// columns stand before the topic. Each is there on screens that have the columns that
// it needs.
var columns = []struct {
	head  string
	width int
	needs int
	cell  func(*recorder.Stats, *row) string
}{
	{"Hz", 6, 0, func(_ *recorder.Stats, r *row) string { return rate(r.hz) }},
	{"MB/s", 7, 54, func(_ *recorder.Stats, r *row) string { return rate(r.bytes / 1e6) }},
	{"messages", 11, 66, func(_ *recorder.Stats, r *row) string { return strconv.FormatUint(r.Messages, 10) }},
	{"pubs", 6, 74, func(_ *recorder.Stats, r *row) string { return strconv.Itoa(r.Publishers) }},
	{"missed", 8, 90, func(_ *recorder.Stats, r *row) string { return count(r.Missed) }},
	{"lost", 8, 34, func(_ *recorder.Stats, r *row) string { return count(r.Dropped) }},
	{"last", 9, 46, age},
}

// row is the account of a topic and its rates.
type row struct {
	*recorder.TopicStats
	hz, bytes float64
}

// before puts the troubled rows first, the heavy ones next: where not all have room,
// those are to be seen.
func (r *row) before(o *row) int {
	return cmp.Or(cmp.Compare(o.Dropped, r.Dropped), cmp.Compare(o.Missed, r.Missed), cmp.Compare(o.Bytes, r.Bytes), strings.Compare(r.Topic, o.Topic))
}

// idle reports whether nothing comes.
func (r *row) idle() bool { return r.hz == 0 }

// table returns at most so many lines.
func (l *Live) table(s *recorder.Stats, w, most int) []string {
	switch {
	case len(s.Topics) == 0 && most > 0:
		return []string{l.pen().write(clip("no topics yet", w), dim)}
	case most < 2 || most < 3 && len(s.Topics) > 1:
		return nil
	}
	rows := make([]row, len(s.Topics))
	for i := range s.Topics {
		rows[i].TopicStats = &s.Topics[i]
		rows[i].hz, rows[i].bytes = l.rates.of(s.Topics[i].Topic)
	}
	slices.SortFunc(rows, func(a, b row) int { return a.before(&b) })
	shown := rows
	if len(rows) > most-1 {
		shown = rows[:most-2]
	}
	lines := []string{l.heads(w)}
	for i := range shown {
		lines = append(lines, l.line(s, &shown[i], w))
	}
	if rest := rows[len(shown):]; len(rest) > 0 {
		lines = append(lines, l.more(rest, w))
	}
	return lines
}

func (l *Live) heads(w int) string {
	b := strings.Builder{}
	for _, c := range columns {
		if w >= c.needs {
			b.WriteString(right(c.head, c.width))
		}
	}
	return l.pen().write(head(b.String()+"  topic", w), dim)
}

func (l *Live) line(s *recorder.Stats, r *row, w int) string {
	b := strings.Builder{}
	left := w
	as := plain
	if r.idle() {
		as = dim
	}
	for _, c := range columns {
		if w < c.needs {
			continue
		}
		text, look := right(c.cell(s, r), c.width), as
		if c.head == "lost" && r.Dropped > 0 || c.head == "missed" && r.Missed > 0 {
			look = red
		}
		b.WriteString(l.pen().write(text, look))
		left -= width(text)
	}
	name := Plain(r.Topic)
	if both := name + " : " + Plain(r.Type); r.Type != "" && width(both) <= left-2 {
		name = both
	}
	return b.String() + l.pen().write(head("  "+clip(name, left-2), left), as)
}

// more sums up the rows that have no room.
func (l *Live) more(rest []row, w int) string {
	var hz, bytes float64
	var dropped uint64
	for i := range rest {
		hz, bytes, dropped = hz+rest[i].hz, bytes+rest[i].bytes, dropped+rest[i].Dropped
	}
	parts := []part{{fmt.Sprintf("and %d more", len(rest)), plain}, {short(hz) + " Hz", plain}, {short(bytes/1e6) + " MB/s", plain}}
	if dropped > 0 {
		parts = slices.Insert(parts, 1, part{count(dropped) + " lost", red})
	}
	return strings.Join(l.pen().flow(parts, w, 1), "")
}

// rate leaves no doubt that nothing comes.
func rate(x float64) string {
	if x == 0 {
		return "-"
	}
	return short(x)
}

// count writes a number in at most seven columns.
func count(n uint64) string {
	if n < 1e7 {
		return strconv.FormatUint(n, 10)
	}
	return short(float64(n))
}

// age tells how long ago the last message came.
func age(s *recorder.Stats, r *row) string {
	switch {
	case !r.Last.IsZero():
		return about(s.Taken.Sub(r.Last))
	case r.Publishers == 0:
		return "no pub"
	}
	return "never"
}

// footer names the keys.
func (l *Live) footer(s *recorder.Stats, w, lines int) []string {
	if s.Ending {
		return l.pen().flow([]part{{"Ctrl-C: skip what is still in memory", dim}}, w, lines)
	}
	var parts []part
	for _, k := range l.Keys {
		if name := k.Name(s); name != "" {
			parts = append(parts, part{keyName(k.Press[0]) + ": " + name, dim})
		}
	}
	if len(parts) == 0 {
		return l.pen().flow([]part{{"Ctrl-C: quit", dim}}, w, lines)
	}
	return l.pen().flow(append(parts, part{"?: help", dim}), w, lines)
}

func keyName(key byte) string {
	if key == ' ' {
		return "space"
	}
	return string(rune(key))
}

// helpParts explains the table.
var helpParts = []part{
	{"Hz: all that comes in", plain},
	{"pubs: publishers linked now", plain},
	{"lost: came in, but not in the bag", plain},
	{"missed: published, but never came in", plain},
	{"last: time since the last message", plain},
	{"MB: 10^6 bytes, MiB: 2^20", plain},
	{"Ctrl-C: quit, once more: skip what is in memory", plain},
	{"Ctrl-Z: stops the recording, too, until fg", plain},
	{"--no-screen: log lines only", plain},
}
