package disk

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// OSFile is an *os.File as a Handle.
type OSFile struct{ *os.File }

// Sync makes data and size durable, but not the times of access and change. Then it lets the kernel drop the
// pages of the file: a long recording must not push everything else out of memory, and the kernel reuses free
// pages at less cost than it evicts others.
func (f OSFile) Sync() error {
	fd := int(f.Fd())
	if err := unix.Fdatasync(fd); err != nil {
		return err
	}
	// ADR 0013: a long recording must not push other files out of memory.
	unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) //nolint:errcheck,gosec // advice; not every file system takes it
	return nil
}

// Reserve reserves room for the bytes of the file in the range from to end, and does not change its size.
// It fails if a write would fail because there is no room. On file systems that cannot reserve it does
// nothing, and returns an error that matches errors.ErrUnsupported.
func (f OSFile) Reserve(from, end int64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(end) > limit.Cur {
		return unix.EFBIG
	}
	for {
		switch err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, end-from); err {
		case unix.EINTR:
		case unix.ENOSPC, unix.EDQUOT, unix.EFBIG, unix.EOPNOTSUPP, unix.ENOSYS:
			return err
		default:
			return nil
		}
	}
}

// handlePath returns the present path of an open file.
func handlePath(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}

// Unlinked reports whether an open file has no name left.
func Unlinked(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
}

// Lock marks a file as that of a living recorder. The mark ends with the process. On file systems without
// locks nothing is marked.
func Lock(f *os.File) {
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:errcheck,gosec // nobody else has the new file
}

// Locked reports whether a living recorder has marked the file.
func Locked(f *os.File) bool {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return true // also if the file system cannot tell
	}
	unix.Flock(int(f.Fd()), unix.LOCK_UN) //nolint:errcheck,gosec // closing the file does it, too
	return false
}

// Claim marks the file of a crashed recorder, so that only one process repairs it. It reports whether it
// could.
func Claim(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }

// WritersOf reports whether any process, even in another container, has the file open for writing: only
// if none has, the kernel grants a read lease. f has to be open for reading only.
func WritersOf(f *os.File) Writers {
	// ADR 0034: stock holds no lock, but the kernel refuses a lease while a process has the file open for
	// writing.
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch err {
	case nil:
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) //nolint:errcheck,gosec // closing the file does it, too
		return WritersNone
	case unix.EAGAIN:
		return WritersSome
	}
	return WritersUnknown // the file system has no leases, or the file is another user's
}

// RenameNew renames within dir unless the new name exists.
func RenameNew(dir *os.File, oldName, newName string) error {
	fd := int(dir.Fd())
	// ADR 0008: never overwrite a bag.
	err := unix.Renameat2(fd, oldName, fd, newName, unix.RENAME_NOREPLACE)
	if err == unix.EINVAL || err == unix.ENOSYS { // this file system has no RENAME_NOREPLACE
		return renameByLink(fd, oldName, newName)
	}
	return err
}

// renameByLink is RenameNew for file systems without RENAME_NOREPLACE, such as NFS.
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

// Identify returns the identity, the size and the time of the last change of a file in dir. ok is false
// if the file is not a regular one, or if the file system does not report all of that.
func Identify(dir *Folder, name string) (id Identity, size int64, changed time.Time, ok bool) {
	var st unix.Statx_t
	const want = unix.STATX_BTIME | unix.STATX_INO | unix.STATX_SIZE | unix.STATX_MTIME | unix.STATX_TYPE
	if unix.Statx(int(dir.Handle.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, want, &st) != nil ||
		st.Mask&want != want || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return Identity{}, 0, time.Time{}, false
	}
	return Identity{st.Ino, time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).UnixNano()}, int64(st.Size),
		time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)), true
}
