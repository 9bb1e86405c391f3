package player

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// Play waits for the stamps, and not for the times of receipt.
func TestPlayByHeader(t *testing.T) {
	t.Parallel()
	bag := headedBag(t, bagfmt.WriterOptions{}, []headed{{"/a", 1000 * ms, 900 * ms}, {"/b", 1500 * ms, 1000 * ms}, {"/a", 1510 * ms, 950 * ms}})
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

// What is valid where a seek leads to was received before the reach: what comes later is
// read, and has its turn.
func TestHeaderOrderStateOfSeek(t *testing.T) {
	t.Parallel()
	const s = time.Second
	o := Options{Bags: testplay.OpenBags(t, headedBag(t, bagfmt.WriterOptions{}, []headed{
		{"/latched", 1 * s, 1 * s}, {"/latched", 4500 * ms, 5500 * ms}, {"/latched", 6 * s, 6 * s},
	})), Log: zap.NewNop(), ByHeader: true, HeaderReach: 2 * time.Second}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(newOrder(orderOf(&o, func(*control.DamageError) {}), p), newQueue(1<<30, 100))
	r.zero, r.zeroKnown = testplay.Base.Add(s), true
	r.readPasses(t.Context(), readRequest{ReadRequest: transport.ReadRequest{From: transport.Place{Stamp: testplay.Base.Add(5 * s)}, Arrive: true}})
	r.closing.Wait()
	it, ok := popOne(t.Context(), r.queue)
	if !ok || it.jump == nil || len(it.jump.latched) != 1 || numberOf(&bagfmt.Message{Frame: it.jump.latched[0].Frame}) != 0 {
		t.Fatalf("got %+v first, want the state of message 0", it)
	}
	for _, want := range []uint32{1, 2} {
		if it, ok := popOne(t.Context(), r.queue); !ok || numberOf(&bagfmt.Message{Frame: it.frame}) != want {
			t.Errorf("got %+v, want message %d", it, want)
		}
	}
}
