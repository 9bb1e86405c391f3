// Package driver is what the store needs of a kind of object storage.
package driver

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
)

// Attributes are what a store reports about an object.
type Attributes struct {
	Size     int64
	ModTime  time.Time
	ETag     string            // with its quotes; may be empty
	MD5      []byte            // as the store computed it; nil if the store does not report it
	Metadata map[string]string // as the upload wrote it, with keys in lower case
}

// Reader reads an object, or a part of it.
type Reader struct {
	io.ReadCloser
	Size    int64     // of the whole object
	ModTime time.Time // zero if the store does not report it
}

// Object is an object in a list.
type Object struct {
	Key     string
	Size    int64
	ModTime time.Time
}

// Bucket is a bucket, container or directory, in which objects have keys. Opening it sends no request.
// Its errors are what place.Place explains. Fields that a server does not send may end its methods with a
// run-time error of Go, which response.Survive catches.
type Bucket interface {
	// Attributes asks for the attributes of an object.
	Attributes(ctx context.Context, key string) (Attributes, error)

	// Open reads length bytes of an object from offset on; a negative length means to its end.
	Open(ctx context.Context, key string, offset, length int64) (*Reader, error)

	// List lists the objects whose keys begin with prefix, by key; those in folders below prefix only if
	// deep is set.
	List(ctx context.Context, prefix string, deep bool) iter.Seq2[Object, error]

	// PartBytes returns the length of the parts in which Put sends a file, and of which it needs the
	// checksums.
	PartBytes(size int64) int64

	// Put uploads a file. The object appears when it is complete and its checksum matches.
	Put(ctx context.Context, key string, f *put.File) error

	// Delete deletes an object. An object that is not there may be an error.
	Delete(ctx context.Context, key string) error

	// Close closes the connections to the store.
	Close() error
}
