//go:build !linux && !windows

package disk

import (
	"os"
	"syscall"
)

// FreeBytes returns how many bytes this process can still write to the disk of an open directory.
func FreeBytes(dir *os.File) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir.Name(), &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// NoInodes returns false: only on Linux the number of free inodes is read.
func NoInodes(string) bool { return false }
