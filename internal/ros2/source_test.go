package ros2_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros2"
	"github.com/gorosbag/gorosbag/internal/ros2/db3"
	"github.com/gorosbag/gorosbag/internal/ros2/mapping"
	"github.com/gorosbag/gorosbag/internal/ros2/rosbag2"
	"github.com/gorosbag/gorosbag/internal/ros2/sink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// openSource opens a recording as programs do.
func openSource(t testing.TB, path string, o ros2.OpenOptions) *ros2.Source {
	t.Helper()
	o.MCAP = func(path string) (*bagfmt.Reader, io.Closer, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		st, err := f.Stat()
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{KeepForeign: true})
		if err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
		return r, f, nil
	}
	s, err := ros2.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// line is a message of ROS 1 as tests compare it.
type line struct {
	topic, kind, sum string
	latched          bool
	at               rosbag.Time
	data             string
}

func lineOf(c *rosbag.Connection, at rosbag.Time, data []byte) line {
	topic := "/" + strings.TrimPrefix(c.Topic, "/")
	return line{topic, c.Header.Type(), c.Header.MD5Sum(), c.Header.Latching(), at, string(data)}
}

// lines returns all messages of a source, and what could not be read.
func lines(s rosbag.Source, q rosbag.Query) (all []line, wrong []error) {
	for m, err := range rosbag.Messages(s, q) {
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, lineOf(m.Conn, m.Time, m.Data()))
	}
	return all, wrong
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a, l := conn("/chatter", "std_msgs/String", "/rosbag2", false), conn("/map_name", "std_msgs/String", "/rosbag2", true)
	e := conn("/done", "std_msgs/Empty", "/rosbag2", false)
	var all []sent
	for i := range 300 {
		all = append(all, sent{[]*rosbag.Connection{a, l, e}[i%3], rosbag.Time{Sec: uint32(i / 2)}, nil})
		if i%3 < 2 {
			all[i].data = str(strings.Repeat("x", i))
		}
	}
	var want []line
	for _, m := range all {
		want = append(want, lineOf(m.conn, m.at, m.data))
	}
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		o.FileBytes, o.Compression = 4000, "none" // several files
		path, _ := convert(t, o, all)
		s := openSource(t, path, ros2.OpenOptions{})
		if n := len(s.Connections()); n != 3 {
			t.Errorf("%d connections", n)
		}
		for name, q := range map[string]rosbag.Query{"": {}, "reuse": {Reuse: true}, "workers": {Workers: 2}} {
			got, wrong := lines(s, q)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" || wrong != nil {
				t.Errorf("%s: %v %s", name, wrong, diff)
			}
		}
		got, _ := lines(s, rosbag.Query{Start: rosbag.Time{Sec: 40}, End: rosbag.Time{Sec: 90}, Keep: func(c *rosbag.Connection) bool { return c.Topic == "/done" }})
		var some []line
		for _, l := range want {
			if l.topic == "/done" && l.at.Sec >= 40 && l.at.Sec <= 90 {
				some = append(some, l)
			}
		}
		if diff := cmp.Diff(some, got, cmp.AllowUnexported(line{})); diff != "" {
			t.Error(diff)
		}
		info := s.Info()
		if info.Messages != 300 || info.End.Sec != 149 || info.Damage != nil || !info.Indexed {
			t.Errorf("%+v", info)
		}
		entries := 0
		for i := range s.NumSpans() {
			list, err := s.Index(i, nil)
			if err != nil {
				t.Error(err)
			}
			entries += len(list)
		}
		if entries != 300 {
			t.Errorf("%d entries", entries)
		}
		for c, found := range rosbag.Latched(s, rosbag.Time{Sec: 100}, nil) {
			if c.Topic != "/map_name" || found.Err != nil || found.Message.Time.Sec != 99 && found.Message.Time.Sec != 100 {
				t.Errorf("latched %s: %+v", c.Topic, found)
			}
		}
	})
}

