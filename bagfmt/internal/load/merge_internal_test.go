package load

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMerge merges runs of all numbers and lengths, sorted and not, with equal times.
func TestMerge(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	var m runMerger
	for round := range 2000 {
		var list []Entry
		m.begin()
		for conn := range rnd.IntN(12) {
			m.startRun(len(list))
			at := len(list)
			for range rnd.IntN(20) {
				list = append(list, Entry{uint64(rnd.IntN(40)), uint32(len(list)) * 7, int32(conn)})
			}
			if round%10 > 0 {
				sortEntries(list[at:])
			}
		}
		want := slices.Clone(list)
		sortEntries(want)
		if m.sort(list); !slices.Equal(list, want) {
			t.Fatalf("round %d: got %v, want %v", round, list, want)
		}
	}
}
