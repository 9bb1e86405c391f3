package recorder

import (
	"os"

	"golang.org/x/sys/unix"
)

// osFile is an *os.File whose Sync leaves out times of access and change.
type osFile struct{ *os.File }

// Sync makes data and size durable.
func (f osFile) Sync() error { return unix.Fdatasync(int(f.Fd())) }

// renameNew renames within dir unless the new name exists.
func renameNew(dir *os.File, oldName, newName string) error {
	fd := int(dir.Fd())
	err := unix.Renameat2(fd, oldName, fd, newName, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS { //nolint:errorlint // a plain errno; this file system cannot do it in one step
		if err := unix.Linkat(fd, oldName, fd, newName, 0); err == nil {
			return unix.Unlinkat(fd, oldName, 0)
		}
		return unix.Renameat(fd, oldName, fd, newName) // no hard links either: FAT on a USB stick
	}
	return err
}
