package recorder

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeBytes returns what is free for us on the disk of an open directory.
func freeBytes(dir *os.Root) (int64, error) {
	f, err := dir.Open(".")
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // an int32 on 32-bit machines
}
