package main

import (
	"context"
	"os"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/cmd/record/internal/screen"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/recorder"
)

// show shows a recording and takes keys until hide gives the terminal back. Where
// there is no terminal, or only the log is wanted, it does nothing.
func show(ctx context.Context, s *settings, o *recorder.Options, ui *face.Face, console *term.Console,
	signals *program.Signals,
) (hide func()) {
	if !s.control.hasScreen() {
		return func() {}
	}
	view := &screen.View{
		Stats: o.Control.Stats, Color: program.Colors(os.Stderr), ASCII: !term.Unicode(),
		Split: o.Split, FileBytes: o.MaxBytes, FileTime: o.Duration,
	}
	d := &doors.Display{Console: console, Out: os.Stderr, View: view, Signals: signals, Log: o.Log}
	if term.IsTerminal(os.Stdin) {
		d.Input = os.Stdin
		orders := &screen.Orders{
			Recording: o.Control, Commands: ui.Commands(), Snapshots: o.Snapshot.Mode,
			Quit: signals.End, Go: d.Go, Log: o.Log,
		}
		view.Keys = orders.Keys(&view.Text)
	}
	d.Show(ctx)
	return d.Hide
}
