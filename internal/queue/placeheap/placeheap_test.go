package placeheap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorosbag/gorosbag/internal/queue/placeheap"
)

type entry struct{ value, place int }

func newHeap() *placeheap.Heap[*entry] {
	return &placeheap.Heap[*entry]{
		Before: func(x, y *entry) bool { return x.value < y.value },
		Moved:  func(e *entry, place int) { e.place = place },
	}
}

// TestAnyEntry adds, changes and removes entries in random order: each entry that is in the heap knows its place,
// and the first is the smallest of those that are left.
func TestAnyEntry(t *testing.T) {
	t.Parallel()
	h, r := newHeap(), rand.New(rand.NewPCG(1, 2))
	var in []*entry
	for i := range 2000 {
		if grow := i < 1000; len(in) == 0 || r.IntN(3) > 0 == grow {
			e := &entry{value: r.IntN(50)} // with equal values
			in = append(in, e)
			h.Add(e)
		} else if e := in[r.IntN(len(in))]; r.IntN(2) > 0 {
			e.value = r.IntN(50)
			h.Fix(e.place)
		} else {
			i := r.IntN(len(in))
			h.Remove(in[i].place)
			in = slices.Delete(in, i, i+1)
		}
		if len(h.List) != len(in) {
			t.Fatalf("%d entries, want %d", len(h.List), len(in))
		}
		for _, e := range in {
			if e.place >= len(h.List) || h.List[e.place] != e {
				t.Fatalf("an entry with value %d says that its place is %d", e.value, e.place)
			}
			if h.List[0].value > e.value {
				t.Fatalf("the first is %d, although %d is in the heap", h.List[0].value, e.value)
			}
		}
	}
}

// TestRemovedEntriesAreFreed: the list keeps no entry beyond its end.
func TestRemovedEntriesAreFreed(t *testing.T) {
	t.Parallel()
	h := newHeap()
	for i := range 8 {
		h.Add(&entry{value: i})
	}
	for _, place := range []int{7, 3, 0} {
		h.Remove(place)
	}
	for i, e := range h.List[len(h.List):cap(h.List)] {
		if e != nil {
			t.Errorf("entry %d is held %d places after the end", e.value, i)
		}
	}
}
