package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// bag is an open bag file.
type bag struct {
	*bagfmt.Reader
	file *os.File
}

// Close closes the file.
func (b *bag) Close() error { return b.file.Close() }

// openBag opens a bag for reading. Its errors say what is wrong and what to do, but
// do not name the file.
func openBag(path string) (*bag, error) {
	st, err := os.Stat(path) // before opening: that would wait for the writer of a FIFO
	switch {
	case err != nil:
		return nil, explain(err)
	case st.IsDir():
		return nil, errors.New("is a directory; name the bag files in it")
	case !st.Mode().IsRegular():
		return nil, errors.New("is not a regular file; copy the bag to one")
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, explain(err)
	}
	if st, err = f.Stat(); err == nil {
		var r *bagfmt.Reader
		if r, err = bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{FutureVersion: true}); err == nil {
			return &bag{r, f}, nil
		}
	}
	return nil, errors.Join(explain(err), f.Close())
}

// indexError is a bag without a usable index. It ends with the advice that stock's
// tools and goplay give.
type indexError struct{ what string }

// Error implements error.
func (e *indexError) Error() string { return e.what + ".  Run rosbag reindex." }

// explain turns an error into one line for people: what is wrong, where, what to do.
func explain(err error) error {
	var path *fs.PathError
	var version *bagfmt.VersionError
	text := strings.TrimPrefix(err.Error(), "bagfmt: ")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied")
	case errors.As(err, &path):
		return path.Err
	case errors.Is(err, bagfmt.ErrNotBag):
		return errors.New(text)
	case errors.As(err, &version):
		return fmt.Errorf("is a bag of version %s; only version 2.0 can be read", version.Version)
	case errors.Is(err, bagfmt.ErrEncrypted):
		return fmt.Errorf("%s; decrypt it with rosbag decrypt", text)
	case errors.Is(err, bagfmt.ErrUnindexed):
		return &indexError{"is unindexed: it was not closed, or is still being recorded"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &indexError{"truncated: " + text}
	case errors.Is(err, bagfmt.ErrCorrupt):
		return &indexError{"damaged: " + text}
	}
	return errors.New(text)
}

// printable quotes a name that could control a terminal.
func printable(s string) string {
	if q := strconv.Quote(s); q[1:len(q)-1] != s {
		return q
	}
	return s
}
