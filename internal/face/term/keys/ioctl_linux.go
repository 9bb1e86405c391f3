package keys

import "golang.org/x/sys/unix"

const (
	ioctlReadTermios  = unix.TCGETS
	ioctlWriteTermios = unix.TCSETS
)

// raise sends a signal to the calling thread.
func raise(s unix.Signal) {
	unix.Tgkill(unix.Getpid(), unix.Gettid(), s) //nolint:errcheck,gosec // we may always signal ourselves
}
