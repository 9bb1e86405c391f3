package main

import (
	"context"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/recordface/screen"
	"github.com/gorosbag/gorosbag/internal/term"
	"github.com/gorosbag/gorosbag/internal/term/keys"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// display is what the keys of a terminal act on.
type display struct {
	control control.Recording
	log     *zap.Logger
	pending sync.WaitGroup // what runs until hide
}

// show shows a recording and takes keys until hide gives the terminal back. Where
// there is no terminal, or only the log is wanted, it does nothing.
func show(ctx context.Context, s *settings, o *recorder.Options, console *term.Console, signals *program.Signals) (hide func()) {
	if !s.control.hasScreen() {
		return func() {}
	}
	end, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the end of the recording is shown, too
	d := &display{control: o.Control, log: o.Log}
	view := &screen.View{
		Stats: o.Control.Stats, Color: program.Colors(os.Stderr), ASCII: !term.Unicode(),
		Split: o.Split, FileBytes: o.MaxBytes, FileTime: o.Duration,
	}
	t := &term.Terminal{
		Live:   &term.Live{Console: console, Size: term.SizeOf(os.Stderr), View: view},
		Failed: func(err error) { o.Log.Warn("no keys", zap.Error(err)) },
	}
	if term.IsTerminal(os.Stdin) {
		t.Input = os.Stdin
		view.Keys = append(d.keys(end, signals, o.Snapshot.Mode),
			term.Key[control.Stats]{Press: []keys.Key{'m'}, Name: markName, Do: func() {
				view.Text.Ask("mark (Enter writes it, Esc does not)", func(text string, at time.Time) { d.mark(end, text, at) })
			}},
			term.Key[control.Stats]{Press: []keys.Key{'?', 'h'}, Name: func(*control.Stats) string { return "help" }})
	}
	t.Begin(end)
	hide = sync.OnceFunc(func() {
		cancel()
		t.End()
		d.pending.Wait()
	})
	signals.BeforeExit(func() {
		hide()
		console.Flush()
	})
	return hide
}

// keys returns what each key does.
func (d *display) keys(ctx context.Context, signals *program.Signals, snapshots control.SnapshotMode) []term.Key[control.Stats] {
	is := func(name string) func(*control.Stats) string {
		return func(*control.Stats) string { return name }
	}
	// A key that this recording has no use for is not shown, and answers why.
	split, snapshot := splitName, is("snapshot")
	if snapshots == control.SnapshotOnly {
		split = is("")
	}
	if snapshots == control.SnapshotOff {
		snapshot = is("")
	}
	return []term.Key[control.Stats]{
		{Press: []keys.Key{' ', 'p'}, Name: toggleName, Do: func() { d.toggle(ctx) }},
		{Press: []keys.Key{'q'}, Name: is("quit"), Do: signals.End},
		{Press: []keys.Key{'s'}, Name: split, Do: func() { d.runAsync(ctx, "split", d.control.Split) }},
		{Press: []keys.Key{'n', 't'}, Name: snapshot, Do: func() { d.runAsync(ctx, "snapshot", d.control.Snapshot) }},
	}
}

func markName(s *control.Stats) string {
	if s.State == control.StateRecording {
		return "mark"
	}
	return "" // nothing is recorded
}

// mark writes a mark for the moment in which its text was begun.
// Other keys work meanwhile: with --overflow block it may have to wait for room.
func (d *display) mark(ctx context.Context, text string, at time.Time) {
	d.runAsync(ctx, "mark", func(context.Context) (string, error) {
		_, err := d.control.MarkAt(text, at)
		return "", err
	})
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

// toggle has done what does not wait for the disk when it returns: a second press finds
// the state that the first one has made.
func (d *display) toggle(ctx context.Context) {
	s, err := d.control.Stats()
	if err != nil {
		return // not begun yet
	}
	switch s.State {
	case control.StatePaused:
		d.logResult("resume", d.control.Resume())
	case control.StateStopped:
		d.runAsync(ctx, "start", d.control.Start)
	case control.StateRecording:
		d.logResult("pause", d.control.Pause())
	}
}

// logResult logs what the recorder has done at once, and does not log itself.
func (d *display) logResult(name string, err error) {
	if err != nil {
		d.logRefused(name, err)
		return
	}
	d.log.Info("Key pressed", zap.String("command", name))
}

func (d *display) logRefused(name string, err error) {
	d.log.Warn("the key did nothing", zap.String("command", name), zap.Error(err))
}

// runAsync does what may have to wait for the disk. The recorder logs what has come of it.
func (d *display) runAsync(ctx context.Context, name string, do func(context.Context) (file string, err error)) {
	// owner: hide; ends with ctx.
	d.pending.Go(func() {
		if _, err := do(ctx); err != nil && ctx.Err() == nil {
			d.logRefused(name, err)
		}
	})
}
