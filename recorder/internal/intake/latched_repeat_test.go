package intake

import (
	"testing"

	"github.com/gorosbag/gorosbag/recorder/internal/account"
)

// TestOlderPublishersAreRepeated: a publisher that came back does not hide those that came
// before it.
func TestOlderPublishersAreRepeated(t *testing.T) {
	t.Parallel()
	in := bareIntake(10_000, 100)
	oldest, old, late := latchingConnection(in, "/oldest"), latchingConnection(in, "/a"), latchingConnection(in, "/a")
	for _, c := range []*account.Connection{oldest, old, late} {
		in.Latched.Remember(&c.Source, []byte("x"))
	}
	got := in.PinLatched(nil)
	if len(got) != 2 || got[0].Source != &late.Source || got[1].Source != &oldest.Source {
		t.Errorf("%d repeated; want the latest of /a and that of /oldest", len(got))
	}
}
