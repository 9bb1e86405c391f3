package screen

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/internal/keys"
)

// atOnce bounds how long Ctrl-Z waits for a terminal that takes nothing.
const atOnce = 300 * time.Millisecond

// Terminal is the terminal of this process while a program has it: it shows a Live, or
// takes keys, or both. Set the fields, then call Begin.
type Terminal struct {
	Live   *Live          // nil: only keys are taken
	Input  *os.File       // gives the keys; nil: none are taken
	Press  func(keys.Key) // must not block; nil means Live.Press
	Failed func(error)    // the keys cannot be read

	ctx    context.Context //nolint:containedctx // of Begin: Ctrl-Z and fg come in between
	cancel context.CancelFunc
	jobs   sync.WaitGroup // what runs until End

	typing sync.Mutex // guards deaf
	deaf   func()     // ends reading keys, and waits for that; nil while none are read
}

// Begin takes the terminal until End, or until ctx ends.
func (t *Terminal) Begin(ctx context.Context) {
	ctx, t.cancel = context.WithCancel(ctx)
	t.ctx = ctx
	t.listen(ctx)
	// owner: End; all end with ctx.
	if t.Live != nil {
		t.jobs.Go(func() { t.Live.Run(t.ctx) })
		t.jobs.Go(func() { keys.Resizes(t.ctx, t.Live.Resized) })
	}
	t.jobs.Go(func() { keys.Stops(t.ctx, t.leave, t.back) })
	t.jobs.Go(func() { keys.Quits(t.ctx, t.leave) })
}

// End gives the terminal back. It may be called more than once.
func (t *Terminal) End() {
	t.cancel()
	t.jobs.Wait()
}

// leave gives the terminal back before Ctrl-Z stops the program.
func (t *Terminal) leave() {
	t.typing.Lock()
	if t.deaf != nil {
		t.deaf()
	}
	t.deaf = nil
	t.typing.Unlock()
	if t.Live != nil {
		t.Live.Hide(atOnce)
	}
}

// back takes the terminal again.
func (t *Terminal) back() {
	t.listen(t.ctx)
	if t.Live != nil {
		t.Live.Show()
	}
}

// listen reads keys if there are any to read.
func (t *Terminal) listen(ctx context.Context) {
	if t.Input == nil {
		return
	}
	press := t.Press
	if press == nil {
		press = t.Live.Press
	}
	t.typing.Lock()
	defer t.typing.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	t.deaf = func() {
		cancel()
		<-done
	}
	// owner: End; ends with ctx.
	t.jobs.Go(func() {
		defer close(done)
		defer cancel()
		if err := keys.Watch(ctx, t.Input, press); err != nil {
			t.Failed(err)
		}
	})
}

// SizeOf returns the size of a terminal while we are not in its background, for Live.
func SizeOf(f *os.File) func() (width, height int) {
	return func() (width, height int) {
		if !keys.Foreground(f) {
			return 0, 0
		}
		width, height, err := term.GetSize(int(f.Fd()))
		if err != nil || width == 0 || height == 0 {
			return 80, 24 // a serial line does not know
		}
		return width, height
	}
}

// Unicode reports whether the terminal is said to show more than ASCII. Where nothing is
// said it is taken for one of today. The Linux console has few characters.
func Unicode() bool {
	if os.Getenv("TERM") == "linux" {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(os.Getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// PrintTable prints to standard output what the log on the console comes before. A
// terminal that takes nothing does not hold up the end.
func PrintTable(console *Console, table string) {
	console.Hide(atOnce) // both may be one terminal
	out := NewConsole(os.Stdout, false)
	out.Write([]byte(table)) //nolint:errcheck,gosec // a console takes everything
	if err := out.Close(); err != nil {
		console.Write([]byte(table)) //nolint:errcheck,gosec // as above: Ctrl-C has ended the tee behind us, too
	}
}
