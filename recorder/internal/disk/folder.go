package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Folder is an open directory. Because it is open, it can be synced and its free space can be read even
// if the process may open no more files. It is for concurrent use.
type Folder struct {
	*os.Root
	Handle *os.File

	name  string                 // the path that the directory was opened with
	moved atomic.Pointer[string] // the path of the directory now; nil while name leads to it
}

// OpenFolder opens a directory.
func OpenFolder(name string) (*Folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	handle, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Folder{Root: root, Handle: handle, name: name}, nil
}

// Close closes the directory.
func (f *Folder) Close() error { return errors.Join(f.Handle.Close(), f.Root.Close()) }

// Path returns the present path of a file in the directory. path is its path from before the directory
// was moved.
func (f *Folder) Path(path string) string {
	if now := f.moved.Load(); now != nil {
		return filepath.Join(*now, filepath.Base(path))
	}
	return path
}

// Follow finds the directory after it was moved, or after something else got its name. changed means that
// its path is another one than at the last call; path is the new path. On a system that does not report
// the path of an open directory, changed is always false.
func (f *Folder) Follow() (path string, changed bool) {
	if f.is(f.name) {
		return f.name, f.moved.Swap(nil) != nil
	}
	path, err := handlePath(f.Handle)
	if err != nil || !f.is(path) { // for example deleted, which File.CheckName of bagfile notices
		return "", false
	}
	old := f.moved.Swap(&path)
	return path, old == nil || *old != path
}

// Unreachable reports whether no path leads to the directory, although it was not deleted: its file
// system was unmounted while the directory was open, or another one was mounted above it. On a system
// that does not report the path of an open directory, the answer is false.
func (f *Folder) Unreachable() bool {
	if f.is(f.name) {
		return false
	}
	path, err := handlePath(f.Handle)
	if err != nil || f.is(path) {
		return false
	}
	own, err := f.Handle.Stat()
	return err == nil && !Unlinked(own)
}

// is reports whether path leads to the directory.
func (f *Folder) is(path string) bool {
	at, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := f.Handle.Stat()
	return err == nil && os.SameFile(at, own)
}
