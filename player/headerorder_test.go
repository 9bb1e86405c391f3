package player

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// Play waits for the stamps, and not for the times of receipt.
func TestPlayByHeader(t *testing.T) {
	t.Parallel()
	bag := testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{{Topic: "/a", Received: 1000 * ms, Stamp: 900 * ms}, {Topic: "/b", Received: 1500 * ms, Stamp: 1000 * ms}, {Topic: "/a", Received: 1510 * ms, Stamp: 950 * ms}})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		if _, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), ByHeader: true}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range g.events {
			var at, what string
			fmt.Sscan(e, &at, &what)
			got = append(got, at+" "+what)
		}
		if d := cmp.Diff([]string{"0s /a#1", "50ms /a#1", "100ms /b#1", "100ms drain"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
