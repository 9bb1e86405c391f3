package disk

import (
	"errors"
	"io"
	"os"
)

// Handle is what a bag needs of the operating system; tests inject faults through it.
type Handle interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Reserve(from, end int64) error
	Close() error
}

// Identity distinguishes a file from another one that gets its name later. The inode of a deleted file may be
// reused, so the time of creation is part of the identity.
type Identity struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born"` // nanoseconds since 1970
}

// Writers says whether a process has a file open for writing.
type Writers int

// The results of WritersOf.
const (
	WritersUnknown Writers = iota // the system or the file system does not report it
	WritersNone
	WritersSome
)

// CreateFile creates a file; mode is that of bagname.Output.
func CreateFile(dir *Folder, name string, mode os.FileMode) (*os.File, error) {
	// ADR 0008: never overwrite a bag.
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil || mode == 0 {
		return f, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close(), dir.Remove(name))
	}
	return f, nil
}

// InUse reports whether a recorder or a repair has locked the file.
func InUse(dir *Folder, name string) bool {
	f, err := dir.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return Locked(f)
}
