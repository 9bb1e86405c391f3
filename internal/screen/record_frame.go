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

	"github.com/gorosbag/gorosbag/internal/term/keys"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// RecordView shows a recording under way. Set the fields, then give it to a Live.
type RecordView struct {
	Stats func() (control.Stats, error) // with an error nothing is shown
	Color bool                          // the terminal has colors, and they are wanted
	ASCII bool                          // the terminal has no other characters
	Keys  []Key[control.Stats]          // named in the last line
	Text  Prompt                        // a text that is typed

	Split     bool          // a file that is full is followed by a next one
	FileBytes int64         // a file is full with so many bytes; zero means never
	FileTime  time.Duration // or after this time; zero means never

	rates     rates
	sparks    sparks
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
	parts, extra := v.status(&s)
	lines = append(lines, v.pen().flow(parts, w, most(1+min(2, room/8)), extra...)...)
	lines = append(lines, v.table(&s, w, most(room))...)
	return append(lines, footer...)
}

// look takes the next account. It counts all messages that have come, also those that
// are lost or that pass in a pause: that shows that the sensors live. That sum never
// falls, while messages that are lost later move from one count to another. Bytes are
// only those taken in.
func (v *RecordView) look(s *control.Stats) {
	v.rates.next(s.Elapsed)
	for i := range s.Topics {
		t := &s.Topics[i]
		v.rates.set(t.Topic, amount{messages: t.Messages + t.Dropped + t.Passed, bytes: t.Bytes})
	}
	if v.sparks.begin(s.Elapsed) {
		for i := range s.Topics {
			hz, _ := v.rates.over(s.Topics[i].Topic, int(time.Second/refresh))
			v.sparks.set(s.Topics[i].Topic, hz)
		}
	}
	switch {
	case v.fileSince.IsZero():
		v.fileSince = s.Taken.Add(-s.Elapsed)
	case s.File != v.shown:
		v.fileSince = s.Taken
	}
	v.shown = s.File
}

func (v *RecordView) pen() pen { return pen{color: v.Color, ascii: v.ASCII} }

// rule tells the state, the time, the file and its size.
func (v *RecordView) rule(s *control.Stats, w int) string {
	state, as := strings.ToUpper(s.State.String()), bold
	switch {
	case s.Ending:
		state = "CLOSING"
	case s.State == control.StateRecording && s.Snapshots.Mode == control.SnapshotOnly:
		state = "SNAPSHOTS ONLY" // "recording" would promise a bag
	case s.State != control.StateRecording:
		as = yellow
	}
	name, at := Plain(filepath.Base(s.File)), clock(s.Elapsed)
	times := []string{at}
	switch {
	case s.Snapshots.Mode == control.SnapshotOnly:
		name = fmt.Sprintf("%d taken", s.Snapshots.Taken)
	case s.File == "":
	default:
		if long := at + ", " + v.fileSize(s); width(state+"  "+long+"-  "+name+"-") <= w {
			times = []string{long}
		}
	}
	return v.pen().rule(w, state, as, name, times...)
}

// fileSize tells how large the file is, and when it is full.
func (v *RecordView) fileSize(s *control.Stats) string {
	if v.FileBytes > 0 {
		return size(s.FileBytes) + " of " + size(v.FileBytes)
	}
	return size(s.FileBytes)
}

// status tells of the whole recording, the most important first, and what is told where there is
// room.
func (v *RecordView) status(s *control.Stats) (parts, extra []part) {
	var hz, bytes float64
	for i := range s.Topics {
		h, b := v.rates.of(s.Topics[i].Topic)
		hz, bytes = hz+h, bytes+b
	}
	parts = []part{
		v.losses(s),
		plain.part(perSecond(bytes)),
		v.disk(s),
		v.buffer(s),
		v.snapshot(s),
	}
	extra = []part{plain.part(v.next(s)), plain.part(short(hz) + " msg/s")}
	if s.Part > 0 {
		extra = append(extra, plain.part("all "+size(s.Bytes)))
	}
	if s.File == "" && s.Snapshots.Mode != control.SnapshotOnly {
		parts = append(parts, yellow.part("no file"))
	}
	if s.Ending {
		parts = slices.Insert(parts, 0, bold.part("writing what is in memory, then the index"))
	}
	return parts, extra
}

// losses tells of messages that arrived and are lost, and of those that never arrived.
func (v *RecordView) losses(s *control.Stats) part {
	var dropped, missed uint64
	for i := range s.Topics {
		dropped += s.Topics[i].Dropped
		missed += s.Topics[i].Missed
	}
	switch {
	case dropped+missed == 0:
		return plain.part("nothing lost")
	case missed == 0:
		return problem(count(dropped) + " lost")
	case dropped == 0:
		return problem(count(missed) + " missed")
	}
	return problem(count(dropped) + " lost, " + count(missed) + " missed")
}

// nearlyFull is the share of the buffer from which on drops are near.
const nearlyFull = 0.8

