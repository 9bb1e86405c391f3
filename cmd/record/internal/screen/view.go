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

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/face/term/topictable"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// View shows a recording under way. Set the fields, then give it to a Live.
type View struct {
	Stats func() (control.Stats, error) // with an error nothing is shown
	Color bool                          // the terminal has colors, and the user wants them
	ASCII bool                          // the terminal shows ASCII characters only
	Keys  []term.Key[control.Stats]     // named in the last line
	Text  term.Prompt                   // the text of a mark while the user types it

	Split     bool          // the recording continues in a new file when a file is full
	FileBytes int64         // a file is full with so many bytes; zero means never
	FileTime  time.Duration // or after this time; zero means never

	rates     topictable.Rates
	sparks    topictable.Sparks
	shown     string // the file at the last frame
	fileSince time.Time
}

// Press implements View.
func (v *View) Press(key keys.Key) {
	if !v.Text.Press(key) {
		term.Press(v.Keys, key)
	}
}

// Typing reports whether keys are text.
func (v *View) Typing() bool { return v.Text.Open() }

// Frame implements View.
func (v *View) Frame(width, height int, help bool) []string {
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
		footer = append(v.pen().Flow(recordHelp, w, most(8)), footer...)
		room -= len(footer) - 1
	}
	lines = append(lines, v.pen().Flow(troubles(v.pen(), &s, w), w, most(1+min(3, room/6)))...)
	parts, extra := v.status(&s)
	lines = append(lines, v.pen().Flow(parts, w, most(1+min(2, room/8)), extra...)...)
	lines = append(lines, v.table(&s, w, most(room))...)
	return append(lines, footer...)
}

