package cursor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/bagfmt/internal/cursor"
	"github.com/gorosbag/gorosbag/bagfmt/internal/table"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file has the bytes of a bag.
type file struct{ b []byte }

func (f *file) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(f.b).ReadAt(p, off) }

// tableOf makes a bag of chunks. Each chunk is its messages, as "a3": at 3 s on the connection a, with the text a3.
// Each message has large bytes more, which no codec makes small.
func tableOf(t *testing.T, comp rosbag.Compression, large int, chunks ...string) (*table.Table, *file) {
	t.Helper()
	o, err := table.Options{}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	z, err := chunk.NewCompressor(comp)
	if err != nil {
		t.Fatal(err)
	}
	f := new(file)
	bag := &table.Table{File: f, Options: o}
	conns := make([]*rosbag.Connection, 3)
	for i := range conns {
		topic := string(rune('a' + i))
		conns[i] = &rosbag.Connection{ID: rosbag.ConnID(i), Topic: "/" + topic, Header: rosbag.Header{
			{Key: "topic", Value: "/" + topic}, {Key: "type", Value: "a/A"}, {Key: "md5sum", Value: "*"}, {Key: "message_definition", Value: ""},
		}}
	}
	bag.SetConnections(conns)
	rnd := rand.NewChaCha8([32]byte{})
	for _, messages := range chunks {
		var b chunk.Builder
		b.Reset(nil)
		for _, m := range strings.Fields(messages) {
			var sec uint32
			if _, err := fmt.Sscan(m[1:], &sec); err != nil {
				t.Fatal(err)
			}
			data := append([]byte(m+" "), make([]byte, large)...)
			_, _ = rnd.Read(data[len(m)+1:])
			b.AppendMessage(conns[m[0]-'a'], rosbag.Time{Sec: sec}, data)
		}
		s, err := b.Seal(z, nil)
		if err != nil {
			t.Fatal(err)
		}
		bag.Chunks = append(bag.Chunks, table.Chunk{Span: rosbag.Span{Pos: int64(len(f.b)), Start: s.Start, End: s.End, Counts: s.Counts}})
		f.b = append(f.b, s.Record...)
	}
	bag.Size, bag.DataEnd = int64(len(f.b)), int64(len(f.b))
	return bag, f
}

// textOf returns the text of a message.
func textOf(m *rosbag.Message) string {
	text, _, _ := strings.Cut(string(m.Data()), " ")
	return text
}

// walk returns the texts of all messages, with an x for each error, and the errors.
func walk(t *testing.T, c *cursor.Cursor) (texts string, errs []error) {
	t.Helper()
	var all []string
	for len(all) < 10_000 {
		m, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			return strings.Join(all, " "), errs
		case err != nil:
			all, errs = append(all, "x"), append(errs, err)
		default:
			text := textOf(m)
			if want := fmt.Sprintf("%s%d", m.Conn.Topic[1:], m.Time.Sec); text != want {
				t.Errorf("message %s is given out as %s", text, want)
			}
			all = append(all, text)
		}
	}
	t.Fatal("no end")
	return "", nil
}

// overlapping are chunks whose times overlap, and are not those of the file.
var overlapping = []string{"a5 b7 a9", "a1 b5 c8", "b2 b3", "c20 a21", "a12 a11 c7"}

// TestOrder: messages come in the order of time, those of one time in that of the file, also if workers load them and if there is memory for one chunk only.
func TestOrder(t *testing.T) {
	t.Parallel()
	at := func(sec uint32) rosbag.Time { return rosbag.Time{Sec: sec} }
	onB := func(c *rosbag.Connection) bool { return c.Topic == "/b" }
	for name, tc := range map[string]struct {
		q    rosbag.Query
		want string
	}{
		"all":            {rosbag.Query{}, "a1 b2 b3 a5 b5 b7 c7 c8 a9 a11 a12 c20 a21"},
		"from":           {rosbag.Query{Start: at(7)}, "b7 c7 c8 a9 a11 a12 c20 a21"},
		"to":             {rosbag.Query{End: at(5)}, "a1 b2 b3 a5 b5"},
		"window":         {rosbag.Query{Start: at(5), End: at(11)}, "a5 b5 b7 c7 c8 a9 a11"},
		"between":        {rosbag.Query{Start: at(13), End: at(19)}, ""},
		"one connection": {rosbag.Query{Keep: onB}, "b2 b3 b5 b7"},
		"one in window":  {rosbag.Query{Keep: onB, Start: at(3), End: at(5)}, "b3 b5"},
		"none":           {rosbag.Query{Keep: func(*rosbag.Connection) bool { return false }}, ""},
	} {
		for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
			for _, large := range []int{0, 5000} {
				for _, cacheBytes := range []int64{1, 1 << 20} {
					bag, _ := tableOf(t, comp, large, overlapping...)
					bag.Options.CacheBytes = cacheBytes
					for _, workers := range []int{0, 1, 3} {
						for _, reuse := range []bool{false, true} {
							tc.q.Workers, tc.q.Reuse = workers, reuse
							c := cursor.New(bag, tc.q)
							if got, errs := walk(t, c); got != tc.want || errs != nil {
								t.Errorf("%s, %s, %d workers, cache of %d, reuse %v: %s, %v, want %s", name, comp, workers, cacheBytes, reuse, got, errs, tc.want)
							}
							c.Close()
						}
					}
				}
			}
		}
	}
}

