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
	"github.com/gorosbag/gorosbag/player/internal/timeline"
	"github.com/gorosbag/gorosbag/player/internal/transport"
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

// What is valid where a seek leads to was received before the reach: what comes later is
// read, and has its turn.
func TestHeaderOrderStateOfSeek(t *testing.T) {
	t.Parallel()
	const s = time.Second
	o := Options{Bags: testplay.OpenBags(t, testplay.HeadedBag(t, bagfmt.WriterOptions{}, []testplay.Headed{
		{Topic: "/latched", Received: 1 * s, Stamp: 1 * s}, {Topic: "/latched", Received: 4500 * ms, Stamp: 5500 * ms}, {Topic: "/latched", Received: 6 * s, Stamp: 6 * s},
	})), Log: zap.NewNop(), ByHeader: true, HeaderReach: 2 * time.Second}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(timeline.New(orderOf(&o, func(*control.DamageError) {}), p), newQueue(1<<30, 100))
	r.zero, r.zeroKnown = testplay.Base.Add(s), true
	r.readPasses(t.Context(), readRequest{ReadRequest: transport.ReadRequest{From: transport.Place{Stamp: testplay.Base.Add(5 * s)}, Arrive: true}})
	r.closing.Wait()
	it, ok := popOne(t.Context(), r.queue)
	if !ok || it.jump == nil || len(it.jump.latched) != 1 || testplay.NumberOf(&bagfmt.Message{Frame: it.jump.latched[0].Frame}) != 0 {
		t.Fatalf("got %+v first, want the state of message 0", it)
	}
	for _, want := range []uint32{1, 2} {
		if it, ok := popOne(t.Context(), r.queue); !ok || testplay.NumberOf(&bagfmt.Message{Frame: it.frame}) != want {
			t.Errorf("got %+v, want message %d", it, want)
		}
	}
}
