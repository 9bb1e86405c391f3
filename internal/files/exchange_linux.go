package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step, or returns errors.ErrUnsupported.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // file systems and kernels without it
		return errors.ErrUnsupported
	}
	return err
}
