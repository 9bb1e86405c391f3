package screen

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
)

// View shows play under way. Set the fields, then give it to a Live.
type View struct {
	Control   control.Control
	Keys      []term.Key[control.Stats] // the first are named in the last line, all in the help
	Name      string                    // of the bags
	Marks     []note.Mark               // that were recorded, by time
	Immediate bool                      // play does not wait for time
	Color     bool                      // the terminal has colors, and the user wants them
	ASCII     bool                      // the terminal shows ASCII characters only
	Zone      *time.Location            // zone of the second time that is shown; nil means the local zone

	track   track
	density []uint64  // messages for each column of the bar
	asked   time.Time // when the density was last asked for in vain
}

// Press implements View.
func (v *View) Press(key keys.Key) { term.Press(v.Keys, key) }

// Frame implements View.
func (v *View) Frame(width, height int, help bool) []string {
	s := v.Control.Stats()
	v.track.add(&s, time.Now())
	w := width - 1
	room := max(1, min(height-1, height*3/4)) // the rest is the log's
	lines := []string{v.rule(&s, w)}
	if room == 1 || w < 8 {
		return lines
	}
	most := func(n int) int { return max(0, min(n, room-len(lines))) }
	foot := term.Footer(v.pen(), v.Keys, &s, w, most(1+room/12))
	room -= len(foot)
	if help {
		foot = append(v.Help(w, most(max(6, room*2/3))), foot...)
		room -= len(foot) - 1
	}
	lines = append(lines, v.bar(&s, w, most(min(2, 1+room/12)))...)
	lines = append(lines, v.pen().Flow(v.times(&s, w), w, most(min(1, room/7)))...)
	parts, extra := v.status(&s, w)
	lines = append(lines, v.pen().Flow(parts, w, most(1+min(2, room/8)), extra...)...)
	lines = append(lines, v.table(&s, w, most(room))...)
	return append(lines, foot...)
}

// Help returns the explanation of the keys and of the table, in at most lines lines.
func (v *View) Help(w, lines int) []string {
	var parts []termtext.Part
	for _, k := range v.Keys {
		if k.Help == "" {
			continue
		}
		names := make([]string, len(k.Press))
		for i := range k.Press {
			names[i] = k.Press[i].String()
		}
		parts = append(parts, termtext.Normal.Part(strings.Join(names, " ")+": "+k.Help))
	}
	return v.pen().Flow(append(parts, playHelp...), w, lines)
}

// playHelp explains the table.
var playHelp = termtext.Normal.Parts(
	"Hz, data: in the time of the bags",
	"last minute: Hz, without pauses",
	"subs: subscribers now",
	"dropped: subscribers were too slow",
	termtext.Sign+": a problem",
	"Ctrl-Z: stops play, too, until fg",
	"--no-screen: log lines only",
)

func (v *View) pen() termtext.Pen { return termtext.Pen{Color: v.Color, ASCII: v.ASCII} }

// rule returns the first line: state, position and bags.
func (v *View) rule(s *control.Stats, w int) string {
	state, as := playState(&s.Status)
	digits := 1
	if s.Paused {
		digits = 3 // a step may be short
	}
	at := termtext.Exact(s.Position, digits)
	return v.pen().Rule(w, state, as, termtext.Plain(v.Name), at+" of "+termtext.Exact(s.Length, 1), at)
}

// playState names what play is doing.
func playState(s *control.Status) (string, termtext.Style) {
	switch s.Phase {
	case control.PhaseRegister:
		return "REGISTERING", termtext.Yellow
	case control.PhaseDelay:
		return "STARTING", termtext.Yellow
	case control.PhaseWait:
		return "WAITING", termtext.Yellow
	case control.PhaseKeepAlive:
		return "FINISHED", termtext.Bold
	case control.PhaseDrain:
		return "DRAINING", termtext.Yellow
	case control.PhaseDone:
		return "DONE", termtext.Bold
	case control.PhasePlay:
	}
	switch {
	case s.Paused:
		return "PAUSED", termtext.Yellow
	case s.Starving > 0:
		return "WAITING", termtext.Yellow
	case s.Delayed > 0:
		return "DELAYED", termtext.Yellow
	}
	return "RUNNING", termtext.Bold
}

