package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// chunkReads notes which chunks are read.
type chunkReads struct {
	*bytes.Reader
	chunks []int64 // where they begin
	stored []int64

	mu   sync.Mutex
	read []int
}

func (c *chunkReads) ReadAt(p []byte, off int64) (int, error) {
	for i := range c.chunks {
		if pos := c.chunks[i]; int64(len(p)) == c.stored[i] && off > pos && off < pos+200 {
			c.mu.Lock()
			c.read = append(c.read, i)
			c.mu.Unlock()
		}
	}
	return c.Reader.ReadAt(p, off)
}

// since returns what was read since the last call, sorted.
func (c *chunkReads) since() []int {
	list := slices.Sorted(slices.Values(c.read))
	c.read = nil
	return list
}

// cachedBag opens a bag with a chunk for each of n messages, which are of several
// connections in turn. No chunk is so small that one read brings several.
func cachedBag(t *testing.T, comp rosbag.Compression, n int, cache *bagfmt.Cache) (*bagfmt.Reader, *chunkReads) {
	t.Helper()
	conns, msgs := sample(n)
	noise := make([]byte, 8<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // it never fails
	for i := range msgs {
		msgs[i].Time = rosbag.Time{Sec: uint32(i + 1)}
		msgs[i].Data = fmt.Sprint("message ", i, string(noise))
	}
	b := writeBag(t, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 1}, conns, msgs)
	file := &chunkReads{Reader: bytes.NewReader(b)}
	r, err := bagfmt.NewReader(file, file.Size(), bagfmt.ReaderOptions{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	for h, err := range r.ChunkHeaders() {
		if err != nil {
			t.Fatal(err)
		}
		file.stored = append(file.stored, h.StoredBytes)
	}
	for i := range r.NumSpans() {
		file.chunks = append(file.chunks, r.Span(i).Pos)
	}
	return r, file
}

// What was unpacked lately is not unpacked again, and what was looked up is not looked up
// again; only chunks that are slow to unpack are kept.
func TestCache(t *testing.T) {
	t.Parallel()
	for comp, want := range map[rosbag.Compression][][]int{
		rosbag.CompressionBZ2: {{4, 5, 6, 7}, nil, {8}, {0, 1, 2}, nil},
		rosbag.CompressionLZ4: {{4, 5, 6, 7}, {4, 5, 6, 7}, {5, 6, 7, 8}, {0, 1, 2}, nil},
	} {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			r, file := cachedBag(t, comp, 20, bagfmt.NewCache(1<<20, 1<<20))
			walk := func(from, to uint32) {
				for _, err := range rosbag.Messages(r, rosbag.Query{Start: rosbag.Time{Sec: from}, End: rosbag.Time{Sec: to}, Workers: 2}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
			last := func() {
				for _, l := range r.Latest(rosbag.Time{Sec: 3, Nsec: 5}, nil) {
					if l.Err != nil || l.Message != nil && l.Message.Time.Sec > 3 {
						t.Errorf("got %v", l)
					}
				}
			}
			var got [][]int
			for _, do := range []func(){func() { walk(5, 8) }, func() { walk(5, 8) }, func() { walk(6, 9) }, last, last} {
				do()
				got = append(got, file.since())
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("chunks read (-want +got):\n%s", d)
			}
		})
	}
}

// With a cache a Reader says the same, and several goroutines may use it.
func TestCacheIsTransparent(t *testing.T) {
	t.Parallel()
	for name, b := range sequences(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, err := openAny(b)
			if err != nil {
				t.Fatal(err)
			}
			cached, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{Cache: bagfmt.NewCache(8000, 2000)})
			if err != nil {
				t.Fatal(err)
			}
			c := plain.Cursor(rosbag.Query{})
			want, wantLast := events(t, c.Next), lasts(plain)
			var wg sync.WaitGroup
			defer wg.Wait()
			for range 3 {
				wg.Go(func() {
					c := cached.Cursor(rosbag.Query{Workers: 2, Reuse: true})
					defer c.Close()
					c.(rosbag.Starter).Begin() // cursors of bags are Starters
					if d := cmp.Diff(want, events(t, c.Next)); d != "" {
						t.Error(d)
					}
					if d := cmp.Diff(wantLast, lasts(cached)); d != "" {
						t.Error(d)
					}
				})
			}
		})
	}
}

// lasts tells what Latest finds at the time of every chunk.
func lasts(r *bagfmt.Reader) (list []string) {
	for i := range r.NumSpans() {
		for c, l := range r.Latest(r.Span(i).End, nil) {
			text := fmt.Sprint(c.ID, l.Err)
			if l.Message != nil {
				text += fmt.Sprintf(" %d %s %x", l.Message.Conn.ID, l.Message.Time, l.Message.Frame)
			}
			list = append(list, text)
		}
	}
	return list
}

// stalled is a file whose reads do not return until they may.
type stalled struct {
	*bytes.Reader
	from int64 // reads after this
	wait chan struct{}
}

func (s *stalled) ReadAt(p []byte, off int64) (int, error) {
	if off >= s.from {
		<-s.wait
	}
	return s.Reader.ReadAt(p, off)
}

// Who is not interested any more does not wait for what is under way.
func TestCancel(t *testing.T) {
	t.Parallel()
	b := sampleBag(t, rosbag.CompressionBZ2)
	file := &stalled{Reader: bytes.NewReader(b), from: int64(len(b)), wait: make(chan struct{})}
	r, err := bagfmt.NewReader(file, file.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel := make(chan struct{})
	c := r.Cursor(rosbag.Query{Workers: 2, Cancel: cancel})
	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	file.from = 0
	c = r.Cursor(rosbag.Query{Workers: 2, Cancel: cancel})
	c.(rosbag.Starter).Begin() // cursors of bags are Starters
	close(cancel)
	for range 2 {
		if _, err := c.Next(); !errors.Is(err, rosbag.ErrCanceled) {
			t.Errorf("got %v, want ErrCanceled", err)
		}
	}
	close(file.wait)
	c.Close()
	if _, err := c.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v after Close", err)
	}
}
