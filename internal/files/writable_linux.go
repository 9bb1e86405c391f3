package files

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Writable returns why this user may not create files in a directory; nil if the user may.
func Writable(dir string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "write to", Path: dir, Err: err}
	}
	return nil
}
