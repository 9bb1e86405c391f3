// Package clouds has the drivers of Google Cloud Storage and of Azure Blob Storage, by gocloud.dev and
// the SDKs of both.
package clouds

import (
	"context"
	"errors"
	"io"
	"iter"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/driver"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Open opens the bucket of a place.Place without a request to the store.
func Open(ctx context.Context, at place.Place, meter *put.Meter) (driver.Bucket, error) {
	if at.URL.Scheme == place.SchemeGS {
		return openGS(ctx, at, meter)
	}
	return openAzure(ctx, at, meter)
}

// bucket implements driver.Bucket.
type bucket struct {
	blob  *blob.Bucket
	meter *put.Meter

	// upload uploads an object in place of the writer of the driver; it may be nil.
	upload func(ctx context.Context, b *blob.Bucket, key string, body io.Reader, o *blob.WriterOptions) error
}

// kinds are those of the codes of the drivers.
var kinds = map[gcerrors.ErrorCode]error{
	gcerrors.NotFound: place.ErrNotFound, gcerrors.FailedPrecondition: place.ErrExists,
	gcerrors.PermissionDenied: place.ErrDenied,
}

// explained gives an error the kind that the driver has found.
func explained(err error) error {
	if kind := kinds[gcerrors.Code(err)]; kind != nil {
		return place.WithKind(kind, err)
	}
	return err
}

// Attributes implements driver.Bucket.
func (b *bucket) Attributes(ctx context.Context, key string) (driver.Attributes, error) {
	a, err := b.blob.Attributes(ctx, key)
	if err != nil {
		return driver.Attributes{}, explained(err)
	}
	return driver.Attributes{
		Size: a.Size, ModTime: a.ModTime, ETag: a.ETag, MD5: a.MD5,
		Metadata: a.Metadata,
	}, nil
}

// Open implements driver.Bucket.
func (b *bucket) Open(ctx context.Context, key string, offset, length int64) (*driver.Reader, error) {
	r, err := b.blob.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, explained(err)
	}
	return &driver.Reader{ReadCloser: r, Size: r.Size(), ModTime: r.ModTime()}, nil
}

// List implements driver.Bucket.
func (b *bucket) List(ctx context.Context, prefix string, deep bool) iter.Seq2[driver.Object, error] {
	o := &blob.ListOptions{Prefix: prefix}
	if !deep {
		o.Delimiter = "/"
	}
	return func(yield func(driver.Object, error) bool) {
		for objects := b.blob.List(o); ; {
			o, err := next(ctx, objects)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(driver.Object{}, explained(err))
				return
			case o.IsDir:
			case !yield(driver.Object{Key: o.Key, Size: o.Size, ModTime: o.ModTime}, nil):
				return
			}
		}
	}
}

// next returns the next object of a list.
func next(ctx context.Context, objects *blob.ListIterator) (o *blob.ListObject, err error) {
	err = response.Survive(func() error {
		o, err = objects.Next(ctx)
		return err
	})
	return o, err
}

// PartBytes implements driver.Bucket: an upload cannot be resumed.
func (b *bucket) PartBytes(size int64) int64 { return size }

// Put implements driver.Bucket.
func (b *bucket) Put(ctx context.Context, key string, f *put.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close, this discards the object
	body := f.CheckedReader(b.meter.Reader(ctx, io.NewSectionReader(f, 0, f.Size)))
	o := &blob.WriterOptions{
		ContentType: put.ContentType,
		ContentMD5:  f.WholeMD5(),
		Metadata:    f.AllMetadata(),
		BufferSize:  put.MinPartBytes, MaxConcurrency: 1,
		IfNotExist: f.Exclusive,
	}
	if b.upload != nil {
		return explained(b.upload(ctx, b.blob, key, body, o))
	}
	w, err := b.blob.NewWriter(ctx, key, o)
	if err != nil {
		return explained(err)
	}
	if _, err = io.Copy(w, body); err != nil {
		cancel()
		w.Close() //nolint:errcheck,gosec // the error is that of the copy
		return explained(err)
	}
	return explained(w.Close())
}

// Delete implements driver.Bucket.
func (b *bucket) Delete(ctx context.Context, key string) error {
	return explained(b.blob.Delete(ctx, key))
}

// Close implements driver.Bucket.
func (b *bucket) Close() error { return b.blob.Close() }
