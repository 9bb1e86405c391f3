package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(300)
	for _, comp := range compressions {
		for _, chunk := range []int{1, 1000, 0} {
			t.Run(fmt.Sprintf("comp=%s/chunk=%d", comp, chunk), func(t *testing.T) {
				t.Parallel()
				b := writeBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: chunk}, conns, msgs)
				got, errs := readAll(t, b, rosbag.Query{})
				if d := cmp.Diff(byTime(msgs), got); d != "" || errs != nil {
					t.Errorf("reader: %v, differs (-want +got):\n%s", errs, d)
				}
				got, errs = scanAll(t, b)
				if d := cmp.Diff(msgs, got); d != "" || errs != nil {
					t.Errorf("scanner: %v, differs (-want +got):\n%s", errs, d)
				}
			})
		}
	}
}

func TestReaderSummary(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(300)
	b := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 1000}, conns, msgs)
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(conns, r.Connections()); d != "" {
		t.Errorf("connections differ (-want +got):\n%s", d)
	}
	sorted := byTime(msgs)
	if r.Info().Start != sorted[0].Time || r.Info().End != sorted[len(sorted)-1].Time {
		t.Errorf("from %s to %s, want %s to %s", r.Info().Start, r.Info().End, sorted[0].Time, sorted[len(sorted)-1].Time)
	}
	if r.Info().Messages != 300 || r.Info().Version != "2.0" || r.Info().Size != int64(len(b)) {
		t.Errorf("messages %d, version %s, size %d", r.Info().Messages, r.Info().Version, r.Info().Size)
	}
	if at := r.Span(0).Pos; at != 4117 {
		t.Errorf("first chunk at %d, want 4117", at)
	}
	h, err := r.ChunkHeader(0)
	if err != nil || h.Compression != rosbag.CompressionNone || h.StoredBytes != h.UncompressedBytes || h.StoredBytes < 1000 {
		t.Errorf("chunk header %+v, %v", h, err)
	}
	c := r.Connections()[1]
	_, topic := c.Header.Get(rosbag.KeyTopic)
	if !c.Header.Latching() || c.Header.Type() != "a/Odom" || c.Header.CallerID() != "" || topic {
		t.Errorf("header of connection 1: %v", c.Header)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(300)
	b := writeBag(t, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4, ChunkBytes: 1000}, conns, msgs)
	tests := map[string]struct {
		q    rosbag.Query
		want func(msg) bool
	}{
		"all": {rosbag.Query{}, func(msg) bool { return true }},
		"one topic": {
			rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/odom" }},
			func(m msg) bool { return m.Topic == "/odom" },
		},
		"none": {
			rosbag.Query{Keep: func(*rosbag.Connection) bool { return false }},
			func(msg) bool { return false },
		},
		"from": {
			rosbag.Query{Start: rosbag.Time{Sec: 130, Nsec: 1000}},
			func(m msg) bool { return !m.Time.Before(rosbag.Time{Sec: 130, Nsec: 1000}) },
		},
		"to": {
			rosbag.Query{End: rosbag.Time{Sec: 130, Nsec: 1000}},
			func(m msg) bool { return m.Time.Compare(rosbag.Time{Sec: 130, Nsec: 1000}) <= 0 },
		},
		"at one time": {
			rosbag.Query{Start: rosbag.Time{Sec: 130}, End: rosbag.Time{Sec: 130}},
			func(m msg) bool { return m.Time == rosbag.Time{Sec: 130} },
		},
		"before all": {
			rosbag.Query{Start: rosbag.Time{Nsec: 1}, End: rosbag.Time{Sec: 99}},
			func(msg) bool { return false },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := slices.DeleteFunc(byTime(msgs), func(m msg) bool { return !tc.want(m) })
			got, errs := readAll(t, b, tc.q)
			if len(want) != len(got) || len(got) > 0 && cmp.Diff(want, got) != "" || errs != nil {
				t.Errorf("got %d messages and %v, want %d", len(got), errs, len(want))
			}
		})
	}
}

