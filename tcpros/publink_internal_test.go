package tcpros

import (
	"net"
	"testing"
)

// A frame is dropped when a subscriber that is there does not get it. One that has
// left, but is still in the list, misses nothing.
func TestLeavingIsNoDrop(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(*outLink)
		want uint64
	}{
		"full":     {func(*outLink) {}, 2},
		"closed":   {(*outLink).close, 0},
		"draining": {(*outLink).end, 4},
	} {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		l := newOutLink(a, "/s", 1, 2, &room{})
		tt.end(l)
		for range 4 {
			l.push([]byte("frame"), false)
		}
		if got := l.snapshot().Dropped; got != tt.want {
			t.Errorf("%s: %d dropped, want %d", name, got, tt.want)
		}
	}
}
