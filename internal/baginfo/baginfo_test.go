package baginfo_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/baginfo"
)

func TestMain(m *testing.M) {
	os.Setenv("TZ", "UTC") // as when the golden texts were made
	goleak.VerifyTestMain(m)
}

// TestStockText compares with what rosbag info 1.15.15 printed about the same
// bags, TZ=UTC, with and without --freq.
func TestStockText(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d texts, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			bag, freq, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ".txt"), ".")
			i := open(t, "../../bagfmt/testdata/"+bag+".bag", freq == "freq")
			i.Path = bag + ".bag"
			var got bytes.Buffer
			if err := i.WriteText(&got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("differs (-want +got):\n%s", d)
			}
		})
	}
}

func open(t *testing.T, path string, freq bool) *baginfo.Info {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return info(t, b, freq)
}

func info(t *testing.T, b []byte, freq bool) *baginfo.Info {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := baginfo.New("x.bag", r, baginfo.Options{Frequencies: freq})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// file is a file in memory.
type file struct{ b []byte }

func (f *file) Write(p []byte) (int, error) {
	f.b = append(f.b, p...)
	return len(p), nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) { return copy(f.b[off:], p), nil }

// bag writes messages at times on one topic.
func bag(t *testing.T, topic string, times ...bagfmt.Time) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection(topic, bagfmt.ConnectionHeader{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range times {
		if err := w.WriteMessage(c, at, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

func TestDurations(t *testing.T) {
	t.Parallel()
	at := func(sec, nsec uint32) bagfmt.Time { return bagfmt.Time{Sec: sec, Nsec: nsec} }
	tests := map[string]struct {
		start, end bagfmt.Time
		want       string
	}{
		"seconds":  {at(10, 0), at(12, 340e6), "duration:    2.3s\n"},
		"minutes":  {at(10, 0), at(75, 900e6), "duration:    1:05s (65s)\n"},
		"hours":    {at(10, 0), at(7275, 0), "duration:    2hr 1:05s (7265s)\n"},
		"backward": {at(12, 0), at(11, 0), "duration:    -1.0s\n"},
		"no carry": {at(9, 999e6), at(10, 0), "start:       Jan 01 1970 00:00:09.00 (10.00)\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			if err := info(t, bag(t, "/t", tc.start, tc.end), false).WriteText(&got); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.String(), tc.want) {
				t.Errorf("no line %q in\n%s", tc.want, got.String())
			}
		})
	}
}

func TestControlCharacters(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	if err := info(t, bag(t, "/a\x1b[2J", bagfmt.Time{Sec: 1}), false).WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if s := got.String(); strings.Contains(s, "\x1b") || !strings.Contains(s, `/a\x1b[2J`) {
		t.Errorf("got %q", s)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	times := []bagfmt.Time{{Sec: 3}, {Sec: 1}, {Sec: 2, Nsec: 500_000_001}}
	got := decode(t, info(t, bag(t, "/t", times...), true))
	want := map[string]any{
		"path": "x.bag", "version": "2.0", "size": got["size"], "messages": 3.0, "indexed": true, "chunks": 3.0,
		"start": "1.000000000", "end": "3.000000000", "duration": "2.000000000",
		"compression": map[string]any{"none": map[string]any{"chunks": 3.0, "uncompressed": 226.0, "compressed": 226.0}},
		"connections": []any{map[string]any{
			"id": 0.0, "topic": "/t", "type": "a/A", "md5sum": "m", "callerid": "", "latching": false, "messages": 3.0,
		}},
		"topics": []any{map[string]any{
			"topic": "/t", "type": "a/A", "md5sum": "m", "messages": 3.0, "connections": 1.0, "frequency": 1.0,
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
	empty := decode(t, info(t, bag(t, "/t"), true))
	for _, key := range []string{"start", "end", "duration"} {
		if v, ok := empty[key]; v != nil || !ok {
			t.Errorf("%s of an empty bag is %v, want null", key, v)
		}
	}
}

func decode(t *testing.T, i *baginfo.Info) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := i.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("more than one line: %q", b.String())
	}
	var m map[string]any
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
