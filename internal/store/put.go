package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// contentType says that the object is of no kind that a browser shows.
const contentType = "application/octet-stream"

// Bucket is a place in a store that files are put into.
type Bucket struct {
	at     location
	bucket *blob.Bucket
	sender sender        // nil where the driver's own means are enough
	limit  *rate.Limiter // of bytes a second; nil for none
	sent   atomic.Int64
}

// OpenBucket opens the place that a URL names. With a perSecond that is not zero it
// takes at most so many bytes a second. It does not ask the store for anything yet.
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
		b.limit = rate.NewLimiter(rate.Limit(perSecond), sliceBytes)
	}
	b.sender = senderOf(b)
	return b, nil
}

// sender uploads to one kind of store in a way of its own.
type sender interface {
	put(ctx context.Context, f *File) error
}

// String names the place without secrets, the same for the same place.
func (b *Bucket) String() string { return b.at.identity() }

// Close lets go of the store.
func (b *Bucket) Close() error { return b.bucket.Close() }

// Sent returns how many bytes were sent until now, repetitions included.
func (b *Bucket) Sent() int64 { return b.sent.Load() }

// key returns the name of an object in the bucket.
func (b *Bucket) key(name string) string {
	if b.at.url.Scheme == schemeFile {
		return name // the path is the bucket's
	}
	return path.Join(b.at.key, name)
}

// named returns the location of an object.
func (b *Bucket) named(name string) location {
	u := *b.at.url
	u.Path = path.Join("/", u.Path, name)
	return location{url: &u, key: b.key(name)}
}

// Match says how an object in the store compares with a file.
type Match int

// The zero value is that of an object that is not there.
const (
	Absent Match = iota // there is no such object
	Other               // there is another one of the name
	Same                // size and our checksum are those of the file, but the store has told no checksum of its own that could be compared
	Proven              // the store's own checksum is that of the file
)

// Compare asks the store what it has by a name.
func (b *Bucket) Compare(ctx context.Context, name string, want *Sums) (Match, error) {
	attrs, err := b.bucket.Attributes(ctx, b.key(name))
	if err != nil {
		err = b.named(name).explain(err)
		if errors.Is(err, ErrNotFound) {
			return Absent, nil
		}
		return Absent, err
	}
	tag := strings.Trim(attrs.ETag, `"`)
	switch {
	case attrs.Size != want.Size || attrs.Metadata[metaSHA256] != want.SHA256:
		return Other, nil
	case want.whole() != nil && bytes.Equal(attrs.MD5, want.whole()), tag == want.etag():
		return Proven, nil
	}
	return Same, nil
}

// File is a file to put.
type File struct {
	io.ReaderAt
	Name string
	Sums
	Upload   string             // of an upload in parts that may be taken up; empty for none
	OnUpload func(string) error // told of an upload in parts that begins
}

// Put uploads a file. The object appears when all of it is there and only if it has
// the right checksum. It does not look whether there is one already.
func (b *Bucket) Put(ctx context.Context, f *File) error {
	put := b.putWhole
	if b.sender != nil {
		put = b.sender.put
	}
	return b.named(f.Name).explain(put(ctx, f))
}

// putWhole uploads with the driver's own means. They may use parts, but tell nothing
// of them.
func (b *Bucket) putWhole(ctx context.Context, f *File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Close, it keeps the object from appearing
	w, err := b.bucket.NewWriter(ctx, b.key(f.Name), &blob.WriterOptions{
		ContentType: contentType,
		ContentMD5:  f.whole(),
		Metadata:    map[string]string{metaSHA256: f.SHA256},
		BufferSize:  leastPart, MaxConcurrency: 1,
	})
	if err != nil {
		return err
	}
	if _, err = io.Copy(w, &slow{ctx: ctx, b: b, r: io.NewSectionReader(f, 0, f.Size)}); err != nil {
		cancel()
		w.Close() //nolint:errcheck,gosec // the error is that of the copy
		return err
	}
	if err := w.Close(); err != nil || b.at.url.Scheme != schemeFile {
		return err
	}
	return b.settle(f.Name)
}

// settle makes an object in a directory outlast a loss of power: its file here may be
// deleted next.
func (b *Bucket) settle(name string) error {
	dir := b.at.file()
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, name+".attrs"), dir} {
		f, err := os.Open(path) //nolint:gosec // what was written just now
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// sliceBytes is how much is sent at once within a limit.
const sliceBytes = 64 << 10

// slow reads as fast as the limit allows, and counts.
type slow struct {
	ctx context.Context //nolint:containedctx // of one request, which this is a part of
	b   *Bucket
	r   io.Reader
}

// Read implements io.Reader.
func (s *slow) Read(p []byte) (int, error) {
	n, err := s.r.Read(p[:min(len(p), sliceBytes)])
	s.b.sent.Add(int64(n))
	if s.b.limit != nil && n > 0 {
		if e := s.b.limit.WaitN(s.ctx, n); e != nil {
			return n, fmt.Errorf("store: %w", context.Cause(s.ctx))
		}
	}
	return n, err
}
