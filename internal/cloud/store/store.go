// Package store reads bags from and uploads them to object storage: S3-compatible stores,
// Google Cloud Storage, Azure Blob Storage and directories. It can also read from web servers.
//
// Credentials come from the environment and the files of each store's own tools. They appear in no
// error message.
package store

import (
	"context"
	"io"
	"os"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/ranges"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
	"github.com/gorosbag/gorosbag/internal/text/wording"
)

// Errors of stores, which callers distinguish with errors.Is.
var (
	ErrNotFound    = place.ErrNotFound
	ErrDenied      = place.ErrDenied
	ErrUnreachable = place.ErrUnreachable
	ErrTooLarge    = place.ErrTooLarge
	ErrExists      = place.ErrExists
	ErrBadResponse = place.ErrBadResponse
	ErrChanged     = place.ErrChanged
)

type (
	// Error says what a store responded, about which object or bucket, and what to do.
	Error = place.Error
	// File is a file to upload.
	File = put.File
	// Sums are the checksums of a file to upload.
	Sums = put.Sums
)

// IsURL reports whether an argument is a URL of a store rather than the name of a local file.
func IsURL(arg string) bool { return place.IsURL(arg) }

// Remote reports whether an argument is a URL of another machine.
func Remote(arg string) bool { return place.Remote(arg) }

// Redact returns a URL without user, password and parameters, which may contain a signature, so that
// it can be shown and logged. Other texts are returned unchanged.
func Redact(raw string) string { return wording.Redact(raw) }

// Message returns the text of an error without the URL of an Error.
func Message(err error) string { return place.Message(err) }

// Object is an object with random access. Sequential reads are read ahead. It is safe for
// concurrent use.
type Object struct {
	io.ReaderAt
	size  int64
	cache *ranges.Cache // nil for a file
	close func() error
}

// Open opens the object of a URL. Reads fail after ctx is done.
func Open(ctx context.Context, rawURL string) (*Object, error) {
	at, err := place.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	var r ranges.Reader
	var size int64
	switch {
	case at.URL.Scheme == place.SchemeFile:
		return openFile(at)
	case at.URL.Scheme == place.SchemeHTTP, at.URL.Scheme == place.SchemeHTTPS:
		r, size, err = openHTTP(ctx, at)
	case at.Key == "":
		return nil, at.Fail(nil, "names no object: want %s/name.bag", at)
	default:
		r, size, err = openBlob(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	c := ranges.New(ctx, at, r, size)
	return &Object{ReaderAt: c, size: size, cache: c, close: c.Close}, nil
}

// Size returns the length of the object.
func (o *Object) Size() int64 { return o.size }

// Fetched returns the number of bytes received from the store so far.
func (o *Object) Fetched() int64 {
	if o.cache == nil {
		return 0
	}
	return o.cache.Fetched()
}

// Prefetch begins to fetch n bytes at off, or as many of them as there is room for, so that later
// reads do not wait for a request each. It does not wait.
func (o *Object) Prefetch(off, n int64) {
	if o.cache != nil {
		o.cache.Prefetch(off, n)
	}
}

// Close cancels running reads.
func (o *Object) Close() error { return o.close() }

// openFile opens a local file, which needs no cache but the kernel's.
func openFile(at place.Place) (*Object, error) {
	st, err := os.Stat(at.File()) // before opening, which would block on a FIFO
	if err != nil {
		return nil, at.Explain(err)
	}
	if !st.Mode().IsRegular() {
		return nil, at.Fail(nil, "is not a regular file")
	}
	f, err := os.Open(at.File())
	if err != nil {
		return nil, at.Explain(err)
	}
	return &Object{ReaderAt: f, size: st.Size(), close: f.Close}, nil
}
