//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renamesOpen says that a file can be renamed while it is open.
const renamesOpen = true

// Lock locks f until it is closed. It returns false if another process has locked the file, and true also
// where the file system has no locks.
func Lock(f *os.File) bool {
	return !errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// IsLocked reports whether another process has locked f, as recorders lock their bags.
func IsLocked(f *os.File) bool {
	if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return true
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // otherwise it ends with f
	return false
}

// lockKnown locks f until it is closed. Unlike Lock it returns false where the file system has no locks.
func lockKnown(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
