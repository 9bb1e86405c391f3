package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/explain"
	"github.com/gorosbag/gorosbag/internal/store"
)

// readable is what a bag is read from.
type readable interface {
	io.ReaderAt
	io.Closer
}

// bag is an open bag of any version.
type bag struct {
	*bagfmt.Reader
	path string
	file readable
}

// Close closes the file.
func (b *bag) Close() error { return b.file.Close() }

// openBag opens a bag for reading, but no encrypted one: nobody is asked for a key. Its
// errors say what is wrong and what to do, but do not name the file. What is damaged in it
// Damage tells.
func openBag(ctx context.Context, path string) (*bag, error) {
	return openBagThrough(ctx, path, bagfmt.ReaderOptions{FutureVersion: true}, func(r io.ReaderAt, _ int64) io.ReaderAt { return r })
}

// openBagThrough reads the bag through what through makes of its file.
func openBagThrough(ctx context.Context, path string, o bagfmt.ReaderOptions, through func(io.ReaderAt, int64) io.ReaderAt) (*bag, error) {
	f, size, err := openInput(ctx, path)
	if err != nil {
		return nil, err
	}
	r, err := bagfmt.NewReader(through(f, size), size, o)
	if err == nil {
		return &bag{r, path, f}, nil
	}
	return nil, errors.Join(explain.Error(err), f.Close())
}

// openInput opens a file, or the object that a URL names.
func openInput(ctx context.Context, path string) (f readable, size int64, err error) {
	if store.IsURL(path) {
		object, err := store.Open(ctx, path)
		if err != nil {
			return nil, 0, explain.Error(err)
		}
		return object, object.Size(), nil
	}
	file, st, err := openRegular(path)
	if err != nil {
		return nil, 0, err
	}
	return file, st.Size(), nil
}

// openRegular opens a file that is one.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	st, err := os.Stat(path) // before opening: that would wait for the writer of a FIFO
	switch {
	case err != nil:
		return nil, nil, explain.Error(err)
	case st.IsDir():
		return nil, nil, errors.New("is a directory; name the bag files in it")
	case !st.Mode().IsRegular():
		return nil, nil, errors.New("is not a regular file; copy the bag to one")
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, nil, explain.Error(err)
	}
	if st, err = f.Stat(); err != nil {
		return nil, nil, errors.Join(explain.Error(err), f.Close())
	}
	return f, st, nil
}
