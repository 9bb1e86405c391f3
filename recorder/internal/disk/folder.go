package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Folder is an open directory. It can be made durable, and asked for its free space,
// also when the process may open no further file. It is for concurrent use.
type Folder struct {
	*os.Root
	Handle *os.File

	name  string                 // under which it was opened
	moved atomic.Pointer[string] // its path now, nil while name leads to it
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

// Path returns where a file of this directory is now. path is the path of the file under the name
// that the directory was opened with.
func (f *Folder) Path(path string) string {
	if now := f.moved.Load(); now != nil {
		return filepath.Join(*now, filepath.Base(path))
	}
	return path
}

// Follow finds the directory after it was renamed, or replaced by another one or a symlink.
// It reports whether that is news, and then returns the path at which the directory is now.
// Where the system does not tell the path of an open directory, there is no news.
func (f *Folder) Follow() (path string, changed bool) {
	if f.is(f.name) {
		return f.name, f.moved.Swap(nil) != nil
	}
	path, err := handlePath(f.Handle)
	if err != nil || !f.is(path) { // deleted, for example: the files themselves tell
		return "", false
	}
	old := f.moved.Swap(&path)
	return path, old == nil || *old != path
}

// is reports whether a path leads to this directory.
func (f *Folder) is(path string) bool {
	at, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := f.Handle.Stat()
	return err == nil && os.SameFile(at, own)
}
