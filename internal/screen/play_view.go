package screen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/term/keys"
	"github.com/gorosbag/gorosbag/player/control"
)

// PlayView shows play under way. Set the fields, then give it to a Live.
type PlayView struct {
	Control   control.Control
	Keys      []Key[control.Stats] // the first are named in the last line, all in the help
	Name      string               // of the bags
	Marks     []bagnote.Mark       // that were recorded, by time
	Immediate bool                 // play does not wait for time
	Color     bool                 // the terminal has colors, and they are wanted
	ASCII     bool                 // the terminal has no other characters
	Zone      *time.Location       // of the second time that is shown; nil means the local one

	track   track
	density []uint64  // one for each column
	asked   time.Time // for density, when there was none
}

// Press implements View.
func (v *PlayView) Press(key keys.Key) { press(v.Keys, key) }

// Frame implements View.
func (v *PlayView) Frame(width, height int, help bool) []string {
	s := v.Control.Stats()
	v.track.add(&s, time.Now())
	w := width - 1
	room := max(1, min(height-1, height*3/4)) // the rest is the log's
	lines := []string{v.rule(&s, w)}
	if room == 1 || w < 8 {
		return lines
	}
	most := func(n int) int { return max(0, min(n, room-len(lines))) }
	foot := footer(v.pen(), v.Keys, &s, w, most(1+room/12))
	room -= len(foot)
	if help {
		foot = append(v.Help(w, most(max(6, room*2/3))), foot...)
		room -= len(foot) - 1
	}
	lines = append(lines, v.bar(&s, w, most(min(2, 1+room/12)))...)
	lines = append(lines, v.pen().flow(v.times(&s, w), w, most(min(1, room/7)))...)
	parts, extra := v.status(&s, w)
	lines = append(lines, v.pen().flow(parts, w, most(1+min(2, room/8)), extra...)...)
	lines = append(lines, v.table(&s, w, most(room))...)
	return append(lines, foot...)
}

// Help returns what explains the keys and the table, in at most so many lines.
func (v *PlayView) Help(w, lines int) []string {
	var parts []part
	for _, k := range v.Keys {
		if k.Help == "" {
			continue
		}
		names := make([]string, len(k.Press))
		for i := range k.Press {
			names[i] = k.Press[i].String()
		}
		parts = append(parts, plain.part(strings.Join(names, " ")+": "+k.Help))
	}
	return v.pen().flow(append(parts, playHelp...), w, lines)
}

// playHelp explains the table.
var playHelp = plain.parts(
	"Hz, data: in the time of the bags",
	"last minute: Hz, without pauses",
	"subs: subscribers now",
	"dropped: subscribers were too slow",
	mark+": a problem",
	"Ctrl-Z: stops play, too, until fg",
	"--no-screen: log lines only",
)

func (v *PlayView) pen() pen { return pen{color: v.Color, ascii: v.ASCII} }

// rule returns the first line: state, position and bags.
func (v *PlayView) rule(s *control.Stats, w int) string {
	state, as := playState(&s.Status)
	digits := 1
	if s.Paused {
		digits = 3 // a step may be short
	}
	at := exact(s.Position, digits)
	return v.pen().rule(w, state, as, Plain(v.Name), at+" of "+exact(s.Length, 1), at)
}

// playState names what play is doing.
func playState(s *control.Status) (string, style) {
	switch s.Phase {
	case control.PhaseRegister:
		return "REGISTERING", yellow
	case control.PhaseDelay:
		return "STARTING", yellow
	case control.PhaseWait:
		return "WAITING", yellow
	case control.PhaseKeepAlive:
		return "FINISHED", bold
	case control.PhaseDrain:
		return "DRAINING", yellow
	case control.PhaseDone:
		return "DONE", bold
	case control.PhasePlay:
	}
	switch {
	case s.Paused:
		return "PAUSED", yellow
	case s.Starving > 0:
		return "WAITING", yellow
	case s.Delayed > 0:
		return "DELAYED", yellow
	}
	return "RUNNING", bold
}

// times returns the time of recording of the current position.
func (v *PlayView) times(s *control.Stats, w int) []part {
	const day, hour = "2006-01-02", "15:04:05.000"
	const needs = len(day + " " + hour + " UTC")
	zone := v.Zone
	if zone == nil {
		zone = time.Local
	}
	utc := time.Unix(int64(s.BagTime.Sec), int64(s.BagTime.Nsec)).UTC()
	local := utc.In(zone)
	if w < needs {
		return []part{plain.part(utc.Format(hour + " UTC"))}
	}
	parts := []part{plain.part(utc.Format(day + " " + hour + " UTC"))}
	switch name, offset := local.Zone(); {
	case offset == 0 && name == "UTC":
	case local.Format(day) == utc.Format(day):
		parts = append(parts, plain.part(local.Format(hour+" MST")))
	default:
		parts = append(parts, plain.part(local.Format(day+" "+hour+" MST")))
	}
	return append(parts, plain.part(fmt.Sprintf("%d.%09d", s.BagTime.Sec, s.BagTime.Nsec)))
}

