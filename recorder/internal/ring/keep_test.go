package ring

import (
	"testing"
	"time"
)

// TestSpareMemoryFits: a record takes a spare piece of memory that it fills to two thirds or more.
func TestSpareMemoryFits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{101: false, 100: true, 67: true, 66: false, 51: false} {
		one := Ring{spare: [][]byte{make([]byte, 50), make([]byte, 0, 100)}}
		got := one.takeSpare(n)
		if (got != nil) != want || want && (len(got) != 0 || cap(got) != 100 || len(one.spare) != 1) {
			t.Errorf("for %d bytes a piece of 100 is used: %v, want %v; %d left", n, got != nil, want, len(one.spare))
		}
	}
}

// TestOwnMemory: a record that fills less than three quarters of its buffer is copied, if there is
// memory. It may displace older chunks, but not those of a requested snapshot, unless it is large.
func TestOwnMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record, buffer int
		budget         int64 // of which two chunks of the ring have 200
		pending        int
		own            bool
		chunks         int // left in the ring
	}{
		"fills its buffer":                       {75, 100, 10_000, 0, false, 2},
		"does not fill its buffer":               {74, 100, 10_000, 0, true, 2},
		"room to the last byte":                  {74, 100, 274, 0, true, 2},
		"in place of a chunk":                    {74, 100, 273, 0, true, 1},
		"more than there is":                     {74, 100, 73, 0, false, 0},
		"beside a requested snapshot":            {74, 100, 273, 1, true, 2},
		"two chunks, beside a snapshot":          {200, 1000, 399, 1, true, 2},
		"more than two chunks, for the snapshot": {201, 1000, 399, 1, true, 1},
	} {
		r := ringOf(2, time.Now())
		r.mem.SetBudget(c.budget)
		r.pending = c.pending
		got := r.OwnMemory(c.record, int64(c.buffer))
		if (got != nil) != c.own || len(r.chunks) != c.chunks {
			t.Errorf("%s: own memory %v, %d chunks left; want %v, %d", name, got != nil, len(r.chunks), c.own, c.chunks)
		}
		if want := r.Held() + int64(cap(got)); r.mem.Usage().Held != want {
			t.Errorf("%s: %d bytes are counted, want %d", name, r.mem.Usage().Held, want)
		}
	}
}

// TestOwnMemoryIsSpareMemory: spare memory of the right size is used again, and is counted already.
func TestOwnMemoryIsSpareMemory(t *testing.T) {
	t.Parallel()
	r := ringOf(0, time.Now())
	r.spare = [][]byte{make([]byte, 0, 80)}
	r.mem.Use(80)
	got := r.OwnMemory(60, 1000)
	if cap(got) != 80 || len(r.spare) != 0 || r.mem.Usage().Held != 80 {
		t.Errorf("memory of %d bytes, %d counted; want the spare 80", cap(got), r.mem.Usage().Held)
	}
}
