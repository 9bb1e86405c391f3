package rewrite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/rewrite"
	"github.com/gorosbag/gorosbag/rosbag"
)

const chunkOfThree = 5000 // not so small that it is not copied: three messages of turns

// turns makes messages of two connections by turns, one in each second.
func turns(first, n int) (list []said) {
	for i := range n {
		text := string(rune('a'+(first+i)%26)) + strings.Repeat(".", 2000)
		list = append(list, said{[]string{"/map", "/odom"}[i%2], []string{"/map_server", "/base"}[i%2], uint32(first + i), text})
	}
	return list
}

// counted counts the chunks that are copied.
type counted struct {
	*rewrite.BagSink
	copied int
}

func (c *counted) CopyChunk(x rosbag.Chunk, as func(*rosbag.Connection) *rosbag.Connection) (bool, error) {
	ok, err := c.BagSink.CopyChunk(x, as)
	if ok {
		c.copied++
	}
	return ok, err
}

// TestChunksAreCopied: the copy of chunks has what the copy of messages has.
func TestChunksAreCopied(t *testing.T) {
	t.Parallel()
	repeated := func(t *testing.T, list ...said) []byte {
		return bagOf(t, rosbag.Repeated{Count: 1, Time: rosbag.Time{Sec: list[0].sec}}, list...)
	}
	within := func(t *testing.T, list ...said) []byte {
		return bagOf(t, rosbag.Repeated{Count: 1, Time: rosbag.Time{Sec: list[2].sec}}, list...)
	}
	plain := func(t *testing.T, list ...said) []byte { return bag(t, chunkOfThree, list...) }
	for name, tt := range map[string]struct {
		bag    func(*testing.T, ...said) []byte
		inputs [][]said
		o      rewrite.Options
		want   int
	}{
		"one bag":             {inputs: [][]said{turns(10, 9)}, want: 3},
		"one after the other": {inputs: [][]said{turns(10, 9), turns(30, 6)}, want: 5},
		"one before":          {inputs: [][]said{turns(30, 6), turns(10, 9)}, want: 5},
		"they touch":          {inputs: [][]said{turns(10, 9), turns(18, 6)}, want: 4}, // all but the last chunk of the first bag
		"one within":          {inputs: [][]said{turns(10, 9), turns(13, 3)}, want: 2},
		"a window":            {inputs: [][]said{turns(10, 9)}, o: rewrite.Options{Start: rosbag.Time{Sec: 11}}, want: 2},
		"renamed": {inputs: [][]said{turns(10, 9)}, o: rewrite.Options{Rename: func(c *rosbag.Connection) string {
			return c.Topic + "/new"
		}}},
		"matched": {inputs: [][]said{turns(10, 9)}, o: rewrite.Options{Match: func(*rosbag.Connection, *rosbag.Message) (bool, error) {
			return true, nil
		}}},
		"edited":                       {inputs: [][]said{turns(10, 9)}, o: rewrite.Options{Edit: func(*rosbag.Connection) *rosbag.Edit { return nil }}},
		"repeated":                     {bag: repeated, inputs: [][]said{turns(10, 9)}, want: 2},
		"repeated, within a chunk":     {bag: within, inputs: [][]said{turns(10, 9)}, want: 2},
		"repeated, of several":         {bag: repeated, inputs: [][]said{turns(10, 9), turns(30, 6)}},
		"latched, at the end of chunk": {inputs: [][]said{turns(10, 9)}, o: rewrite.Options{Start: rosbag.Time{Sec: 13}, Latched: true}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := plain
			if tt.bag != nil {
				with = tt.bag
			}
			var outputs [2]file
			var sums [2]rewrite.Summary
			for i := range outputs {
				sink, err := rewrite.NewBag(&outputs[i], bagfmt.WriterOptions{ChunkBytes: chunkOfThree})
				if err != nil {
					t.Fatal(err)
				}
				var inputs []rewrite.Input
				for _, list := range tt.inputs {
					inputs = append(inputs, rewrite.Input{Source: open(t, with(t, list...))})
				}
				c := &counted{BagSink: sink}
				to := rosbag.Sink(c)
				if i == 0 {
					to = struct{ repeating }{sink} // without CopyChunk
				}
				if sums[i], err = rewrite.Copy(inputs, tt.o, to); err != nil {
					t.Fatal(err)
				}
				if i == 1 && c.copied != tt.want {
					t.Errorf("%d chunks are copied, want %d", c.copied, tt.want)
				}
			}
			if d := cmp.Diff(heard(t, outputs[0].b), heard(t, outputs[1].b), cmp.AllowUnexported(said{})); d != "" {
				t.Errorf("messages (-want +got):\n%s", d)
			}
			if d := cmp.Diff(sums[0], sums[1], cmpopts.IgnoreFields(rewrite.Summary{}, "Written")); d != "" || written(sums[0]) != written(sums[1]) {
				t.Errorf("summary (-want +got):\n%s%v, want %v", d, written(sums[1]), written(sums[0]))
			}
			if want, got := open(t, outputs[0].b).Info().Repeated, open(t, outputs[1].b).Info().Repeated; got != want {
				t.Errorf("repeated %v, want %v", got, want)
			}
		})
	}
}

// repeating is what a sink of bags has beside CopyChunk.
type repeating interface {
	rosbag.Sink
	WriteRepeated(c *rosbag.Connection, t rosbag.Time, data []byte) error
}

func written(s rewrite.Summary) (n [2]uint64) {
	for c, count := range s.Written {
		n[len(c.Topic)%2] += count
	}
	return n
}

// bagOf writes a bag that says r about its repeated messages.
func bagOf(t *testing.T, r rosbag.Repeated, list ...said) []byte {
	t.Helper()
	var f file
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: chunkOfThree})
	if err != nil {
		t.Fatal(err)
	}
	w.SetRepeated(r)
	conns := map[string]*rosbag.Connection{}
	for _, m := range list {
		if conns[m.topic] == nil {
			if conns[m.topic], err = w.AddConnection(m.topic, header(m.topic, m.caller)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Write(conns[m.topic], rosbag.Time{Sec: m.sec}, []byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}