// readAt is a file that notes where it is read.
type readAt struct {
	*file
	at map[int64]bool
}

func (r *readAt) ReadAt(p []byte, off int64) (int, error) {
	r.at[off] = true
	return r.file.ReadAt(p, off)
}

// TestReadsWhatIsWanted: New reads nothing, and chunks outside the window or without a wanted connection are not read.
func TestReadsWhatIsWanted(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]rosbag.Query{
		"[0 1 2 3 4]": {},
		"[]":          {Start: rosbag.Time{Sec: 30}},
		"[3]":         {Start: rosbag.Time{Sec: 13}},
		"[1 2]":       {End: rosbag.Time{Sec: 4}},
		"[0 1 2]":     {Keep: func(c *rosbag.Connection) bool { return c.Topic == "/b" }},
	} {
		bag, f := tableOf(t, rosbag.CompressionNone, 5000, overlapping...)
		r := &readAt{f, map[int64]bool{}}
		bag.File = r
		c := cursor.New(bag, q)
		if len(r.at) > 0 {
			t.Errorf("New reads at %v", r.at)
		}
		walk(t, c)
		read := []int{}
		for i := range bag.Chunks {
			if r.at[bag.Chunks[i].Pos] {
				read = append(read, i)
			}
		}
		if got := fmt.Sprint(read); got != want {
			t.Errorf("chunks %s are read, want %s", got, want)
		}
	}
}

// TestGoesOnAfterDamage: what cannot be read is told once, where it would have come, and all else follows. A chunk with a damaged index gives its messages.
func TestGoesOnAfterDamage(t *testing.T) {
	t.Parallel()
	for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, workers := range []int{0, 2} {
			for place, want := range map[string]string{"header": "a1 x a5", "index": "a1 x b2 b3 b4 a5"} {
				bag, f := tableOf(t, comp, 5000, "a1 a5", "b2 b3 b4", "a6")
				at := bag.Chunks[1].Pos + 4
				if place == "index" {
					at = bag.Chunks[2].Pos - 3*12 - 30 // its entries come last
				}
				copy(f.b[at:], bytes.Repeat([]byte{0xff}, 20))
				c := cursor.New(bag, rosbag.Query{Workers: workers})
				got, errs := walk(t, c)
				c.Close()
				var bad *rosbag.CorruptError
				if got != want+" a6" || !errors.As(errors.Join(errs...), &bad) || bad.Recovered != (place == "index") ||
					bad.Offset < bag.Chunks[1].Pos || bad.Offset >= bag.Chunks[2].Pos {
					t.Errorf("%s, %d workers, damaged %s: %s, want %s; %v", comp, workers, place, got, want, errs)
				}
			}
		}
	}
}

// TestClose leaves cursors at every place: no goroutine stays, and Next says why there is no message.
func TestClose(t *testing.T) {
	t.Parallel()
	bag, _ := tableOf(t, rosbag.CompressionLZ4, 0, overlapping...)
	for at := range 13 {
		for _, workers := range []int{0, 1, 4} {
			c := cursor.New(bag, rosbag.Query{Workers: workers})
			c.Begin()
			for range at {
				if _, err := c.Next(); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
			c.Close()
			c.Begin()
			if m, err := c.Next(); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("after Close: message %v, error %v", m, err)
			}
		}
	}
}

// lender counts what memory is taken and left.
type lender struct {
	taken, left atomic.Int64
}

func (l *lender) Take(n int) []byte {
	l.taken.Add(1)
	return make([]byte, 0, n)
}

func (l *lender) Left([]byte) { l.left.Add(1) }

