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

// handlePath cannot be told here.
func handlePath(*os.File) (string, error) { return "", errors.ErrUnsupported }

// Unlinked cannot be told here.
func Unlinked(fs.FileInfo) bool { return false }

// Lock marks nothing here, and so Locked takes every file for that of a living
// recorder.
func Lock(*os.File) {}

func Locked(*os.File) bool { return true }

// Claim fails: whether the owner lives cannot be told here.
func Claim(*os.File) bool { return false }

func WritersOf(*os.File) Writers { return WritersUnknown }

// RenameNew renames within dir unless the new name exists.
func RenameNew(dir *os.File, oldName, newName string) error {
	to := filepath.Join(dir.Name(), newName)
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(filepath.Join(dir.Name(), oldName), to)
}

// Identify cannot tell files apart here.
func Identify(*Folder, string) (id Identity, size int64, changed time.Time, ok bool) {
	return Identity{}, 0, time.Time{}, false
}
