package disk

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestTimesFallIntoClasses: a bound belongs to the class below it; beyond the last one
// there is no class, but the number and the sum have it.
func TestTimesFallIntoClasses(t *testing.T) {
	t.Parallel()
	var s Watchdog
	var sum time.Duration
	bounds := control.TimeBounds()
	for _, b := range bounds {
		note(&s.times, "write", b)
		note(&s.times, "write", b+1)
		sum += 2*b + 1
	}
	note(&s.times, "sync", time.Millisecond)
	note(&s.times, "truncate", time.Hour)
	got := s.Account()
	if got.Writes.Count != uint64(2*len(bounds)) || got.Writes.Sum != sum {
		t.Errorf("%d writes in %v, want %d in %v", got.Writes.Count, got.Writes.Sum, 2*len(bounds), sum)
	}
	for i, n := range got.Writes.Classes {
		want := uint64(2)
		if i == 0 {
			want = 1
		}
		if n != want {
			t.Errorf("%d writes took at most %v and more than the class before, want %d", n, bounds[i], want)
		}
	}
	if got.Syncs.Count != 1 || got.Splits.Count != 0 {
		t.Errorf("%d syncs, %d splits", got.Syncs.Count, got.Splits.Count)
	}
	s.CountSplit(time.Now().Add(-time.Hour))
	if got := s.Account(); got.Splits.Count != 1 || got.Splits.Sum < time.Hour {
		t.Errorf("%d splits in %v, want one of an hour", got.Splits.Count, got.Splits.Sum)
	}
}
