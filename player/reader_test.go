package player

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// The state at the turn of a loop is that of the order of headers: what was received
// before the loop, but belongs after its beginning, is not in it.
func TestLoopByHeader(t *testing.T) {
	t.Parallel()
	const s = time.Second
	bag := testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{
		{Topic: "/latched", Received: 0, Stamp: 0},             // 0
		{Topic: "/latched", Received: 1 * s, Stamp: 2500 * ms}, // 1 comes in the loop
		{Topic: "/a", Received: 2 * s, Stamp: 2 * s},           // 2
		{Topic: "/a", Received: 3 * s, Stamp: 3 * s},           // 3
		{Topic: "/latched", Received: 4 * s, Stamp: 1500 * ms}, // 4 is valid before the loop
		{Topic: "/a", Received: 5 * s, Stamp: 5 * s},           // 5
	})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		var got []string
		g.frames = func(topic string, frame []byte) {
			m := rosbag.Message{Frame: frame}
			got = append(got, fmt.Sprintf("%v %s %d", time.Since(g.start), topic, testplay.NumberOf(&m)))
		}
		o := Options{Bags: testplay.OpenBags(t, bag), ByHeader: true, HeaderReach: 3 * s, Loop: true, Paused: true}
		steer(t, g, o, ordersAt{
			100 * ms:  func(c control.Control) { _ = c.SetLoopRange(2*s, 3*s) },
			200 * ms:  seek(2 * s),
			s:         toggle,
			3400 * ms: stop,
		})
		want := []string{
			"200ms /latched 4", "1s /a 2", "1.5s /latched 1", "2s /a 3",
			"2.5s /latched 4", "2.5s /a 2", "3s /latched 1",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
