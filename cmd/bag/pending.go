package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// outputMode is the permission of new files.
const outputMode = 0o640

// pendingFile is a file that gets its name when it is complete: until then, and if
// the process dies, what had the name before is untouched. Between the two lies one
// system call.
type pendingFile struct {
	*os.File
	path  string
	force bool
	over  bool // committed or aborted
}

// errExists says why a file is not written.
var errExists = errors.New("exists; use --force to overwrite it")

// createFile makes a file that Commit will name path. Without force a file of that
// name is an error, now and then. The caller has to call Commit or Abort.
func createFile(path string, force bool) (*pendingFile, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, explain(err)
	case st.IsDir():
		return nil, errors.New("is a directory; name a file")
	case !force:
		return nil, errExists
	case !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0:
		return nil, errors.New("is not a regular file; write to - for standard output")
	}
	dir, name := filepath.Split(path)
	if name == "" {
		return nil, errors.New("is not a file name")
	}
	temp := filepath.Join(dir, fmt.Sprintf(".%s.%s.tmp", name, rand.Text()[:8]))
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, outputMode) //nolint:gosec // the user names the file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("no such directory; make it first")
	}
	if err != nil {
		return nil, explain(err)
	}
	return &pendingFile{File: f, path: path, force: force}, nil
}

// Commit makes the file durable and gives it its name. After an error the file is
// gone and what had the name before is still there.
func (p *pendingFile) Commit() error {
	if p.over {
		return errors.New("gobag: file committed twice")
	}
	p.over = true
	err := p.Sync()
	if e := p.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = p.publish()
	}
	if err != nil {
		err = explain(err)
		if e := os.Remove(p.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = fmt.Errorf("%w; %s is left behind", err, p.Name())
		}
		return err
	}
	return syncDir(filepath.Dir(p.path))
}

// publish gives the complete file its name.
func (p *pendingFile) publish() error {
	if p.force {
		return os.Rename(p.Name(), p.path)
	}
	// A link, unlike rename, fails if somebody has taken the name meanwhile.
	err := os.Link(p.Name(), p.path)
	switch {
	case err == nil:
		return os.Remove(p.Name())
	case errors.Is(err, fs.ErrExist):
		return errExists
	}
	// The file system knows no links. The empty file takes the name, if nobody has it.
	f, err := os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, outputMode)
	if errors.Is(err, fs.ErrExist) {
		return errExists
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Rename(p.Name(), p.path))
}

// Abort removes the file, unless it was committed. A failure leaves a temporary
// file, and is told by its name there.
func (p *pendingFile) Abort() {
	if !p.over {
		p.over = true
		_ = p.Close()
		_ = os.Remove(p.Name())
	}
}

// syncDir makes the names in a directory durable, where that is possible: some file
// systems, and Windows, do not offer it, and one may write to a directory that one may
// not read.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the user names the file in it
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if unoffered(err) {
		return nil
	}
	return err
}

// unoffered reports whether an error says that syncing a directory cannot be done, and
// not that it failed.
func unoffered(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

// target is where a command writes its result: a pending file or standard output.
type target struct {
	w    io.Writer // with WriteAt and Sync, unless it is standard output
	file *pendingFile
}

// create makes the target that path names; "-" is standard output.
func (j *job) create(path string) (*target, error) {
	if path == "-" {
		if isTerminal(j.stdout) {
			return nil, errors.New("standard output is a terminal; redirect it to a file or a pipe")
		}
		return &target{w: struct{ io.Writer }{j.stdout}}, nil
	}
	f, err := createFile(path, j.Force)
	if err != nil {
		return nil, err
	}
	return &target{w: f.File, file: f}, nil
}

// commit completes the target.
func (t *target) commit() error {
	if t.file == nil {
		return nil
	}
	return t.file.Commit()
}

// abort removes what was written, unless it was committed or is gone down a pipe.
func (t *target) abort() {
	if t.file != nil {
		t.file.Abort()
	}
}
