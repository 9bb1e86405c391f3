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

// Reserve does nothing here.
func (OSFile) Reserve(int64, int64) error { return nil }

// handlePath is not known here.
func handlePath(*os.File) (string, error) { return "", errors.ErrUnsupported }

// Unlinked is not known here.
func Unlinked(fs.FileInfo) bool { return false }

// Lock does nothing here.
func Lock(*os.File) {}

// Locked takes every file for that of a living recorder.
func Locked(*os.File) bool { return true }

// Claim fails, because nobody knows here whether the owner of the file lives.
func Claim(*os.File) bool { return false }

// WritersOf never knows here.
func WritersOf(*os.File) Writers { return WritersUnknown }

// RenameNew renames within dir unless the new name exists.
func RenameNew(dir *os.File, oldName, newName string) error {
	to := filepath.Join(dir.Name(), newName)
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(filepath.Join(dir.Name(), oldName), to)
}

// Identify knows no identities here.
func Identify(*Folder, string) (id Identity, size int64, changed time.Time, ok bool) {
	return Identity{}, 0, time.Time{}, false
}
