package screen

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// Orders are the commands and the settings that the keys act on.
type Orders struct {
	Recording control.Recording
	Commands  []command.Command
	Snapshots control.SnapshotMode
	Quit      func()                      // ends the recording
	Go        func(func(context.Context)) // runs commands that may have to wait for the disk
	Log       *zap.Logger
}

// Keys returns the action of each key, the most important first. The text of a mark is typed into
// prompt. A key that the recording has no use for is not shown, and answers why.
func (o *Orders) Keys(prompt *term.Prompt) []term.Key[control.Stats] {
	split, snapshot := splitName, is("snapshot")
	if o.Snapshots == control.SnapshotOnly {
		split = is("")
	}
	if o.Snapshots == control.SnapshotOff {
		snapshot = is("")
	}
	return []term.Key[control.Stats]{
		{Press: []keys.Key{' ', 'p'}, Name: toggleName, Do: o.toggle},
		{Press: []keys.Key{'q'}, Name: is("quit"), Do: o.Quit},
		{Press: []keys.Key{'s'}, Name: split, Do: func() { o.later("split") }},
		{Press: []keys.Key{'n', 't'}, Name: snapshot, Do: func() { o.later("snapshot") }},
		{
			Press: []keys.Key{'m'}, Name: markName,
			Do: func() { prompt.Ask("mark (Enter writes it, Esc does not)", o.mark) },
		},
		{Press: []keys.Key{'?', 'h'}, Name: is("help")},
	}
}

func is(name string) func(*control.Stats) string {
	return func(*control.Stats) string { return name }
}

func markName(s *control.Stats) string {
	if s.State == control.StateRecording {
		return "mark"
	}
	return "" // nothing is recorded
}

func splitName(s *control.Stats) string {
	if s.State == control.StateStopped {
		return "" // no file to split
	}
	return "split"
}

func toggleName(s *control.Stats) string {
	switch s.State {
	case control.StatePaused:
		return "resume"
	case control.StateStopped:
		return "start"
	case control.StateRecording:
	}
	return "pause"
}

// toggle pauses or resumes before it returns, so that a second press finds the state that the first press
// made. A start has to wait for the disk, and is carried out later.
func (o *Orders) toggle() {
	s, err := o.Recording.Stats()
	if err != nil {
		return // not begun yet
	}
	if s.State == control.StateStopped {
		o.later("start")
		return
	}
	name := toggleName(&s)
	if _, err := command.ByService(o.Commands, name).Run(context.Background(), nil); err != nil {
		o.refused(name, err)
		return
	}
	o.Log.Info("Key pressed", zap.String("command", name))
}

// mark writes a mark for the moment at which its text was begun. Other keys work meanwhile: with
// --overflow block the mark may have to wait for room.
func (o *Orders) mark(text string, at time.Time) {
	o.Go(func(ctx context.Context) {
		if _, err := o.Recording.MarkAt(text, at); err != nil && ctx.Err() == nil {
			o.refused("mark", err)
		}
	})
}

// later carries out a command that may have to wait for the disk. The recorder logs the result.
func (o *Orders) later(service string) {
	c := command.ByService(o.Commands, service)
	o.Go(func(ctx context.Context) {
		if _, err := c.Run(ctx, nil); err != nil && ctx.Err() == nil {
			o.refused(service, err)
		}
	})
}

func (o *Orders) refused(name string, err error) {
	o.Log.Warn("the key did nothing", zap.String("command", name), zap.Error(err))
}
