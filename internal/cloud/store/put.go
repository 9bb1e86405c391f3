package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/folder"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Bucket is a destination of uploads.
type Bucket struct {
	at     place.Place
	bucket driver.Bucket
	meter  *put.Meter
}

// OpenBucket opens a destination. Uploads are limited to perSecond bytes per second; zero
// means no limit. It sends no request to the store, and touches no disk: a network share may be mounted
// later, and one that hangs must not hold up a recording.
func OpenBucket(ctx context.Context, rawURL string, perSecond int64) (*Bucket, error) {
	at, err := place.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	b := &Bucket{at: at, meter: put.NewMeter(perSecond)}
	b.bucket, err = openBucket(ctx, at, b.meter)
	return b, err
}

// String identifies the destination, without secrets.
func (b *Bucket) String() string { return b.at.Identity() }

// Object identifies an object of the destination, without secrets.
func (b *Bucket) Object(name string) string { return b.at.Object(name).String() }

// Close closes the connection to the store.
func (b *Bucket) Close() error { return b.bucket.Close() }

// Sent returns the number of bytes sent so far, including retries.
func (b *Bucket) Sent() int64 { return b.meter.Sent() }

// Match is the result of a comparison of an object with a file.
type Match int

// The zero value means that there is no object.
const (
	// there is no such object.
	Absent Match = iota
	// another object has this name.
	Other
	// size and our checksum are those of the file, but the store has no checksum of its own to compare.
	Same
	// the store's own checksum matches the file.
	Proven
	// the key may not see what the store has.
	Hidden
)

// Found is what a store has under the name of an object.
type Found struct {
	attrs  *driver.Attributes // nil if there is no object, or if the key may not see it
	hidden bool
}

// Find asks the store for the object of a name. Its errors mean that the store does not answer, or cannot
// be used. A response that denies access is no error: it may mean a key that may only write, or a wrong
// secret, and S3 does not show which before something is put.
func (b *Bucket) Find(ctx context.Context, name string) (Found, error) {
	attrs, err := attributes(ctx, b.bucket, b.at.Object(name).Key)
	if err == nil {
		return Found{attrs: &attrs}, nil
	}
	err = b.at.Object(name).Explain(err)
	switch {
	case errors.Is(err, folder.ErrNotThere):
		return Found{}, err
	case errors.Is(err, place.ErrNotFound):
		return Found{}, nil
	case errors.Is(err, place.ErrDenied):
		return Found{hidden: true}, nil
	}
	return Found{}, err
}

// Compare compares what was found with the checksums of a file.
func (f Found) Compare(want *put.Sums) Match {
	switch {
	case f.hidden:
		return Hidden
	case f.attrs == nil:
		return Absent
	case f.attrs.Size != want.Size || f.attrs.Metadata[put.MetaSHA256] != want.SHA256:
		return Other
	case want.WholeMD5() != nil && bytes.Equal(f.attrs.MD5, want.WholeMD5()),
		strings.Trim(f.attrs.ETag, `"`) == want.ETag():
		return Proven
	}
	return Same
}

// Put uploads a file. The object appears when it is complete and its checksum matches. An
// existing object is overwritten unless the file is Exclusive.
func (b *Bucket) Put(ctx context.Context, f *put.File) error {
	if !fs.ValidPath(f.Name) {
		return fmt.Errorf("%.80q is no name of an object below %s", f.Name, b)
	}
	object := b.at.Object(f.Name)
	return object.Explain(response.Survive(func() error { return b.bucket.Put(ctx, object.Key, f) }))
}

// Sum reads a file of size bytes and computes the checksums that Put needs.
func (b *Bucket) Sum(ctx context.Context, r io.ReaderAt, size int64) (put.Sums, error) {
	return put.Sum(ctx, r, size, b.bucket.PartBytes(size))
}