func TestFramesStayValid(t *testing.T) {
	t.Parallel()
	for _, comp := range compressions {
		b := sampleBag(t, comp)
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{CacheBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		var frames [][]byte
		var want []string
		for m, err := range rosbag.Messages(r, rosbag.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, m.Frame)
			want = append(want, string(m.Frame))
		}
		for i, f := range frames {
			if string(f) != want[i] {
				t.Fatalf("%s: frame %d changed", comp, i)
			}
		}
	}
}

func TestLatest(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(300)
	for _, comp := range compressions {
		b := writeBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 1500}, conns, msgs)
		r, err := openBag(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []rosbag.Time{{}, {Sec: 50}, {Sec: 100}, {Sec: 120, Nsec: 1000}, {Sec: 133, Nsec: 5}, {Sec: math.MaxUint32}} {
			for id := range rosbag.ConnID(3) {
				var want *msg
				for i := int(id); i < len(msgs); i += 3 {
					if m := msgs[i]; m.Time.Compare(at) <= 0 && (want == nil || want.Time.Compare(m.Time) <= 0) {
						want = &m
					}
				}
				m, err := lastOf(r, id, at)
				if err != nil {
					t.Fatal(err)
				}
				var got *msg
				if m != nil {
					g := asMsg(m)
					got = &g
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: connection %d before %s (-want +got):\n%s", comp, id, at, d)
				}
			}
		}
		if m, err := lastOf(r, 99, rosbag.Time{Sec: 500}); m != nil || err != nil {
			t.Errorf("unknown connection: %v, %v", m, err)
		}
	}
}

// TestLatched looks for the messages that subscribers get who come at some time.
func TestLatched(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(300)
	conns[2].Header = append(conns[2].Header, rosbag.Field{Key: "latching", Value: "1"}) // beside the second
	r, err := openBag(writeBag(t, bagfmt.WriterOptions{ChunkBytes: 1500}, conns, msgs))
	if err != nil {
		t.Fatal(err)
	}
	third := func(c *rosbag.Connection) bool { return c.ID == 2 }
	for _, at := range []rosbag.Time{{Sec: 50}, {Sec: 120, Nsec: 1000}, {Sec: math.MaxUint32}} {
		for name, tc := range map[string]struct {
			keep func(*rosbag.Connection) bool
			ids  []rosbag.ConnID
		}{"all": {nil, []rosbag.ConnID{1, 2}}, "one": {third, []rosbag.ConnID{2}}} {
			var want, got []msg
			for _, id := range tc.ids {
				if m, err := lastOf(r, id, at); err != nil {
					t.Fatal(err)
				} else if m != nil {
					want = append(want, asMsg(m))
				}
			}
			for c, last := range rosbag.Latched(r, at, tc.keep) {
				if last.Err != nil || last.Message.Conn != c {
					t.Fatalf("%s at %s: %+v of connection %d", name, at, last, c.ID)
				}
				got = append(got, asMsg(last.Message))
			}
			if d := cmp.Diff(want, got); d != "" || at.Sec == math.MaxUint32 && len(got) != len(tc.ids) {
				t.Errorf("%s at %s: differs (-want +got):\n%s", name, at, d)
			}
		}
	}
	for c := range rosbag.Latched(r, rosbag.Time{Sec: math.MaxUint32}, nil) {
		if c.ID != 1 {
			t.Error("goes on after a break")
		}
		break
	}
}

func TestEmptyBag(t *testing.T) {
	t.Parallel()
	b := writeBag(t, bagfmt.WriterOptions{}, nil, nil)
	if len(b) != 4117 {
		t.Errorf("%d bytes, want 4117", len(b))
	}
	if msgs, errs := readAll(t, b, rosbag.Query{}); msgs != nil || errs != nil {
		t.Errorf("reader: %v, %v", msgs, errs)
	}
	if msgs, errs := scanAll(t, b); msgs != nil || errs != nil {
		t.Errorf("scanner: %v, %v", msgs, errs)
	}
}

