package rewrite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is a file in memory.
type file struct{ b []byte }

func (f *file) Write(p []byte) (int, error) {
	f.b = append(f.b, p...)
	return len(p), nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) { return copy(f.b[off:], p), nil }

// said is one message of a test bag.
type said struct {
	topic, caller string
	sec           uint32
	text          string
}

func header(topic, caller string) rosbag.Header {
	h := rosbag.Header{
		{Key: "topic", Value: topic},
		{Key: "type", Value: "std_msgs/String"},
		{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: "message_definition", Value: "string data\n"},
		{Key: "callerid", Value: caller},
	}
	if strings.HasPrefix(caller, "/map") {
		h = append(h, rosbag.Field{Key: "latching", Value: "1"})
	}
	return h
}

// bag writes messages with ids in the order of appearance.
func bag(t *testing.T, chunk int, list ...said) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: chunk})
	if err != nil {
		t.Fatal(err)
	}
	conns := make(map[[2]string]*rosbag.Connection)
	for _, m := range list {
		key := [2]string{m.topic, m.caller}
		if conns[key] == nil {
			if conns[key], err = w.AddConnection(m.topic, header(m.topic, m.caller)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(conns[key], rosbag.Time{Sec: m.sec}, []byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

func open(t *testing.T, b []byte) *bagfmt.Reader {
	t.Helper()
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// heard reads a bag from front to back.
func heard(t *testing.T, b []byte) []said {
	t.Helper()
	s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []said
	for {
		m, err := s.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, said{m.Conn.Topic, m.Conn.Header.CallerID(), m.Time.Sec, string(m.Data())})
	}
}

// copied copies bags into one.
func copied(t *testing.T, o rewrite.Options, bags ...[]byte) ([]byte, rewrite.Summary, error) {
	t.Helper()
	var in []rewrite.Input
	for i, b := range bags {
		in = append(in, rewrite.Input{Name: fmt.Sprint(i), Source: open(t, b)})
	}
	var f file
	sink, err := rewrite.NewBag(&f, bagfmt.WriterOptions{Workers: o.Workers})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := rewrite.Copy(in, o, sink)
	return f.b, sum, err
}

func TestMerge(t *testing.T) {
	t.Parallel()
	a := bag(t, 1, said{"/a", "/x", 1, "a1"}, said{"/b", "/y", 5, "b5"}, said{"/a", "/x", 3, "a3"})
	b := bag(t, 1, said{"/b", "/y", 2, "B2"}, said{"/a", "/z", 3, "A3"}, said{"/a", "/x", 3, "A3"}, said{"/m", "/map", 9, "M"})
	for _, workers := range []int{0, 3} {
		got, sum, err := copied(t, rewrite.Options{Workers: workers}, a, b)
		if err != nil {
			t.Fatal(err)
		}
		want := []said{
			{"/a", "/x", 1, "a1"},
			{"/b", "/y", 2, "B2"},
			{"/a", "/x", 3, "a3"},
			{"/a", "/z", 3, "A3"},
			{"/a", "/x", 3, "A3"},
			{"/b", "/y", 5, "b5"},
			{"/m", "/map", 9, "M"},
		}
		if d := cmp.Diff(want, heard(t, got), cmp.AllowUnexported(said{})); d != "" {
			t.Errorf("differs (-want +got):\n%s", d)
		}
		if want := (rewrite.Summary{Messages: 7, Bytes: 13, Written: sum.Written}); !cmp.Equal(want, sum) {
			t.Errorf("got %+v, want %+v", sum, want)
		}
		written := map[string]int{}
		for c, n := range sum.Written {
			written[c.Topic+c.Header.CallerID()] += int(n)
		}
		if d := cmp.Diff(map[string]int{"/a/x": 3, "/a/z": 1, "/b/y": 2, "/m/map": 1}, written); d != "" {
			t.Errorf("written differs (-want +got):\n%s", d)
		}
		// Equal publishers of both bags are one connection, others are not.
		conns := open(t, got).Connections()
		if len(conns) != 4 {
			t.Errorf("%d connections, want 4", len(conns))
		}
		for _, c := range conns {
			if d := cmp.Diff(header(c.Topic, c.Header.CallerID()), c.Header); d != "" {
				t.Errorf("header differs (-want +got):\n%s", d)
			}
		}
	}
}

// TestConnectionsOfMergedBags: those that have the number of another one get the next numbers that are free.
func TestConnectionsOfMergedBags(t *testing.T) {
	t.Parallel()
	a := bag(t, 1, said{"/a", "/x", 1, "1"}, said{"/b", "/x", 2, "2"}, said{"/c", "/x", 3, "3"})
	b := bag(t, 1, said{"/d", "/x", 4, "4"}, said{"/e", "/x", 5, "5"}, said{"/f", "/x", 6, "6"})
	out, _, err := copied(t, rewrite.Options{}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]rosbag.ConnID{}
	for _, c := range open(t, out).Connections() {
		ids[c.Topic] = c.ID
	}
	if d := cmp.Diff(map[string]rosbag.ConnID{"/a": 0, "/b": 1, "/c": 2, "/d": 3, "/e": 4, "/f": 5}, ids); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

// watched is a bag in memory that notes when it is read.
type watched struct {
	*bytes.Reader
	name string
	log  func(name string)
}

func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	w.log(w.name)
	return w.Reader.ReadAt(p, off)
}

// TestMergeInTurn merges the files of a recording: each is read when those before it are
// over, so that memory is needed for one.
func TestMergeInTurn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var turns []string
	var in []rewrite.Input
	for _, n := range []uint32{2, 0, 1} {
		b := bag(t, 1, said{"/a", "/x", 10*n + 1, "1"}, said{"/a", "/x", 10*n + 2, "2"}, said{"/a", "/x", 10*n + 3, "3"})
		w := &watched{bytes.NewReader(b), fmt.Sprint(n), func(name string) {
			mu.Lock()
			defer mu.Unlock()
			if len(turns) == 0 || turns[len(turns)-1] != name {
				turns = append(turns, name)
			}
		}}
		r, err := bagfmt.NewReader(w, int64(len(b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, rewrite.Input{Name: w.name, Source: r})
	}
	turns = nil
	var f file
	sink, err := rewrite.NewBag(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := rewrite.Copy(in, rewrite.Options{Workers: 2}, sink); err != nil || sum.Messages != 9 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if d := cmp.Diff([]string{"0", "1", "2"}, turns); d != "" {
		t.Errorf("turns differ (-want +got):\n%s", d)
	}
	var last uint32
	for _, m := range heard(t, f.b) {
		if m.sec <= last {
			t.Errorf("%d after %d", m.sec, last)
		}
		last = m.sec
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	in := bag(t, 1, said{"/a", "/x", 1, "1"}, said{"/a", "/x", 2, "2"}, said{"/b", "/x", 3, "3"}, said{"/a", "/x", 4, "4"}, said{"/a", "/x", 5, "5"})
	o := rewrite.Options{
		Start: rosbag.Time{Sec: 2}, End: rosbag.Time{Sec: 4},
		Keep:   func(c *rosbag.Connection) bool { return c.Topic == "/a" },
		Match:  func(_ *rosbag.Connection, m *rosbag.Message) (bool, error) { return string(m.Data()) != "2", nil },
		Rename: func(c *rosbag.Connection) string { return strings.Replace(c.Topic, "/a", "/new", 1) },
	}
	got, _, err := copied(t, o, in)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]said{{"/new", "/x", 4, "4"}}, heard(t, got), cmp.AllowUnexported(said{})); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
	if topic, _ := open(t, got).Connections()[0].Header.Get("topic"); topic != "/new" {
		t.Errorf("the header says %q", topic)
	}
	// From a pipe the same.
	s, err := bagfmt.NewScanner(bytes.NewReader(in), bagfmt.ScannerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var f file
	sink, err := rewrite.NewBag(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rewrite.Copy([]rewrite.Input{{Scanner: s}}, o, sink); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(heard(t, got), heard(t, f.b), cmp.AllowUnexported(said{})); d != "" {
		t.Errorf("from a pipe differs (-file +pipe):\n%s", d)
	}
}

var errTest = errors.New("test")

func TestErrorsEndTheCopy(t *testing.T) {
	t.Parallel()
	in := bag(t, 1, said{"/a", "/x", 1, "1"}, said{"/a", "/x", 2, "2"})
	for _, workers := range []int{0, 2} { // goleak sees what stays behind
		_, sum, err := copied(t, rewrite.Options{Workers: workers, Match: func(_ *rosbag.Connection, m *rosbag.Message) (bool, error) {
			return true, map[bool]error{true: errTest}[m.Time.Sec == 2]
		}}, in)
		if !errors.Is(err, errTest) || sum.Messages != 1 {
			t.Errorf("got %v after %d messages", err, sum.Messages)
		}
	}
	_, err := rewrite.NewMCAP(&file{}, rewrite.MCAPOptions{Compression: "bz2", ChunkBytes: 1, Workers: 1})
	if err == nil {
		t.Error("MCAP takes bz2")
	}
}

// broken is a bag in memory that cannot be read any more once it is gone.
type broken struct {
	*bytes.Reader
	gone bool
}

func (b *broken) ReadAt(p []byte, off int64) (int, error) {
	if b.gone {
		return 0, errTest
	}
	return b.Reader.ReadAt(p, off)
}

// TestReadError: a bag whose disk fails is not taken for one that ends.
func TestReadError(t *testing.T) {
	t.Parallel()
	in := bag(t, 1, said{"/a", "/x", 1, "1"})
	for _, workers := range []int{0, 2} {
		f := &broken{Reader: bytes.NewReader(in)}
		r, err := bagfmt.NewReader(f, f.Size(), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f.gone = true
		sink, err := rewrite.NewBag(&file{}, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rewrite.Copy([]rewrite.Input{{Source: r}}, rewrite.Options{Workers: workers}, sink); !errors.Is(err, errTest) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}

// TestDamage flips a byte in the middle one of three chunks.
func TestDamage(t *testing.T) {
	t.Parallel()
	in := bag(t, 1, said{"/a", "/x", 1, "one"}, said{"/a", "/x", 2, "two"}, said{"/a", "/x", 3, "three"})
	in[bytes.Index(in, []byte("two"))] ^= 1
	for _, workers := range []int{0, 2} {
		var told []error
		got, sum, err := copied(t, rewrite.Options{Workers: workers, Damaged: func(_ string, err error) error {
			told = append(told, err)
			return nil
		}}, in)
		if err != nil || sum.Messages != 2 || len(told) != 1 || !errors.Is(told[0], rosbag.ErrCorrupt) {
			t.Fatalf("%+v, %v, told %v", sum, err, told)
		}
		if d := cmp.Diff([]said{{"/a", "/x", 1, "one"}, {"/a", "/x", 3, "three"}}, heard(t, got), cmp.AllowUnexported(said{})); d != "" {
			t.Errorf("differs (-want +got):\n%s", d)
		}
		if _, _, err := copied(t, rewrite.Options{Workers: workers}, in); !errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("nobody wants to know, and got %v", err)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	var list []said
	for i := range uint32(10) {
		list = append(list, said{fmt.Sprintf("/t%d", i%2), "/x", 100 + i, "data"})
	}
	list = append(list, said{"/t0", "/x", 200, "late"}, said{"/t1", "/x", 201, "late"})
	in := bag(t, 1<<20, list...)
	tests := map[string]struct {
		cut  rewrite.SplitRule
		want []int // messages of each file
	}{
		"duration":  {rewrite.SplitRule{Duration: 4 * time.Second}, []int{4, 4, 2, 2}},
		"all":       {rewrite.SplitRule{Duration: time.Hour}, []int{12}},
		"size":      {rewrite.SplitRule{Bytes: 4117 + 300}, []int{5, 5, 2}},
		"topic":     {rewrite.SplitRule{Topic: true}, []int{6, 6}},
		"both ways": {rewrite.SplitRule{Bytes: 4117 + 300, Duration: 6 * time.Second}, []int{5, 1, 4, 2}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files []*file
			done := 0
			split := rewrite.NewSplit(tc.cut, func(n int, topic string) (*rewrite.SplitFile, error) {
				if n != len(files) || (topic != "") != tc.cut.Topic {
					t.Errorf("file %d of %q", n, topic)
				}
				f := &file{}
				files = append(files, f)
				sink, err := rewrite.NewBag(f, bagfmt.WriterOptions{})
				if err != nil {
					return nil, err
				}
				return &rewrite.SplitFile{Sink: sink, Size: func() int64 { return sink.Size() }, Done: func() error { done++; return nil }}, nil
			})
			if _, err := rewrite.Copy([]rewrite.Input{{Source: open(t, in)}}, rewrite.Options{}, split); err != nil {
				t.Fatal(err)
			}
			var got []int
			var all []said
			for _, f := range files {
				messages := heard(t, f.b)
				got = append(got, len(messages))
				all = append(all, messages...)
			}
			if d := cmp.Diff(tc.want, got); d != "" || done != len(files) || split.Count() != done {
				t.Errorf("%d of %d files done; messages differ (-want +got):\n%s", done, split.Count(), d)
			}
			if !tc.cut.Topic && !cmp.Equal(list, all, cmp.AllowUnexported(said{})) {
				t.Errorf("messages differ: %v", all)
			}
		})
	}
}

// TestMCAP reads the result with the library of its makers.
func TestMCAP(t *testing.T) {
	t.Parallel()
	in := bag(t, 1, said{"/a", "/x", 1, "1"}, said{"/m", "/map", 2, "2"}, said{"/a", "/x", 3, "3"})
	for _, compression := range []string{"", "zstd", "lz4", "none"} {
		t.Run("compression="+compression, func(t *testing.T) {
			t.Parallel()
			var f file
			sink, err := rewrite.NewMCAP(&f, rewrite.MCAPOptions{Compression: compression, ChunkBytes: 1 << 20, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rewrite.Copy([]rewrite.Input{{Source: open(t, in)}}, rewrite.Options{}, sink); err != nil {
				t.Fatal(err)
			}
			r, err := mcap.NewReader(bytes.NewReader(f.b))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if p := r.Header().Profile; p != "ros1" {
				t.Errorf("profile %q", p)
			}
			messages, err := r.Messages(mcap.UsingIndex(true))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for {
				schema, channel, m, err := messages.NextInto(nil)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if schema.ID == 0 || channel.ID == 0 {
					t.Errorf("schema %d, channel %d: Python's reader passes over 0", schema.ID, channel.ID)
				}
				got = append(got, fmt.Sprintf("%s %s %q %s %s %v %d %d %d %s", schema.Name, schema.Encoding, schema.Data, channel.Topic,
					channel.MessageEncoding, channel.Metadata, m.LogTime, m.PublishTime, m.Sequence, m.Data))
			}
			about := func(topic, caller, latching string, sec int, seq, text string) string {
				return fmt.Sprintf(`std_msgs/String ros1msg "string data\n" %s ros1 map[callerid:%s %smd5sum:%s topic:%s] %d000000000 %d000000000 %s %s`,
					topic, caller, latching, "992ce8a1687cec8c8bd883ec73ca41d1", topic, sec, sec, seq, text)
			}
			want := []string{
				about("/a", "/x", "", 1, "0", "1"), about("/m", "/map", "latching:true ", 2, "0", "2"), about("/a", "/x", "", 3, "1", "3"),
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("differs (-want +got):\n%s", d)
			}
		})
	}
}

// TestOldVersion makes a bag of one that has no definitions.
func TestOldVersion(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../../bagfmt/testdata/old/v11_rosrecord.bag")
	if err != nil {
		t.Fatal(err)
	}
	got, sum, err := copied(t, rewrite.Options{}, b)
	if err != nil || sum.Messages != open(t, b).Info().Messages || sum.Messages == 0 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for _, c := range open(t, got).Connections() {
		// Stock readers refuse connections without it.
		if _, ok := c.Header.Get("message_definition"); !ok {
			t.Errorf("%s has no definition", c.Topic)
		}
	}
}
