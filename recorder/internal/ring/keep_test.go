package ring

import "testing"

// TestSpareMemoryFits: a record takes a spare piece of memory that it fills to two thirds or more.
func TestSpareMemoryFits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{101: false, 100: true, 67: true, 66: false, 51: false} {
		one := Ring{Spare: [][]byte{make([]byte, 50), make([]byte, 0, 100)}}
		got := one.spare(n)
		if (got != nil) != want || want && (len(got) != 0 || cap(got) != 100 || len(one.Spare) != 1) {
			t.Errorf("for %d bytes a piece of 100 is used: %v, want %v; %d left", n, got != nil, want, len(one.Spare))
		}
	}
}
