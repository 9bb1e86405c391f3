package repeats_test

import (
	"bytes"
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt/recovery/internal/repeats"
)

// TestRepeatIsCompared: a chunk with the checksum and the length of another one is the same only if its
// bytes are.
func TestRepeatIsCompared(t *testing.T) {
	t.Parallel()
	first := bytes.Repeat([]byte("0123456789"), 1000)
	f := repeats.New(bytes.NewReader(append([]byte("12345"), first...)))
	isRepeat := func(stored []byte) bool { return f.IsRepeat(7, 5, stored) }
	for range 2 {
		if isRepeat(first) {
			t.Error("a repeat where none is possible")
		}
	}
	f.Possible = true
	if !isRepeat(bytes.Clone(first)) {
		t.Error("a repeat is not found")
	}
	for _, at := range []int{0, 4096, len(first) - 1} {
		other := bytes.Clone(first)
		other[at]++
		if isRepeat(other) {
			t.Errorf("a chunk that differs at %d is taken for a repeat", at)
		}
	}
	if isRepeat(first[:5000]) || isRepeat(nil) {
		t.Error("a chunk of another length is taken for a repeat")
	}
}
