package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/player/control"
)

// consoles returns the consoles for standard output and standard error. If both are the same
// file, they are one console, so that lines stay in order and the log does not disturb the
// screen. A slow console never delays play.
func consoles() (out, errs *term.Console, end func()) {
	out = term.NewConsole(os.Stdout, program.Terminal(os.Stdout))
	errs = out
	if !sameOutput() {
		errs = term.NewConsole(os.Stderr, program.Terminal(os.Stderr))
	}
	return out, errs, func() {
		out.Close() //nolint:errcheck,gosec // an error can no longer be reported
		if errs != out {
			errs.Close() //nolint:errcheck,gosec // as above
		}
	}
}

// sameOutput reports whether standard output and standard error are the same file.
func sameOutput() bool {
	out, err := os.Stdout.Stat()
	if err != nil {
		return false
	}
	errs, err := os.Stderr.Stat()
	return err == nil && os.SameFile(out, errs)
}

// display is the user interface of play: its output, its screen and its keys.
type display struct {
	s       *settings
	out     *term.Console
	log     *zap.Logger
	signals *program.Signals
	screen  bool // draw a screen on the terminal
	printer screen.Printer
	marks   []note.Mark // that were recorded

	doors doors.Display

	mu   sync.Mutex
	last control.Status
}

func newDisplay(s *settings, out *term.Console, log *zap.Logger, signals *program.Signals) *display {
	d := &display{s: s, out: out, log: log, signals: signals, screen: !s.control.quiet &&
		!s.control.noScreen && program.Terminal(os.Stdout)}
	d.printer = screen.Printer{
		W: out, Lines: d.screen || sameOutput(), Quiet: s.control.quiet,
		Keys: term.IsTerminal(os.Stdin), Delay: s.play.Delay,
	}
	return d
}

// update prints the progress of play.
func (d *display) update(s control.Status) {
	d.mu.Lock()
	d.last = s
	d.mu.Unlock()
	d.printer.Update(s)
}

// bookmarks returns the last status, which has the bookmarks.
func (d *display) bookmarks() control.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// show shows play and reads keys until hide. node is the name of the node.
func (d *display) show(ctx context.Context, node string, control control.Control,
	commands []command.Command,
) {
	orders := &screen.Orders{
		Control: control, Commands: commands, Quit: d.signals.End, Marks: d.marks,
		Log: d.log,
	}
	view := &screen.View{
		Control: control, Keys: orders.Keys(), Name: title(d.s.selection.bags), Marks: d.marks, //nolint:contextcheck // commands of play wait for nothing
		Immediate: d.s.play.Immediate, Color: program.Colors(os.Stdout), ASCII: !term.Unicode(),
	}
	d.doors = doors.Display{Console: d.out, Out: os.Stdout, Input: os.Stdin, Signals: d.signals, Log: d.log}
	if d.screen {
		d.doors.View = view
	} else {
		d.doors.Press = func(key keys.Key) { d.pressWithoutScreen(view, key) }
	}
	d.doors.Show(ctx)
	if !d.s.control.quiet {
		d.doors.Go(newEventLog(control, d.log, d.screen, d.resume(node)).run)
	}
}

// resume says how a user continues play that is paused.
func (d *display) resume(node string) string {
	switch services := !d.s.control.noServices; {
	case d.printer.Keys && services:
		return "the space key, or rosservice call " + node + "/play"
	case d.printer.Keys:
		return "the space key"
	case services:
		return "rosservice call " + node + "/play"
	}
	return "the web page of --http"
}

// pressWithoutScreen handles a key when there is no screen. It prints the help as lines.
func (d *display) pressWithoutScreen(view *screen.View, key keys.Key) {
	if key != '?' && key != 'h' {
		view.Press(key)
		return
	}
	const width, lines = 79, 20
	for _, line := range view.Help(width, lines) {
		fmt.Fprintln(d.out, line) //nolint:errcheck // a console takes everything
	}
}

// hide restores the terminal. It may be called more than once, and without show.
func (d *display) hide() { d.doors.Hide() }

// title names the bags.
func title(paths []string) string {
	name := filepath.Base(paths[0])
	if n := len(paths) - 1; n > 0 {
		name += fmt.Sprintf(" and %d more", n)
	}
	return name
}
