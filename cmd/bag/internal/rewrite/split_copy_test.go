package rewrite_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/rosbag"
)

// splitBoth splits a bag chunk by chunk where that is possible, and message by message.
func splitBoth(t *testing.T, in []byte, cut rewrite.SplitRule, o bagfmt.WriterOptions) (all [2][][]byte, copied int) {
	t.Helper()
	for i := range all {
		var files []*file
		var sinks []*counted
		split := rewrite.NewSplit(cut, func(int, string) (*rewrite.SplitFile, error) {
			f := &file{}
			files = append(files, f)
			sink, err := rewrite.NewBag(f, o)
			if err != nil {
				return nil, err
			}
			c := &counted{BagSink: sink}
			sinks = append(sinks, c)
			to := rosbag.Sink(c)
			if i == 0 {
				to = struct{ repeating }{sink} // without CopyChunk
			}
			return &rewrite.SplitFile{Sink: to, Size: sink.Size, Done: func() error { return nil }}, nil
		})
		if _, err := rewrite.Copy([]rewrite.Input{{Source: open(t, in)}}, rewrite.Options{}, split); err != nil {
			t.Fatal(err)
		}
		for n, f := range files {
			all[i] = append(all[i], f.b)
			copied += sinks[n].copied
		}
	}
	return all, copied
}

// TestSplitCopiesChunks: the chunks of a bag that fall into one file are copied, but for the first of each file, which
// brings the records of connections.
func TestSplitCopiesChunks(t *testing.T) {
	t.Parallel()
	long := rewrite.SplitRule{Duration: 9 * time.Second}
	for name, tt := range map[string]struct {
		cut  rewrite.SplitRule
		list []said
		want int
	}{
		"by time":                {long, turns(10, 27), 3 + 2 + 2},
		"by time, not at chunks": {rewrite.SplitRule{Duration: 10 * time.Second}, turns(10, 30), 3 + 2 + 2},
		"by size":                {rewrite.SplitRule{Bytes: 25_000}, turns(10, 27), 5},
		"latched":                {rewrite.SplitRule{Duration: 9 * time.Second, Latched: true}, turns(10, 27), 0},
		"of two topics by topic": {rewrite.SplitRule{Topic: true}, turns(10, 9), 0},
		"of one topic by topic": {rewrite.SplitRule{Topic: true}, slices.DeleteFunc(turns(10, 18), func(s said) bool {
			return s.topic == "/map"
		}), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, copied := splitBoth(t, bag(t, chunkOfThree, tt.list...), tt.cut, bagfmt.WriterOptions{ChunkBytes: chunkOfThree})
			if copied != tt.want {
				t.Errorf("%d chunks are copied, want %d", copied, tt.want)
			}
			if tt.cut.Bytes == 0 {
				compareSplits(t, all)
				return
			}
			// a chunk that ends early takes some bytes more, so that a file may have a message less
			var said [2][]said
			for i := range all {
				for _, b := range all[i] {
					said[i] = append(said[i], heard(t, b)...)
				}
			}
			if d := cmp.Diff(said[0], said[1], cmp.AllowUnexported(said[0][0])); d != "" || len(all[0]) != len(all[1]) {
				t.Errorf("%d files, want %d (-one by one +by chunks):\n%s", len(all[1]), len(all[0]), d)
			}
		})
	}
}

// TestSplitBySizeAfterCopiedChunks: messages that are written after a chunk was copied count at once, and not only when
// their own chunk is full: a file would be larger than the user wants by a chunk.
func TestSplitBySizeAfterCopiedChunks(t *testing.T) {
	t.Parallel()
	const chunk, message, index = 20_000, 2100, 1500
	in := bag(t, chunk, turns(10, 60)...)
	for limit := int64(47_000); limit < 65_000; limit += 1500 {
		all, copied := splitBoth(t, in, rewrite.SplitRule{Bytes: limit}, bagfmt.WriterOptions{ChunkBytes: chunk})
		if copied == 0 {
			t.Errorf("of at least %d bytes: no chunk is copied", limit)
		}
		for n, b := range all[1][:len(all[1])-1] {
			if got := int64(len(b)); got < limit || got > limit+message+index {
				t.Errorf("of at least %d bytes: file %d has %d", limit, n, got)
			}
		}
	}
}

// compareSplits checks that two splits have the same files.
func compareSplits(t *testing.T, all [2][][]byte) {
	t.Helper()
	var said [2][][]said
	for i := range all {
		for _, b := range all[i] {
			said[i] = append(said[i], heard(t, b))
			if info := open(t, b).Info(); len(info.Damage) > 0 || !info.Indexed {
				t.Fatalf("%+v", info)
			}
		}
	}
	if d := cmp.Diff(said[0], said[1], cmp.AllowUnexported(said[0][0][0])); d != "" {
		t.Fatalf("files (-one by one +by chunks):\n%.3000s", d)
	}
	for n := range all[0] {
		if want, got := open(t, all[0][n]).Info().Repeated, open(t, all[1][n]).Info().Repeated; got != want {
			t.Fatalf("file %d: repeated %v, want %v", n, got, want)
		}
	}
}

// TestSplitCopiesChunksRandom: by time and by topic, the files are the same as message by message.
func TestSplitCopiesChunksRandom(t *testing.T) {
	t.Parallel()
	total := 0
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		o := bagfmt.WriterOptions{ChunkBytes: 4500, Compression: []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4}[rnd.IntN(2)]}
		in := randomBag(t, rnd, bagfmt.WriterOptions{ChunkBytes: 4000 + rnd.IntN(4000), Compression: o.Compression})
		if len(heard(t, in)) == 0 {
			continue
		}
		cut := rewrite.SplitRule{Duration: time.Duration(1+rnd.IntN(50)) * time.Second, Latched: rnd.IntN(2) == 0}
		if rnd.IntN(4) == 0 {
			cut = rewrite.SplitRule{Topic: true}
		}
		all, copied := splitBoth(t, in, cut, o)
		total += copied
		if compareSplits(t, all); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if total < 100 {
		t.Errorf("only %d chunks are copied", total)
	}
}
