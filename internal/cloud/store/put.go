package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"gocloud.dev/blob"

	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/put"
	"github.com/gorosbag/gorosbag/internal/cloud/store/internal/response"
	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Bucket is a destination of uploads.
type Bucket struct {
	at     place.Place
	sender put.Sender // nil if the driver uploads by itself
	meter  *put.Meter

	mu     sync.Mutex
	opened *blob.Bucket // nil for a directory that nobody has needed so far, or that has never been there
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
	if at.URL.Scheme == place.SchemeFile {
		return b, nil
	}
	if b.opened, err = openBucket(ctx, at); err != nil {
		return nil, err
	}
	b.sender = newSender(at, b.opened, b.meter)
	return b, nil
}

// bucket returns the bucket, and opens the one of a directory.
func (b *Bucket) bucket(ctx context.Context) (bucket *blob.Bucket, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		b.opened, err = openBucket(context.WithoutCancel(ctx), b.at)
	}
	return b.opened, err
}

// String identifies the destination, without secrets.
func (b *Bucket) String() string { return b.at.Identity() }

// Object identifies an object of the destination, without secrets.
func (b *Bucket) Object(name string) string { return b.at.Object(name).String() }

// Close closes the connection to the store.
func (b *Bucket) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		return nil
	}
	return b.opened.Close()
}

// Sent returns the number of bytes sent so far, including retries.
func (b *Bucket) Sent() int64 { return b.meter.Sent() }

// Match is the result of a comparison of an object with a file.
type Match int

// The zero value means that there is no object.
const (
	Absent Match = iota // there is no such object
	Other               // another object has this name
	Same                // size and our checksum are those of the file, but the store has no checksum of its own to compare
	Proven              // the store's own checksum matches the file
	Hidden              // the key may not see what the store has
)

// Found is what a store has under the name of an object.
type Found struct {
	attrs  *blob.Attributes // nil if there is no object, or if the key may not see it
	hidden bool
}

// Find asks the store for the object of a name. Its errors mean that the store does not answer, or cannot be used. A
// response that denies access is no error: it may mean a key that may only write, or a wrong secret, and S3 does not
// show which before something is put.
func (b *Bucket) Find(ctx context.Context, name string) (Found, error) {
	if err := b.checkDirectory(); err != nil {
		return Found{}, err
	}
	bucket, err := b.bucket(ctx)
	if err != nil {
		return Found{}, err
	}
	attrs, err := attributes(ctx, bucket, b.at.Object(name).Key)
	if err == nil {
		return Found{attrs: attrs}, nil
	}
	err = b.at.Object(name).Explain(err)
	switch {
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
	case want.WholeMD5() != nil && bytes.Equal(f.attrs.MD5, want.WholeMD5()), strings.Trim(f.attrs.ETag, `"`) == want.ETag():
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
	send := b.putWhole
	if b.sender != nil {
		send = b.sender.Put
	}
	return b.at.Object(f.Name).Explain(response.Survive(func() error { return send(ctx, f) }))
}

// putWhole uploads with the driver, which may use multipart uploads but cannot resume them.
func (b *Bucket) putWhole(ctx context.Context, f *put.File) error {
	if err := b.checkDirectory(); err != nil {
		return err
	}
	bucket, err := b.bucket(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close, this discards the object
	key, body := b.at.Object(f.Name).Key, f.CheckedReader(b.meter.Reader(ctx, io.NewSectionReader(f, 0, f.Size)))
	o := &blob.WriterOptions{
		ContentType: put.ContentType,
		ContentMD5:  f.WholeMD5(),
		Metadata:    f.AllMetadata(),
		BufferSize:  put.MinPartBytes, MaxConcurrency: 1,
		IfNotExist: f.Exclusive,
	}
	mode := cmp.Or(f.Mode, put.DefaultMode)
	if b.at.URL.Scheme == place.SchemeFile {
		o.BeforeWrite = func(as func(any) bool) error { // before it has any content
			var out *os.File
			if as(&out) {
				_ = out.Chmod(mode) // some file systems have no modes
			}
			return nil
		}
	}
	if b.at.URL.Scheme == place.SchemeAzure {
		return uploadAzure(ctx, bucket, key, body, o)
	}
	w, err := bucket.NewWriter(ctx, key, o)
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, body); err != nil {
		cancel()
		w.Close() //nolint:errcheck,gosec // the error is that of the copy
		return err
	}
	if err := w.Close(); err != nil || b.at.URL.Scheme != place.SchemeFile {
		return err
	}
	return b.syncObject(f.Name, mode)
}

// checkDirectory returns an error if the directory of a file URL is gone, such as that of a disk which
// was unmounted. The driver would make it again, on the disk of the system.
func (b *Bucket) checkDirectory() error {
	if b.at.URL.Scheme != place.SchemeFile || b.at.URL.Query().Get("create_dir") != "" {
		return nil
	}
	_, err := os.Stat(b.at.File())
	if errors.Is(err, fs.ErrNotExist) {
		return errNoDirectory(b.at)
	}
	return b.at.Explain(err)
}

// syncObject makes an object in a directory durable: the local file may be deleted next. The file with its metadata gets
// the mode of the object.
func (b *Bucket) syncObject(name string, mode fs.FileMode) error {
	dir := b.at.File()
	paths := []string{filepath.Join(dir, name), filepath.Join(dir, name+attrsSuffix)}
	_ = os.Chmod(paths[1], mode) // some file systems have no modes
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		paths = append(paths, filepath.Join(dir, folder))
	}
	for _, path := range append(paths, dir) {
		f, err := os.Open(path) //nolint:gosec // just written
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Sum reads a file of size bytes and computes the checksums that Put needs.
func (b *Bucket) Sum(ctx context.Context, r io.ReaderAt, size int64) (put.Sums, error) {
	if b.sender != nil {
		return put.Sum(ctx, r, size, put.PartBytes(size))
	}
	return put.Sum(ctx, r, size, size)
}
