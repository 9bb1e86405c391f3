package bags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// File is what a bag is read from.
type File interface {
	io.ReaderAt
	io.Closer
}

// OpenFile opens a file, or the object that a URL names, and returns its size in bytes.
func OpenFile(ctx context.Context, path string) (f File, size int64, err error) {
	if store.IsURL(path) {
		object, err := store.Open(ctx, path)
		if err != nil {
			return nil, 0, wording.Explain(err)
		}
		return object, object.Size(), nil
	}
	file, st, err := OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	return file, st.Size(), nil
}

// ErrROS2 is what commands that change bags in place say of a recording of ROS 2.
var ErrROS2 = errors.New("is a recording of ROS 2; gobag convert makes a bag of it")

// OpenBagFile is OpenRegular for commands that change bags: for the directory of a recording of ROS 2, and
// for a database, its error is ErrROS2.
func OpenBagFile(ctx context.Context, path string) (*os.File, os.FileInfo, error) {
	if IsROS2Directory(ctx, path) {
		return nil, nil, ErrROS2
	}
	f, st, err := OpenRegular(path)
	if err == nil && isDatabase(path, f) {
		return nil, nil, errors.Join(ErrROS2, f.Close())
	}
	return f, st, err
}

func isRegular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// OpenRegular opens a local file, and returns what it was found to be. What is no regular file is an
// error before the file is opened: that would wait for the writer of a FIFO.
func OpenRegular(path string) (*os.File, os.FileInfo, error) {
	st, err := os.Stat(path)
	switch {
	case path == "-" && errors.Is(err, fs.ErrNotExist):
		return nil, nil, errors.New("standard input cannot be read here; copy the bag to a file")
	case errors.Is(err, fs.ErrNotExist):
		if active := path + ".active"; HasBagEnding(path) && isRegular(active) {
			return nil, nil, fmt.Errorf("no such file; %s is there: it is being recorded, or was not closed", wording.Shown(filepath.Base(active)))
		}
		return nil, nil, wording.Explain(err)
	case err != nil:
		return nil, nil, wording.Explain(err)
	case st.IsDir():
		return nil, nil, errors.New("is a directory; name the bag files in it")
	case !st.Mode().IsRegular():
		return nil, nil, errors.New("is not a regular file; copy the bag to one")
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, nil, wording.Explain(err)
	}
	if st, err = f.Stat(); err != nil {
		return nil, nil, errors.Join(wording.Explain(err), f.Close())
	}
	return f, st, nil
}

// Growth returns what reports whether a file is being recorded: its recorder has locked it, or it has grown meanwhile.
func Growth(file File) func() bool {
	f, ok := file.(*os.File)
	if !ok {
		return nil
	}
	before, err := f.Stat()
	return func() bool {
		after, gone := f.Stat()
		return files.IsLocked(f) || err == nil && gone == nil && after.Size() > before.Size()
	}
}
