package bags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// mostNames bounds how many names of a directory are compared with that of a file which is not there.
const mostNames = 1000

// leastSimilar is the length from which names are similar because of their letters: a.bag is not meant by
// b.bag.
const leastSimilar = 6

// nearestBag returns the path of the bag that is meant by the path of a file which is not there; empty if
// none is similar.
func nearestBag(path string) string {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer d.Close() //nolint:errcheck // only read from
	all, _ := d.Readdirnames(mostNames)
	name := filepath.Base(path)
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	begin := func(other string) bool { return strings.HasPrefix(other, stem) }
	all = slices.DeleteFunc(all, func(other string) bool {
		return !HasBagEnding(other) || len(stem) < leastSimilar && !begin(other)
	})
	slices.Sort(all)
	like := wording.NearestName(name, all)
	if i := slices.IndexFunc(all, begin); i >= 0 {
		like = all[i] // an ending or a number is missing
	}
	if like == "" {
		return ""
	}
	return strings.TrimSuffix(path, name) + like
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
			return nil, nil,
				fmt.Errorf("no such file; %s is there: it is being recorded, or was not closed",
					wording.Shown(filepath.Base(active)))
		}
		if like := nearestBag(path); like != "" {
			return nil, nil, fmt.Errorf("no such file; did you mean %s?", wording.Shown(like))
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

// Growth returns what reports whether a file is being recorded: its recorder has locked it, or it has
// grown meanwhile.
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
