package rewrite_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// publisher is a node that publishes a topic.
type publisher struct{ topic, caller string }

// latchedAt returns what a subscriber that comes right after sec gets of each publisher whose
// messages latch. In test bags those are the nodes with /map in their name.
func latchedAt(list []said, sec uint32) map[publisher]string {
	last := map[publisher]said{}
	for _, m := range list {
		key := publisher{m.topic, m.caller}
		if strings.HasPrefix(m.caller, "/map") && m.sec <= sec && m.sec >= last[key].sec {
			last[key] = m
		}
	}
	state := map[publisher]string{}
	for key, m := range last {
		state[key] = m.text
	}
	return state
}

// run copies one bag, through its index or from front to back.
func run(t *testing.T, b []byte, indexed bool, o rewrite.Options) ([]said, rewrite.Summary) {
	t.Helper()
	in := rewrite.Input{Source: open(t, b)}
	if !indexed {
		s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{Reuse: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		in = rewrite.Input{Scanner: s}
	}
	var f file
	sink, err := rewrite.NewBag(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := rewrite.Copy([]rewrite.Input{in}, o, sink)
	if err != nil {
		t.Fatal(err)
	}
	return heard(t, f.b), sum
}

// TestLatched cuts the beginning off.
func TestLatched(t *testing.T) {
	t.Parallel()
	in := bag(t, 60, []said{
		{"/map", "/map", 1, "old"},
		{"/odom", "/x", 2, "2"},
		{"/map", "/map", 3, "new"},
		{"/tf_static", "/map", 4, "base"},
		{"/tf_static", "/map2", 4, "arm"},
		{"/odom", "/x", 5, "5"},
		{"/map", "/map", 7, "later"},
		{"/odom", "/x", 8, "8"},
	}...)
	arm, base, chart := said{"/tf_static", "/map2", 6, "arm"}, said{"/tf_static", "/map", 6, "base"}, said{"/map", "/map", 6, "new"}
	rest := []said{{"/map", "/map", 7, "later"}, {"/odom", "/x", 8, "8"}}
	tests := map[string]struct {
		o    rewrite.Options
		want []said // before rest
	}{
		"all":    {rewrite.Options{}, []said{chart, base, arm}},
		"chosen": {rewrite.Options{Keep: func(c *rosbag.Connection) bool { return c.Topic != "/tf_static" }}, []said{chart}},
		"asked": {rewrite.Options{Match: func(_ *rosbag.Connection, m *rosbag.Message) (bool, error) {
			if m.Time.Sec < 6 {
				t.Errorf("asked about a message of %v", m.Time)
			}
			return string(m.Data()) != "new" && len(m.Frame) == 4+len(m.Data()), nil
		}}, []said{base, arm}},
	}
	for name, tc := range tests {
		for _, indexed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, indexed), func(t *testing.T) {
				t.Parallel()
				o := tc.o
				o.Latched, o.Start = true, rosbag.Time{Sec: 6}
				got, sum := run(t, in, indexed, o)
				if d := cmp.Diff(append(slices.Clone(tc.want), rest...), got, cmp.AllowUnexported(said{})); d != "" {
					t.Errorf("differs (-want +got):\n%s", d)
				}
				if sum.Messages != 2 || sum.Bytes != 6 || sum.Repeated != uint64(len(tc.want)) {
					t.Errorf("%+v", sum)
				}
			})
		}
	}
	for _, indexed := range []bool{true, false} {
		for _, start := range []rosbag.Time{{}, {Sec: 1}, {Sec: 9}} { // no start, nothing before it, nothing after it
			o := rewrite.Options{Latched: true, Start: start}
			if got, sum := run(t, in, indexed, o); sum.Repeated != 0 || start.Sec == 9 && len(got) > 0 {
				t.Errorf("%v: %+v", start, sum)
			}
		}
		o := rewrite.Options{Start: rosbag.Time{Sec: 6}}
		if got, _ := run(t, in, indexed, o); !slices.Equal(got, rest) {
			t.Errorf("without: %v", got)
		}
		// Nothing but what was latched is left: that is still valid.
		o = rewrite.Options{Latched: true, Start: rosbag.Time{Sec: 6}, Keep: func(c *rosbag.Connection) bool { return c.Topic == "/tf_static" }}
		if got, _ := run(t, in, indexed, o); !slices.Equal(got, []said{base, arm}) {
			t.Errorf("nothing else: %v", got)
		}
	}
}

