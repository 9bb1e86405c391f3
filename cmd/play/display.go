package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/keys"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/screen"
	"github.com/gorosbag/gorosbag/player"
)

// consoles returns those for standard output and standard error, which are one where
// both lead to the same place: the order of the lines is kept there, and the log does
// not smear the screen. Neither ever holds up play.
func consoles() (out, errs *screen.Console, end func()) {
	out = screen.NewConsole(os.Stdout, program.Terminal(os.Stdout))
	errs = out
	if !joined() {
		errs = screen.NewConsole(os.Stderr, program.Terminal(os.Stderr))
	}
	return out, errs, func() {
		out.Close() //nolint:errcheck,gosec // there is nobody left to tell
		if errs != out {
			errs.Close() //nolint:errcheck,gosec // as above
		}
	}
}

// joined reports whether standard output and standard error lead to the same place.
func joined() bool {
	out, err := os.Stdout.Stat()
	if err != nil {
		return false
	}
	errs, err := os.Stderr.Stat()
	return err == nil && os.SameFile(out, errs)
}

// display is the face of play: what it prints, its screen and its keys.
type display struct {
	c       *config.Play
	out     *screen.Console
	log     *zap.Logger
	signals *program.Signals
	screen  bool // the terminal is ours to draw on
	printer screen.Play

	terminal *screen.Terminal // nil before show
	end      context.CancelFunc
	jobs     sync.WaitGroup // what runs until hide

	mu   sync.Mutex
	last player.Status
}

func newDisplay(c *config.Play, out *screen.Console, log *zap.Logger, signals *program.Signals) *display {
	d := &display{c: c, out: out, log: log, signals: signals, screen: !c.Quiet && !c.NoScreen && program.Terminal(os.Stdout)}
	d.printer = screen.Play{W: out, Lines: d.screen || joined(), Quiet: c.Quiet, Delay: time.Duration(c.Delay)}
	return d
}

// update prints the course of play.
func (d *display) update(s player.Status) {
	d.mu.Lock()
	d.last = s
	d.mu.Unlock()
	d.printer.Update(s)
}

// bookmarks returns the last account of play, which has them.
func (d *display) bookmarks() player.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// show shows play and takes keys until hide gives the terminal back.
func (d *display) show(ctx context.Context, control player.Control) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the end of play is shown, too
	d.end = cancel
	view := &screen.PlayView{
		Control: control, Keys: playKeys(control, d.log, d.signals.End), Name: title(d.c.AllBags()),
		Immediate: d.c.Immediate, Color: program.Colors(os.Stdout), ASCII: !screen.Unicode(),
	}
	d.terminal = &screen.Terminal{Input: os.Stdin, Failed: func(err error) { d.log.Warn("no keys", zap.Error(err)) }}
	if d.screen {
		d.terminal.Live = &screen.Live{Console: d.out, Size: screen.SizeOf(os.Stdout), View: view}
	} else {
		d.terminal.Press = func(key keys.Key) { d.pressUnseen(view, key) }
	}
	d.terminal.Begin(ctx)
	if !d.c.Quiet {
		n := narrator{control: control, log: d.log, screen: d.screen}
		// owner: hide; ends with ctx.
		d.jobs.Go(func() { n.run(ctx) })
	}
	d.signals.BeforeExit(func() {
		d.hide()
		d.out.Flush()
	})
}

// pressUnseen does what a key means where there is no screen. The help is printed then.
func (d *display) pressUnseen(view *screen.PlayView, key keys.Key) {
	if key != '?' && key != 'h' {
		view.Press(key)
		return
	}
	const width, lines = 79, 20
	for _, line := range view.Help(width, lines) {
		fmt.Fprintln(d.out, line) //nolint:errcheck // a console takes everything
	}
}

// hide gives the terminal back. It may be called more than once, and without show.
func (d *display) hide() {
	if d.terminal == nil {
		return
	}
	d.end()
	d.terminal.End()
	d.jobs.Wait()
}

// title names the bags.
func title(paths []string) string {
	name := filepath.Base(paths[0])
	if n := len(paths) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	return name
}
