package info_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/bags/info"
	"github.com/gorosbag/gorosbag/rosbag"
)

// sampledBag is a bag of 30 chunks: one of each second, and 1000 s more after 20 of them. Each has 10 messages of
// /fast, with 100 bytes, and one each of /size, which has as many bytes as chunks are before it, and /slow.
func sampledBag(t *testing.T) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var conns []*rosbag.Connection
	for _, topic := range []string{"/fast", "/once", "/size", "/slow"} {
		c, err := w.AddConnection(topic, rosbag.Header{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	var records chunk.Records
	for k := range 30 {
		at := rosbag.Time{Sec: 1 + uint32(k+k/20*1000)}
		var b chunk.Builder
		b.Reset(&records)
		for i := range 10 {
			b.AppendMessage(conns[0], at.Add(time.Duration(i)*100*time.Millisecond), make([]byte, 100))
			if i == 5 {
				b.AppendMessage(conns[2], at.Add(550*time.Millisecond), make([]byte, k))
			}
		}
		if k == 0 {
			b.AppendMessage(conns[1], at.Add(920*time.Millisecond), nil)
		}
		b.AppendMessage(conns[3], at.Add(950*time.Millisecond), make([]byte, 7))
		sealed, err := b.Seal(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteChunk(sealed); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// read opens a bag in memory.
func read(t *testing.T, b []byte) *bagfmt.Reader {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSample estimates what only chunks contain, from some of them.
func TestSample(t *testing.T) {
	t.Parallel()
	r := read(t, sampledBag(t))
	summarize := func(o info.Options) *info.Info {
		t.Helper()
		i, err := info.New("x.bag", r, o)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	all := summarize(info.Options{})
	for sample, want := range map[int]int{1: 1, 2: 2, 29: 29, 30: 0, 31: 0} {
		if got := summarize(info.Options{Sample: sample}); got.Sampled != want {
			t.Errorf("sample of %d of 30 chunks: %d are", sample, got.Sampled)
		}
	}
	for _, o := range []info.Options{{}, {Frequencies: true}, {Details: true}} {
		o.Sample = 5
		got := summarize(o)
		about := cmpopts.EquateApprox(0.02, 0)
		if d := cmp.Diff(sums(all), sums(got), about); d != "" || got.Chunks != 30 || got.Sampled != 5 {
			t.Errorf("%+v: %d chunks, %d sampled, compression (-all +sampled):\n%s", o, got.Chunks, got.Sampled, d)
		}
		want := []info.Topic{{Name: "/fast", Messages: 300}, {Name: "/once", Messages: 1}, {Name: "/size", Messages: 30}, {Name: "/slow", Messages: 30}}
		for n := range want {
			want[n].Type, want[n].MD5Sum, want[n].Connections = "a/A", "m", 1
		}
		if o.Frequencies || o.Details {
			average := 29 / 1029.95 // of too few messages in each chunk for a median
			want[0].Frequency, want[2].Frequency, want[3].Frequency = 10, average, average
		}
		if o.Details {
			want[0].Bytes = 300 * 100
			want[1].Bytes = 91                              // at most: the connection record of /slow comes before the next message
			want[2].Bytes = 30 * (0 + 7 + 14 + 21 + 29) / 5 // as in the chunks of the sample
			want[3].Bytes = 30 * 7
			for _, n := range []int{0, 2, 3} {
				want[n].LongestGap, want[n].GapAt = 1000*time.Second+50*time.Millisecond, rosbag.Time{Sec: 20, Nsec: 950_000_000}
			}
		}
		if d := cmp.Diff(want, got.Topics, cmpopts.EquateApprox(1e-9, 0)); d != "" {
			t.Errorf("%+v: topics (-want +got):\n%s", o, d)
		}
	}
}

// TestSampleOfOneMoment: messages of one time have no frequency.
func TestSampleOfOneMoment(t *testing.T) {
	t.Parallel()
	at := rosbag.Time{Sec: 1}
	i, err := info.New("x.bag", read(t, bag(t, "/t", at, at, at)), info.Options{Sample: 1, Frequencies: true})
	if err != nil {
		t.Fatal(err)
	}
	if i.Sampled != 1 || i.Topics[0].Frequency != 0 {
		t.Errorf("%d chunks are sampled, frequency %v", i.Sampled, i.Topics[0].Frequency)
	}
}

// sums are the figures of the compression, as numbers that may be compared approximately.
func sums(i *info.Info) [][3]float64 {
	var list [][3]float64
	for _, c := range i.Compression {
		list = append(list, [3]float64{float64(c.Chunks), float64(c.StoredBytes), float64(c.UncompressedBytes)})
	}
	return list
}

// TestDamaged summarizes a bag of which one chunk is damaged: the error is passed on, and the others count.
func TestDamaged(t *testing.T) {
	t.Parallel()
	b := sampledBag(t)
	copy(b[read(t, b).Span(7).Pos:], "\xff\xff\xff\xff")
	r := read(t, b)
	stop := errors.New("stop")
	for name, tt := range map[string]struct {
		o      info.Options
		chunks int    // of the compression
		bytes  uint64 // of /size
		told   int
	}{
		"compression":         {info.Options{}, 29, 0, 1},
		"frequencies":         {info.Options{Frequencies: true}, 29, 0, 2},
		"details":             {info.Options{Details: true}, 29, 29*30/2 - 7, 2},
		"sample":              {info.Options{Sample: 5}, 4 * 30 / 5, 0, 1},
		"sampled frequencies": {info.Options{Sample: 5, Frequencies: true}, 4 * 30 / 5, 0, 1},
		"sampled details":     {info.Options{Sample: 5, Details: true}, 4 * 30 / 5, 30 * (0 + 14 + 21 + 29) / 4, 1},
	} {
		if _, err := info.New("x.bag", r, tt.o); !errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("%s: %v, want the error of the chunk", name, err)
		}
		told := 0
		tt.o.Damaged = func(err error) error {
			if told++; !errors.Is(err, rosbag.ErrCorrupt) {
				t.Errorf("%s: told %v", name, err)
			}
			return nil
		}
		i, err := info.New("x.bag", r, tt.o)
		if err != nil || told != tt.told {
			t.Fatalf("%s: %v, told %d times, want %d", name, err, told, tt.told)
		}
		if i.Compression[0].Chunks != tt.chunks || i.Topics[2].Bytes != tt.bytes {
			t.Errorf("%s: %d chunks, want %d; %d bytes of %s, want %d", name, i.Compression[0].Chunks, tt.chunks, i.Topics[2].Bytes, i.Topics[2].Name, tt.bytes)
		}
		tt.o.Damaged = func(error) error { return stop }
		if _, err := info.New("x.bag", r, tt.o); !errors.Is(err, stop) {
			t.Errorf("%s: %v, want what Damaged returned", name, err)
		}
	}
}
