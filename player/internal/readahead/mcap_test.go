package readahead

import (
	"bytes"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros2/mcapwriter"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// asMCAP makes an MCAP file of a bag.
func asMCAP(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := mcapwriter.New(struct{ io.Writer }{&out}, mcapwriter.Options{Profile: "ros1", Compression: "lz4", ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	channels := make(map[*rosbag.Connection]uint16)
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if channels[m.Conn] == 0 {
			schema, err := w.AddSchema(mcapwriter.AnyID, m.Conn.Header.Type(), "ros1msg", []byte(m.Conn.Header.MessageDefinition()))
			if err != nil {
				t.Fatal(err)
			}
			metadata := map[string]string{"callerid": m.Conn.Header.CallerID(), "md5sum": m.Conn.Header.MD5Sum(), "latching": strconv.FormatBool(m.Conn.Header.Latching())}
			if channels[m.Conn], err = w.AddChannel(mcapwriter.AnyID, schema, m.Conn.Topic, "ros1", metadata); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(channels[m.Conn], 0, uint64(m.Time.Sec)*1e9+uint64(m.Time.Nsec), m.Data()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSeekInMCAP seeks in an MCAP file: what is latched and the messages that follow are those of the bag
// that it was made of.
func TestSeekInMCAP(t *testing.T) {
	t.Parallel()
	l1 := testplay.Conn{Topic: "/tf_static", CallerID: "/n1", Latching: true}
	l2 := testplay.Conn{Topic: "/tf_static", CallerID: "/n2", Latching: true}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Concat(
		testplay.Series(l1, "n1-", 0, 5, 10), testplay.Series(l2, "n2-", 1, 7), testplay.Series(testplay.ConnA, "a", 0, 4, 20))...)
	seek := func(file []byte, to time.Duration) (latched, played []string) {
		p, err := plan.New(t.Context(), plan.Options{Log: zap.NewNop()}, testplay.OpenBags(t, file), testplay.Resolve)
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(byReceipt(p), NewQueue(1<<30, 100))
		r.zero, r.zeroKnown = testplay.Base, true
		r.readPasses(t.Context(), readRequest{ReadRequest: transport.ReadRequest{From: transport.Place{Stamp: testplay.Base.Add(to)}, Arrive: true}})
		r.closing.Wait()
		for {
			it, ok := popOne(t.Context(), r.queue)
			if !ok || it.Jump == nil && it.Frame == nil {
				return latched, played
			}
			if it.Jump == nil {
				played = append(played, string(it.Frame[8:]))
				continue
			}
			for _, l := range it.Jump.Latched {
				latched = append(latched, string(l.Frame[8:]))
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
