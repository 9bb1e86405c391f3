//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package keys

import "golang.org/x/sys/unix"

const (
	ioctlReadTermios  = unix.TIOCGETA
	ioctlWriteTermios = unix.TIOCSETA
)

// raise sends a signal to this process. Unlike on Linux it may take effect a moment
// after the call has returned.
func raise(s unix.Signal) {
	unix.Kill(unix.Getpid(), s) //nolint:errcheck,gosec // we may always signal ourselves
}
