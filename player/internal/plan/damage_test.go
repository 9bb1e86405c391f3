package plan

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Damage loses the messages of its chunk that play selects, also if the place is after the chunk.
func TestDamage(t *testing.T) {
	t.Parallel()
	messages := testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 1), testplay.Series(testplay.ConnB, "b", 2, 3, 4))
	first := testplay.MakeBag(t, bagfmt.WriterOptions{}, messages...)
	p, _ := madePlan(t, Options{Topics: []string{"/a"}}, first, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, messages...))
	one, many := p.Bags[0], p.Bags[1]
	start := one.Source.Span(0).Pos
	for name, tc := range map[string]struct {
		bag  *Bag
		err  error
		want uint64
	}{
		"in the header of the bag": {one, &rosbag.CorruptError{Offset: start - 1}, 0},
		"at the chunk":             {one, &rosbag.CorruptError{Offset: start}, 2},
		"far behind it":            {one, &rosbag.ReadError{Offset: start + 1e6}, 2},
		"too large":                {one, &rosbag.LimitError{Offset: start}, 2},
		"before the second chunk":  {many, &rosbag.CorruptError{Offset: many.Source.Span(1).Pos - 1}, 1},
		"in the second chunk":      {many, &rosbag.CorruptError{Offset: many.Source.Span(1).Pos + 1}, 1},
		"in one of another topic":  {many, &rosbag.CorruptError{Offset: many.Source.Span(2).Pos}, 0},
		"nothing is lost":          {one, &rosbag.CorruptError{Offset: start, Recovered: true}, 0},
		"no place":                 {one, errors.New("no place"), 0},
	} {
		if got := tc.bag.Damage(tc.err); got.Messages != tc.want || !errors.Is(got, tc.err) || got.Bag != tc.bag.Name {
			t.Errorf("%s: %+v, want %d messages", name, got, tc.want)
		}
	}
}
