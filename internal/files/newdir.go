// This file creates directories that get their names when they are complete and durable. It is to
// directories what package files is to files.
//
// Until Commit, and after a crash, a directory that had the name before is unchanged. The package owns its
// temporary directories; its callers write the files in them. Of a directory that is replaced it deletes only
// files that its caller knows. Error texts are for users and leave out the name of the directory, which the
// caller adds.

package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Permissions of new directories and files.
const (
	dirMode  = 0o750
	fileMode = 0o640
)

// Dir is a temporary directory that Commit renames.
type Dir struct {
	// the name that it gets
	path string
	// the name that it has
	temp string
	// whether a file of the old directory may be deleted; nil: what exists is not replaced
	known func(name string) bool
	// names that Create was called with
	files []string
	// committed or aborted
	ended bool
	// the temporary directory, which is locked; nil if it could not be opened
	lock *os.File
}

// MakeDir makes a temporary directory that Commit renames to path. With a nil known it is an error if path
// exists, here and in Commit. Otherwise a directory at path is replaced if it holds nothing but files whose
// names known accepts. The caller has to call Commit or Abort.
func MakeDir(path string, known func(name string) bool) (*Dir, error) {
	path = filepath.Clean(path)
	d := &Dir{path: path, known: known}
	switch _, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, wording.Explain(err)
	case known == nil:
		return nil, ErrExists
	default:
		if err := d.replaceable(); err != nil {
			return nil, err
		}
	}
	for {
		d.temp = temporary(path)
		err := os.Mkdir(d.temp, dirMode)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("no such directory to make it in; make that first")
		}
		if err != nil {
			return nil, wording.Explain(err)
		}
		if d.lock, err = os.Open(d.temp); err == nil && holds(d.lock, d.temp) || err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return d, nil
		}
		_ = d.lock.Close() // another process has taken it for a leftover
	}
}

// beside returns a new hidden path beside that of the directory.
func (d *Dir) beside(end string) string {
	return filepath.Join(filepath.Dir(d.path),
		fmt.Sprintf(".%s.%s.%s", filepath.Base(d.path), rand.Text()[:8], end))
}

// replaceable returns an error if the file at d.path is not a directory with known files only.
func (d *Dir) replaceable() error {
	st, err := os.Lstat(d.path)
	switch {
	case err != nil:
		return wording.Explain(err)
	case !st.IsDir():
		return errors.New("exists and is not a directory; name another one")
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return wording.Explain(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !d.known(e.Name()) {
			return fmt.Errorf("holds %s, which would be deleted; move it away, or name another directory",
				wording.Shown(e.Name()))
		}
	}
	return nil
}

// Create makes a file in the directory. The caller closes it before Commit, which syncs it.
func (d *Dir) Create(name string) (*os.File, error) {
	f, err := os.OpenFile(d.Path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err == nil {
		d.files = append(d.files, name)
	}
	return f, err
}

// Path returns the path of a file in the directory before Commit.
func (d *Dir) Path(name string) string { return filepath.Join(d.temp, name) }

// Commit makes the files and the directory durable, and renames the directory. After an error it has removed
// the temporary directory, and a directory that had the name before is unchanged, unless the error says
// otherwise.
func (d *Dir) Commit() error {
	if d.ended {
		return errors.New("gobag: directory committed twice")
	}
	err := d.sync()
	if err == nil {
		err = d.publish()
	}
	if err != nil {
		d.Abort()
		return wording.Explain(err)
	}
	d.ended = true
	_ = d.lock.Close() // only locked; of nil it does nothing
	return SyncDir(filepath.Dir(d.path))
}

// sync makes everything durable but the name.
func (d *Dir) sync() error {
	for _, name := range d.files {
		f, err := os.OpenFile(d.Path(name), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return SyncDir(d.temp)
}

// publish gives the directory its name.
func (d *Dir) publish() error {
	if _, err := os.Lstat(d.path); d.known == nil || errors.Is(err, fs.ErrNotExist) {
		return d.rename()
	}
	if err := d.replaceable(); err != nil { // again: others may have changed it since Make
		return err
	}
	err := exchange(d.temp, d.path)
	if err == nil {
		return d.discard(d.temp)
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	old := d.beside("old")
	if err := os.Rename(d.path, old); err != nil {
		return err
	}
	if err := d.rename(); err != nil {
		return errors.Join(err, os.Rename(old, d.path))
	}
	return d.discard(old)
}

// rename gives the directory its name, if nothing but an empty directory has it.
func (d *Dir) rename() error {
	err := os.Rename(d.temp, d.path)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENOTEMPTY) {
		return ErrExists
	}
	return err
}

// discard deletes the known files of the directory that was replaced, and the directory if that is empty
// then. Files that others have added meanwhile stay.
func (d *Dir) discard(old string) error {
	entries, err := os.ReadDir(old)
	for _, e := range entries {
		if e.Type().IsRegular() && d.known(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(old, e.Name())))
		}
	}
	if err = errors.Join(err, os.Remove(old)); err != nil {
		d.ended = true // the new directory has its name
		return fmt.Errorf("is complete; of what it replaced, %s is left: %w", wording.Shown(old), err)
	}
	return nil
}

// Abort removes the temporary directory, unless it was committed. If it cannot be removed, its name tells
// what it is.
func (d *Dir) Abort() {
	if !d.ended {
		d.ended = true
		_ = os.RemoveAll(d.temp)
		_ = d.lock.Close() // as in Commit
	}
}
