package source

import (
	"slices"

	"github.com/gorosbag/gorosbag/internal/bags/note"
)

// Marks returns the marks that were recorded into the bags, by time.
func Marks(bags []*Recording) []note.Mark {
	var all []note.Mark
	for _, b := range bags {
		all = append(all, b.marks...)
	}
	slices.SortStableFunc(all, func(a, b note.Mark) int { return a.Time.Compare(b.Time) })
	return all
}
