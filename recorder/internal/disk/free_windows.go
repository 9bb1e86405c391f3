package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// FreeBytes returns how many bytes this process can still write to the disk of an open directory.
func FreeBytes(dir *os.File) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir.Name())
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return int64(free), err
}

// NoInodes returns false: only on Linux the number of free inodes is read.
func NoInodes(string) bool { return false }
