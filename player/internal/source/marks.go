package source

import (
	"context"
	"slices"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Marks returns the marks that were recorded into the bags, by time. They have nothing
// to do with those of Control.SetMarks.
func Marks(bags []*Recording) []bagnote.Mark {
	var all []bagnote.Mark
	for _, b := range bags {
		all = append(all, b.marks...)
	}
	slices.SortStableFunc(all, func(a, b bagnote.Mark) int { return a.Time.Compare(b.Time) })
	return all
}

// readMarks reads the marks of a bag. What is damaged is left out: play reports it.
func readMarks(ctx context.Context, s rosbag.Source) ([]bagnote.Mark, error) {
	marks, _, err := bagnote.ReadMarks(s, func(error) error { return ctx.Err() })
	return marks, err
}
