// Package source holds recordings that are open for playing: how they are opened, their span, the
// marks in them, and the log of their damage. It knows nothing of what is played from them.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Recording is a recording that is open for playing.
type Recording struct {
	name   string
	source rosbag.Indexed
	file   io.Closer // nil if there is nothing to close
	marks  []bagnote.Mark
}

// OpenError says which bag could not be opened.
type OpenError struct {
	Bag string
	Err error
}

// Error implements error.
func (e *OpenError) Error() string {
	if errors.Is(e.Err, context.Canceled) {
		return fmt.Sprintf("Interrupted while opening %s", e.Bag)
	}
	var path *os.PathError
	if errors.As(e.Err, &path) {
		return fmt.Sprintf("Error opening file: %s: %v", e.Bag, path.Err)
	}
	return fmt.Sprintf("Error opening file: %s: %v", e.Bag, e.Err)
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// errNotRegular keeps play away from devices and from FIFOs, which would block.
var errNotRegular = errors.New("not a regular file")

// Options says how a bag is opened. With the zero value encrypted bags are refused.
type Options struct {
	// MaxChunkBytes is that of bagfmt.ReaderOptions.
	MaxChunkBytes int64
	// UnwrapKey gives the key of an encrypted bag, as in bagfmt.ReaderOptions.
	UnwrapKey func(rosbag.Encryption) (key []byte, err error)
	// Cache, if not nil, keeps what was unpacked, so that seeking to and fro is fast; see NewCache.
	Cache *bagfmt.Cache
}

// Bounds of the caches for seeking and stepping back: decompressed chunks, of which up to 32 MiB
// are those that are read ahead, and latched messages.
const (
	cacheChunkBytes = 48 << 20
	cacheFrameBytes = 16 << 20
)

// NewCache returns a cache for all bags of one player.
func NewCache() *bagfmt.Cache { return bagfmt.NewCache(cacheChunkBytes, cacheFrameBytes) }

// Open opens the bag at path, of any version. It reads the index section or, if
// there is no good one, the whole file once, and gives up when ctx ends.
func Open(ctx context.Context, path string, o Options) (*Recording, error) {
	// Before opening: the open of a FIFO waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, &OpenError{Bag: path, Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, &OpenError{Bag: path, Err: errNotRegular}
	}
	f, err := os.Open(path) //nolint:gosec // the user names the file to play
	if err != nil {
		return nil, &OpenError{Bag: path, Err: err}
	}
	b, err := OpenAt(ctx, path, f, info.Size(), o)
	if err != nil {
		f.Close() //nolint:errcheck,gosec // only read from
		return nil, err
	}
	return b, nil
}

// OpenAt opens the bag of size bytes in r, which the Recording closes if it is an io.Closer.
func OpenAt(ctx context.Context, name string, r io.ReaderAt, size int64, o Options) (*Recording, error) {
	interrupted := ctx.Err
	reader, err := bagfmt.NewReader(r, size, bagfmt.ReaderOptions{
		MaxChunkBytes: o.MaxChunkBytes, UnwrapKey: o.UnwrapKey, Cache: o.Cache, Interrupted: func() error { return interrupted() },
	})
	if err != nil {
		return nil, &OpenError{Bag: name, Err: err}
	}
	file, _ := r.(io.Closer)
	b, err := New(ctx, name, reader, file)
	interrupted = func() error { return nil } // from now on the caller of Run says when to stop
	return b, err
}

// New makes a Recording of any recording. name is for messages. The caller keeps s usable until Run has
// returned; Close closes file, if that is not nil. New reads the marks of the recording, and gives
// up when ctx ends.
func New(ctx context.Context, name string, s rosbag.Indexed, file io.Closer) (*Recording, error) {
	marks, err := readMarks(ctx, s)
	if err != nil {
		return nil, &OpenError{Bag: name, Err: err}
	}
	return &Recording{name: name, source: s, file: file, marks: marks}, nil
}

// Name returns the name that the bag was opened by.
func (b *Recording) Name() string { return b.name }

// Source returns the recording itself.
func (b *Recording) Source() rosbag.Indexed { return b.source }

// Close closes what the bag is read from.
func (b *Recording) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

// Span returns the times of the earliest and of the latest message of the bags, if there
// is any.
func Span(bags []*Recording) (first, last rosbag.Time, ok bool) {
	var files []rosbag.File
	for _, b := range bags {
		files = append(files, rosbag.FileOf(b.name, b.source))
	}
	all := rosbag.NewSequence(files, rosbag.SequenceOptions{}).Info()
	return all.Start, all.End, all.Messages > 0
}
