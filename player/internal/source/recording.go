// Package source holds recordings that are open for playing: their span, the marks in them, and the
// log of their damage. It opens and closes no file, and knows nothing of what is played.
package source

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Recording is a recording that is open for playing.
type Recording struct {
	name   string
	source rosbag.Indexed
	marks  []note.Mark
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

// Bounds of the caches for seeking and stepping back: decompressed chunks, which include up to 32 MiB
// of chunks that are read ahead, and latched messages.
const (
	cacheChunkBytes = 48 << 20
	cacheFrameBytes = 16 << 20
)

// NewCache returns a cache for all bags of one player.
func NewCache() *bagfmt.Cache { return bagfmt.NewCache(cacheChunkBytes, cacheFrameBytes) }

// New makes a Recording of s, which errors and log lines call name. The caller keeps s usable until Run has
// returned. New reads the marks of the recording, and gives up when ctx ends.
func New(ctx context.Context, name string, s rosbag.Indexed) (*Recording, error) {
	// without damaged ones: play reports these
	marks, _, err := note.ReadMarks(s, func(error) error { return ctx.Err() })
	if err != nil {
		return nil, &OpenError{Bag: name, Err: err}
	}
	return &Recording{name: name, source: s, marks: marks}, nil
}

// Name returns the name that the bag was opened by.
func (b *Recording) Name() string { return b.name }

// Source returns the recording itself.
func (b *Recording) Source() rosbag.Indexed { return b.source }

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
