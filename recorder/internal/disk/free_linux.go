package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// FreeBytes returns how many bytes this process can still write to the disk of an open directory.
func FreeBytes(dir *os.File) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // an int32 on 32-bit machines
}

// NoInodes reports whether a file system can hold no further file, although bytes may be free. A file
// system that makes inodes as it needs them reports no number.
func NoInodes(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Files > 0 && st.Ffree == 0
}