// TestNothingKept: messages stay valid if they may be kept.
// TestLatestReadsLittle: the latest messages of a database are found from the end, not by reading all of it.
func TestLatestReadsLittle(t *testing.T) { // not parallel: it counts allocations
	a, b := conn("/a", "std_msgs/String", "/rosbag2", false), conn("/b", "std_msgs/String", "/rosbag2", false)
	var all []sent
	for i := range 20_000 {
		all = append(all, sent{[]*rosbag.Connection{a, b}[i%2], rosbag.Time{Sec: uint32(1 + i)}, str("x")})
	}
	path, _ := convert(t, sink.Options{Storage: rosbag2.SQLite}, all)
	s := openSource(t, path, ros2.OpenOptions{})
	at := rosbag.Time{Sec: 15_001}
	var found []rosbag.Time
	latest := func() {
		found = nil
		for _, f := range s.Latest(at, nil) {
			found = append(found, f.Message.Time)
		}
	}
	if allocated := testing.AllocsPerRun(1, latest); allocated > 5000 {
		t.Errorf("%v allocations: it reads all of the file", allocated)
	}
	if want := []rosbag.Time{at, {Sec: 15_000}}; !slices.Equal(found, want) {
		t.Errorf("%v, want %v", found, want)
	}
}

// TestSpansOfDatabase: when each topic begins and ends is known without reading messages again.
func TestSpansOfDatabase(t *testing.T) {
	t.Parallel()
	a, b := conn("/a", "std_msgs/String", "/rosbag2", false), conn("/b", "std_msgs/String", "/rosbag2", false)
	path, _ := convert(t, sink.Options{Storage: rosbag2.SQLite}, []sent{
		{a, rosbag.Time{Sec: 1}, str("x")}, {b, rosbag.Time{Sec: 2}, str("x")}, {a, rosbag.Time{Sec: 3}, str("x")}, {b, rosbag.Time{Sec: 4}, str("x")},
	})
	s := openSource(t, path, ros2.OpenOptions{})
	if s.NumSpans() != 2 {
		t.Fatalf("%d spans", s.NumSpans())
	}
	for i, want := range []string{"/a 1 3", "/b 2 4"} {
		span := s.Span(i)
		entries, err := s.Index(i, nil)
		got := fmt.Sprint(span.Counts[0].Conn.Topic, " ", span.Start.Sec, " ", span.End.Sec)
		if got != want || len(span.Counts) != 1 || len(entries) != 2 || entries[1].Time != span.End || err != nil {
			t.Errorf("span %d: %s, %v, %v, want %s", i, got, entries, err, want)
		}
	}
}

func TestNothingKept(t *testing.T) {
	t.Parallel()
	c := conn("/x", "std_msgs/String", "/a", false)
	var all []sent
	for i := range 50 {
		all = append(all, sent{c, rosbag.Time{Sec: uint32(i)}, str(strings.Repeat(string(rune('a'+i%26)), 10))})
	}
	each(t, func(t *testing.T, o sink.Options) {
		t.Helper()
		path, _ := convert(t, o, all)
		var kept []*rosbag.Message
		for m, err := range rosbag.Messages(openSource(t, path, ros2.OpenOptions{}), rosbag.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			copied := *m
			kept = append(kept, &copied)
		}
		for i, m := range kept {
			if string(m.Data()) != string(all[i].data) {
				t.Fatalf("message %d is %q", i, m.Data())
			}
		}
	})
}

