package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // file://; the drivers of the clouds are not in every build: they are large
)

// openBucket opens the bucket of a location. It does not ask the store yet.
func openBucket(ctx context.Context, at location) (*blob.Bucket, error) {
	if !blob.DefaultURLMux().ValidBucketScheme(at.url.Scheme) {
		return nil, missing(at)
	}
	b, err := blob.OpenBucket(ctx, at.bucketURL())
	if err != nil && at.url.Scheme == schemeFile && errors.Is(err, fs.ErrNotExist) {
		return nil, at.fail(ErrNotFound, "no such directory: make it first, or add ?create_dir=true to the URL")
	}
	if err != nil {
		return nil, at.explain(err)
	}
	return b, nil
}

// missing says what to do about a scheme that this build lacks.
func missing(at location) error {
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

// blobRange reads an object of a bucket.
type blobRange struct {
	at      location
	bucket  *blob.Bucket
	size    int64
	changed time.Time
}

func openBlob(ctx context.Context, at location) (ranger, int64, error) {
	bucket, err := openBucket(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	attrs, err := bucket.Attributes(ctx, at.key)
	if err != nil {
		bucket.Close() //nolint:errcheck,gosec // nothing was written
		return nil, 0, at.explain(err)
	}
	return &blobRange{at: at, bucket: bucket, size: attrs.Size, changed: attrs.ModTime}, attrs.Size, nil
}

func (r *blobRange) close() error { return r.bucket.Close() }

func (r *blobRange) open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	body, err := r.bucket.NewRangeReader(ctx, r.at.key, offset, length, nil)
	if err != nil {
		return nil, r.at.explain(err)
	}
	if body.Size() != r.size || !body.ModTime().Truncate(time.Second).Equal(r.changed.Truncate(time.Second)) {
		body.Close() //nolint:errcheck,gosec // not wanted
		return nil, r.at.fail(ErrChanged, "%v", ErrChanged)
	}
	return body, nil
}
