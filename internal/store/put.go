package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"gocloud.dev/blob"
	"golang.org/x/time/rate"
)

// metaSHA256 is the key of the checksum in the metadata of an object.
const metaSHA256 = "sha256"

// contentType keeps browsers from displaying the object.
const contentType = "application/octet-stream"

// Bucket is a destination of uploads.
type Bucket struct {
	at     location
	bucket *blob.Bucket
	sender sender        // nil if the driver uploads by itself
	limit  *rate.Limiter // of bytes a second; nil for none
	sent   atomic.Int64
}

// OpenBucket opens a destination. Uploads are limited to perSecond bytes per second; zero
// means no limit. It sends no request to the store.
func OpenBucket(ctx context.Context, rawURL string, perSecond int64) (*Bucket, error) {
	at, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	bucket, err := openBucket(ctx, at)
	if err != nil {
		return nil, err
	}
	b := &Bucket{at: at, bucket: bucket}
	if perSecond > 0 {
		b.limit = rate.NewLimiter(rate.Limit(perSecond), throttleBytes)
	}
	b.sender = newSender(b)
	return b, nil
}

// sender uploads to stores that need more than the driver offers.
type sender interface {
	put(ctx context.Context, f *File) error
}

// String identifies the destination, without secrets.
func (b *Bucket) String() string { return b.at.identity() }

// Object identifies an object of the destination, without secrets.
func (b *Bucket) Object(name string) string { return b.location(name).String() }

// Close closes the connection to the store.
func (b *Bucket) Close() error { return b.bucket.Close() }

// Sent returns the number of bytes sent so far, including retries.
func (b *Bucket) Sent() int64 { return b.sent.Load() }

// key returns the name of an object in the bucket.
func (b *Bucket) key(name string) string {
	if b.at.url.Scheme == schemeFile {
		return name // the path is the bucket's
	}
	return path.Join(b.at.key, name)
}

// location returns the location of an object.
func (b *Bucket) location(name string) location {
	u := *b.at.url
	u.Path = path.Join("/", u.Path, name)
	return location{url: &u, key: b.key(name)}
}

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

// Compare compares the object of a name with the checksums of a file. A response that denies
// access is Hidden: it may mean a key that may only write, or a wrong secret, and S3 does not tell
// which before something is put.
func (b *Bucket) Compare(ctx context.Context, name string, want *Sums) (Match, error) {
	attrs, err := attributes(ctx, b.bucket, b.key(name))
	if err != nil {
		err = b.location(name).explain(err)
		switch {
		case errors.Is(err, ErrNotFound):
			return Absent, nil
		case errors.Is(err, ErrDenied):
			return Hidden, nil
		}
		return Absent, err
	}
	tag := strings.Trim(attrs.ETag, `"`)
	switch {
	case attrs.Size != want.Size || attrs.Metadata[metaSHA256] != want.SHA256:
		return Other, nil
	case want.wholeMD5() != nil && bytes.Equal(attrs.MD5, want.wholeMD5()), tag == want.etag():
		return Proven, nil
	}
	return Same, nil
}

// File is a file to upload.
type File struct {
	io.ReaderAt
	Name     string
	Metadata map[string]string // of the object, in ASCII; beside it stands the checksum, under "sha256"
	Sums
	Exclusive bool               // fail with ErrExists rather than overwrite an object; not all stores support it
	Upload    string             // ID of an interrupted multipart upload to resume; may be empty
	OnUpload  func(string) error // called with the ID of a new multipart upload
	small     bool               // worth to be sent again after a lost response
}

// metadata returns the metadata of the object, with the checksum.
func (f *File) metadata() map[string]string {
	all := maps.Clone(f.Metadata)
	if all == nil {
		all = map[string]string{}
	}
	all[metaSHA256] = f.SHA256
	return all
}

// Put uploads a file. The object appears when it is complete and its checksum matches. An
// existing object is overwritten unless the file is Exclusive.
func (b *Bucket) Put(ctx context.Context, f *File) error {
	put := b.putWhole
	if b.sender != nil {
		put = b.sender.put
	}
	return b.location(f.Name).explain(survive(func() error { return put(ctx, f) }))
}

// putWhole uploads with the driver, which may use multipart uploads but cannot resume them.
func (b *Bucket) putWhole(ctx context.Context, f *File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close, this discards the object
	w, err := b.bucket.NewWriter(ctx, b.key(f.Name), &blob.WriterOptions{
		ContentType: contentType,
		ContentMD5:  f.wholeMD5(),
		Metadata:    f.metadata(),
		BufferSize:  minPartBytes, MaxConcurrency: 1,
		IfNotExist: f.Exclusive,
	})
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, &throttledReader{ctx: ctx, b: b, r: io.NewSectionReader(f, 0, f.Size)}); err != nil {
		cancel()
		w.Close() //nolint:errcheck,gosec // the error is that of the copy
		return err
	}
	if err := w.Close(); err != nil || b.at.url.Scheme != schemeFile {
		return err
	}
	return b.syncObject(f.Name)
}

// syncObject makes an object in a directory durable: the local file may be deleted next.
func (b *Bucket) syncObject(name string) error {
	dir := b.at.file()
	paths := []string{filepath.Join(dir, name), filepath.Join(dir, name+attrsSuffix)}
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

// throttleBytes is the burst of the rate limit.
const throttleBytes = 64 << 10

// throttledReader limits the rate of reads, and counts bytes.
type throttledReader struct {
	ctx context.Context //nolint:containedctx // of one request
	b   *Bucket
	r   io.Reader
}

// Read implements io.Reader.
func (s *throttledReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p[:min(len(p), throttleBytes)])
	if s.ctx.Value(uncounted{}) != nil {
		return n, err
	}
	s.b.sent.Add(int64(n))
	if s.b.limit != nil && n > 0 {
		if e := s.b.limit.WaitN(s.ctx, n); e != nil {
			return n, context.Cause(s.ctx)
		}
	}
	return n, err
}
