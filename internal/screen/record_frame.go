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

	"github.com/gorosbag/gorosbag/internal/keys"
	"github.com/gorosbag/gorosbag/recorder"
)

// RecordView shows a recording under way. Set the fields, then give it to a Live.
type RecordView struct {
	Stats func() (recorder.Stats, error) // with an error nothing is shown
	Color bool                           // the terminal has colors, and they are wanted
	Keys  []Key[recorder.Stats]          // named in the last line
	Text  Prompt                         // a text that is typed

	Split     bool          // a file that is full is followed by a next one
	FileBytes int64         // a file is full with so many bytes; zero means never
	FileTime  time.Duration // or after this time; zero means never

	rates     rates
	shown     string // the file at the last frame
	fileSince time.Time
}

// Press implements View.
func (v *RecordView) Press(key keys.Key) {
	if !v.Text.press(key) {
		press(v.Keys, key)
	}
}

// Typing reports whether keys are text.
func (v *RecordView) Typing() bool { return v.Text.open() }

// Frame implements View.
func (v *RecordView) Frame(width, height int, help bool) []string {
	s, err := v.Stats()
	if err != nil {
		return nil
	}
	v.look(&s)
	w := width - 1
	room := max(1, min(height-1, height*3/4)) // the rest is the log's
	lines := []string{v.rule(&s, w)}
	if room == 1 || w < 8 {
		return lines
	}
	most := func(n int) int { return max(0, min(n, room-len(lines))) }
	footer := v.footer(&s, w, most(1+room/12))
	room -= len(footer)
	if help {
		footer = append(v.pen().flow(recordHelp, w, most(8)), footer...)
		room -= len(footer) - 1
	}
	lines = append(lines, v.pen().flow(v.status(&s), w, most(1+min(2, room/8)))...)
	lines = append(lines, v.table(&s, w, most(room))...)
	return append(lines, footer...)
}

// look takes the next account. It counts all messages that have come, also those that
// are lost or that pass in a pause: that shows that the sensors live. That sum never
// falls, while messages that are lost later move from one count to another. Bytes are
// only those taken in.
func (v *RecordView) look(s *recorder.Stats) {
	v.rates.next(s.Elapsed)
	for i := range s.Topics {
		t := &s.Topics[i]
		v.rates.set(t.Topic, amount{t.Messages + t.Dropped + t.Passed, t.Bytes})
	}
	switch {
	case v.fileSince.IsZero():
		v.fileSince = s.Taken.Add(-s.Elapsed)
	case s.File != v.shown:
		v.fileSince = s.Taken
	}
	v.shown = s.File
}

func (v *RecordView) pen() pen { return pen(v.Color) }

// rule tells the state, the time and the file.
func (v *RecordView) rule(s *recorder.Stats, w int) string {
	state, as := strings.ToUpper(s.State.String()), bold
	switch {
	case s.Ending:
		state = "CLOSING"
	case s.State == recorder.StateRecording && s.Snapshots.Mode == recorder.SnapshotOnly:
		state = "SNAPSHOTS ONLY" // "recording" would promise a bag
	case s.State != recorder.StateRecording:
		as = yellow
	}
	return v.pen().rule(w, state, as, Plain(filepath.Base(s.File)), clock(s.Elapsed))
}

