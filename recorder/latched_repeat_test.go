package recorder

import (
	"testing"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/rotation"
)

// TestOlderPublishersAreRepeated: a publisher that came back does not hide those that came
// before it.
func TestOlderPublishersAreRepeated(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	oldest, old, late := latchingConnection(in, "/oldest"), latchingConnection(in, "/a"), latchingConnection(in, "/a")
	for _, c := range []*connection{oldest, old, late} {
		in.latched.rememberLatched(&c.source, []byte("x"))
	}
	got := in.pinLatched(nil)
	if len(got) != 2 || got[0].source != &late.source || got[1].source != &oldest.source {
		t.Errorf("%d repeated; want the latest of /a and that of /oldest", len(got))
	}
}

// TestRepeatedMessagesTakeRoomInTheirFile: of the file that is filled, and half of its size at
// most.
func TestRepeatedMessagesTakeRoomInTheirFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part, bytes int
		want        int64
	}{
		"few bytes":       {part: 3, bytes: 300, want: 100 + 300},
		"many":            {part: 3, bytes: 700, want: 100 + 500},
		"of another file": {part: 2, bytes: 300, want: 100},
	} {
		in := bareIntake(-1, 100)
		in.rotation = rotationAt(rotation.Options{MaxBytes: 1000}, 3, 100)
		in.repeatedInFile(&bagfmt.SealedChunk{Record: make([]byte, c.bytes)}, c.part)
		if got := in.rotation.Stored(); got != c.want {
			t.Errorf("%s: the file counts %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestRepeatedConnectionsAreKept until the file that begins with their messages is closed,
// which happens behind the intake's back.
func TestRepeatedConnectionsAreKept(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	in.rotation = rotationAt(rotation.Options{}, 3, 0)
	c := latchingConnection(in, "/a")
	in.latched.rememberLatched(&c.source, []byte("x"))
	pinned := in.pinLatched(nil)
	in.latched.forgetLatched(&c.source)
	in.unpin(pinned)
	for closed, want := range map[int64]bool{3: false, 4: true} { // parts below this number
		if in.closedParts.Store(closed); in.unneeded(c) != want {
			t.Errorf("the parts below %d are closed: the connection may go: %v, want %v", closed, !want, want)
		}
	}
}
