package info_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags/info"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) {
	os.Setenv("TZ", "UTC") // as when the golden texts were made
	goleak.VerifyTestMain(m)
}

// TestStockText compares with what rosbag info 1.15.15 printed about the same
// bags, TZ=UTC, with and without --freq.
func TestStockText(t *testing.T) {
	t.Parallel()
	stockPrints(t, ".txt", (*info.Info).WriteText)
}

// TestStockYAML does the same for rosbag info --yaml.
func TestStockYAML(t *testing.T) {
	t.Parallel()
	stockPrints(t, ".yaml", (*info.Info).WriteYAML)
}

// stockPrints compares what write gives with the files of testdata that end in ext.
func stockPrints(t *testing.T, ext string, write func(*info.Info, io.Writer) error) {
	t.Helper()
	names, err := filepath.Glob("testdata/*" + ext)
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
			bag, freq, _ := strings.Cut(strings.TrimSuffix(filepath.Base(name), ext), ".")
			i := openAsStock(t, "../../../bagfmt/testdata/"+bag+".bag", freq == "freq")
			i.Path = bag + ".bag"
			var got bytes.Buffer
			if err := write(i, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("differs (-want +got):\n%s", d)
			}
		})
	}
}

// TestEncrypted compares with what stock printed about bags that it has encrypted.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	for bag, secret := range map[string]string{ // as in the tests of bagfmt
		"cpp_lz4":    "218dbf0f368bd7d3535521751db84d27",
		"python_lz4": "99082d7847e1f348a34d91fe6ae5a408",
	} {
		b, err := os.ReadFile("../../../bagfmt/testdata/encrypted/" + bag + ".bag")
		if err != nil {
			t.Fatal(err)
		}
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{
			UnwrapKey: func(rosbag.Encryption) ([]byte, error) { return hex.DecodeString(secret) },
		})
		if err != nil {
			t.Fatal(err)
		}
		i, err := info.New(bag+".bag", r, info.Options{})
		if err != nil {
			t.Fatal(err)
		}
		i.Start, i.End = stockTimes(r)
		for ext, write := range map[string]func(io.Writer) error{".txt": i.WriteText, ".yaml": i.WriteYAML} {
			want, err := os.ReadFile("testdata/encrypted/" + bag + ext)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("%s%s differs (-stock +ours):\n%s", bag, ext, d)
			}
		}
		want := map[string]any{"encryptor": "rosbag/AesCbcEncryptor", "gpg_user": "gorosbag test"}
		if d := cmp.Diff(want, decode(t, i)["encryption"]); d != "" {
			t.Errorf("%s: JSON differs (-want +got):\n%s", bag, d)
		}
	}
}

