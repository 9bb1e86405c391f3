package bagfmt_test

import (
	"testing"

	"github.com/gorosbag/gorosbag/rosbag"
)

// TestDamageStaysInItsChunk reads bags with one chunk that says it is smaller than it
// is: nothing that is left of it may get into the next chunk.
func TestDamageStaysInItsChunk(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions[1:] {
		full := sampleBag(t, comp)
		chunk := recordsOf(t, full, 5)
		bad := setU32(full, chunk[0].fields["size"], 40)
		want := 30 - countMessages(t, full, chunk[0])
		if got, errs := readAll(t, bad, rosbag.Query{}); len(got) != want || len(errs) != 1 {
			t.Errorf("%s: reader: %d messages, want %d, errors %v", comp, len(got), want, errs)
		}
	}
}
