package player

import (
	"context"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Bag is a recording that is open for playing. NewBag makes one.
type Bag = source.Recording

// OpenError says which Bag could not be opened, and Err why.
type OpenError = source.OpenError

// NewCache returns a cache for all bags of one player.
func NewCache() *bagfmt.Cache { return source.NewCache() }

// NewBag makes a Bag of s, which errors and log lines call name. The caller keeps s usable until Run has
// returned. NewBag reads the marks of the recording, and gives up when ctx ends.
func NewBag(ctx context.Context, name string, s rosbag.Indexed) (*Bag, error) {
	return source.New(ctx, name, s)
}

// Span returns the times of the earliest and of the latest message of the bags, if there is any.
func Span(bags []*Bag) (first, last rosbag.Time, ok bool) { return source.Span(bags) }

// Mark is a line of Text about one moment of a recording, its Time.
type Mark = note.Mark

// RecordedMarks returns the marks that were recorded into the bags, by time.
func RecordedMarks(bags []*Bag) []Mark { return source.Marks(bags) }
