//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package keys

import (
	"context"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// Foreground reports whether this program, and not another job of the shell, may draw on the
// terminal.
func Foreground(f *os.File) bool {
	t := terminal{fd: int(f.Fd())}
	return !t.background()
}

// Stops calls leave before Ctrl-Z stops the program, and back when it continues, until ctx
// ends.
func Stops(ctx context.Context, leave, back func()) {
	if signal.Ignored(unix.SIGTSTP) {
		return // started by a shell without job control: keep ignoring it
	}
	stops := make(chan os.Signal, 1)
	signal.Notify(stops, unix.SIGTSTP)
	defer signal.Stop(stops)
	for {
		select {
		case <-stops:
			leave()
			stop()
			back()
		case <-ctx.Done():
			return
		}
	}
}

// stop stops the program as Ctrl-Z does, and returns when it continues. Go's runtime does not
// restore the default action of SIGTSTP. SIGTTIN has the same effect, and Go does not handle
// it. Unlike SIGSTOP it has no effect when no shell can continue the program.
func stop() {
	runtime.LockOSThread() // on Linux the signal goes to this thread: it takes effect before the call returns
	defer runtime.UnlockOSThread()
	raise(unix.SIGTTIN)
}

// Resizes calls resized when the size of the terminal has changed, until ctx ends.
func Resizes(ctx context.Context, resized func()) {
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, unix.SIGWINCH)
	defer signal.Stop(sizes)
	for {
		select {
		case <-sizes:
			resized()
		case <-ctx.Done():
			return
		}
	}
}

// Quits calls leave before SIGQUIT (Ctrl-\) ends the program with the stacks of its
// goroutines, until ctx ends.
func Quits(ctx context.Context, leave func()) {
	quits := make(chan os.Signal, 1)
	signal.Notify(quits, unix.SIGQUIT)
	defer signal.Stop(quits)
	select {
	case <-quits:
		leave()
		signal.Reset(unix.SIGQUIT)
		unix.Kill(unix.Getpid(), unix.SIGQUIT) //nolint:errcheck,gosec // we may always signal ourselves
		<-ctx.Done()                           // the signal may take effect a moment later
	case <-ctx.Done():
	}
}