// status returns the state of play, the most important first, and what is told where there is
// room.
func (v *PlayView) status(s *control.Stats, w int) (parts, extra []part) {
	var hz, bytes float64
	for i := range s.Topics {
		h, b := v.track.rates.of(s.Topics[i].Name)
		hz, bytes = hz+h, bytes+b
	}
	parts = []part{v.rate(s), waiting(s, w), starving(s), drops(s, w)}
	if s.PausedBy != "" {
		const before = "paused before "
		parts = append(parts, yellow.part(before+v.pen().clip(Plain(s.PausedBy), w-len(before))))
	}
	if s.Delayed > 0 {
		parts = append(parts, warning(fmt.Sprintf("a subscriber is %.1f s behind", s.Delayed.Seconds())))
	}
	parts = append(parts, loop(&s.Status), plain.part(perSecond(bytes)))
	extra = append(extra, plain.part(short(hz)+" msg/s"))
	if s.Phase == control.PhasePlay && !s.Paused && !v.Immediate {
		parts = append(parts, late(s.Late))
	}
	if s.PauseOnTopics {
		parts = append(parts, plain.part("pauses on topics"))
	}
	if n := len(s.Bookmarks); n > 0 {
		parts = append(parts, plain.part(fmt.Sprintf("bookmarks: %d", n)))
	}
	if m := v.passed(&s.Status); m != "" {
		const at = "mark: "
		parts = append(parts, yellow.part(at+v.pen().clip(Plain(m), max(w/2-len(at), 8))))
	}
	extra = append(extra, plain.part(count(s.Messages)+" messages"))
	if s.Starved > 0 {
		extra = append(extra, plain.part("waited "+plural.Of(s.Starved, "time")+" for the disk"))
	}
	return parts, extra
}

// passed returns the text of the last recorded mark before where play is.
func (v *PlayView) passed(s *control.Status) (text string) {
	for _, m := range v.Marks {
		if s.BagTime.Before(m.Time) {
			break
		}
		text = m.Text
	}
	return text
}

// rate returns the requested rate and, if it is lower, the achieved one.
func (v *PlayView) rate(s *control.Stats) part {
	const nearly = 0.98
	pace := v.track.pace()
	switch {
	case v.Immediate && pace > 0:
		return plain.part("at once, " + factor(pace))
	case v.Immediate:
		return plain.part("at once")
	case pace > 0 && pace < nearly*s.Rate:
		return warning("rate " + factor(pace) + " of " + factor(s.Rate))
	}
	return plain.part("rate " + factor(s.Rate))
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
func waiting(s *control.Stats, w int) part {
	if len(s.WaitingFor) == 0 {
		return part{}
	}
	return yellow.part(named(w, 3, func(n int) string {
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
func starving(s *control.Stats) part {
	if s.Starving == 0 {
		return part{}
	}
	return warning(fmt.Sprintf("waiting for the disk, %d s", s.Starving/time.Second))
}

// named returns a text with as many names as fit into w columns.
func named(w, most int, text func(names int) string) string {
	for n := most; n > 0; n-- {
		if t := text(n); width(t) <= w {
			return t
		}
	}
	return text(0)
}

// some joins the first names and the number of the others.
func some(names []string, most int) string {
	all := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		all = append(all, Plain(n))
	}
	text := strings.Join(all, ", ")
	if n := len(names) - len(all); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// drops names the subscribers that were too slow, those with most losses first.
func drops(s *control.Stats, w int) part {
	var sum uint64
	by := map[string]uint64{}
	for i := range s.Topics {
		sum += s.Topics[i].Dropped
		for _, l := range s.Topics[i].Subscribers {
			if l.Dropped > 0 {
				by[l.CallerID] += l.Dropped
			}
		}
	}
	if sum == 0 {
		return plain.part("nothing dropped")
	}
	var names []string
	for name := range by {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = Plain(name) + " " + count(by[name])
	}
	text := count(sum) + " dropped"
	return problem(named(w-len(mark+" "), 2, func(n int) string {
		if n == 0 || len(names) == 0 {
			return text
		}
		return text + ": " + some(names, n)
	}))
}

// loop shows the state of the loop and its marks.
func loop(s *control.Status) part {
	from, to, marked := marks(s)
	between := exact(from, 1) + " to " + exact(to, 1)
	switch {
	case s.Loop && marked:
		return bold.part("loop " + between)
	case s.Loop:
		return bold.part("loop")
	case marked:
		return plain.part("marks " + between)
	}
	return part{}
}

// marks returns the range of the loop, and whether it is less than everything.
func marks(s *control.Status) (from, to time.Duration, marked bool) {
	to = s.MarkTo
	if to == 0 {
		to = s.Length
	}
	return s.MarkFrom, to, s.MarkFrom > 0 || to < s.Length
}

func late(d time.Duration) part {
	const alarming = 10 * time.Millisecond
	switch {
	case d < time.Millisecond:
		return plain.part("late <1 ms")
	case d < alarming:
		return plain.part(fmt.Sprintf("late %d ms", d.Milliseconds()))
	case d < time.Minute:
		return warning(fmt.Sprintf("late %.2f s", d.Seconds()))
	}
	return warning("late " + about(d))
}