// buffer tells how full the buffer is of what waits for the disk. What it keeps for a snapshot
// makes room when there is need, but for a snapshot that is being written.
func (v *RecordView) buffer(s *control.Stats) part {
	waiting := s.Buffered - s.Snapshots.Bytes
	if s.BufferMost <= 0 {
		return plain.part("buffer " + size(waiting))
	}
	most := s.BufferMost
	if s.Snapshots.File != "" {
		most = max(1, most-s.Snapshots.Bytes)
	}
	full := float64(max(0, waiting)) / float64(most)
	text := fmt.Sprintf("buffer %.0f%%", 100*full)
	if full > nearlyFull {
		return problem(text)
	}
	return plain.part(text)
}

// snapshot tells how far back a snapshot would reach.
func (v *RecordView) snapshot(s *control.Stats) part {
	switch {
	case s.Snapshots.Mode == control.SnapshotOff:
		return part{}
	case s.Snapshots.File != "":
		return bold.part("snapshot under way")
	}
	return plain.part("snapshot of " + about(s.Snapshots.Held))
}

// lowTimeThreshold is when a disk that fills up is a problem.
const lowTimeThreshold = 10 * time.Minute

func (v *RecordView) disk(s *control.Stats) part {
	switch {
	case s.DiskFree < 0:
		return part{}
	case s.TimeLeft < 0:
		return plain.part(fmt.Sprintf("disk %s free", size(s.DiskFree)))
	}
	text := fmt.Sprintf("disk %s, %s left", size(s.DiskFree), about(s.TimeLeft))
	if s.TimeLeft < lowTimeThreshold {
		return problem(text)
	}
	return plain.part(text)
}

// next tells when the file, or the recording, is over by itself.
func (v *RecordView) next(s *control.Stats) string {
	switch {
	case v.FileTime == 0 || s.File == "" || s.Ending:
		return ""
	case v.Split:
		return "next bag in " + clock(v.FileTime-s.Taken.Sub(v.fileSince))
	}
	return "ends in " + clock(v.FileTime-s.Taken.Sub(v.fileSince))
}

func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// recordGrid is the table of the topics.
var recordGrid = grid[row]{
	columns: []column[row]{
		{head: "Hz", width: 6, cell: func(r *row) string { return rate(r.hz) }},
		{head: "data", width: 10, needs: 54, cell: func(r *row) string { return dataRate(r.bytes) }},
		{head: "last minute", width: sparkWidth + 2, needs: 76, cell: func(r *row) string { return r.spark }},
		{head: "messages", width: 11, needs: 110, cell: func(r *row) string { return strconv.FormatUint(r.Messages, 10) }},
		{head: "pubs", width: 6, needs: 98, cell: func(r *row) string { return strconv.Itoa(r.Publishers) }},
		{head: "missed", width: 9, needs: 90, cell: func(r *row) string { return count(r.Missed) }, alarm: func(r *row) bool { return r.Missed > 0 }},
		{head: "lost", width: 9, needs: 34, cell: func(r *row) string { return count(r.Dropped) }, alarm: func(r *row) bool { return r.Dropped > 0 }},
		{head: "last", width: 9, needs: 46, cell: (*row).age},
	},
	name: func(p pen, r *row, left int) string { return topicName(p, r.Topic, r.Type, left) },
	idle: func(r *row) bool { return r.hz == 0 },
	more: moreTopics,
}

// row is the account of a topic and its rates.
type row struct {
	*control.TopicStats
	hz, bytes float64
	spark     string
	taken     time.Time
}

// before puts the troubled rows first, the heavy ones next: where not all have room,
// those are to be seen.
func (r *row) before(o *row) int {
	return cmp.Or(cmp.Compare(o.Dropped, r.Dropped), cmp.Compare(o.Missed, r.Missed), heavier(r.Bytes, o.Bytes), strings.Compare(r.Topic, o.Topic))
}

// table returns at most so many lines.
func (v *RecordView) table(s *control.Stats, w, most int) []string {
	rows := make([]row, len(s.Topics))
	for i := range s.Topics {
		rows[i] = row{TopicStats: &s.Topics[i], taken: s.Taken}
		rows[i].hz, rows[i].bytes = v.rates.of(s.Topics[i].Topic)
		rows[i].spark = v.sparks.draw(v.pen(), s.Topics[i].Topic)
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
func (v *RecordView) footer(s *control.Stats, w, lines int) []string {
	if line := v.Text.line(w); line != "" && lines > 0 {
		return []string{line}
	}
	if s.Ending {
		return v.pen().flow([]part{dim.part("Ctrl-C: skip what is still in memory")}, w, lines)
	}
	return footer(v.pen(), v.Keys, s, w, lines)
}

// recordHelp explains the table, what is hardest to guess first.
var recordHelp = plain.parts(
	"lost: arrived, but not in the bag",
	"missed: published, but never arrived",
	"causes: slow disk (lost); slow network, small publisher queue (missed)",
	mark+": a problem",
	"last: time since the last message",
	"last minute: Hz, each topic by its own maximum",
	"Hz: all that arrives",
	"pubs: publishers linked now",
	"Ctrl-C: quit, once more: skip what is in memory",
	"Ctrl-Z: stops the recording, too, until fg",
	"--no-screen: log lines only",
)
