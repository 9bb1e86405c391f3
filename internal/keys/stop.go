//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package keys

import (
	"context"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

// Foreground reports whether the terminal is this program's to draw on, and not that
// of another job of the shell.
func Foreground(f *os.File) bool {
	t := terminal{fd: int(f.Fd())}
	return !t.background()
}

// Stops calls leave before Ctrl-Z stops the program, and back when it goes on, until
// ctx is done.
func Stops(ctx context.Context, leave, back func()) {
	if signal.Ignored(unix.SIGTSTP) {
		return // a shell without jobs has started us: that must stay so
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

// stop stops the program as Ctrl-Z does, and returns when it goes on. Go's runtime
// never gives SIGTSTP back to the system. SIGTTIN does the same and Go does not touch
// it. Unlike SIGSTOP it does nothing where no shell is there to continue us.
func stop() {
	runtime.LockOSThread() // on Linux the signal goes to this thread: it takes effect before the call returns
	defer runtime.UnlockOSThread()
	raise(unix.SIGTTIN)
}

// Resizes calls resized when the terminal has got another size, until ctx is done.
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
// goroutines, until ctx is done.
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