// times returns the time of recording of the current position.
func (v *View) times(s *control.Stats, w int) []termtext.Part {
	const day, hour = "2006-01-02", "15:04:05.000"
	const needs = len(day + " " + hour + " UTC")
	zone := v.Zone
	if zone == nil {
		zone = time.Local
	}
	utc := s.BagTime.Std()
	local := utc.In(zone)
	if w < needs {
		return []termtext.Part{termtext.Normal.Part(utc.Format(hour + " UTC"))}
	}
	parts := []termtext.Part{termtext.Normal.Part(utc.Format(day + " " + hour + " UTC"))}
	switch name, offset := local.Zone(); {
	case offset == 0 && name == "UTC":
	case local.Format(day) == utc.Format(day):
		parts = append(parts, termtext.Normal.Part(local.Format(hour+" MST")))
	default:
		parts = append(parts, termtext.Normal.Part(local.Format(day+" "+hour+" MST")))
	}
	return append(parts, termtext.Normal.Part(s.BagTime.String()))
}

// status returns the state of play, the most important part first, and the parts that are shown where
// there is room.
func (v *View) status(s *control.Stats, w int) (parts, extra []termtext.Part) {
	var hz, bytes float64
	for i := range s.Topics {
		h, b := v.track.rates.Of(s.Topics[i].Name)
		hz, bytes = hz+h, bytes+b
	}
	parts = []termtext.Part{v.rate(s), waiting(s, w), starving(s), drops(s, w)}
	if s.PausedBy != "" {
		const before = "paused before "
		parts = append(parts,
			termtext.Yellow.Part(before+v.pen().Clip(termtext.Plain(s.PausedBy), w-len(before))))
	}
	if s.Delayed > 0 {
		parts = append(parts,
			termtext.Warning(fmt.Sprintf("rate control is %.1f s behind", s.Delayed.Seconds())))
	}
	parts = append(parts, loop(&s.Status), termtext.Normal.Part(termtext.PerSecond(bytes)))
	extra = append(extra, termtext.Normal.Part(termtext.Short(hz)+" msg/s"))
	if s.Phase == control.PhasePlay && !s.Paused && !v.Immediate {
		parts = append(parts, late(s.Late))
	}
	if s.PauseOnTopics {
		parts = append(parts, termtext.Normal.Part("pauses on topics"))
	}
	if n := len(s.Bookmarks); n > 0 {
		parts = append(parts, termtext.Normal.Part(fmt.Sprintf("bookmarks: %d", n)))
	}
	if m := v.passed(&s.Status); m != "" {
		const at = "mark: "
		parts = append(parts, termtext.Yellow.Part(at+v.pen().Clip(termtext.Plain(m), max(w/2-len(at), 8))))
	}
	extra = append(extra, termtext.Normal.Part(termtext.Count(s.Messages)+" messages"))
	if s.Starved > 0 {
		extra = append(extra,
			termtext.Normal.Part("waited "+wording.Plural(s.Starved, "time")+" for the disk"))
	}
	return parts, extra
}

// passed returns the text of the last recorded mark before where play is.
func (v *View) passed(s *control.Status) (text string) {
	for _, m := range v.Marks {
		if s.BagTime.Before(m.Time) {
			break
		}
		text = m.Text
	}
	return text
}

// rate returns the requested rate and, if it is lower, the achieved one.
func (v *View) rate(s *control.Stats) termtext.Part {
	const nearly = 0.98
	pace, known := v.track.pace.Pace()
	switch {
	case v.Immediate && known:
		return termtext.Normal.Part("at once, " + factor(pace))
	case v.Immediate:
		return termtext.Normal.Part("at once")
	case known && pace < nearly*s.Rate:
		return termtext.Warning("rate " + factor(pace) + " of " + factor(s.Rate))
	}
	return termtext.Normal.Part("rate " + factor(s.Rate))
}

