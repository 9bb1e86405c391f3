package rewrite_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/rosbag"
)

// randomBag writes up to 100 messages of some of four publishers, whose ids are those of publishers of other bags, too.
// Some bags have messages out of order, and some say that they begin with repeated messages.
func randomBag(t *testing.T, rnd *rand.Rand, o bagfmt.WriterOptions) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, o)
	if err != nil {
		t.Fatal(err)
	}
	ids := []rosbag.ConnID{0, 1, 2, 7}
	if rnd.IntN(3) == 0 { // one that the output does not keep
		ids = append(ids, 70000)
	}
	rnd.Shuffle(len(ids), func(a, b int) { ids[a], ids[b] = ids[b], ids[a] })
	var conns []*rosbag.Connection
	for i, topic := range []string{"/a", "/a", "/b", "/map"} {
		caller := []string{"/x", "/y", "/x", "/map_server"}[i]
		c := &rosbag.Connection{ID: ids[i], Topic: topic, Header: header(topic, caller)}
		if rnd.IntN(20) == 0 {
			c.Header = slices.DeleteFunc(c.Header, func(f rosbag.Field) bool { return f.Key == "callerid" })
		}
		if err := w.Adopt(c); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	at, mixed := 10+rnd.IntN(100), rnd.IntN(3)
	if rnd.IntN(4) == 0 {
		w.SetRepeated(rosbag.Repeated{Count: 1, Time: rosbag.Time{Sec: uint32(at)}})
	}
	for range rnd.IntN(100) {
		data := make([]byte, rnd.IntN(3000))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		sec := at
		if mixed == 0 && rnd.IntN(10) == 0 {
			sec -= rnd.IntN(10)
		}
		if err := w.Write(conns[rnd.IntN(4)], rosbag.Time{Sec: uint32(sec)}, data); err != nil {
			t.Fatal(err)
		}
		at += min(rnd.IntN(8), 2) // mostly later than the one before
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// TestChunksAreCopiedRandom: what the inputs are, the copy of chunks has what the copy of messages has.
func TestChunksAreCopiedRandom(t *testing.T) {
	t.Parallel()
	total := 0
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		compressions := []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4}
		to := bagfmt.WriterOptions{Compression: compressions[rnd.IntN(2)], ChunkBytes: 6000, Workers: rnd.IntN(3)}
		var bags [][]byte
		for range 1 + rnd.IntN(3) {
			from := bagfmt.WriterOptions{Compression: to.Compression, ChunkBytes: 4500 + rnd.IntN(8000)}
			if rnd.IntN(5) == 0 {
				from.Compression = compressions[rnd.IntN(2)]
			}
			bags = append(bags, randomBag(t, rnd, from))
		}
		o := rewrite.Options{Workers: rnd.IntN(3)}
		if rnd.IntN(3) == 0 {
			o.Start, o.Latched = rosbag.Time{Sec: uint32(10 + rnd.IntN(100))}, rnd.IntN(2) == 0
		}
		if rnd.IntN(4) == 0 {
			o.End = rosbag.Time{Sec: uint32(110 + rnd.IntN(90))}
		}
		if rnd.IntN(4) == 0 {
			o.Keep = func(c *rosbag.Connection) bool { return c.Topic != "/b" }
		}
		var outputs [2]file
		var sums [2]rewrite.Summary
		var counts [2]map[string]uint64
		for i := range outputs {
			sink, err := rewrite.NewBag(&outputs[i], to)
			if err != nil {
				t.Fatal(err)
			}
			var inputs []rewrite.Input
			for _, b := range bags {
				inputs = append(inputs, rewrite.Input{Source: open(t, b)})
			}
			c := &counted{BagSink: sink}
			out := rosbag.Sink(c)
			if i == 0 {
				out = struct{ repeating }{sink} // without CopyChunk
			}
			if sums[i], err = rewrite.Copy(inputs, o, out); err != nil {
				t.Fatal(err)
			}
			total += c.copied
			counts[i] = map[string]uint64{}
			for k, in := range inputs {
				for _, c := range in.Source.Connections() {
					counts[i][string(rune('0'+k))+c.Topic+c.Header.CallerID()] += sums[i].Written[c]
				}
			}
		}
		if d := cmp.Diff(heard(t, outputs[0].b), heard(t, outputs[1].b), cmp.AllowUnexported(said{})); d != "" {
			t.Fatalf("seed %d: messages (-want +got):\n%.2000s", seed, d)
		}
		if d := cmp.Diff(sums[0], sums[1], cmpopts.IgnoreFields(rewrite.Summary{}, "Written")) + cmp.Diff(counts[0], counts[1]); d != "" {
			t.Fatalf("seed %d: summary (-want +got):\n%s", seed, d)
		}
		want, got := open(t, outputs[0].b), open(t, outputs[1].b)
		if want.Info().Repeated != got.Info().Repeated || want.Info().Messages != got.Info().Messages {
			t.Fatalf("seed %d: %+v, want %+v", seed, got.Info(), want.Info())
		}
		v := got.Verifier()
		for i := range got.NumSpans() {
			if x := v.Verify(i); x.Err != nil || x.IndexErr != nil {
				t.Fatalf("seed %d: chunk %d: %v, %v", seed, i, x.Err, x.IndexErr)
			}
		}
		n := 0
		for m, err := range rosbag.Messages(got, rosbag.Query{}) {
			if err != nil || m.Conn == nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			n++
		}
		if uint64(n) != sums[1].Messages+sums[1].Repeated {
			t.Fatalf("seed %d: %d messages with the index, want %d", seed, n, sums[1].Messages+sums[1].Repeated)
		}
	}
	if total < 200 {
		t.Errorf("only %d chunks are copied", total)
	}
}
