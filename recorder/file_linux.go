package recorder

import (
	"io/fs"
	"os"
	"syscall"

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

// Reserve makes room for the bytes from..end of the file beside those that it has, and
// leaves its size as it is. It fails where a write would for want of room. Not every
// file system can do it: there it does nothing.
func (f osFile) Reserve(from, end int64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(end) > limit.Cur {
		return unix.EFBIG
	}
	for {
		switch err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, end-from); err {
		case unix.EINTR:
		case unix.ENOSPC, unix.EDQUOT, unix.EFBIG:
			return err
		default:
			return nil
		}
	}
}

// unlinked reports whether an open file has no name left.
func unlinked(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
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

// claim takes a file of a dead recorder, so that no two of us repair it.
func claim(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// writersOf asks for a read lease, which the kernel grants only if nobody, in whatever
// container, has the file open for writing. f has to be open for reading only.
func writersOf(f *os.File) writers {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch err {
	case nil:
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) //nolint:errcheck,gosec // closing the file does it, too
		return writersNone
	case unix.EAGAIN:
		return writersSome
	}
	return writersUnknown // no leases on this file system, or not our file
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
