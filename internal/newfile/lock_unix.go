//go:build unix

package newfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock keeps others who lock the file from it until it is closed. It reports whether nobody
// has it. A file system that knows no locks keeps nobody.
func Lock(f *os.File) bool {
	return !errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}
