package player

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/rebag"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

// asMCAP makes an MCAP file of a bag.
func asMCAP(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink, err := rebag.NewMCAP(struct{ io.Writer }{&out}, "lz4", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rebag.Copy([]rebag.Input{{Source: r}}, rebag.Options{}, sink); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSeekInMCAP seeks in an MCAP file: what is latched and the messages that follow are those of the bag
// that it was made of.
func TestSeekInMCAP(t *testing.T) {
	t.Parallel()
	l1 := TestConn{Topic: "/tf_static", CallerID: "/n1", Latching: true}
	l2 := TestConn{Topic: "/tf_static", CallerID: "/n2", Latching: true}
	bag := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, concat(
		series(l1, "n1-", 0, 5, 10), series(l2, "n2-", 1, 7), series(connA, "a", 0, 4, 20))...)
	seek := func(file []byte, to time.Duration) (latched, played []string) {
		p, _ := makePlan(t, Options{}, file)
		r := newReader(testOrder(p), newQueue(1<<30, 100))
		r.zero, r.zeroKnown = testBase, true
		r.readPasses(t.Context(), readRequest{ReadRequest: transport.ReadRequest{From: transport.Place{Stamp: testBase.Add(to)}, Arrive: true}})
		r.closing.Wait()
		for {
			it, ok := popOne(t.Context(), r.queue)
			if !ok || it.jump == nil && it.frame == nil {
				return latched, played
			}
			if it.jump == nil {
				played = append(played, string(it.frame[8:]))
				continue
			}
			for _, l := range it.jump.latched {
				latched = append(latched, string(l.frame[8:]))
			}
		}
	}
	for _, to := range []time.Duration{2, 5, 6, 8, 12} {
		wantLatched, wantPlayed := seek(bag, to)
		latched, played := seek(asMCAP(t, bag), to)
		if len(wantLatched) != 2 || len(wantPlayed) == 0 {
			t.Fatalf("at %d ns the bag has latched %q, then %q", to, wantLatched, wantPlayed)
		}
		if d := cmp.Diff(wantLatched, latched); d != "" {
			t.Errorf("latched at %d ns (-want +got):\n%s", to, d)
		}
		if d := cmp.Diff(wantPlayed, played); d != "" {
			t.Errorf("played from %d ns (-want +got):\n%s", to, d)
		}
	}
}