// status tells of the whole recording, the most important first.
func (v *RecordView) status(s *recorder.Stats) []part {
	var hz, bytes float64
	for i := range s.Topics {
		h, b := v.rates.of(s.Topics[i].Topic)
		hz, bytes = hz+h, bytes+b
	}
	parts := []part{
		{short(bytes/1e6) + " MB/s", plain},
		v.losses(s),
		v.file(s),
		v.buffer(s),
		v.disk(s),
		v.snapshot(s),
		{v.next(s), plain},
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
func (v *RecordView) losses(s *recorder.Stats) part {
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

func (v *RecordView) buffer(s *recorder.Stats) part {
	if s.BufferMost < 0 {
		return part{"buffer " + size(s.Buffered), plain}
	}
	p := part{fmt.Sprintf("buffer %s of %s", size(s.Buffered), size(s.BufferMost)), plain}
	if float64(s.Buffered) > nearlyFull*float64(s.BufferMost) {
		p.as = red
	}
	return p
}

func (v *RecordView) file(s *recorder.Stats) part {
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
	if v.FileBytes > 0 {
		text += " of " + size(v.FileBytes)
	}
	return part{text, plain}
}

// snapshot tells how far back a snapshot would reach.
func (v *RecordView) snapshot(s *recorder.Stats) part {
	switch {
	case s.Snapshots.Mode == recorder.SnapshotOff:
		return part{}
	case s.Snapshots.File != "":
		return part{"snapshot under way", bold}
	}
	return part{"snapshot of " + about(s.Snapshots.Held), plain}
}

// lowTimeThreshold is when a disk that fills up is worth a color.
const lowTimeThreshold = 10 * time.Minute

func (v *RecordView) disk(s *recorder.Stats) part {
	switch {
	case s.DiskFree < 0:
		return part{}
	case s.TimeLeft < 0:
		return part{fmt.Sprintf("disk %s free", size(s.DiskFree)), plain}
	}
	p := part{fmt.Sprintf("disk %s free, %s left", size(s.DiskFree), about(s.TimeLeft)), plain}
	if s.TimeLeft < lowTimeThreshold {
		p.as = red
	}
	return p
}

// next tells when the file, or the recording, is over by itself.
func (v *RecordView) next(s *recorder.Stats) string {
	switch {
	case v.FileTime == 0 || s.File == "" || s.Ending:
		return ""
	case v.Split:
		return "next file in " + clock(v.FileTime-s.Taken.Sub(v.fileSince))
	}
	return "ends in " + clock(v.FileTime-s.Taken.Sub(v.fileSince))
}

func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// recordGrid is the table of the topics.
var recordGrid = grid[row]{
	columns: []column[row]{
		{"Hz", 6, 0, func(r *row) string { return rate(r.hz) }, nil},
		{"MB/s", 7, 54, func(r *row) string { return rate(r.bytes / 1e6) }, nil},
		{"messages", 11, 66, func(r *row) string { return strconv.FormatUint(r.Messages, 10) }, nil},
		{"pubs", 6, 74, func(r *row) string { return strconv.Itoa(r.Publishers) }, nil},
		{"missed", 8, 90, func(r *row) string { return count(r.Missed) }, func(r *row) bool { return r.Missed > 0 }},
		{"lost", 8, 34, func(r *row) string { return count(r.Dropped) }, func(r *row) bool { return r.Dropped > 0 }},
		{"last", 9, 46, (*row).age, nil},
	},
	name: func(r *row, left int) string { return topicName(r.Topic, r.Type, left) },
	idle: func(r *row) bool { return r.hz == 0 },
	more: moreTopics,
}

// row is the account of a topic and its rates.
type row struct {
	*recorder.TopicStats
	hz, bytes float64
	taken     time.Time
}

// before puts the troubled rows first, the heavy ones next: where not all have room,
// those are to be seen.
func (r *row) before(o *row) int {
	return cmp.Or(cmp.Compare(o.Dropped, r.Dropped), cmp.Compare(o.Missed, r.Missed), heavier(r.Bytes, o.Bytes), strings.Compare(r.Topic, o.Topic))
}

// table returns at most so many lines.
func (v *RecordView) table(s *recorder.Stats, w, most int) []string {
	rows := make([]row, len(s.Topics))
	for i := range s.Topics {
		rows[i] = row{TopicStats: &s.Topics[i], taken: s.Taken}
		rows[i].hz, rows[i].bytes = v.rates.of(s.Topics[i].Topic)
	}
	slices.SortFunc(rows, func(a, b row) int { return a.before(&b) })
	return recordGrid.lines(v.pen(), rows, w, most)
}

func moreTopics(rest []row) []part {
	var hz, bytes float64
	var dropped uint64
	for i := range rest {
		hz, bytes, dropped = hz+rest[i].hz, bytes+rest[i].bytes, dropped+rest[i].Dropped
	}
	return others(len(rest), hz, bytes, dropped, "lost")
}

// age tells how long ago the last message came.
func (r *row) age() string {
	switch {
	case !r.Last.IsZero():
		return about(r.taken.Sub(r.Last))
	case r.Publishers == 0:
		return "no pub"
	}
	return "never"
}

// footer names the keys.
func (v *RecordView) footer(s *recorder.Stats, w, lines int) []string {
	if line := v.Text.line(w); line != "" && lines > 0 {
		return []string{line}
	}
	if s.Ending {
		return v.pen().flow([]part{{"Ctrl-C: skip what is still in memory", dim}}, w, lines)
	}
	return footer(v.pen(), v.Keys, s, w, lines)
}

// recordHelp explains the table.
var recordHelp = []part{
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
