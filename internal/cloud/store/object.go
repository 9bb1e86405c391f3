package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/folder"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// metaHost is the key of the name of the machine that uploaded an object, in its metadata.
const metaHost = "host"

// Attributes are what a store reports about an object.
type Attributes struct {
	Size    int64
	ModTime time.Time
	Version string // changes with the content; may be empty
	SHA256  string // in hexadecimal, as the upload wrote it into the metadata; may be empty
	MD5     []byte // as the store computed it; nil if the store does not report it
	Host    string // of the upload; may be empty
}

// Attributes asks the store for the attributes of an object.
func (b *Bucket) Attributes(ctx context.Context, name string) (Attributes, error) {
	a, err := attributes(ctx, b.bucket, b.at.Object(name).Key)
	if err != nil {
		return Attributes{}, b.at.Object(name).Explain(err)
	}
	return Attributes{a.Size, a.ModTime, a.ETag, a.Metadata[put.MetaSHA256], a.MD5, a.Metadata[metaHost]}, nil
}

// ReadAll returns the content of an object. An object of more than most bytes is an error.
func (b *Bucket) ReadAll(ctx context.Context, name string, most int64) ([]byte, error) {
	body, err := newReader(response.WithWholeObject(ctx), b.bucket, b.at.Object(name).Key, 0, -1)
	if err != nil {
		return nil, b.at.Object(name).Explain(err)
	}
	defer body.Close() //nolint:errcheck // only read from
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, b.at.Object(name).Fail(place.ErrTooLarge, "larger than %d bytes", most)
	}
	return data, b.at.Object(name).Explain(err)
}

// WriteAll writes a small object, and overwrites one of the same name.
func (b *Bucket) WriteAll(ctx context.Context, name string, data []byte) error {
	r := bytes.NewReader(data)
	sums, err := put.Sum(ctx, r, r.Size(), r.Size()) // one part: it is sent with one request
	if err != nil {
		return err
	}
	return b.Put(put.Uncounted(ctx), &put.File{ReaderAt: r, Name: name, Sums: sums, Small: true})
}

// Delete deletes an object. An object that is not there is no error.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	object := b.at.Object(name)
	err := object.Explain(response.Survive(func() error { return b.bucket.Delete(ctx, object.Key) }))
	if errors.Is(err, place.ErrNotFound) && !errors.Is(err, folder.ErrNotThere) {
		return nil
	}
	return err
}

// Read returns the content of an object, at the rate of the bucket. A read fails when no byte has
// arrived for place.StallTimeout.
func (b *Bucket) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stall := time.AfterFunc(place.StallTimeout, func() { cancel(place.ErrStalled) })
	body, err := newReader(response.WithWholeObject(ctx), b.bucket, b.at.Object(name).Key, 0, -1)
	if err != nil {
		stall.Stop()
		if errors.Is(context.Cause(ctx), place.ErrStalled) {
			err = place.ErrStalled
		}
		cancel(nil)
		return nil, b.at.Object(name).Explain(err)
	}
	return &objectReader{b: b, ctx: ctx, name: name, body: body, stall: stall, cancel: cancel}, nil
}

// objectReader reads an object from its beginning to its end.
type objectReader struct {
	b      *Bucket
	ctx    context.Context //nolint:containedctx // of one request
	name   string
	body   io.ReadCloser
	stall  *time.Timer
	cancel context.CancelCauseFunc
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	if r.b.meter.Limited() {
		p = p[:min(len(p), put.ThrottleBytes)]
	}
	r.stall.Reset(place.StallTimeout)
	n, err := r.body.Read(p)
	r.stall.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		if errors.Is(context.Cause(r.ctx), place.ErrStalled) {
			err = place.ErrStalled
		}
		return n, r.b.at.Object(r.name).Explain(err)
	}
	if e := r.b.meter.Wait(r.ctx, n); e != nil {
		return n, e
	}
	return n, err
}

// Close ends the request.
func (r *objectReader) Close() error {
	r.stall.Stop()
	err := r.body.Close()
	r.cancel(nil)
	return err
}
