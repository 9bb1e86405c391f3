// Package store reads bags from and uploads them to object storage: S3-compatible stores,
// Google Cloud Storage, Azure Blob Storage and directories, with the drivers of
// gocloud.dev/blob. It can also read from web servers.
//
// Credentials come from the environment and the files of each store's SDK. They appear in no
// error message.
package store

import (
	"context"
	"errors"
	"io"
	"os"
)

var (
	// ErrNotFound means that there is no such object or bucket.
	ErrNotFound = errors.New("no such object")
	// ErrDenied means that the store denies access.
	ErrDenied = errors.New("access denied")
	// ErrUnreachable means that the store gave no answer, or that it is not available for now.
	ErrUnreachable = errors.New("unreachable")
	// ErrTooLarge means that an object is larger than what is read of it.
	ErrTooLarge = errors.New("too large")
	// ErrExists means that there is an object where File.Exclusive demands none.
	ErrExists = errors.New("there is another object of this name")
	// ErrAnswer means that a server answers what makes no sense. To ask again is of no use.
	ErrAnswer = errors.New("not the answer of a store")
	// ErrChanged means that an object, or the file that is uploaded, has changed since it was
	// opened.
	ErrChanged = errors.New("changed while it was read")
)

// rangeReader reads byte ranges of an object.
type rangeReader interface {
	// open returns length bytes from offset on.
	open(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	close() error
}

// Object is an object with random access. Sequential reads are read ahead. It is safe for
// concurrent use.
type Object struct {
	io.ReaderAt
	size  int64
	cache *cache // nil for a file
	close func() error
}

// Open opens the object of a URL. Reads fail after ctx is done.
func Open(ctx context.Context, rawURL string) (*Object, error) {
	at, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if at.url.Scheme == schemeFile {
		return openFile(at)
	}
	if at.key == "" && at.url.Scheme != schemeHTTP && at.url.Scheme != schemeHTTPS {
		return nil, at.fail(nil, "names no object: want %s/name.bag", at)
	}
	var r rangeReader
	var size int64
	if at.url.Scheme == schemeHTTP || at.url.Scheme == schemeHTTPS {
		r, size, err = openHTTP(ctx, at)
	} else {
		r, size, err = openBlob(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	c := newCache(ctx, at, r, size)
	return &Object{ReaderAt: c, size: size, cache: c, close: c.close}, nil
}

// Size returns the length of the object.
func (o *Object) Size() int64 { return o.size }

// Fetched returns the number of bytes received from the store so far.
func (o *Object) Fetched() int64 {
	if o.cache == nil {
		return 0
	}
	return o.cache.fetched.Load()
}

// Prefetch begins to fetch n bytes at off, or as many of them as there is room for, so that later
// reads do not wait for a request each. It does not wait.
func (o *Object) Prefetch(off, n int64) {
	if o.cache != nil {
		o.cache.prefetch(off, n)
	}
}

// Close cancels running reads.
func (o *Object) Close() error { return o.close() }

// openFile opens a local file, which needs no cache but the kernel's.
func openFile(at location) (*Object, error) {
	st, err := os.Stat(at.file()) // before opening, which would block on a FIFO
	if err != nil {
		return nil, at.explain(err)
	}
	if !st.Mode().IsRegular() {
		return nil, at.fail(nil, "is not a regular file")
	}
	f, err := os.Open(at.file())
	if err != nil {
		return nil, at.explain(err)
	}
	return &Object{ReaderAt: f, size: st.Size(), close: f.Close}, nil
}
