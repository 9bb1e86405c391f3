package player

import (
	"context"
	"io"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Bag is a recording that is open for playing.
type Bag = source.Recording

// BagOptions says how a bag is opened. With the zero value encrypted bags are refused.
type BagOptions = source.Options

// OpenError says which bag could not be opened.
type OpenError = source.OpenError

// NewCache returns a cache for all bags of one player.
func NewCache() *bagfmt.Cache { return source.NewCache() }

// OpenBag opens the bag at path, of any version. It reads the index section or, if there is no good
// one, the whole file once, and gives up when ctx ends.
func OpenBag(ctx context.Context, path string, o BagOptions) (*Bag, error) {
	return source.Open(ctx, path, o)
}

// NewBag makes a Bag of any recording. name is for messages. The caller keeps s usable until Run has
// returned; Close closes file, if that is not nil. NewBag reads the marks of the recording, and gives
// up when ctx ends.
func NewBag(ctx context.Context, name string, s rosbag.Indexed, file io.Closer) (*Bag, error) {
	return source.New(ctx, name, s, file)
}

// Span returns the times of the earliest and of the latest message of the bags, if there is any.
func Span(bags []*Bag) (first, last rosbag.Time, ok bool) { return source.Span(bags) }

// RecordedMarks returns the marks that were recorded into the bags, by time. They have nothing to do
// with those of Control.SetMarks.
func RecordedMarks(bags []*Bag) []bagnote.Mark { return source.Marks(bags) }