// TestMemory: with chunks that all overlap, a cursor with little cache leaves the memory of one before it goes on with the next; with much cache it loads each once.
func TestMemory(t *testing.T) {
	t.Parallel()
	bag, _ := tableOf(t, rosbag.CompressionLZ4, 5000, "a1 a4 a7", "a2 a5 a8", "a3 a6 a9")
	for cacheBytes, loads := range map[int64]int64{1: 9, 2 * 16_000: 8, 1 << 20: 3} {
		bag.Options.CacheBytes = cacheBytes
		memory := new(lender)
		c := cursor.New(bag, rosbag.Query{Memory: memory})
		for n := range 10 {
			_, err := c.Next()
			if (n == 9) != errors.Is(err, io.EOF) || err != nil && n < 9 {
				t.Fatal(err)
			}
			if held := memory.taken.Load() - memory.left.Load(); held > max(1, cacheBytes/15_000) {
				t.Errorf("cache of %d: memory of %d chunks is held after message %d", cacheBytes, held, n)
			}
		}
		if taken, left := memory.taken.Load(), memory.left.Load(); taken != loads || left != loads {
			t.Errorf("cache of %d: memory was taken %d times and left %d times, want %d", cacheBytes, taken, left, loads)
		}
	}
}

// TestWholeChunks: a chunk of which all messages come next, in its order, can be taken or passed over as a whole; others cannot.
func TestWholeChunks(t *testing.T) {
	t.Parallel()
	for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, workers := range []int{0, 2} {
			bag, f := tableOf(t, comp, 5000, "a1 b2 a3", "a4 a6", "b5 b7", "c9 c8", "a10 c11")
			c := cursor.New(bag, rosbag.Query{Chunks: true, Workers: workers})
			var got []string
			for {
				m, err := c.Next()
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				text := textOf(m)
				if w, ok := m.Chunk.(*cursor.Whole); ok {
					counts, payload := w.Counts()
					text = fmt.Sprintf("%s-%d:%d", text, w.End().Sec, len(counts))
					if w.Start() != m.Time || w.Compression != comp || !bytes.Contains(f.b, w.Stored) || payload < 10_000 || slices.Contains(w.Recorded, false) {
						t.Errorf("%s: starts at %v, %s, payload of %d, recorded %v", text, w.Start(), w.Compression, payload, w.Recorded)
					}
					w.Pass()
				}
				got = append(got, text)
			}
			c.Close()
			if got, want := strings.Join(got, " "), "a1-3:2 a4 b5 a6 b7 c8 c9 a10-11:2"; got != want {
				t.Errorf("%s, %d workers: %s, want %s", comp, workers, got, want)
			}
		}
	}
}

// TestCancel: Next does not wait for a worker once the query is canceled, but Close does.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bag, f := tableOf(t, rosbag.CompressionLZ4, 5000, "a1", "a2")
		release, canceled := make(chan struct{}), make(chan struct{})
		bag.File = blocked{f, release}
		close(canceled)
		c := cursor.New(bag, rosbag.Query{Workers: 1, Cancel: canceled})
		if m, err := c.Next(); !errors.Is(err, rosbag.ErrCanceled) {
			t.Errorf("%v, %v", m, err)
		}
		closed := false
		go func() { // owner: this test; ends with Close
			c.Close()
			closed = true
		}()
		if synctest.Wait(); closed {
			t.Error("Close does not wait for its worker")
		}
		close(release)
		if synctest.Wait(); !closed {
			t.Error("Close waits for what has ended")
		}
	})
}

// blocked is a file that cannot be read until it is released.
type blocked struct {
	*file
	release chan struct{}
}

func (b blocked) ReadAt(p []byte, off int64) (int, error) {
	<-b.release
	return b.file.ReadAt(p, off)
}

// TestLatest: the latest message of each connection at a time, of one time the last in the file, with one pass through the list of chunks.
func TestLatest(t *testing.T) {
	t.Parallel()
	bag, f := tableOf(t, rosbag.CompressionLZ4, 5000, append(overlapping, "b5", "c19", "c2 c40")...)
	var lists cursor.ChunkLists
	for sec, want := range map[uint32]string{0: "", 1: "a1", 5: "a5 b5 c2", 8: "a5 b7 c8", math.MaxUint32: "a21 b7 c40"} {
		var got []string
		for c, found := range cursor.Latest(bag, &lists, rosbag.Time{Sec: sec}, nil) {
			if found.Err != nil || found.Message.Conn != c {
				t.Fatal(found)
			}
			got = append(got, textOf(found.Message))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("at %d: %s, want %s", sec, got, want)
		}
	}
	if lists.Passes != 1 {
		t.Errorf("%d passes", lists.Passes)
	}
	copy(f.b[bag.Chunks[3].Pos+4:], bytes.Repeat([]byte{0xff}, 20))
	for c, found := range cursor.Latest(bag, &lists, rosbag.Time{Sec: 30}, func(c *rosbag.Connection) bool { return c.Topic == "/a" }) {
		if found.Message == nil || found.Message.Time.Sec != 12 || !errors.Is(found.Err, rosbag.ErrCorrupt) || c.Topic != "/a" {
			t.Errorf("with a damaged chunk: %+v of %s", found, c.Topic)
		}
	}
}
