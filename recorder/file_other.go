//go:build !linux

package recorder

import (
	"io/fs"
	"os"
	"path/filepath"
)

// osFile is an *os.File.
type osFile struct{ *os.File }

// Reserve does nothing here.
func (osFile) Reserve(int64, int64) error { return nil }

// unlinked cannot be told here.
func unlinked(fs.FileInfo) bool { return false }

// lock marks nothing here, and so locked takes every file for that of a living
// recorder.
func lock(*os.File) {}

func locked(*os.File) bool { return true }

// claim fails: whether the owner lives cannot be told here.
func claim(*os.File) bool { return false }

func writersOf(*os.File) writers { return writersUnknown }

// renameNew renames within dir unless the new name exists.
func renameNew(dir *os.File, oldName, newName string) error {
	to := filepath.Join(dir.Name(), newName)
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(filepath.Join(dir.Name(), oldName), to)
}
