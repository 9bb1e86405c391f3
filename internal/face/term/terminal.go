package term

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/gorosbag/gorosbag/internal/face/term/keys"
)

// hideTimeout bounds how long Ctrl-Z waits for a blocked terminal.
const hideTimeout = 300 * time.Millisecond

// Terminal controls the terminal of this process: it shows a Live, or reads keys, or both. Set
// the fields, then call Begin.
type Terminal struct {
	Live   *Live          // nil: only read keys
	Input  *os.File       // source of keys; nil: none
	Press  func(keys.Key) // must not block; nil means Live.Press
	Failed func(error)    // called when keys cannot be read

	ctx    context.Context //nolint:containedctx // of Begin; Ctrl-Z and fg need it later
	cancel context.CancelFunc
	jobs   sync.WaitGroup // goroutines that end in End

	// guards stopKeys
	mu sync.Mutex
	// stops reading keys, and returns when no key is read any more; nil while keys are not read
	stopKeys func()
}

// Begin acquires the terminal until End, or until ctx ends.
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

// End restores the terminal. It may be called more than once.
func (t *Terminal) End() {
	t.cancel()
	t.jobs.Wait()
}

// leave restores the terminal before Ctrl-Z stops the program.
func (t *Terminal) leave() {
	t.mu.Lock()
	if t.stopKeys != nil {
		t.stopKeys()
	}
	t.stopKeys = nil
	t.mu.Unlock()
	if t.Live != nil {
		t.Live.Hide(hideTimeout)
	}
}

// back acquires the terminal again.
func (t *Terminal) back() {
	t.listen(t.ctx)
	if t.Live != nil {
		t.Live.Show()
	}
}

// listen starts reading keys, if there is an input.
func (t *Terminal) listen(ctx context.Context) {
	if t.Input == nil {
		return
	}
	press, text := t.Press, func() bool { return false }
	if press == nil {
		press, text = t.Live.Press, t.Live.typing
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	t.stopKeys = func() {
		cancel()
		<-done
	}
	// owner: End; ends with ctx.
	t.jobs.Go(func() {
		defer close(done)
		defer cancel()
		if err := keys.Watch(ctx, t.Input, press, text); err != nil {
			t.Failed(err)
		}
	})
}

// SizeOf returns the size of a terminal, for Live; zero while the program is in the background.
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

// Unicode reports whether the terminal shows more than ASCII, according to the environment. Without a
// locale in the environment it is assumed to. The Linux console is not: it has few characters.
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

// PrintTable prints text to standard output after the log on the console. A blocked terminal
// does not delay the end.
func PrintTable(console *Console, table string) {
	console.Hide(hideTimeout) // both may be one terminal
	out := NewConsole(os.Stdout, false)
	out.Write([]byte(table)) //nolint:errcheck,gosec // a console takes everything
	if err := out.Close(); err != nil {
		console.Write([]byte(table)) //nolint:errcheck,gosec // as above; Ctrl-C may have ended the tee that reads standard output
	}
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
