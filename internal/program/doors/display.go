package doors

import (
	"context"
	"os"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/program"
)

// Display is the terminal of a program that records or plays: the live screen, the keys, and jobs that end
// with both. Set the fields, then call Show.
type Display struct {
	Console *term.Console
	Out     *os.File       // where the console writes
	View    term.View      // the content of the screen; nil means that there is no screen
	Input   *os.File       // source of keys; nil means none
	Press   func(keys.Key) // performs the action of a key if there is no screen
	Signals *program.Signals
	Log     *zap.Logger

	terminal term.Terminal
	ctx      context.Context //nolint:containedctx // for the jobs, which begin when keys are pressed
	end      context.CancelFunc
	jobs     sync.WaitGroup
}

// Show acquires the terminal until Hide. The screen stays after the end of ctx, while the program ends.
func (d *Display) Show(ctx context.Context) {
	d.ctx, d.end = context.WithCancel(context.WithoutCancel(ctx))
	d.terminal.Input, d.terminal.Press = d.Input, d.Press
	d.terminal.Failed = func(err error) { d.Log.Warn("no keys", zap.Error(err)) }
	if d.View != nil {
		d.terminal.Live, d.terminal.Press = &term.Live{
			Console: d.Console, Size: term.SizeOf(d.Out),
			View: d.View,
		}, nil
	}
	d.terminal.Begin(d.ctx) //nolint:contextcheck // the end of ctx is shown, too
	d.Signals.BeforeExit(func() {
		d.Hide()
		d.Console.Flush()
	})
}

// Go runs a job after Show. The context of the job ends with Hide.
func (d *Display) Go(job func(context.Context)) {
	// owner: Hide; ends with ctx.
	d.jobs.Go(func() { job(d.ctx) })
}

// Hide restores the terminal and waits for all jobs. It may be called more than once, by several
// goroutines, and without Show.
func (d *Display) Hide() {
	if d.end == nil {
		return
	}
	d.end()
	d.terminal.End()
	d.jobs.Wait()
}
