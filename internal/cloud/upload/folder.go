package upload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// folder is the directory of the bags and of their marker files. It has no lock: one goroutine at a
// time works on a file, and the lock on its marker file keeps other recorders out.
type folder struct {
	dir  string // as the user gave it
	root *os.Root
}

// openFolder opens the directory.
func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, root: root}, nil
}

// close closes the directory.
func (d *folder) close() error { return d.root.Close() }

// path returns the path of a file as the user gave it.
func (d *folder) path(f *file) string { return filepath.Join(d.dir, f.name) }

// open opens the bag, but no FIFO or other file in its place, on which reads might block.
func (d *folder) open(f *file) (*os.File, error) {
	st, err := d.root.Stat(f.name)
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: d.path(f), Err: errors.New("is no longer a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return d.root.Open(f.name)
}

// remove deletes the local file unless it has changed since the upload.
func (d *folder) remove(f *file, in *os.File) error {
	now, err := d.root.Lstat(f.name)
	if err != nil {
		return err
	}
	if st, err := in.Stat(); err != nil || !unchanged(now, f.summedAs) || !unchanged(st, f.summedAs) {
		return errors.Join(err, errors.New("the file has changed since its upload"))
	}
	return d.root.Remove(f.name)
}

func (d *folder) readMarker(f *file) error {
	in, err := d.root.Open(markerName(f))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	b, err := io.ReadAll(io.LimitReader(in, maxMarkerBytes))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &f.marker); err != nil {
		return err
	}
	if o := f.marker.Object; o != "" && !fs.ValidPath(o) {
		return fmt.Errorf("object %q is not below the destination", o)
	}
	return nil
}

// writeMarker writes the marker file and makes it durable. It writes in place and does not replace
// the file, because the lock is on it.
func (d *folder) writeMarker(f *file) error {
	b, err := json.Marshal(f.marker)
	if err != nil {
		return err
	}
	out, err := d.root.OpenFile(markerName(f), os.O_WRONLY|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(append(b, '\n'), 0)
	if err == nil {
		err = out.Truncate(int64(len(b)) + 1)
	}
	if err == nil {
		err = out.Sync()
	}
	err = errors.Join(err, out.Close())
	f.hasMarker = err == nil
	return err
}

// removeMarker removes the marker file of a bag that needs no more work.
func (d *folder) removeMarker(f *file) error {
	err := d.root.Remove(markerName(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// errLocked means that another recorder is uploading the file.
var errLocked = errors.New("another recorder is uploading the file")

// lockMarker keeps other recorders from uploading the file until the returned file is closed.
// fs.ErrNotExist means that another recorder has uploaded it.
func (d *folder) lockMarker(f *file) (*os.File, error) {
	m, err := d.root.OpenFile(markerName(f), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if !tryLock(m) {
		return nil, errors.Join(errLocked, m.Close())
	}
	open, err := m.Stat()
	if err == nil {
		var named os.FileInfo
		if named, err = d.root.Lstat(markerName(f)); err == nil && !os.SameFile(open, named) {
			err = fs.ErrNotExist
		}
	}
	if err == nil {
		err = d.readMarker(f) // the other may have made progress
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}
