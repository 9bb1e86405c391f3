package screen

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/player/control"
)

// rateSteps are the rates that the keys up and down select.
var rateSteps = []float64{0.1, 0.25, 0.5, 1, 2, 4, 8}

// faster returns the next higher step, or the rate itself if there is none.
func faster(rate float64) float64 {
	for _, step := range rateSteps {
		if step > rate {
			return step
		}
	}
	return rate
}

// slower returns the next lower step, or the rate itself if there is none.
func slower(rate float64) float64 {
	below := rate
	for _, step := range rateSteps {
		if step < rate {
			below = step
		}
	}
	return below
}

// Orders are the commands and the settings that the keys act on.
type Orders struct {
	control.Control
	Commands []command.Command
	Quit     func() // ends play
	Marks    []note.Mark
	Log      *zap.Logger
}

// Keys returns the keys, the most important first: a narrow screen shows only those.
func (s *Orders) Keys() []term.Key[control.Stats] {
	type key = term.Key[control.Stats]
	all := []key{
		{
			Press: []keys.Key{' '}, Name: toggleName, Help: "pause and go on",
			Do: func() { s.run("toggle", nil) },
		},
		{Press: []keys.Key{'q'}, Name: is("quit"), Help: "quit", Do: s.Quit},
		{Press: []keys.Key{'?', 'h'}, Name: is("help")},
		{
			Press: []keys.Key{'s', '.'}, Name: whilePaused("step"), Help: "one message on, while paused",
			Do: func() { s.run("step", nil) },
		},
		{
			Press: []keys.Key{'S', ','}, Name: whilePaused("back"), Help: "one message back, while paused",
			Do: func() { s.run("step_back", nil) },
		},
		{Press: []keys.Key{keys.Left}, Name: is("-5 s"), Help: "5 s back", Do: func() { s.move(-short) }},
		{Press: []keys.Key{keys.Right}, Name: is("+5 s"), Help: "5 s on", Do: func() { s.move(short) }},
		{
			Press: []keys.Key{keys.Up}, Name: is("faster"), Help: "faster (0.1 0.25 0.5 1 2 4 8)",
			Do: func() { s.rate(faster(s.Status().Rate)) },
		},
		{
			Press: []keys.Key{keys.Down}, Name: is("slower"), Help: "slower",
			Do: func() { s.rate(slower(s.Status().Rate)) },
		},
		{
			Press: []keys.Key{'b'}, Name: is("bookmark"), Help: "bookmark, for --start: shown at the end",
			Do: func() { s.run("bookmark", nil) },
		},
		{Press: []keys.Key{'='}, Help: "rate 1", Do: func() { s.rate(1) }},
		{Press: []keys.Key{keys.ShiftLeft, keys.PageUp}, Help: "60 s back", Do: func() { s.move(-long) }},
		{Press: []keys.Key{keys.ShiftRight, keys.PageDown}, Help: "60 s on", Do: func() { s.move(long) }},
		{Press: []keys.Key{keys.Home}, Help: "to the start", Do: func() { s.Seek(0) }},
		{Press: []keys.Key{keys.End}, Help: "to the end", Do: func() { s.Seek(s.Status().Length) }},
		{Press: []keys.Key{'['}, Help: "loop from here", Do: func() { s.run("loop_from", nil) }},
		{Press: []keys.Key{']'}, Help: "loop to here", Do: func() { s.run("loop_to", nil) }},
		{
			Press: []keys.Key{'l'}, Name: loopName, Help: "loop between these ends, or no more",
			Do: func() { s.run("loop", command.Params{"on": !s.Status().Loop}) },
		},
		{
			Press: []keys.Key{'t'}, Help: "pause on topics (--pause-topics), or no more",
			Do: func() { s.run("pause_on_topics", command.Params{"on": !s.Status().PauseOnTopics}) },
		},
	}
	if len(s.Marks) > 0 {
		all = append(all,
			key{
				Press: []keys.Key{'m'}, Name: is("next mark"), Help: "to the next recorded mark",
				Do: func() { s.toMark(true) },
			},
			key{Press: []keys.Key{'M'}, Help: "to the recorded mark before", Do: func() { s.toMark(false) }})
	}
	for digit := range 10 {
		k := key{
			Press: []keys.Key{keys.Key('0' + digit)},
			Do:    func() { s.Seek(s.Status().Length / 10 * time.Duration(digit)) },
		}
		if digit == 0 {
			k.Help = "to the start, 1 to 9: to so many tenths"
		}
		all = append(all, k)
	}
	return all
}

// Seek distances of the arrow keys.
const (
	short = 5 * time.Second
	long  = time.Minute
)

func is(name string) func(*control.Stats) string { return func(*control.Stats) string { return name } }

func whilePaused(name string) func(*control.Stats) string {
	return func(s *control.Stats) string {
		if s.Paused {
			return name
		}
		return ""
	}
}

func toggleName(s *control.Stats) string {
	if s.Paused {
		return "go on"
	}
	return "pause"
}

func loopName(s *control.Stats) string {
	if s.Loop {
		return "no loop"
	}
	return "loop"
}

// move seeks relative to the present position.
func (s *Orders) move(by time.Duration) {
	now := s.Status()
	s.Seek(min(max(0, now.Position+by), now.Length))
}

// markReach is how far behind a mark a position still is at the mark: the key M then seeks to the mark
// before.
const markReach = time.Second

// toMark seeks to the recorded mark that comes next, or to the one before.
func (s *Orders) toMark(next bool) {
	now, to, found := s.Status(), time.Duration(0), false
	for _, m := range s.Marks {
		at := now.PositionOf(m.Time)
		switch {
		case at < 0 || at > now.Length:
		case next && at > now.Position:
			s.Seek(at)
			return
		case !next && at < now.Position-markReach:
			to, found = at, true
		}
	}
	if found {
		s.Seek(to)
	}
}

// run carries out the command with the name of a service. A command that has nothing to do is
// silent: the screen shows the state.
func (s *Orders) run(service string, given command.Params) {
	_, err := command.ByService(s.Commands, service).Run(context.Background(), given)
	if command.KindOf(err) != command.NoChange {
		s.logError(err)
	}
}

func (s *Orders) rate(rate float64) { s.logError(s.SetRate(rate)) }

func (s *Orders) logError(err error) {
	if err != nil {
		s.Log.Warn("the key did nothing", zap.Error(err))
	}
}
