package recorder

import (
	"os"

	"golang.org/x/sys/unix"
)

// osFile is an *os.File whose Sync leaves out times of access and change.
type osFile struct{ *os.File }

// Sync makes data and size durable, and then lets the kernel forget the pages: a
// long recording must not push everything else out of memory, and pages that come
// back at once are cheaper to fill than fresh ones.
func (f osFile) Sync() error {
	fd := int(f.Fd())
	if err := unix.Fdatasync(fd); err != nil {
		return err
	}
	unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) //nolint:errcheck,gosec // advice; not every file system takes it
	return nil
}

// lock marks a file as that of a living recorder: the mark goes with the process. A
// file system without locks goes without.
func lock(f *os.File) {
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:errcheck,gosec // nobody else has the new file
}

// locked reports whether a living recorder has the file.
func locked(f *os.File) bool {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return true // also if it cannot be told
	}
	unix.Flock(int(f.Fd()), unix.LOCK_UN) //nolint:errcheck,gosec // closing the file does it, too
	return false
}

// renameNew renames within dir unless the new name exists.
func renameNew(dir *os.File, oldName, newName string) error {
	fd := int(dir.Fd())
	err := unix.Renameat2(fd, oldName, fd, newName, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS { // this file system cannot do it in one step
		return renameByLink(fd, oldName, newName)
	}
	return err
}

// renameByLink does it for file systems without RENAME_NOREPLACE, such as NFS.
func renameByLink(fd int, oldName, newName string) error {
	err := unix.Linkat(fd, oldName, fd, newName, 0)
	switch err {
	case nil:
		return unix.Unlinkat(fd, oldName, 0)
	case unix.EPERM, unix.ENOTSUP, unix.ENOSYS: // no hard links either: FAT on a USB stick
		var st unix.Stat_t
		if unix.Fstatat(fd, newName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			return unix.EEXIST
		}
		return unix.Renameat(fd, oldName, fd, newName)
	}
	return err
}
