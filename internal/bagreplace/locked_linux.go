package bagreplace

import (
	"os"

	"golang.org/x/sys/unix"
)

// isRecorded reports whether a gorecord has locked the file: it writes to it, perhaps not for hours.
func isRecorded(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		unix.Flock(int(f.Fd()), unix.LOCK_UN) //nolint:errcheck,gosec // closing the file does it, too
	}
	return err == unix.EWOULDBLOCK
}
