package bagfmt_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

// copiedChunk is the size of the chunks of chunkedBag.
const copiedChunk = 20 << 10

// chunkedBag returns a bag of four chunks, each with messages of two connections, and the records of both if records is set.
func chunkedBag(t *testing.T, comp rosbag.Compression, records bool) []byte {
	t.Helper()
	return bagOfChunks(t, comp, records, 4, copiedChunk, strings.Repeat("# a comment\n", 500))
}

// bagOfChunks returns a bag of n chunks of more than size bytes.
func bagOfChunks(t testing.TB, comp rosbag.Compression, records bool, n, size int, definition string) []byte {
	t.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	long := rosbag.Field{Key: "message_definition", Value: definition}
	conns := []*rosbag.Connection{{ID: 3, Topic: "/b", Header: append(header("a/B"), long)}, {ID: 1, Topic: "/a", Header: append(header("a/A"), long)}}
	z, err := chunk.NewCompressor(comp)
	if err != nil {
		t.Fatal(err)
	}
	once := new(chunk.Records)
	var b chunk.Builder
	rnd := rand.NewChaCha8([32]byte{})
	for i := range n {
		if b.Reset(once); records {
			b.Reset(nil)
		}
		for k := 0; b.Len() < size; k++ {
			data := make([]byte, size/200+k)
			_, _ = rnd.Read(data) // it never fails
			b.AppendMessage(conns[k%2], rosbag.Time{Sec: uint32(10 * (i + 1)), Nsec: uint32(k)}, data)
		}
		c, err := b.Seal(z, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteChunk(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// copyChunks copies what q selects to w, chunks as they are stored where that is possible. It returns how many of them.
func copyChunks(t *testing.T, r *bagfmt.Reader, q rosbag.Query, w *bagfmt.Writer) (copied int, failed []error) {
	t.Helper()
	q.Chunks = true
	c := r.Cursor(q)
	defer c.Close()
	for {
		m, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return copied, failed
		case err != nil:
			failed = append(failed, err)
			continue
		}
		if m.Chunk != nil {
			done, err := w.CopyChunk(m.Chunk, func(c *rosbag.Connection) *rosbag.Connection { return c })
			if err != nil {
				t.Fatal(err)
			}
			if done {
				copied++
				m.Chunk.Pass()
				continue
			}
		}
		if err := w.Write(m.Conn, m.Time, m.Data()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyChunk: chunks are copied as they are stored if nothing in them changes, and the messages are the same if not.
func TestCopyChunk(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		to      bagfmt.WriterOptions // Compression: that of the bag if empty
		q       rosbag.Query
		once    bool // connection records are in the first chunk only
		damage  bool // of the second chunk
		prepare func(*bagfmt.Writer) error
		want    int
	}{
		"all":                   {want: 4},
		"with workers":          {q: rosbag.Query{Workers: 2, Reuse: true}, want: 4},
		"records once":          {once: true, want: 4},
		"without the first":     {q: rosbag.Query{Start: rosbag.Time{Sec: 20}}, want: 3},
		"records were left out": {once: true, q: rosbag.Query{Start: rosbag.Time{Sec: 20}}, want: 2}, // the second one is written anew, with the records
		"from within a chunk":   {q: rosbag.Query{Start: rosbag.Time{Sec: 20, Nsec: 1}}, want: 2},
		"to within a chunk":     {q: rosbag.Query{End: rosbag.Time{Sec: 40, Nsec: 5}}, want: 3},
		"one connection":        {q: rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.ID == 1 }}},
		"other compression":     {to: bagfmt.WriterOptions{Compression: rosbag.CompressionBZ2}},
		"larger chunks":         {to: bagfmt.WriterOptions{ChunkBytes: 3 * copiedChunk}},
		"smaller chunks":        {to: bagfmt.WriterOptions{ChunkBytes: copiedChunk / 3}},
		"damage":                {damage: true, want: 3},
		"id taken": {prepare: func(w *bagfmt.Writer) error {
			return w.Adopt(&rosbag.Connection{ID: 3, Topic: "/other", Header: header("a/Other")})
		}},
	} {
		for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
			t.Run(name+" "+string(comp), func(t *testing.T) {
				t.Parallel()
				b := chunkedBag(t, comp, !tt.once)
				r, err := openBag(b)
				if err != nil {
					t.Fatal(err)
				}
				if tt.damage {
					b[r.Span(1).Pos+5000] ^= 1
				}
				to := tt.to
				if to.Compression == "" {
					to.Compression = comp
				}
				if to.ChunkBytes == 0 {
					to.ChunkBytes = copiedChunk
				}
				var f memFile
				w, err := bagfmt.NewWriter(&f, to)
				if err != nil {
					t.Fatal(err)
				}
				if tt.prepare != nil {
					if err := tt.prepare(w); err != nil {
						t.Fatal(err)
					}
				}
				copied, failed := copyChunks(t, r, tt.q, w)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if copied != tt.want || len(failed) > 0 != tt.damage {
					t.Errorf("%d chunks are copied, want %d; errors: %v", copied, tt.want, failed)
				}
				out, err := openBag(f.b)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(sent(t, r, tt.q), sent(t, out, rosbag.Query{})); d != "" {
					t.Errorf("messages (-want +got):\n%s", d)
				}
				s, err := bagfmt.NewScanner(bytes.NewReader(f.b), bagfmt.ScannerOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for { // without the index, too
					if _, err := s.Next(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if name == "all" && !bytes.Equal(f.b, b) {
					t.Error("the copy of a whole bag differs from it")
				}
			})
		}
	}
}

// sent lists messages without their ids and places.
func sent(t *testing.T, r *bagfmt.Reader, q rosbag.Query) (list []string) {
	t.Helper()
	for m, err := range rosbag.Messages(r, q) {
		if err == nil {
			list = append(list, m.Conn.Topic+" "+m.Time.String()+" "+string(m.Data()))
		}
	}
	return list
}

// TestCopiedChunkHoldsNothingElse: a chunk whose index does not list all of its messages, or another time, is not copied.
func TestCopiedChunkHoldsNothingElse(t *testing.T) {
	t.Parallel()
	b := bytes.ReplaceAll(chunkedBag(t, rosbag.CompressionNone, true), []byte("crc32c="), []byte("crc32x=")) // as stock writes them
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	time := bytes.Index(b[r.Span(1).Pos:], []byte("time=")) + int(r.Span(1).Pos) + 5
	b[time+5] ^= 1 // of a message; the index counts
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: copiedChunk})
	if err != nil {
		t.Fatal(err)
	}
	if copied, failed := copyChunks(t, r, rosbag.Query{}, w); copied != 3 || len(failed) > 0 {
		t.Errorf("%d chunks are copied, want 3; errors: %v", copied, failed)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCopyChunkOfCache: a chunk whose data comes from a Cache was not read, so that there is nothing to copy.
func TestCopyChunkOfCache(t *testing.T) {
	t.Parallel()
	b := chunkedBag(t, rosbag.CompressionBZ2, true)
	r, err := bagfmt.NewReader(bytes.NewReader(b), int64(len(b)), bagfmt.ReaderOptions{Cache: bagfmt.NewCache(1<<20, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{4, 0} { // the second time all chunks are in the cache
		var f memFile
		w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: copiedChunk, Compression: rosbag.CompressionBZ2})
		if err != nil {
			t.Fatal(err)
		}
		if copied, failed := copyChunks(t, r, rosbag.Query{}, w); copied != want || len(failed) > 0 {
			t.Errorf("%d chunks are copied, want %d; errors: %v", copied, want, failed)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out, err := openBag(f.b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(sent(t, r, rosbag.Query{}), sent(t, out, rosbag.Query{})); d != "" {
			t.Errorf("messages (-want +got):\n%s", d)
		}
	}
}

// TestStoredChunksAreBounded: chunks that overlap in time are all open at once; what is kept of their stored data counts
// for CacheBytes.
func TestStoredChunksAreBounded(t *testing.T) { // not parallel: it measures the heap
	const chunks, size = 400, 100 << 10
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4, ChunkBytes: size})
	if err != nil {
		t.Fatal(err)
	}
	c := &rosbag.Connection{Topic: "/a", Header: header("a/A")}
	rnd := rand.NewChaCha8([32]byte{})
	data := make([]byte, size+1)
	for i := range chunks { // each from its own time to the end of the bag
		_, _ = rnd.Read(data) // it never fails
		for _, m := range []struct {
			sec  uint32
			data []byte
		}{{uint32(i), nil}, {chunks, data}} {
			if err := w.Write(c, rosbag.Time{Sec: m.sec}, m.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{0, 2} {
		r, err := bagfmt.NewReader(bytes.NewReader(f.b), int64(len(f.b)), bagfmt.ReaderOptions{CacheBytes: 4 << 20})
		if err != nil {
			t.Fatal(err)
		}
		cursor := r.Cursor(rosbag.Query{Chunks: true, Reuse: true, Workers: workers})
		before := heapInUse()
		var most int64
		for n := 0; ; n++ {
			if _, err := cursor.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if n%100 == 99 {
				most = max(most, heapInUse()-before)
			}
		}
		cursor.Close()
		if most > 8<<20 {
			t.Errorf("%d workers: %d bytes are held of %d chunks of %d bytes, with CacheBytes of 4 MiB", workers, most, chunks, size)
		}
	}
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// FuzzCopyChunk: whatever a bag holds, the copy of its chunks has the messages that the copy of messages has. The input is
// small, so that it is minimized soon: edits of a bag, each two bytes of where and one of what.
func FuzzCopyChunk(f *testing.F) {
	const size = 8 << 10
	type base struct {
		bag  []byte
		comp rosbag.Compression
	}
	var bases []base
	for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, once := range []bool{false, true} {
			b := bagOfChunks(f, comp, once, 2, size, "")
			stock := bytes.ReplaceAll(b, []byte("crc32c="), []byte("crc32x=")) // without checksums of ours
			bases = append(bases, base{b, comp}, base{stock, comp})
		}
	}
	for i, of := range bases {
		f.Add(uint8(i), []byte{})
		for at := bytes.Index(of.bag, []byte("op=\x05")); at < len(of.bag); at += 1009 {
			f.Add(uint8(i), []byte{byte(at), byte(at >> 8), 1})
		}
	}
	f.Fuzz(func(t *testing.T, number uint8, edits []byte) {
		of := bases[int(number)%len(bases)]
		in := bytes.Clone(of.bag)
		for ; len(edits) >= 3; edits = edits[3:] {
			in[(int(edits[0])|int(edits[1])<<8)%len(in)] ^= edits[2]
		}
		r, err := openAny(in)
		if err != nil {
			return
		}
		var got [2][]string
		for i := range got {
			var out memFile
			w, err := bagfmt.NewWriter(&out, bagfmt.WriterOptions{ChunkBytes: size, Compression: of.comp})
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				for m, err := range rosbag.Messages(r, rosbag.Query{}) {
					if err == nil && w.Write(m.Conn, m.Time, m.Data()) != nil {
						t.Fatal("a message cannot be written")
					}
				}
			} else if copied, _ := copyChunks(t, r, rosbag.Query{}, w); copied != 2 && bytes.Equal(in, of.bag) {
				t.Errorf("%d chunks of the bag without edits are copied", copied)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := openBag(out.b)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = sent(t, again, rosbag.Query{})
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("messages (-want +got):\n%s", d)
		}
	})
}