// factor formats a speed factor.
func factor(x float64) string {
	switch {
	case x >= 99.5:
		return fmt.Sprintf("%.0fx", x)
	case x >= 9.95:
		return fmt.Sprintf("%.3gx", x)
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'g', -1, 64) + "x"
}

// waiting names the subscribers and topics that play waits for.
func waiting(s *control.Stats, w int) termtext.Part {
	if len(s.WaitingFor) == 0 {
		return termtext.Part{}
	}
	return termtext.Yellow.Part(named(w, 3, func(n int) string {
		switch {
		case n == 0 && s.Phase == control.PhaseWait:
			return "waiting for subscribers"
		case n == 0:
			return "waiting for a subscriber"
		case s.Phase == control.PhaseWait:
			return "waiting for subscribers of " + some(s.WaitingFor, n)
		}
		return "waiting for " + some(s.WaitingFor, n)
	}))
}

// starving says that play waits for the disk.
func starving(s *control.Stats) termtext.Part {
	if s.Starving == 0 {
		return termtext.Part{}
	}
	return termtext.Warning(fmt.Sprintf("waiting for the disk, %d s", s.Starving/time.Second))
}

// named returns a text with as many names as fit into w columns.
func named(w, most int, text func(names int) string) string {
	for n := most; n > 0; n-- {
		if t := text(n); termtext.Width(t) <= w {
			return t
		}
	}
	return text(0)
}

// some returns the first names, and the number of the other names.
func some(names []string, most int) string {
	all := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		all = append(all, termtext.Plain(n))
	}
	text := strings.Join(all, ", ")
	if n := len(names) - len(all); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// drops names the subscribers that were too slow, those with most losses first.
func drops(s *control.Stats, w int) termtext.Part {
	sum := s.Dropped()
	by := map[string]uint64{}
	for i := range s.Topics {
		for _, l := range s.Topics[i].Subscribers {
			if l.Dropped > 0 {
				by[l.CallerID] += l.Dropped
			}
		}
	}
	if sum == 0 {
		return termtext.Normal.Part("nothing dropped")
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = termtext.Plain(name) + " " + termtext.Count(by[name])
	}
	text := termtext.Count(sum) + " dropped"
	return termtext.Problem(named(w-len(termtext.Sign+" "), 2, func(n int) string {
		if n == 0 || len(names) == 0 {
			return text
		}
		return text + ": " + some(names, n)
	}))
}

// loop shows the state of the loop and its ends.
func loop(s *control.Status) termtext.Part {
	from, to, part := loopRange(s)
	between := termtext.Exact(from, 1) + " to " + termtext.Exact(to, 1)
	switch {
	case s.Loop && part:
		return termtext.Bold.Part("loop " + between)
	case s.Loop:
		return termtext.Bold.Part("loop")
	case part:
		return termtext.Normal.Part("loop off, " + between)
	}
	return termtext.Part{}
}

// loopRange returns the range of the loop, and whether that is only a part of the bags.
func loopRange(s *control.Status) (from, to time.Duration, part bool) {
	to = s.LoopTo
	if to == 0 {
		to = s.Length
	}
	return s.LoopFrom, to, s.LoopFrom > 0 || to < s.Length
}

func late(d time.Duration) termtext.Part {
	const alarming = 10 * time.Millisecond
	switch {
	case d < time.Millisecond:
		return termtext.Normal.Part("late <1 ms")
	case d < alarming:
		return termtext.Normal.Part(fmt.Sprintf("late %d ms", d.Milliseconds()))
	case d < time.Minute:
		return termtext.Warning(fmt.Sprintf("late %.2f s", d.Seconds()))
	}
	return termtext.Warning("late " + termtext.About(d))
}
