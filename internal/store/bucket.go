package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file://; large cloud drivers are left out of some builds
)

// openBucket opens the bucket of a location without a request to the store.
func openBucket(ctx context.Context, at location) (*blob.Bucket, error) {
	embedRoots()
	if !blob.DefaultURLMux().ValidBucketScheme(at.url.Scheme) {
		return nil, errNoDriver(at)
	}
	b, err := blob.OpenBucket(ctx, at.bucketURL())
	if err != nil && at.url.Scheme == schemeFile && errors.Is(err, fs.ErrNotExist) {
		return nil, at.fail(ErrNotFound, "no such directory: make it first, or add ?create_dir=true to the URL")
	}
	if err != nil {
		return nil, at.explain(err)
	}
	switch at.url.Scheme {
	case schemeS3:
		return checkedS3(ctx, at, b)
	case schemeGS:
		return checkedGS(ctx, at, b)
	case schemeAzure:
		return checkedAzure(ctx, at, b)
	}
	return b, nil
}

// errNoDriver returns an error that says which build supports the scheme.
func errNoDriver(at location) error {
	switch at.url.Scheme {
	case schemeS3:
		return at.fail(nil, "this build has no driver for S3: take an image whose tag ends in -cloud, or build without -tags nocloud")
	case schemeGS:
		return at.fail(nil, "this build has no driver for Google Cloud Storage: take an image whose tag ends in -cloud, or build with -tags gs")
	case schemeAzure:
		return at.fail(nil, "this build has no driver for Azure Blob Storage: take an image whose tag ends in -cloud, or build with -tags azblob")
	}
	return at.fail(nil, "cannot be written to: want s3://, gs://, azblob:// or file://")
}

// blobReader reads an object of a bucket.
type blobReader struct {
	at      location
	bucket  *blob.Bucket
	version version   // of which the size is known
	modTime time.Time // when it was opened
}

func openBlob(ctx context.Context, at location) (rangeReader, int64, error) {
	bucket, err := openBucket(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	attrs, err := attributes(ctx, bucket, at.key)
	if err != nil {
		bucket.Close() //nolint:errcheck,gosec // nothing was written
		return nil, 0, at.explain(err)
	}
	return &blobReader{at: at, bucket: bucket, version: version{size: attrs.Size}, modTime: attrs.ModTime}, attrs.Size, nil
}

func (r *blobReader) close() error { return r.bucket.Close() }

func (r *blobReader) open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	body, err := newReader(withVersion(ctx, &r.version), r.bucket, r.at.key, offset, length)
	if err != nil {
		return nil, r.at.explain(err)
	}
	if body.Size() != r.version.size || !sameSecond(body.ModTime(), r.modTime) {
		body.Close() //nolint:errcheck,gosec // not wanted
		return nil, r.at.fail(ErrChanged, "%v", ErrChanged)
	}
	return body, nil
}

// sameSecond compares times of an object, where both are told. A driver that has no checkedTransport
// below it tells versions apart only by them, and by the size.
func sameSecond(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}

// attributes asks for the attributes of an object.
func attributes(ctx context.Context, b *blob.Bucket, key string) (attrs *blob.Attributes, err error) {
	err = survive(func() error {
		attrs, err = b.Attributes(ctx, key)
		return err
	})
	return attrs, err
}

// newReader reads length bytes of an object from offset on; a negative length means to its end.
func newReader(ctx context.Context, b *blob.Bucket, key string, offset, length int64) (body *blob.Reader, err error) {
	err = survive(func() error {
		body, err = b.NewRangeReader(ctx, key, offset, length, nil)
		return err
	})
	return body, err
}