// TestStockKeys does the same for --yaml --key: the files have "# key" above each.
func TestStockKeys(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.keys")
	if err != nil || len(names) < 6 {
		t.Fatalf("%d texts, %v", len(names), err)
	}
	for _, name := range names {
		all, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		i := openAsStock(t, "../../../bagfmt/testdata/"+strings.TrimSuffix(filepath.Base(name), ".keys")+".bag", false)
		for part := range strings.SplitSeq(strings.TrimSuffix(string(all), "\n")[2:], "\n# ") {
			key, want, _ := strings.Cut(part, "\n")
			var got bytes.Buffer
			if err := i.WriteKey(&got, key); err != nil || got.String() != want+"\n" {
				t.Errorf("%s: %s is %q, %v; want %q", name, key, got.String(), err, want)
			}
		}
	}
	i := open(t, "../../../bagfmt/testdata/cpp_lz4.bag", false)
	for _, key := range []string{"", "nope", "topics[9]", "topics[-9]", "topics[0].nope", "topics.topic", "duration[0]", "__class__", "topics[0]]"} {
		if err := i.WriteKey(&bytes.Buffer{}, key); !errors.Is(err, info.ErrNoKey) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// TestDetails checks what only messages tell.
func TestDetails(t *testing.T) {
	t.Parallel()
	at := func(ms int) rosbag.Time { return rosbag.Time{Sec: 100}.Add(time.Duration(ms) * time.Millisecond) }
	b := bagOf(t, "/t", []byte("four"), at(0), at(100), at(200), at(300), at(1300), at(1400), at(1500), at(2100), at(2200))
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{0, 2} {
		i, err := info.New("x.bag", r, info.Options{Details: true, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		want := info.Detail{Bytes: 9 * 4, LongestGap: time.Second, GapAt: at(300), Gaps: 2}
		if d := cmp.Diff(want, i.Topics[0].Detail); d != "" || i.Connections[0].Bytes != 9*4 {
			t.Errorf("differs (-want +got):\n%s", d)
		}
		var got strings.Builder
		if err := i.WriteDetails(&got); err != nil {
			t.Fatal(err)
		}
		text := "publishers:   /t  (unknown)  9 msgs  0.0 KB\n" +
			"data:         /t  0.0 KB  longest gap 1.000s at +0.30s  2 gaps > 0.500s\n"
		if d := cmp.Diff(text, got.String()); d != "" {
			t.Errorf("differs (-want +got):\n%s", d)
		}
		if m := decode(t, i); m["topics"].([]any)[0].(map[string]any)["longest_gap"] != "1.000000000" {
			t.Errorf("JSON: %v", m)
		}
	}
}

// damagedFirst is a recording whose cursor begins with damage.
type damagedFirst struct {
	rosbag.Indexed
	damage error
}

func (d damagedFirst) Cursor(q rosbag.Query) rosbag.Cursor {
	return &damagedCursor{d.Indexed.Cursor(q), d.damage}
}

type damagedCursor struct {
	rosbag.Cursor
	damage error
}

func (c *damagedCursor) Next() (*rosbag.Message, error) {
	if err := c.damage; err != nil {
		c.damage = nil
		return nil, err
	}
	return c.Cursor.Next()
}

// TestDetailsAfterDamage: damage that ends like a file, inside of a chunk for example, is not the end of the bag.
func TestDetailsAfterDamage(t *testing.T) {
	t.Parallel()
	b := bagOf(t, "/t", []byte("four"), rosbag.Time{Sec: 1}, rosbag.Time{Sec: 2})
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var damage []error
	source := damagedFirst{r, &rosbag.CorruptError{Op: rosbag.OpChunk, Reason: "a test", Err: io.EOF}}
	i, err := info.New("x.bag", source, info.Options{Details: true, Damaged: func(err error) error {
		damage = append(damage, err)
		return nil
	}})
	if err != nil || len(damage) != 1 || i.Connections[0].Bytes != 2*4 {
		t.Errorf("error %v, damage %v, %d bytes", err, damage, i.Connections[0].Bytes)
	}
}

// TestOddTimes has a message with the nanoseconds of four seconds, which is later than those of the next seconds.
func TestOddTimes(t *testing.T) {
	t.Parallel()
	at := func(sec, nsec uint32) rosbag.Time { return rosbag.Time{Sec: sec, Nsec: nsec} }
	b := bag(t, "/t", at(6, 0), at(7, math.MaxUint32), at(8, 0), at(9, 0), at(10, 0)) // the second one is 11.3 s
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		o    info.Options
		want info.Detail
	}{
		"messages": {info.Options{Details: true}, info.Detail{LongestGap: 2 * time.Second, GapAt: at(6, 0)}},
		"indexes":  {info.Options{Frequencies: true}, info.Detail{}},
	} {
		i, err := info.New("x.bag", r, tc.o)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.want, i.Topics[0].Detail); d != "" {
			t.Errorf("%s: differs (-want +got):\n%s", name, d)
		}
		const want = 2 / (1 + 1.294967295) // the periods are 2, 1, 1 and 1.294967295 s
		if got := i.Topics[0].Frequency; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v Hz, want %v", name, got, want)
		}
	}
}

// TestOldVersions summarizes every old bag: all are read, and say what they are.
func TestOldVersions(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../../bagfmt/testdata/old/*.bag")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d bags, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			about, err := os.ReadFile(strings.TrimSuffix(name, ".bag") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Version  string
				Messages uint64 `json:"message_count"`
				Topics   map[string]struct{ N uint64 }
			}
			if err := json.Unmarshal(about, &want); err != nil {
				t.Fatal(err)
			}
			i := open(t, name, true)
			if i.Version != want.Version {
				t.Errorf("version %s, want %s", i.Version, want.Version)
			}
			got := make(map[string]struct{ N uint64 })
			for _, topic := range i.Topics {
				got[topic.Name] = struct{ N uint64 }{topic.Messages}
			}
			for topic, n := range want.Topics {
				if n.N == 0 {
					delete(want.Topics, topic) // declared, and never said
				}
			}
			if d := cmp.Diff(want.Topics, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("topics differ (-want +got):\n%s", d)
			}
			var text strings.Builder
			if err := i.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "chunks") {
				t.Errorf("chunks in a bag that has none:\n%s", text.String())
			}
			elapsed := strings.HasPrefix(filepath.Base(name), "v0") || strings.HasPrefix(filepath.Base(name), "v10") || strings.HasPrefix(filepath.Base(name), "v11_roslog")
			if said := strings.Contains(text.String(), "after the start of the recording"); said != (elapsed && i.Messages > 0) {
				t.Errorf("elapsed: %v\n%s", said, text.String())
			}
		})
	}
}

func open(t *testing.T, path string, freq bool) *info.Info {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return infoOf(t, b, freq)
}

// openAsStock is open with the start and the end that rosbag info shows.
func openAsStock(t *testing.T, path string, freq bool) *info.Info {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := infoOf(t, b, freq)
	i.Start, i.End = stockTimes(reader(t, b))
	return i
}

// stockTimes returns the start of the first chunk and the end of the last one, which rosbag info shows. In the bags of
// Python, other chunks have earlier and later messages: there, rosbag contradicts itself, for rosbag play begins with the
// earliest one.
func stockTimes(r *bagfmt.Reader) (start, end rosbag.Time) {
	return r.Span(0).Start, r.Span(r.NumSpans() - 1).End
}

func reader(t *testing.T, b []byte) *bagfmt.Reader {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func infoOf(t *testing.T, b []byte, freq bool) *info.Info {
	t.Helper()
	r := reader(t, b)
	i, err := info.New("x.bag", r, info.Options{Frequencies: freq})
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

// bag writes empty messages at times on one topic.
func bag(t *testing.T, topic string, times ...rosbag.Time) []byte {
	t.Helper()
	return bagOf(t, topic, nil, times...)
}

func bagOf(t *testing.T, topic string, data []byte, times ...rosbag.Time) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.AddConnection(topic, rosbag.Header{{Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range times {
		if err := w.Write(c, at, data); err != nil {
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
	at := func(sec, nsec uint32) rosbag.Time { return rosbag.Time{Sec: sec, Nsec: nsec} }
	tests := map[string]struct {
		start, end rosbag.Time
		want       string
	}{
		"seconds":  {at(10, 0), at(12, 340e6), "duration:    2.3s\n"},
		"minutes":  {at(10, 0), at(75, 900e6), "duration:    1:05s (65s)\n"},
		"hours":    {at(10, 0), at(7275, 0), "duration:    2hr 1:05s (7265s)\n"},
		"backward": {at(12, 0), at(11, 0), "duration:    1.0s\n"},
		"no carry": {at(9, 999e6), at(10, 0), "start:       Jan 01 1970 00:00:09.00 (10.00)\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			if err := infoOf(t, bag(t, "/t", tc.start, tc.end), false).WriteText(&got); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.String(), tc.want) {
				t.Errorf("no line %q in\n%s", tc.want, got.String())
			}
		})
	}
}

// TestTimesAgree: text, YAML and JSON say that a bag lasts from its earliest message to its latest one, in whatever order
// the chunks are, as with -s of goplay and rosbag play.
func TestTimesAgree(t *testing.T) {
	t.Parallel()
	b := bag(t, "/t", rosbag.Time{Sec: 12}, rosbag.Time{Sec: 20}, rosbag.Time{Sec: 11, Nsec: 500e6}, rosbag.Time{Sec: 14})
	i := infoOf(t, b, false)
	var text, yaml strings.Builder
	if err := errors.Join(i.WriteText(&text), i.WriteYAML(&yaml)); err != nil {
		t.Fatal(err)
	}
	known := reader(t, b).Info()
	asJSON := decode(t, i)
	for name, ok := range map[string]bool{
		"text": strings.Contains(text.String(), "duration:    8.5s\nstart:       Jan 01 1970 00:00:11.50 (11.50)\nend:         Jan 01 1970 00:00:20.00 (20.00)\n"),
		"YAML": strings.Contains(yaml.String(), "duration: 8.500000\nstart: 11.500000\nend: 20.000000\n"),
		"JSON": fmt.Sprintf("%v %v %v", asJSON["start"], asJSON["end"], asJSON["duration"]) == "11.500000000 20.000000000 8.500000000",
		"-s":   known.Start == rosbag.Time{Sec: 11, Nsec: 500e6},
	} {
		if !ok {
			t.Errorf("%s differs:\n%s\n%s\n%v\n%+v", name, text.String(), yaml.String(), asJSON, known)
		}
	}
}

// TestUnindexed: the version says that an index is missing, of formats that have one.
func TestUnindexed(t *testing.T) {
	t.Parallel()
	closed := bag(t, "/t", rosbag.Time{Sec: 1})
	open := bytes.Clone(closed)
	clear(open[bytes.Index(open, []byte("index_pos="))+len("index_pos="):][:8])
	for want, b := range map[string][]byte{
		"2.0":             closed,
		"2.0 (unindexed)": open,
		"1.2 (unindexed)": []byte("#ROSRECORD V1.2\n"),
		"1.1":             []byte("#ROSRECORD V1.1\n/t\n*\n*\n" + strings.Repeat("\x00", 12)),
	} {
		var text strings.Builder
		if err := infoOf(t, b, false).WriteText(&text); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(text.String(), "version:")
		got, _, _ = strings.Cut(got, "\n")
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("version %q, want %q", got, want)
		}
	}
}

// TestGaps: a gap is longer than five median periods. Of equal ones the first is the longest.
func TestGaps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secs []uint32
		want info.Detail
	}{
		"gaps":      {[]uint32{10, 11, 12, 13, 14, 19, 25, 31}, info.Detail{LongestGap: 6 * time.Second, GapAt: rosbag.Time{Sec: 19}, Gaps: 2}},
		"no period": {[]uint32{1, 1, 1, 5}, info.Detail{LongestGap: 4 * time.Second, GapAt: rosbag.Time{Sec: 1}}},
	} {
		var times []rosbag.Time
		for _, sec := range tt.secs {
			times = append(times, rosbag.Time{Sec: sec})
		}
		i, err := info.New("x.bag", read(t, bag(t, "/t", times...)), info.Options{Details: true})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tt.want, i.Topics[0].Detail); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestControlCharacters(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	if err := infoOf(t, bag(t, "/a\x1b[2J", rosbag.Time{Sec: 1}), false).WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if s := got.String(); strings.Contains(s, "\x1b") || !strings.Contains(s, `/a\x1b[2J`) {
		t.Errorf("got %q", s)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	times := []rosbag.Time{{Sec: 3}, {Sec: 1}, {Sec: 2, Nsec: 500_000_001}}
	got := decode(t, infoOf(t, bag(t, "/t", times...), true))
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
		"notes": []any{}, "marks": []any{},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
	once := decode(t, infoOf(t, bag(t, "/t", times[0]), true))["topics"].([]any)[0].(map[string]any)
	if v, ok := once["frequency"]; v != nil || !ok {
		t.Errorf("the frequency of one message is %v, want null", v)
	}
	i, err := info.New("x.bag", read(t, bag(t, "/t", times[0])), info.Options{Details: true})
	if err != nil {
		t.Fatal(err)
	}
	once = decode(t, i)["topics"].([]any)[0].(map[string]any)
	for key, want := range map[string]bool{"bytes": true, "gaps": true, "longest_gap": false, "longest_gap_start": false} {
		if v, ok := once[key]; ok != want {
			t.Errorf("%s of one message is %v", key, v)
		}
	}
	empty := decode(t, infoOf(t, bag(t, "/t"), true))
	for _, key := range []string{"start", "end", "duration"} {
		if v, ok := empty[key]; v != nil || !ok {
			t.Errorf("%s of an empty bag is %v, want null", key, v)
		}
	}
}

// TestEmptyConnections tells about connections without messages where stock is not to be
// imitated, also where chunks are sampled.
func TestEmptyConnections(t *testing.T) {
	t.Parallel()
	times := []rosbag.Time{{Sec: 1}, {Sec: 2}, {Sec: 3}}
	for name, tt := range map[string]struct {
		times  []rosbag.Time
		sample int
	}{
		"no messages":      {nil, 0},
		"messages":         {times, 0},
		"sampled messages": {times, 2},
	} {
		used := min(len(tt.times), 1) // connections
		b := withConnection(bag(t, "/t", tt.times...), byte(used))
		r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, empty := range []bool{false, true} {
			i, err := info.New("x.bag", r, info.Options{Frequencies: true, Details: true, EmptyConnections: empty, Sample: tt.sample})
			if err != nil {
				t.Fatal(err)
			}
			n := len(decode(t, i)["connections"].([]any))
			if want := map[bool]int{true: 1}[empty] + used; n != want || len(i.Topics) != want || i.Sampled != tt.sample {
				t.Errorf("%s, empty %v: %d connections, %d topics, %d chunks sampled", name, empty, n, len(i.Topics), i.Sampled)
			}
			for _, topic := range i.Topics {
				if (topic.Frequency > 0) != (topic.Messages > 0) {
					t.Errorf("%s, empty %v: %d messages of %s at %g Hz", name, empty, topic.Messages, topic.Name, topic.Frequency)
				}
			}
		}
	}
}

// withConnection adds the record of a connection that has no messages to the index of a bag of so many connections.
func withConnection(b []byte, connections byte) []byte {
	const count = "conn_count="
	b = bytes.Replace(b, append([]byte(count), connections), append([]byte(count), connections+1), 1)
	for _, part := range [][]string{{"conn=" + string([]byte{connections, 0, 0, 0}), "op=\x07", "topic=/never"}, {"type=a/A", "md5sum=m", "message_definition="}} {
		var fields []byte
		for _, f := range part {
			fields = append(binary.LittleEndian.AppendUint32(fields, uint32(len(f))), f...)
		}
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(fields))), fields...)
	}
	return b
}

func decode(t *testing.T, i *info.Info) map[string]any {
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