// TestLatchedOfSeveral takes the latest message of a publisher that two bags have.
func TestLatchedOfSeveral(t *testing.T) {
	t.Parallel()
	a := bag(t, 1, said{"/map", "/map", 1, "a1"}, said{"/map", "/map2", 4, "a4"}, said{"/b", "/x", 9, "9"})
	b := bag(t, 1, said{"/map", "/map", 3, "b3"}, said{"/map", "/map2", 2, "b2"})
	got, sum, err := copied(t, rewrite.Options{Latched: true, Start: rosbag.Time{Sec: 5}}, a, b)
	want := []said{{"/map", "/map", 5, "b3"}, {"/map", "/map2", 5, "a4"}, {"/b", "/x", 9, "9"}}
	if d := cmp.Diff(want, heard(t, got), cmp.AllowUnexported(said{})); d != "" || err != nil || sum.Repeated != 2 {
		t.Errorf("%v, %+v; differs (-want +got):\n%s", err, sum, d)
	}
}

// TestLatchedBesideAScan takes the latest messages of a bag with an index after one that is read from front to back.
func TestLatchedBesideAScan(t *testing.T) {
	t.Parallel()
	scanned := bag(t, 1, said{"/map", "/map", 1, "a1"}, said{"/b", "/x", 9, "9"})
	indexed := bag(t, 1, said{"/map", "/map2", 2, "b2"}, said{"/c", "/x", 8, "8"})
	s, err := bagfmt.NewScanner(bytes.NewReader(scanned), bagfmt.ScannerOptions{Reuse: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var f file
	sink, err := rewrite.NewBag(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := []rewrite.Input{{Name: "scanned", Scanner: s}, {Name: "indexed", Source: open(t, indexed)}}
	if _, err := rewrite.Copy(in, rewrite.Options{Latched: true, Start: rosbag.Time{Sec: 5}}, sink); err != nil {
		t.Fatal(err)
	}
	want := []said{{"/map", "/map", 5, "a1"}, {"/map", "/map2", 5, "b2"}, {"/c", "/x", 8, "8"}, {"/b", "/x", 9, "9"}}
	if d := cmp.Diff(want, heard(t, f.b), cmp.AllowUnexported(said{})); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

// TestLatchedDamaged continues after a chunk that cannot be read, or ends. The chunk has the
// latest messages of two publishers and messages after the start: it is told once.
func TestLatchedDamaged(t *testing.T) {
	t.Parallel()
	in := bag(t, 100, said{"/map", "/map", 1, "old"}, said{"/map", "/map", 2, "new"}, said{"/map", "/map2", 2, "other"}, said{"/b", "/x", 8, "8"}, said{"/b", "/x", 9, "9"})
	if n := open(t, in).NumSpans(); n < 3 {
		t.Fatalf("%d chunks", n)
	}
	at := bytes.Index(in, []byte("new")) - 4 // its length
	in[at+3] = 0x7f
	for _, start := range []uint32{2, 5} { // the chunk is only read for the latched messages if all of it is before the start
		told := 0
		o := rewrite.Options{Latched: true, Start: rosbag.Time{Sec: start}, Damaged: func(string, error) error {
			told++
			return nil
		}}
		got, _, err := copied(t, o, in)
		if want := (said{"/map", "/map", start, "old"}); err != nil || told != 1 || got == nil || heard(t, got)[0] != want {
			t.Errorf("from %d: %v, told %d times, %v", start, err, told, heard(t, got))
		}
		o.Damaged = nil
		if _, _, err := copied(t, o, in); !errors.Is(err, rosbag.ErrCorrupt) {
			t.Errorf("from %d: nobody wants to know, and got %v", start, err)
		}
	}
}

// splitMessages returns the messages of each file that a bag is split into.
func splitMessages(t *testing.T, in []byte, cut rewrite.SplitRule, o bagfmt.WriterOptions) ([][]said, *rewrite.SplitSink) {
	t.Helper()
	files, split := splitFiles(t, in, cut, o)
	var all [][]said
	for _, b := range files {
		all = append(all, heard(t, b))
	}
	return all, split
}

// splitFiles returns the files that a bag is split into.
func splitFiles(t *testing.T, in []byte, cut rewrite.SplitRule, o bagfmt.WriterOptions) ([][]byte, *rewrite.SplitSink) {
	t.Helper()
	var files []*file
	split := rewrite.NewSplit(cut, func(int, string) (*rewrite.SplitFile, error) {
		f := &file{}
		files = append(files, f)
		sink, err := rewrite.NewBag(f, o)
		if err != nil {
			return nil, err
		}
		return &rewrite.SplitFile{Sink: sink, Size: sink.Size, Done: func() error { return nil }}, nil
	})
	if _, err := rewrite.Copy([]rewrite.Input{{Source: open(t, in)}}, rewrite.Options{}, split); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, f := range files {
		all = append(all, f.b)
	}
	return all, split
}

// TestSplitLatched begins files with the latched messages.
func TestSplitLatched(t *testing.T) {
	t.Parallel()
	in := bag(t, 1, said{"/map", "/map", 1, "old"}, said{"/x", "/x", 2, "2"}, said{"/map", "/map", 3, "new"}, said{"/x", "/x", 14, "14"},
		said{"/map", "/map", 25, "newest"}, said{"/tf", "/map2", 26, "tf"}, said{"/x", "/x", 33, "33"})
	got, split := splitMessages(t, in, rewrite.SplitRule{Latched: true, Duration: 10 * time.Second}, bagfmt.WriterOptions{})
	want := [][]said{
		{{"/map", "/map", 1, "old"}, {"/x", "/x", 2, "2"}, {"/map", "/map", 3, "new"}},
		{{"/map", "/map", 14, "new"}, {"/x", "/x", 14, "14"}},
		{{"/map", "/map", 25, "newest"}, {"/tf", "/map2", 26, "tf"}}, // its publisher has said something new
		{{"/map", "/map", 33, "newest"}, {"/tf", "/map2", 33, "tf"}, {"/x", "/x", 33, "33"}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(said{})); d != "" || split.Repeated() != 3 || split.NotRepeated() != nil {
		t.Errorf("%d repeated, not %v; differs (-want +got):\n%s", split.Repeated(), split.NotRepeated(), d)
	}
}

// TestSplitLargeLatched repeats latched messages that take no more than half of the size of a file, whatever the compression.
func TestSplitLargeLatched(t *testing.T) {
	t.Parallel()
	const size = 16 << 10
	list := []said{{"/map", "/map", 1, strings.Repeat("m", size*5/8)}, {"/tf_static", "/map", 1, "tf"}}
	for i := range uint32(64) {
		list = append(list, said{"/x", "/x", 2 + i, strings.Repeat(fmt.Sprint(i), size/16)})
	}
	in := bag(t, 1, list...)
	for _, o := range []bagfmt.WriterOptions{{}, {Compression: rosbag.CompressionLZ4, Workers: 2, ChunkBytes: 1}} {
		got, split := splitMessages(t, in, rewrite.SplitRule{Latched: true, Bytes: size}, o)
		if len(got) < 2 || len(got) > 12 || !slices.Equal(split.NotRepeated(), []string{"/map"}) || split.Repeated() != uint64(len(got)-1) {
			t.Errorf("%d files, %d repeated, not %v", len(got), split.Repeated(), split.NotRepeated())
		}
		for i, messages := range got[1:] {
			if messages[0].topic != "/tf_static" || messages[1].topic != "/x" {
				t.Errorf("file %d begins with %s, %s", i+1, messages[0].topic, messages[1].topic)
			}
		}
	}
}

// TestLatchedRandom compares what subscribers get of the whole bag and of cuts of it.
func TestLatchedRandom(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine filters many random bags")
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	const end = 60
	for round := range 200 {
		var list []said
		for i := range 5 + rnd.IntN(60) {
			caller := []string{"/map", "/map2", "/map3", "/x"}[rnd.IntN(4)]
			list = append(list, said{[]string{"/a", "/b"}[rnd.IntN(2)], caller, 1 + rnd.Uint32N(end), fmt.Sprint(i)})
		}
		inOrder := round%2 == 0
		if inOrder { // of time, as recorders write
			slices.SortStableFunc(list, func(a, b said) int { return int(a.sec) - int(b.sec) })
		}
		in := bag(t, []int{1, 200, 1 << 20}[rnd.IntN(3)], list...)
		start := 1 + rnd.Uint32N(end)
		for _, indexed := range []bool{true, false} {
			if !indexed && !inOrder {
				continue // what comes late in a pipe comes too late
			}
			cut, _ := run(t, in, indexed, rewrite.Options{Latched: true, Start: rosbag.Time{Sec: start}})
			last := slices.MaxFunc(list, func(a, b said) int { return int(a.sec) - int(b.sec) }).sec
			for sec := start; sec <= last; sec++ {
				if want, got := latchedAt(list, sec), latchedAt(cut, sec); !maps.Equal(want, got) {
					t.Fatalf("round %d, from %d, at %d: %v, want %v", round, start, sec, got, want)
				}
			}
		}
		bytes := int64(rnd.IntN(2)) * (4117 + 1<<rnd.IntN(12))
		split, _ := splitMessages(t, in, rewrite.SplitRule{Latched: true, Duration: 7 * time.Second, Bytes: bytes}, bagfmt.WriterOptions{})
		for i, messages := range split {
			first, last := messages[0].sec, messages[len(messages)-1].sec
			for sec := first; sec <= last; sec++ {
				if bytes > 0 && (sec == first && i > 0 || sec == last) {
					continue // some messages of this second may be in the file before or after
				}
				if want, got := latchedAt(list, sec), latchedAt(messages, sec); !maps.Equal(want, got) {
					t.Fatalf("round %d, file from %d, at %d: %v, want %v", round, first, sec, got, want)
				}
			}
		}
	}
}