// TestNotSeekable writes to something that has Write only.
func TestNotSeekable(t *testing.T) {
	t.Parallel()
	var f memFile
	w, err := bagfmt.NewWriter(struct{ io.Writer }{&f}, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection("/a", header("a/A"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(c, rosbag.Time{Sec: 1}, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openBag(f.b); !errors.Is(err, rosbag.ErrUnindexed) {
		t.Errorf("reader: %v, want ErrUnindexed", err)
	}
	msgs, errs := scanAll(t, f.b)
	if d := cmp.Diff([]msg{{"/a", rosbag.Time{Sec: 1}, "hello"}}, msgs); d != "" || errs != nil {
		t.Errorf("scanner: %v, differs (-want +got):\n%s", errs, d)
	}
}

func TestUnusedConnectionIsNotWritten(t *testing.T) {
	t.Parallel()
	conns, msgs := sample(1)
	r, err := openBag(writeBag(t, bagfmt.WriterOptions{}, conns, msgs))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Connections()); n != 1 {
		t.Errorf("%d connections, want the one with a message", n)
	}
}

// TestStockKeys checks that connection headers get what stock readers insist on.
func TestStockKeys(t *testing.T) {
	t.Parallel()
	b := writeBag(t, bagfmt.WriterOptions{}, []*rosbag.Connection{{Topic: "/a"}}, []msg{{"/a", rosbag.Time{Sec: 1}, "x"}})
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"type", "md5sum", "message_definition"} {
		if v, ok := r.Connections()[0].Header.Get(key); v != "" || !ok {
			t.Errorf("%s: %q, %v; want it, empty", key, v, ok)
		}
	}
}

// TestLatestDamaged has a newer message in one chunk and damage to another one
// that is looked at after it.
func TestLatestDamaged(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	msgs := []msg{
		{"/imu", rosbag.Time{Sec: 10}, strings.Repeat("a", 600)},
		{"/odom", rosbag.Time{Sec: 20}, strings.Repeat("b", 600)},
		{"/imu", rosbag.Time{Sec: 15}, strings.Repeat("c", 600)},
		{"/odom", rosbag.Time{Sec: 30}, strings.Repeat("d", 600)},
	}
	full := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 1200}, conns[:2], msgs)
	chunks, index := recordsOf(t, full, 5), recordsOf(t, full, 4)
	if len(chunks) != 2 || len(index) != 4 {
		t.Fatalf("%d chunks, %d indexes", len(chunks), len(index))
	}
	badIndex := func(b []byte, n int) []byte { return setU32(b, index[n].fields["ver"], 2) }
	badChunk := func(b []byte, n int) []byte { return setU32(b, chunks[n].dataAt+60, 99) }
	tests := map[string]struct {
		bag  []byte
		want uint32 // 0: no message
		bad  bool
	}{
		"sound":                     {full, 15, false},
		"older index":               {badIndex(full, 0), 15, false},
		"newer index":               {badIndex(full, 2), 15, false},
		"older chunk, not needed":   {badChunk(full, 0), 15, false},
		"newer chunk":               {badChunk(full, 1), 10, true},
		"older chunk and its index": {badIndex(badChunk(full, 0), 0), 15, true},
		"both chunks":               {badChunk(badChunk(full, 0), 1), 0, true},
	}
	for name, tc := range tests {
		r, err := openBag(tc.bag)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lastOf(r, 0, rosbag.Time{Sec: 100})
		if (err != nil) != tc.bad || err != nil && !errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
		if got := m; (got == nil) != (tc.want == 0) || got != nil && got.Time.Sec != tc.want {
			t.Errorf("%s: got %v, want the one at %d", name, got, tc.want)
		}
	}
}