// look updates the rates. The rate of a topic is of all messages that arrived, also of lost ones, of
// messages that limits leave out, and of messages during a pause: it shows that the sensor lives. Bytes
// are those of messages taken into the buffer only.
func (v *View) look(s *control.Stats) {
	v.rates.Next(s.Elapsed)
	for i := range s.Topics {
		if t := &s.Topics[i]; t.Topic != control.EndedTopics { // whose messages came earlier
			v.rates.Set(t.Topic, topictable.Amount{Messages: t.Arrived(), Bytes: t.Bytes})
		}
	}
	if v.sparks.Begin(s.Elapsed) {
		for i := range s.Topics {
			hz, _ := v.rates.Over(s.Topics[i].Topic, int(time.Second/term.Refresh))
			v.sparks.Set(s.Topics[i].Topic, hz)
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

func (v *View) pen() termtext.Pen { return termtext.Pen{Color: v.Color, ASCII: v.ASCII} }

// rule returns the first line: the state, the time, the file and its size.
func (v *View) rule(s *control.Stats, w int) string {
	state, as := strings.ToUpper(s.State.String()), termtext.Bold
	switch {
	case s.Ending:
		state = "CLOSING"
	case s.State == control.StateRecording && s.Snapshots.Mode == control.SnapshotOnly:
		state = "SNAPSHOTS ONLY" // "recording" would promise a bag
	case s.State != control.StateRecording:
		as = termtext.Yellow
	}
	name, at := termtext.Plain(filepath.Base(s.File)), termtext.Clock(s.Elapsed)
	times := []string{at}
	switch {
	case s.Snapshots.Mode == control.SnapshotOnly:
		name = fmt.Sprintf("%d taken", s.Snapshots.Taken)
	case s.File == "":
	default:
		if long := at + ", " + v.fileSize(s); termtext.Width(state+"  "+long+"-  "+name+"-") <= w {
			times = []string{long}
		}
	}
	return v.pen().Rule(w, state, as, name, times...)
}

// fileSize returns the size of the file, and the size at which the file is full.
func (v *View) fileSize(s *control.Stats) string {
	if v.FileBytes > 0 {
		return size(s.FileBytes) + " of " + size(v.FileBytes)
	}
	return size(s.FileBytes)
}

// status returns the state of the whole recording, the most important part first, and the parts that are
// shown where there is room.
func (v *View) status(s *control.Stats) (parts, extra []termtext.Part) {
	var hz, bytes float64
	for i := range s.Topics {
		h, b := v.rates.Of(s.Topics[i].Topic)
		hz, bytes = hz+h, bytes+b
	}
	parts = []termtext.Part{
		v.losses(s),
		termtext.Normal.Part(termtext.PerSecond(bytes)),
		v.disk(s),
		v.buffer(s),
		v.snapshot(s),
	}
	extra = []termtext.Part{
		termtext.Normal.Part(v.next(s)),
		termtext.Normal.Part(termtext.Short(hz) + " msg/s"),
	}
	if s.Part > 0 {
		extra = append(extra, termtext.Normal.Part("all "+size(s.Bytes)))
	}
	if s.File == "" && s.Snapshots.Mode != control.SnapshotOnly {
		parts = append(parts, termtext.Yellow.Part("no file"))
	}
	if s.Ending {
		parts = slices.Insert(parts, 0, termtext.Bold.Part("writing what is in memory, then the index"))
	}
	return parts, extra
}

// losses returns the numbers of messages that arrived and are lost, of messages that never arrived, and
// of publishers that were not connected to.
func (v *View) losses(s *control.Stats) termtext.Part {
	var parts []string
	for _, count := range []struct {
		n    uint64
		what string
	}{{s.Dropped(), " lost"}, {s.Missed(), " missed"}, {uint64(s.Refused()), " publishers refused"}} {
		if count.n > 0 {
			parts = append(parts, termtext.Count(count.n)+count.what)
		}
	}
	if len(parts) == 0 {
		return termtext.Normal.Part("nothing lost")
	}
	return termtext.Problem(strings.Join(parts, ", "))
}

// nearlyFull is the share of the buffer from which on drops are near.
const nearlyFull = 0.8

// buffer returns the percentage of the buffer that holds messages waiting for the disk. Messages held for
// a later snapshot do not count, as they are evicted when room is needed; those of a snapshot being
// written are not, and make the buffer smaller.
func (v *View) buffer(s *control.Stats) termtext.Part {
	waiting := s.Buffered - s.Snapshots.Bytes
	if s.BufferMost <= 0 {
		return termtext.Normal.Part("buffer " + size(waiting))
	}
	most := s.BufferMost
	if s.Snapshots.File != "" {
		most = max(1, most-s.Snapshots.Bytes)
	}
	full := float64(max(0, waiting)) / float64(most)
	text := fmt.Sprintf("buffer %.0f%%", 100*full)
	if full > nearlyFull {
		return termtext.Problem(text)
	}
	return termtext.Normal.Part(text)
}

// snapshot returns how far back a snapshot would reach.
func (v *View) snapshot(s *control.Stats) termtext.Part {
	switch {
	case s.Snapshots.Mode == control.SnapshotOff:
		return termtext.Part{}
	case s.Snapshots.File != "":
		return termtext.Bold.Part("snapshot under way")
	}
	return termtext.Normal.Part("snapshot of " + termtext.About(s.Snapshots.Held))
}

func (v *View) disk(s *control.Stats) termtext.Part {
	switch {
	case s.DiskFree < 0:
		return termtext.Part{}
	case s.TimeLeft < 0:
		return termtext.Normal.Part(fmt.Sprintf("disk %s free", size(s.DiskFree)))
	}
	text := fmt.Sprintf("disk %s, %s left", size(s.DiskFree), termtext.About(s.TimeLeft))
	if s.TimeLeft < face.LowTime {
		return termtext.Problem(text)
	}
	return termtext.Normal.Part(text)
}

// next returns the time until the next file begins or the recording ends by itself.
func (v *View) next(s *control.Stats) string {
	switch {
	case v.FileTime == 0 || s.File == "" || s.Ending:
		return ""
	case v.Split:
		return "next bag in " + termtext.Clock(v.FileTime-s.Taken.Sub(v.fileSince))
	}
	return "ends in " + termtext.Clock(v.FileTime-s.Taken.Sub(v.fileSince))
}

func size(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// recordGrid is the table of the topics.
var recordGrid = topictable.Table[row]{
	Columns: []topictable.Column[row]{
		{
			Head: "Hz", Width: 6, Cell: func(r *row) string { return termtext.Rate(r.hz) },
			Alarm: func(r *row) bool { return r.wrong != "" },
		},
		{Head: "data", Width: 10, Needs: 54, Cell: func(r *row) string { return termtext.DataRate(r.bytes) }},
		{
			Head: "last minute", Width: topictable.SparkWidth + 2, Needs: 76,
			Cell: func(r *row) string { return r.spark },
		},
		{
			Head: "messages", Width: 11, Needs: 110,
			Cell: func(r *row) string { return strconv.FormatUint(r.Messages, 10) },
		},
		{Head: "pubs", Width: 6, Needs: 98, Cell: func(r *row) string { return strconv.Itoa(r.Publishers) }},
		{
			Head: "missed", Width: 9, Needs: 90, Cell: func(r *row) string { return termtext.Count(r.Missed) },
			Alarm: func(r *row) bool { return r.Missed > 0 },
		},
		{
			Head: "lost", Width: 9, Needs: 34, Cell: func(r *row) string { return termtext.Count(r.Dropped) },
			Alarm: func(r *row) bool { return r.Dropped > 0 },
		},
		{Head: "last", Width: 9, Needs: 46, Cell: (*row).age},
	},
	Name: func(p termtext.Pen, r *row, left int) string {
		return topictable.TopicName(p, r.Topic, cmp.Or(r.wrong, r.Type), left)
	},
	Idle: func(r *row) bool { return r.hz == 0 && r.wrong == "" },
	Load: func(r *row) (hz, bytes float64, lost uint64) { return r.hz, r.bytes, r.Dropped },
	Lost: "lost",
}

// row is the account of a topic and its rates.
type row struct {
	*control.TopicStats
	hz, bytes float64
	spark     string
	taken     time.Time
	rank      int    // of what is wrong with the topic: 0 is shown first
	wrong     string // empty if nothing is
}

// before sorts topics with which something is wrong first, then those with losses, then by bytes: these
// topics have to be visible if there is no room for all.
func (r *row) before(o *row) int {
	return cmp.Or(cmp.Compare(r.rank, o.rank), cmp.Compare(o.Dropped, r.Dropped),
		cmp.Compare(o.Missed, r.Missed), topictable.Heavier(r.Bytes, o.Bytes),
		strings.Compare(r.Topic, o.Topic))
}

// table returns at most most lines.
func (v *View) table(s *control.Stats, w, most int) []string {
	rows := make([]row, len(s.Topics))
	wrong := make(map[string]int, len(s.Findings)) // the first finding of each topic
	for i := range slices.Backward(s.Findings) {
		wrong[s.Findings[i].Topic] = i
	}
	for i := range s.Topics {
		rows[i] = row{TopicStats: &s.Topics[i], taken: s.Taken}
		rows[i].hz, rows[i].bytes = v.rates.Of(s.Topics[i].Topic)
		rows[i].rank = len(s.Findings)
		if f, ok := wrong[s.Topics[i].Topic]; ok {
			rows[i].rank, rows[i].wrong = f, s.Findings[f].Brief()
		}
		rows[i].spark = v.sparks.Draw(v.pen(), s.Topics[i].Topic)
	}
	slices.SortFunc(rows, func(a, b row) int { return a.before(&b) })
	return recordGrid.Lines(v.pen(), rows, w, most)
}

// age returns the time since the last message.
func (r *row) age() string {
	switch {
	case r.Latching && r.wrong == "" && !r.Last.IsZero():
		return "latched"
	case !r.Last.IsZero():
		return termtext.About(r.taken.Sub(r.Last))
	case r.Publishers == 0:
		return "no pub"
	}
	return "never"
}

// footer names the keys.
func (v *View) footer(s *control.Stats, w, lines int) []string {
	if line := v.Text.Line(w); line != "" && lines > 0 {
		return []string{line}
	}
	if s.Ending {
		return v.pen().Flow([]termtext.Part{termtext.Dim.Part("Ctrl-C: skip what is still in memory")}, w,
			lines)
	}
	return term.Footer(v.pen(), v.Keys, s, w, lines)
}

// recordHelp explains the table, the columns that are hardest to guess first.
var recordHelp = termtext.Normal.Parts(
	"lost: arrived, but not in the bag",
	"missed: published, but never arrived",
	"causes: slow disk (lost); slow network, small publisher queue (missed)",
	termtext.Sign+": a problem",
	"last: time since the last message; latched topics need not go on",
	"silent, slow, stamps: compared with what is usual, or with --expect",
	"last minute: Hz, each topic by its own maximum",
	"Hz: all that arrives",
	"pubs: publishers linked now",
	"Ctrl-C: quit, once more: skip what is in memory",
	"Ctrl-Z: stops the recording, too, until fg",
	"--no-screen: log lines only",
)
