package rewrite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestMergeOfSplit: a bag that is split, and of which a file is split again, is the same bag once its files are merged, in any order.
func TestMergeOfSplit(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 20 {
		var in []said
		for sec := range 40 {
			for range rng.IntN(4) {
				node := []said{{"/map", "/map", 0, ""}, {"/tf_static", "/map2", 0, ""}, {"/tf_static", "/map3", 0, ""}, {"/odom", "/x", 0, ""}}[rng.IntN(4)]
				node.sec, node.text = uint32(sec+1), fmt.Sprint("text ", rng.IntN(3)) // the same again and again
				in = append(in, node)
			}
		}
		whole := bag(t, 1+rng.IntN(300), in...)
		cut := rewrite.SplitRule{Latched: true, Duration: time.Duration(1+rng.IntN(20)) * time.Second}
		files, split := splitFiles(t, whole, cut, bagfmt.WriterOptions{ChunkBytes: 1 + rng.IntN(300)})
		var marked uint64
		for _, b := range files {
			marked += uint64(open(t, b).Info().Repeated.Count)
		}
		if marked != split.Repeated() {
			t.Errorf("round %d: %d repeated messages are marked, of %d", round, marked, split.Repeated())
		}
		last := len(files) - 1
		smaller, _ := splitFiles(t, files[last], rewrite.SplitRule{Latched: true, Duration: 3 * time.Second}, bagfmt.WriterOptions{})
		files = append(files[:last:last], smaller...)
		if got := merged(t, files, rng.IntN(2) == 0); !slices.Equal(got, in) {
			t.Fatalf("round %d: merged differs (-want +got):\n%s", round, cmp.Diff(in, got, cmp.AllowUnexported(said{})))
		}
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		got := merged(t, files, false)
		bySecond := func(a, b said) int {
			return cmpOr(int(a.sec)-int(b.sec), a.topic, b.topic, a.caller, b.caller, a.text, b.text)
		}
		slices.SortFunc(got, bySecond)
		slices.SortFunc(in, bySecond)
		if !slices.Equal(got, in) {
			t.Fatalf("round %d, shuffled: merged differs (-want +got):\n%s", round, cmp.Diff(in, got, cmp.AllowUnexported(said{})))
		}
	}
}

// cmpOr returns n, or how the first pair of texts that differ compares.
func cmpOr(n int, pairs ...string) int {
	for i := 0; n == 0 && i < len(pairs); i += 2 {
		n = bytes.Compare([]byte(pairs[i]), []byte(pairs[i+1]))
	}
	return n
}

