package store

import (
	"context"
	"io"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/folder"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/ranges"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// openBucket opens the bucket of a place.Place without a request to the store. Uploads are counted and
// limited by meter.
func openBucket(ctx context.Context, at place.Place, meter *put.Meter) (driver.Bucket, error) {
	if at.URL.Scheme == place.SchemeFile {
		return folder.New(at, meter)
	}
	embedRoots()
	switch at.URL.Scheme {
	case place.SchemeS3:
		return openS3(at, meter)
	case place.SchemeGS, place.SchemeAzure:
		return openCloud(ctx, at, meter)
	}
	return nil, errNoDriver(at)
}

// errNoDriver returns an error that says which build supports the scheme.
func errNoDriver(at place.Place) error {
	switch at.URL.Scheme {
	case place.SchemeGS:
		return at.Fail(nil,
			"this build has no driver for Google Cloud Storage: take an image whose tag ends in -cloud, or build with make build CLOUD=1")
	case place.SchemeAzure:
		return at.Fail(nil,
			"this build has no driver for Azure Blob Storage: take an image whose tag ends in -cloud, or build with make build CLOUD=1")
	}
	return at.Fail(nil, "cannot be written to: want s3://, gs://, azblob:// or file://")
}

// blobReader reads an object of a bucket.
type blobReader struct {
	at      place.Place
	bucket  driver.Bucket
	version *response.Version // has the size of the object from the start
	modTime time.Time         // of the object when it was opened
}

func openBlob(ctx context.Context, at place.Place) (ranges.Reader, int64, error) {
	bucket, err := openBucket(ctx, at, put.NewMeter(0))
	if err != nil {
		return nil, 0, err
	}
	attrs, err := attributes(ctx, bucket, at.Key)
	if err != nil {
		bucket.Close() //nolint:errcheck,gosec // nothing was written
		return nil, 0, at.Explain(err)
	}
	return &blobReader{
		at: at, bucket: bucket, version: response.NewVersion(attrs.Size),
		modTime: attrs.ModTime,
	}, attrs.Size, nil
}

func (r *blobReader) Close() error { return r.bucket.Close() }

func (r *blobReader) Open(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	body, err := newReader(response.WithVersion(ctx, r.version), r.bucket, r.at.Key, offset, length)
	if err != nil {
		return nil, r.at.Explain(err)
	}
	if body.Size != r.version.Size() || !sameSecond(body.ModTime, r.modTime) {
		body.Close() //nolint:errcheck,gosec // not wanted
		return nil, r.at.Fail(place.ErrChanged, "%v", place.ErrChanged)
	}
	return body, nil
}

// sameSecond compares the times of an object; an unknown time equals every other. A driver without a
// response.Transport distinguishes versions only by their times and sizes.
func sameSecond(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Truncate(time.Second).Equal(b.Truncate(time.Second))
}

// attributes asks for the attributes of an object.
func attributes(ctx context.Context, b driver.Bucket, key string) (attrs driver.Attributes, err error) {
	err = response.Survive(func() error {
		attrs, err = b.Attributes(ctx, key)
		return err
	})
	return attrs, err
}

// newReader reads length bytes of an object from offset on; a negative length means to its end.
func newReader(
	ctx context.Context, b driver.Bucket, key string, offset, length int64,
) (body *driver.Reader, err error) {
	err = response.Survive(func() error {
		body, err = b.Open(ctx, key, offset, length)
		return err
	})
	return body, err
}
