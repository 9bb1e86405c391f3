package main

import (
	"context"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/keys"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/screen"
	"github.com/gorosbag/gorosbag/recorder"
)

// atOnce bounds how long Ctrl-Z waits for a terminal that takes nothing.
const atOnce = 300 * time.Millisecond

// display is the live screen and the keys of a terminal.
type display struct {
	live    screen.Live
	control *recorder.Control
	log     *zap.Logger
	jobs    sync.WaitGroup // what runs until hide

	typing sync.Mutex // guards deaf
	deaf   func()     // ends reading keys, and waits for that; nil while none are read
}

// show shows a recording and takes keys until hide gives the terminal back. Where
// there is no terminal, or only the log is wanted, it does nothing.
func show(ctx context.Context, c *config.Record, o *recorder.Options, console *screen.Console, signals *program.Signals) (hide func()) {
	if c.Quiet || c.NoScreen || !program.Terminal(os.Stderr) {
		return func() {}
	}
	end, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the end of the recording is shown, too
	d := &display{control: o.Control, log: o.Log}
	d.live = screen.Live{
		Console: console, Size: terminalSize, Stats: o.Control.Stats, Color: program.Colors(os.Stderr),
		Split: o.Split, FileBytes: o.MaxBytes, FileTime: o.Duration,
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		d.live.Keys = d.keys(end, signals, o.Snapshot.Mode)
	}
	d.listen(end)
	// owner: hide; both end with end.
	d.jobs.Go(func() { d.live.Run(end) })
	d.jobs.Go(func() { keys.Stops(end, d.leave, func() { d.back(end) }) })
	hide = sync.OnceFunc(func() {
		cancel()
		d.jobs.Wait()
	})
	signals.BeforeExit(func() {
		hide()
		console.Hide(atOnce)
	})
	return hide
}

// terminalSize returns the size of the terminal while we are not in its background.
func terminalSize() (width, height int) {
	if !keys.Foreground(os.Stderr) {
		return 0, 0
	}
	width, height, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || width == 0 || height == 0 {
		return 80, 24 // a serial line does not know
	}
	return width, height
}

// printTable prints to standard output what the log on the console comes before. A
// terminal that takes nothing does not hold up the end.
func printTable(console *screen.Console, table string) {
	console.Hide(atOnce) // both may be one terminal
	out := screen.NewConsole(os.Stdout, false)
	out.Write([]byte(table)) //nolint:errcheck,gosec // a console takes everything
	if err := out.Close(); err != nil {
		console.Write([]byte(table)) //nolint:errcheck,gosec // as above: Ctrl-C has ended the tee behind us, too
	}
}

// leave gives the terminal back before Ctrl-Z stops the program.
func (d *display) leave() {
	d.typing.Lock()
	if d.deaf != nil {
		d.deaf()
	}
	d.deaf = nil
	d.typing.Unlock()
	d.live.Hide(atOnce)
}

// back takes the terminal again.
func (d *display) back(ctx context.Context) {
	d.listen(ctx)
	d.live.Show()
}

// listen reads keys if there are any to read.
func (d *display) listen(ctx context.Context) {
	if len(d.live.Keys) == 0 {
		return
	}
	d.typing.Lock()
	defer d.typing.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	d.deaf = func() {
		cancel()
		<-done
	}
	// owner: hide; ends with ctx.
	d.jobs.Go(func() {
		defer close(done)
		defer cancel()
		if err := keys.Watch(ctx, os.Stdin, d.live.Press); err != nil {
			d.log.Warn("no keys", zap.Error(err))
		}
	})
}

// keys returns what each key does.
func (d *display) keys(ctx context.Context, signals *program.Signals, snapshots recorder.SnapshotMode) []screen.Key {
	is := func(name string) func(*recorder.Stats) string {
		return func(*recorder.Stats) string { return name }
	}
	all := []screen.Key{
		{Press: " p", Name: toggleName, Do: func() { d.toggle(ctx) }},
		{Press: "q", Name: is("quit"), Do: signals.End},
	}
	if snapshots != recorder.SnapshotOnly {
		all = append(all, screen.Key{Press: "s", Name: splitName, Do: func() { d.job(ctx, "split", d.control.Split) }})
	}
	if snapshots != recorder.SnapshotOff {
		all = append(all, screen.Key{Press: "nt", Name: is("snapshot"), Do: func() { d.job(ctx, "snapshot", d.control.Snapshot) }})
	}
	return all
}

func splitName(s *recorder.Stats) string {
	if s.State == recorder.StateStopped {
		return "" // no file to split
	}
	return "split"
}

func toggleName(s *recorder.Stats) string {
	switch s.State {
	case recorder.StatePaused:
		return "resume"
	case recorder.StateStopped:
		return "start"
	case recorder.StateRecording:
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
	case recorder.StatePaused:
		d.done("resume", d.control.Resume())
	case recorder.StateStopped:
		d.job(ctx, "start", d.control.Start)
	case recorder.StateRecording:
		d.done("pause", d.control.Pause())
	}
}

// done logs what the recorder has done at once, and does not log itself.
func (d *display) done(name string, err error) {
	if err != nil {
		d.refused(name, err)
		return
	}
	d.log.Info("Key pressed", zap.String("command", name))
}

func (d *display) refused(name string, err error) {
	d.log.Warn("the key did nothing", zap.String("command", name), zap.Error(err))
}

// job does what may have to wait for the disk. The recorder logs what has come of it.
func (d *display) job(ctx context.Context, name string, do func(context.Context) (file string, err error)) {
	// owner: hide; ends with ctx.
	d.jobs.Go(func() {
		if _, err := do(ctx); err != nil && ctx.Err() == nil {
			d.refused(name, err)
		}
	})
}