// merged copies bags into one; the last one from a pipe if scanned.
func merged(t *testing.T, files [][]byte, scanned bool) []said {
	t.Helper()
	var in []rewrite.Input
	for i, b := range files {
		if scanned && i == len(files)-1 {
			s, err := bagfmt.NewScanner(bytes.NewReader(b), bagfmt.ScannerOptions{Reuse: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			in = append(in, rewrite.Input{Scanner: s})
			continue
		}
		in = append(in, rewrite.Input{Source: open(t, b)})
	}
	var f file
	sink, err := rewrite.NewBag(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rewrite.Copy(in, rewrite.Options{}, sink); err != nil {
		t.Fatal(err)
	}
	return heard(t, f.b)
}

// marked is bag with the first count messages marked as repeated.
func marked(t *testing.T, count uint32, list ...said) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range rosbag.Messages(open(t, bag(t, 1, list...)), rosbag.Query{}) {
		if err == nil {
			err = w.Write(m.Conn, m.Time, m.Data())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.SetRepeated(rosbag.Repeated{Count: count, Time: rosbag.Time{Sec: list[0].sec}})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// TestMergeRepeated: a repeated message is left out if another bag has it, and else it stays.
func TestMergeRepeated(t *testing.T) {
	t.Parallel()
	first := bag(t, 1, said{"/map", "/map", 1, "A"}, said{"/tf", "/map2", 2, "tf"}, said{"/odom", "/x", 3, "3"})
	tests := map[string]struct {
		bags    [][]byte
		want    []said
		leftOut uint64
		marks   rosbag.Repeated // of the output
	}{
		"both there": {
			[][]byte{first, marked(t, 2, said{"/map", "/map", 5, "A"}, said{"/tf", "/map2", 5, "tf"}, said{"/odom", "/x", 5, "5"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/odom", "/x", 5, "5"}},
			2,
			rosbag.Repeated{},
		},
		"said again": {
			[][]byte{first, marked(t, 1, said{"/map", "/map", 5, "A"}, said{"/map", "/map", 5, "A"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/map", "/map", 5, "A"}},
			1,
			rosbag.Repeated{},
		},
		"not marked": {
			[][]byte{first, bag(t, 1, said{"/map", "/map", 5, "A"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/map", "/map", 5, "A"}},
			0,
			rosbag.Repeated{},
		},
		"a file between is missing": {
			[][]byte{first, marked(t, 2, said{"/map", "/map", 5, "B"}, said{"/tf", "/map2", 5, "tf"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/map", "/map", 5, "B"}},
			1,
			rosbag.Repeated{Count: 1, Time: rosbag.Time{Sec: 5}}, // the merge with that file leaves it out
		},
		"another node": {
			[][]byte{first, marked(t, 1, said{"/map", "/map9", 5, "A"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/map", "/map9", 5, "A"}},
			0,
			rosbag.Repeated{Count: 1, Time: rosbag.Time{Sec: 5}},
		},
		"the first is missing": {
			[][]byte{
				marked(t, 1, said{"/map", "/map", 5, "A"}, said{"/odom", "/x", 5, "5"}),
				marked(t, 1, said{"/map", "/map", 7, "A"}, said{"/odom", "/x", 7, "7"}),
			},
			[]said{{"/map", "/map", 5, "A"}, {"/odom", "/x", 5, "5"}, {"/odom", "/x", 7, "7"}},
			1,
			rosbag.Repeated{Count: 1, Time: rosbag.Time{Sec: 5}},
		},
		"a new one came while the file was begun": { // and was stamped before that
			[][]byte{first, marked(t, 1, said{"/map", "/map", 5, "A"}, said{"/map", "/map", 4, "B"}, said{"/odom", "/x", 6, "6"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/map", "/map", 4, "B"}, {"/odom", "/x", 6, "6"}},
			1,
			rosbag.Repeated{},
		},
		"the file that failed lacks it": { // what was queued for it is in the next one
			[][]byte{first, marked(t, 1, said{"/map", "/map", 5, "B"}, said{"/map", "/map", 4, "B"}, said{"/odom", "/x", 6, "6"})},
			[]said{{"/map", "/map", 1, "A"}, {"/tf", "/map2", 2, "tf"}, {"/odom", "/x", 3, "3"}, {"/map", "/map", 4, "B"}, {"/odom", "/x", 6, "6"}},
			1,
			rosbag.Repeated{},
		},
	}
	for name, test := range tests {
		out, sum, err := copied(t, rewrite.Options{}, test.bags...)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, heard(t, out), cmp.AllowUnexported(said{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if got := open(t, out).Info().Repeated; sum.LeftOut != test.leftOut || got != test.marks {
			t.Errorf("%s: %+v, and the output says %+v, want %+v", name, sum, got, test.marks)
		}
	}
}

// TestRepeatedStaysMarked: what is marked in a bag is marked in what is made of it.
func TestRepeatedStaysMarked(t *testing.T) {
	t.Parallel()
	source := marked(t, 2, said{"/map", "/map", 5, "A"}, said{"/tf", "/map2", 5, "tf"}, said{"/tf", "/map2", 5, "new"}, said{"/odom", "/x", 6, "6"}, said{"/odom", "/x", 8, "8"})
	mark := func(count, sec uint32) rosbag.Repeated {
		return rosbag.Repeated{Count: count, Time: rosbag.Time{Sec: sec}}
	}
	for name, test := range map[string]struct {
		o    rewrite.Options
		want rosbag.Repeated
	}{
		"all":             {rewrite.Options{}, mark(2, 5)},
		"one topic":       {rewrite.Options{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/tf" }}, mark(1, 5)},
		"none":            {rewrite.Options{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/odom" }}, rosbag.Repeated{}},
		"by expression":   {rewrite.Options{Match: func(_ *rosbag.Connection, m *rosbag.Message) (bool, error) { return string(m.Data()) != "A", nil }}, mark(1, 5)},
		"cut later":       {rewrite.Options{Start: rosbag.Time{Sec: 7}, Latched: true}, mark(2, 7)},
		"cut there":       {rewrite.Options{Start: rosbag.Time{Sec: 5}, Latched: true}, mark(2, 5)},
		"cut before":      {rewrite.Options{Start: rosbag.Time{Sec: 1}, Latched: true}, mark(2, 5)},
		"cut, no latched": {rewrite.Options{Start: rosbag.Time{Sec: 7}}, rosbag.Repeated{}},
	} {
		out, _, err := copied(t, test.o, source)
		if err != nil {
			t.Fatal(err)
		}
		if got := open(t, out).Info().Repeated; got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	files, _ := splitFiles(t, source, rewrite.SplitRule{Latched: true, Duration: time.Second}, bagfmt.WriterOptions{})
	for i, want := range []rosbag.Repeated{mark(2, 5), mark(2, 6), mark(2, 8)} {
		if got := open(t, files[i]).Info().Repeated; got != want {
			t.Errorf("file %d: %+v, want %+v", i, got, want)
		}
	}
}
