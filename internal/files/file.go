// Package files creates files that get their names when they are complete and durable. It also puts new
// versions of bags in place of the old ones, which become backups, and locks files that are changed in
// place.
//
// Until Commit, and after a crash, a file that had the name before is unchanged. The package owns its
// temporary files; their content is the business of its callers, the commands that write files. Error texts
// are for users and leave out the name of the file, which the caller adds.
//
// Decisions: ADR 0022.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// outputMode is the permission of new files.
const outputMode = 0o640

// File is a temporary file that Commit renames.
type File struct {
	*os.File
	path   string
	force  bool
	closed bool // committed or aborted
}

// ErrExists means that a file has the name already, and is not to be overwritten.
var ErrExists = errors.New("exists; use --force to overwrite it")

var errGone = errors.New("the directory is gone, or somebody has removed the new file from it")

// Create creates a temporary file that Commit renames to path. Without force an existing
// file is an error, here and in Commit. The caller has to call Commit or Abort.
func Create(path string, force bool) (*File, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, wording.Explain(err)
	case st.IsDir():
		return nil, errors.New("is a directory; name a file")
	case !force:
		return nil, ErrExists
	case !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0:
		return nil, errors.New("is not a regular file; write to - for standard output")
	}
	if _, name := filepath.Split(path); name == "" {
		return nil, errors.New("is not a file name")
	}
	for {
		temp := temporary(path)
		f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, outputMode) //nolint:gosec // the user names the file
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, errors.New("no such directory; make it first")
		case err != nil:
			return nil, wording.Explain(err)
		case holds(f, temp):
			return &File{File: f, path: path, force: force}, nil
		}
		_ = f.Close() // it is empty
	}
}

// Path returns the path that the file gets by Commit.
func (p *File) Path() string { return p.path }

// Commit makes the file durable and renames it. After an error it has removed the temporary file, and a file
// that had the name before is unchanged.
func (p *File) Commit() error {
	if p.closed {
		return errors.New("gobag: file committed twice")
	}
	p.closed = true
	err := p.Sync()
	if !renamesOpen {
		err = errors.Join(err, p.Close())
	}
	if err == nil {
		err = p.publish() // while it is locked: otherwise another process could take it for a leftover
	}
	if renamesOpen {
		err = errors.Join(err, p.Close())
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errGone
		}
		err = wording.Explain(err)
		if e := os.Remove(p.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = fmt.Errorf("%w; %s is left behind", err, p.Name())
		}
		return err
	}
	return SyncDir(filepath.Dir(p.path))
}

// publish gives the complete file its name.
func (p *File) publish() error {
	if p.force {
		return os.Rename(p.Name(), p.path)
	}
	// Unlike rename, link fails if the name exists by now.
	err := os.Link(p.Name(), p.path)
	switch {
	case err == nil:
		return os.Remove(p.Name())
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	// The file system has no links. An empty file reserves the name, if it is free.
	f, err := os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, outputMode)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Rename(p.Name(), p.path))
}

// Abort removes the temporary file, unless it was committed. If the file cannot be removed, its name tells
// what it is.
func (p *File) Abort() {
	if !p.closed {
		p.closed = true
		_ = p.Close()
		_ = os.Remove(p.Name())
	}
}

// SyncDir makes the names in a directory durable, where that is possible: some file systems and
// Windows do not support it, and a directory may be writable but not readable.
func SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the user names the file in it
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if isSyncUnsupported(err) {
		return nil
	}
	return err
}

// isSyncUnsupported reports whether err says that the directory cannot be synced at all, rather than that
// syncing has failed.
func isSyncUnsupported(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, syscall.EINVAL)
}
