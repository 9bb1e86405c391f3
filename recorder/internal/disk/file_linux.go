package disk

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OSFile is an *os.File whose Sync leaves out times of access and change.
type OSFile struct{ *os.File }

// Sync makes data and size durable, and then lets the kernel forget the pages: a
// long recording must not push everything else out of memory, and pages that come
// back at once are cheaper to fill than fresh ones.
func (f OSFile) Sync() error {
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
func (f OSFile) Reserve(from, end int64) error {
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

// handlePath returns the path of an open file, also after it was renamed.
func handlePath(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}

// Unlinked reports whether an open file has no name left.
func Unlinked(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
}

// Lock marks a file as that of a living recorder: the mark goes with the process. A
// file system without locks goes without.
func Lock(f *os.File) {
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:errcheck,gosec // nobody else has the new file
}

// Locked reports whether a living recorder has the file.
func Locked(f *os.File) bool {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return true // also if it cannot be told
	}
	unix.Flock(int(f.Fd()), unix.LOCK_UN) //nolint:errcheck,gosec // closing the file does it, too
	return false
}

// Claim takes a file of a dead recorder, so that no two of us repair it.
func Claim(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// WritersOf asks for a read lease, which the kernel grants only if nobody, in whatever
// container, has the file open for writing. f has to be open for reading only.
func WritersOf(f *os.File) Writers {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch err {
	case nil:
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) //nolint:errcheck,gosec // closing the file does it, too
		return WritersNone
	case unix.EAGAIN:
		return WritersSome
	}
	return WritersUnknown // no leases on this file system, or not our file
}

// RenameNew renames within dir unless the new name exists.
func RenameNew(dir *os.File, oldName, newName string) error {
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

// Identify returns what tells the file of a name in dir from others, and its size; ok is
// false if that cannot be told, or if it is not a regular file.
func Identify(dir *Folder, name string) (id Identity, size int64, changed time.Time, ok bool) {
	var st unix.Statx_t
	const want = unix.STATX_BTIME | unix.STATX_INO | unix.STATX_SIZE | unix.STATX_MTIME | unix.STATX_TYPE
	if unix.Statx(int(dir.Handle.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, want, &st) != nil || st.Mask&want != want || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Identity{}, 0, time.Time{}, false
	}
	return Identity{st.Ino, time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).UnixNano()}, int64(st.Size), time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)), true
}
