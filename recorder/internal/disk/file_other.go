//go:build !linux

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// OSFile is an *os.File.
type OSFile struct{ *os.File }

// Reserve does nothing, and returns errors.ErrUnsupported.
func (OSFile) Reserve(int64, int64) error { return errors.ErrUnsupported }

// handlePath returns errors.ErrUnsupported.
func handlePath(*os.File) (string, error) { return "", errors.ErrUnsupported }

// Unlinked returns false: this system does not report the number of names.
func Unlinked(fs.FileInfo) bool { return false }

// Lock does nothing: this system has no such locks.
func Lock(*os.File) {}

// Locked returns true: every file may be that of a living recorder.
func Locked(*os.File) bool { return true }

// Claim returns false: the recorder of the file may be alive.
func Claim(*os.File) bool { return false }

// WritersOf returns WritersUnknown.
func WritersOf(*os.File) Writers { return WritersUnknown }

// RenameNew renames within dir unless the new name exists.
func RenameNew(dir *os.File, oldName, newName string) error {
	to := filepath.Join(dir.Name(), newName)
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(filepath.Join(dir.Name(), oldName), to)
}

// Identify returns false: this system does not report identities.
func Identify(*Folder, string) (id Identity, size int64, changed time.Time, ok bool) {
	return Identity{}, 0, time.Time{}, false
}