// database makes a recording of one db3 file.
func database(t *testing.T, topics []rosbag2.Topic, rows ...got) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db3")
	w, err := db3.Create(t.Context(), path, "humble")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	ids := map[string]int{}
	for _, topic := range topics {
		if ids[topic.Name], err = w.Add(topic); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rows {
		if err := w.Write(ids[r.topic], int64(r.at), []byte(r.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(t.Context(), &rosbag2.Metadata{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLeftOut: a topic without counterpart costs itself, and is told once.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	topics := []rosbag2.Topic{
		{Name: "/good", Type: "std_msgs/msg/String", Serialization: "cdr"}, // from the table
		{Name: "/wide", Type: "a/msg/Wide", Serialization: "cdr", Encoding: "ros2msg", Definition: "wstring s"},
		{Name: "/idl", Type: "a/msg/I", Serialization: "cdr", Encoding: "ros2idl", Definition: "module a {}"},
		{Name: "/unknown", Type: "a/msg/Unknown", Serialization: "cdr"},
		{Name: "/json", Type: "a/msg/J", Serialization: "json"},
		{Name: "/srv", Type: "a/srv/S_Event", Serialization: "cdr", Encoding: "ros2msg", Definition: "string s"},
	}
	path := database(t, topics, got{topic: "/good", at: 1e9, data: str2("a")}, got{topic: "/wide", at: 2e9, data: "x"}, got{topic: "/idl", at: 2e9, data: "x"},
		got{topic: "/unknown", at: 2e9, data: "x"}, got{topic: "/json", at: 2e9, data: "x"}, got{topic: "/srv", at: 2e9, data: "x"},
		got{topic: "/good", at: 3e9, data: str2("abc")[:9]}, got{topic: "/good", at: 1 << 63, data: str2("before 1970")}, got{topic: "/good", at: 4e9, data: str2("b")})
	s := openSource(t, path, ros2.OpenOptions{})
	all, wrong := lines(s, rosbag.Query{})
	if len(all) != 2 || all[1].data != string(str("b")) || len(wrong) != 2 {
		t.Errorf("messages %+v, errors %v", all, wrong)
	}
	for _, err := range wrong {
		if !errors.Is(err, rosbag.ErrCorrupt) {
			t.Error(err)
		}
	}
	var damage []string
	for _, err := range s.Info().Damage {
		damage = append(damage, err.Error())
	}
	text := strings.Join(damage, "\n")
	for _, want := range []string{"topic /wide is left out", "definition of a/msg/I is IDL", "no definition of a/msg/Unknown", `"json"`, "part of a service"} {
		if !strings.Contains(text, want) {
			t.Errorf("damage does not say %q:\n%s", want, text)
		}
	}
	if len(damage) != 5 {
		t.Error(text)
	}
	for _, topic := range s.Report(nil, nil, nil).Topics {
		if topic.In != 1 || topic.Reason == "" {
			t.Errorf("topic %s: %d messages lost because of %q; want one", topic.Topic, topic.In, topic.Reason)
		}
	}
	s = openSource(t, path, ros2.OpenOptions{Definitions: func(name string) (string, bool, error) { return "string s", name == "a/msg/Unknown", nil }})
	if n := len(s.Info().Damage); n != 4 {
		t.Errorf("with a definition: %v", s.Info().Damage)
	}
}

// TestLossyBack: values that ROS 1 has no field for, and times before 1970, are counted.
func TestLossyBack(t *testing.T) {
	t.Parallel()
	topics := []rosbag2.Topic{
		{Name: "/range", Type: "sensor_msgs/msg/Range", Serialization: "cdr"},
		{Name: "/header", Type: "std_msgs/msg/Header", Serialization: "cdr"},
	}
	empty := "\x00\x01\x00\x00" + strings.Repeat("\x00", 8) + "\x01\x00\x00\x00\x00" + "\x00\x00\x00" + strings.Repeat("\x00", 16)
	early := "\x00\x01\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00\x01\x00\x00\x00\x00"
	path := database(t, topics, got{topic: "/range", at: 1e9, data: empty + "\x00\x00\x00\x00"},
		got{topic: "/range", at: 2e9, data: empty + "\x00\x00\x80\x3f"}, got{topic: "/header", at: 3e9, data: early})
	s := openSource(t, path, ros2.OpenOptions{})
	if all, wrong := lines(s, rosbag.Query{}); len(all) != 3 || len(wrong) > 0 {
		t.Fatalf("messages %+v, errors %v", all, wrong)
	}
	want := map[string]mapping.Counts{"/range": {DroppedValues: 1}, "/header": {ClampedTimes: 1}}
	for _, topic := range s.Report(nil, nil, nil).Topics {
		if topic.Counts != want[topic.Topic] {
			t.Errorf("topic %s: %+v; want %+v", topic.Topic, topic.Counts, want[topic.Topic])
		}
	}
}

// TestPackedMessages reads what rosbag2 writes with --compression-mode message.
func TestPackedMessages(t *testing.T) {
	t.Parallel()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	bomb := string(z.EncodeAll(make([]byte, 10<<20), nil))
	file := database(t, []rosbag2.Topic{{Name: "/x", Type: "std_msgs/msg/String", Serialization: "cdr"}},
		got{topic: "/x", at: 1, data: string(z.EncodeAll([]byte(str2("hello")), nil))}, got{topic: "/x", at: 2, data: "not packed"}, got{topic: "/x", at: 3, data: bomb})
	md := rosbag2.Metadata{Storage: rosbag2.SQLite, CompressionFormat: "zstd", CompressionMode: "message", Paths: []string{"x.db3"}}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "metadata.yaml"), []byte(md.Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openSource(t, filepath.Dir(file), ros2.OpenOptions{MaxMessageBytes: 1 << 20})
	all, wrong := lines(s, rosbag.Query{})
	if len(all) != 1 || all[0].data != string(str("hello")) || len(wrong) != 2 {
		t.Errorf("messages %+v, errors %v", all, wrong)
	}
}

// TestBags converts bags there and back: payloads, but for the seq of headers, sums, times, order and
// latching stay.
func TestBags(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../bagfmt/testdata/*.bag")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	paths = append(paths, "../../testdata/demo.bag")
	if dir := os.Getenv("GOROSBAG_BAGS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.bag"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, more...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, o sink.Options) {
				t.Helper()
				testBag(t, path, o)
			})
		})
	}
}

func testBag(t *testing.T, path string, o sink.Options) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		t.Skip(err) // bags that are damaged on purpose
	}
	var all []sent
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err == nil {
			all = append(all, sent{m.Conn, m.Time, m.Data()})
		}
	}
	o.Apart, o.Distro = true, mapping.Jazzy // merged transforms are others
	first, report := convert(t, o, all)
	got, wrong := lines(openSource(t, first, ros2.OpenOptions{}), rosbag.Query{})
	if wrong != nil {
		t.Error(wrong)
	}
	if uint64(len(got)) != uint64(len(all))-report.Lost() {
		t.Fatalf("%d messages of %d, %d lost", len(got), len(all), report.Lost())
	}
	if report.Lost() > 0 {
		t.Skipf("%d of %d messages cannot be converted", report.Lost(), len(all))
	}
	// Once more: now seq is 0, so everything must stay.
	var again []sent
	s := openSource(t, first, ros2.OpenOptions{})
	for m, err := range rosbag.Messages(s, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, sent{m.Conn, m.Time, m.Data()})
	}
	second, _ := convert(t, o, again)
	twice, _ := lines(openSource(t, second, ros2.OpenOptions{}), rosbag.Query{})
	if diff := cmp.Diff(got, twice, cmp.AllowUnexported(line{})); diff != "" {
		t.Error(diff)
	}
	shorter := map[string]bool{} // topics whose messages lose fields that are no seq
	for _, topic := range report.Topics {
		for _, n := range topic.Notes {
			if n.Change == mapping.FieldDropped && n.From != "seq" {
				shorter[topic.OutTopic] = true
			}
		}
	}
	for i, m := range got {
		if m.at != all[i].at || !shorter[m.topic] && len(m.data) != len(all[i].data) && m.sum == all[i].conn.Header.MD5Sum() {
			t.Fatalf("message %d: %s %d bytes; want %s %d bytes", i, m.at, len(m.data), all[i].at, len(all[i].data))
		}
	}
}
