// Package store reads bags from and puts them into object storage: S3 and what speaks
// its protocol, Google Cloud Storage, Azure Blob Storage and directories, by the
// drivers of gocloud.dev/blob; web servers can be read from, too.
//
// Credentials come from the environment and the files that the SDK of each store
// looks at, never from us, and no message shows one.
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
	// ErrDenied means that the store refuses us.
	ErrDenied = errors.New("access denied")
	// ErrChanged means that an object, or the file that is uploaded, is not what it was
	// at the first look.
	ErrChanged = errors.New("changed while it was read")
)

// ranger is what a store has to do to be read from.
type ranger interface {
	// open returns length bytes from offset on.
	open(ctx context.Context, offset, length int64) (io.ReadCloser, error)
	close() error
}

// Object is an object that can be read at any place. Reads that follow each other are
// fetched ahead; all of it is for concurrent use.
type Object struct {
	io.ReaderAt
	size  int64
	cache *cache // nil for a file
	close func() error
}

// Open finds the object that a URL names. Reading it ends with ctx.
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
	var r ranger
	var size int64
	if at.url.Scheme == schemeHTTP || at.url.Scheme == schemeHTTPS {
		r, size, err = openHTTP(ctx, at)
	} else {
		r, size, err = openBlob(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	c := newCache(ctx, r, size)
	return &Object{ReaderAt: c, size: size, cache: c, close: c.close}, nil
}

// Size returns the length of the object.
func (o *Object) Size() int64 { return o.size }

// Fetched returns how many bytes came from the store until now.
func (o *Object) Fetched() int64 {
	if o.cache == nil {
		return 0
	}
	return o.cache.fetched.Load()
}

// Close ends reading.
func (o *Object) Close() error { return o.close() }

// openFile opens a local file: no cache does better than the kernel's.
func openFile(at location) (*Object, error) {
	st, err := os.Stat(at.file()) // before opening: that would wait for the writer of a FIFO
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
