package bagfmt_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/rosbag"
)

func frame(data string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data...)
}

// bagOf writes sealed chunks.
func bagOf(tb testing.TB, chunks ...*chunk.Sealed) []byte {
	tb.Helper()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range chunks {
		if err := w.WriteChunk(c); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return f.b
}

// seal seals and copies, so that the builder can be used again.
func seal(tb testing.TB, b *chunk.Builder, z *chunk.Compressor) *chunk.Sealed {
	tb.Helper()
	c, err := b.Seal(z, nil)
	if err != nil {
		tb.Fatal(err)
	}
	own := *c
	own.Record, own.Counts = slices.Clone(c.Record), slices.Clone(c.Counts)
	return &own
}

func TestAppendRun(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	for _, comp := range compressions {
		t.Run(string(comp), func(t *testing.T) {
			t.Parallel()
			z, err := chunk.NewCompressor(comp)
			if err != nil {
				t.Fatal(err)
			}
			var b chunk.Builder
			var r chunk.Records
			var chunks []*chunk.Sealed
			var want []msg
			for n := range uint32(4) {
				b.Reset(&r)
				run := slices.Concat(frame("one"), frame(""), frame("three"))
				at := rosbag.Time{Sec: 10 + n, Nsec: 999_999_999} // the second one is in the next second
				b.AppendRun(conns[n%2], at, run, 3)
				b.AppendRun(conns[2], rosbag.Time{Sec: 5}, frame(strings.Repeat("z", 1000)), 1)
				for i, s := range []string{"one", "", "three"} {
					want = append(want, msg{conns[n%2].Topic, at.Add(time.Duration(i)), s})
				}
				want = append(want, msg{"/imu", rosbag.Time{Sec: 5}, strings.Repeat("z", 1000)})
				if b.Messages() != 4 || !b.HasConn(2) || b.HasConn(1-rosbag.ConnID(n%2)) {
					t.Errorf("chunk %d: %d messages, HasConn is wrong", n, b.Messages())
				}
				size := b.Len()
				c := seal(t, &b, z)
				if c.Start != (rosbag.Time{Sec: 5}) || c.End != (rosbag.Time{Sec: 11 + n, Nsec: 1}) {
					t.Errorf("chunk %d: from %s to %s", n, c.Start, c.End)
				}
				if c.UncompressedBytes != int64(size) || c.Compression != comp {
					t.Errorf("chunk %d: %d bytes of %s, want %d", n, c.UncompressedBytes, c.Compression, size)
				}
				chunks = append(chunks, c)
			}
			got, errs := readAll(t, bagOf(t, chunks...), rosbag.Query{})
			if d := cmp.Diff(byTime(want), got); d != "" || errs != nil {
				t.Errorf("%v, differs (-want +got):\n%s", errs, d)
			}
		})
	}
}

// TestLargeMessage reads a message straight into the chunk, and takes others back.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	big := frame(strings.Repeat("0123456789abcdef", 1<<18))
	fill := func(b *chunk.Builder, f []byte) (steps int) {
		for rest := f; len(rest) > 0; steps++ {
			room := b.Room(len(rest))
			if len(room) == 0 || len(room) > len(rest) {
				t.Fatalf("room of %d bytes, %d left", len(room), len(rest))
			}
			rest = rest[copy(room, rest):]
		}
		return steps
	}
	var b chunk.Builder
	var r chunk.Records
	b.Reset(&r)
	b.BeginMessage(conns[1], len(big))
	if got := b.Cap(); got > 1<<20 {
		t.Errorf("%d bytes for a message that has not come", got)
	}
	b.Room(100)
	b.AbortMessage()
	if b.Len() != 0 || b.HasConn(1) {
		t.Errorf("after abort: %d bytes, HasConn %v", b.Len(), b.HasConn(1))
	}
	b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame("a"), 1)
	b.BeginMessage(conns[1], len(big))
	if steps := fill(&b, big); steps < 2 || steps > 4 {
		t.Errorf("4 MiB came in %d steps, want 1, 1 and 2 MiB", steps)
	}
	b.FinishMessage(rosbag.Time{Sec: 2})
	b.BeginMessage(conns[1], 20)
	b.Room(3)
	b.AbortMessage()
	b.AppendRun(conns[1], rosbag.Time{Sec: 3}, frame("b"), 1)
	got, errs := readAll(t, bagOf(t, seal(t, &b, nil)), rosbag.Query{})
	want := []msg{{"/imu", rosbag.Time{Sec: 1}, "a"}, {"/odom", rosbag.Time{Sec: 2}, string(big[4:])}, {"/odom", rosbag.Time{Sec: 3}, "b"}}
	if d := cmp.Diff(want, got); d != "" || errs != nil {
		t.Errorf("%v, differs", errs)
	}

	// The memory is there now: one step.
	b.Reset(&r)
	b.BeginMessage(conns[1], len(big))
	if steps := fill(&b, big); steps != 1 {
		t.Errorf("4 MiB came in %d steps, want 1", steps)
	}
	b.FinishMessage(rosbag.Time{Sec: 2})
}

// TestConnectionRecords counts how often connection records are in the chunks.
func TestConnectionRecords(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	data := strings.Repeat("x", 2000)
	var b chunk.Builder
	var r chunk.Records
	var chunks []*chunk.Sealed
	for range 200 {
		b.Reset(&r)
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(data), 1)
		b.AppendRun(conns[1], rosbag.Time{Sec: 1}, frame(data), 1)
		chunks = append(chunks, seal(t, &b, nil))
	}
	bag := bagOf(t, chunks...)
	count, size := 0, 0
	for _, c := range recordsOf(t, bag, 5) {
		for off := 0; off < len(c.data); {
			cr := cutRecord(t, c.data, off)
			end := cr.dataAt + 4 + len(cr.data)
			if cr.op == 7 {
				count++
				size += end - off
			}
			off = end
		}
	}
	if repeats := float64(size) / float64(len(bag)); repeats > 0.011 || count < 20 {
		t.Errorf("%d connection records have %.2f %% of the file", count, 100*repeats)
	}
	if n := len(recordsOf(t, bag, 7)); n != 2 {
		t.Errorf("%d connection records in the index section", n)
	}

	// Without a budget each chunk carries all.
	b.Reset(nil)
	b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(data), 1)
	if !bytes.Contains(seal(t, &b, nil).Record, []byte("callerid=/a")) {
		t.Error("no connection record without ConnRecords")
	}
}

func TestSparseConnectionIDs(t *testing.T) {
	t.Parallel()
	var b chunk.Builder
	var r chunk.Records
	var want []msg
	b.Reset(&r)
	for i, id := range []rosbag.ConnID{1 << 31, 7, 65535, 65536, 1<<32 - 1, 0} {
		c := &rosbag.Connection{ID: id, Topic: fmt.Sprintf("/t%d", id), Header: header("a/A")}
		b.AppendRun(c, rosbag.Time{Sec: uint32(i)}, frame("x"), 1)
		want = append(want, msg{c.Topic, rosbag.Time{Sec: uint32(i)}, "x"})
	}
	if got := b.Cap(); got > 64<<10 {
		t.Errorf("%d bytes", got)
	}
	bag := bagOf(t, seal(t, &b, nil))
	got, errs := readAll(t, bag, rosbag.Query{})
	if d := cmp.Diff(want, got); d != "" || errs != nil {
		t.Errorf("reader: %v, differs (-want +got):\n%s", errs, d)
	}
	got, errs = scanAll(t, bag)
	if d := cmp.Diff(want, got); d != "" || errs != nil {
		t.Errorf("scanner: %v, differs (-want +got):\n%s", errs, d)
	}
	var ids []uint32
	for _, x := range recordsOf(t, bag, 4) {
		ids = append(ids, binary.LittleEndian.Uint32(bag[x.fields["conn"]:]))
	}
	if !slices.IsSorted(ids) || len(ids) != 6 {
		t.Errorf("index data of connections %v, want them ascending", ids)
	}
}

func TestSealEmpty(t *testing.T) {
	t.Parallel()
	var b chunk.Builder
	b.Reset(nil)
	if c, err := b.Seal(nil, nil); err == nil {
		t.Errorf("got %+v", c)
	}
}

func TestLZ4FrameShape(t *testing.T) {
	t.Parallel()
	z, err := chunk.NewCompressor(rosbag.CompressionLZ4)
	if err != nil {
		t.Fatal(err)
	}
	conns, _ := sample(0)
	var b chunk.Builder
	for range 2 { // the second frame must not differ
		b.Reset(nil)
		b.AppendRun(conns[0], rosbag.Time{Sec: 1}, frame(strings.Repeat("x", 3<<20)), 1)
		c := seal(t, &b, z)
		r := cutRecord(t, c.Record, 0)
		if !bytes.HasPrefix(r.data, []byte{0x04, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7}) {
			t.Errorf("frame starts with % x", r.data[:7])
		}
	}
}

// failing fails its n-th Write or WriteAt halfway, and all after it if sticky.
type failing struct {
	memFile
	left   int
	sticky bool
	pos    int
}

var errInjected = errors.New("injected")

func (f *failing) fail() bool {
	f.left--
	return f.left == 0 || f.sticky && f.left < 0
}

func (f *failing) Write(p []byte) (int, error) {
	if f.fail() {
		n, _ := f.memFile.WriteAt(p[:len(p)/2], int64(f.pos))
		f.pos += n
		return n, errInjected
	}
	n, err := f.memFile.WriteAt(p, int64(f.pos)) // like a file, at the position after a torn write
	f.pos += n
	return n, err
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if f.fail() {
		n, _ := f.memFile.WriteAt(p[:len(p)/2], off)
		return n, errInjected
	}
	return f.memFile.WriteAt(p, off)
}

func (f *failing) Truncate(n int64) error { f.b = f.b[:n]; return nil }

// TestWriteFails lets every write fail once, and checks that a good bag of all
// chunks before it comes out.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	for _, comp := range []rosbag.Compression{rosbag.CompressionNone, rosbag.CompressionLZ4} {
		for _, workers := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s, workers=%d", comp, workers), func(t *testing.T) {
				t.Parallel()
				testWriteFails(t, comp, workers)
			})
		}
	}
}

func testWriteFails(t *testing.T, comp rosbag.Compression, workers int) {
	t.Helper()
	conns, msgs := sample(60)
	for at := 1; ; at++ {
		f := &failing{left: at}
		w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{Compression: comp, ChunkBytes: 1000, Workers: workers})
		if err != nil {
			if !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			continue
		}
		var own []*rosbag.Connection
		for _, c := range conns {
			oc, err := w.AddConnection(c.Topic, c.Header)
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, oc)
		}
		failed := false
		size := w.Size()
		for i, m := range msgs {
			if err := w.Write(own[i%3], m.Time, []byte(m.Data)); err != nil {
				if !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
				failed = true
				break
			}
			size = w.Size()
		}
		err = w.Close()
		if err != nil {
			failed = true
			if !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatalf("op %d: second close: %v", at, err)
			}
		}
		got, errs := scanAll(t, f.b)
		if errs != nil || len(got) > len(msgs) || !slices.Equal(got, msgs[:len(got)]) {
			t.Fatalf("op %d: scanner: %v, %d messages", at, errs, len(got))
		}
		read, errs := readAll(t, f.b, rosbag.Query{})
		if errs != nil || !slices.Equal(read, byTime(got)) {
			t.Fatalf("op %d: reader: %v, %d messages, scanner %d", at, errs, len(read), len(got))
		}
		if size > w.Size() {
			t.Errorf("op %d: size went from %d back to %d", at, size, w.Size())
		}
		if !failed {
			if len(got) != len(msgs) {
				t.Errorf("%d messages, want %d", len(got), len(msgs))
			}
			return // every write has failed once
		}
	}
}

// syncFails fails its n-th Sync.
type syncFails struct {
	memFile
	left int
}

func (f *syncFails) Sync() error {
	if f.left--; f.left == 0 {
		return errInjected
	}
	return nil
}

func TestSyncFailureIsFinal(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 2; at++ {
		f := &syncFails{left: at}
		w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Close(); !errors.Is(err, errInjected) {
				t.Errorf("sync %d: close: %v, want the injected error each time", at, err)
			}
		}
		if at == 1 {
			if _, err := openBag(f.b); !errors.Is(err, rosbag.ErrUnindexed) {
				t.Errorf("header rewritten although the index is not durable: %v", err)
			}
		}
	}
}

// TestWriterTakesConnections: those of other recordings get ids of their own.
func TestWriterTakesConnections(t *testing.T) {
	t.Parallel()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.AddConnection("/own", header("a/Own"))
	if err != nil {
		t.Fatal(err)
	}
	first, second := &rosbag.Connection{Topic: "/first", Header: header("a/A")}, &rosbag.Connection{Topic: "/second", Header: header("a/B")} // both with id 0
	var want []msg
	for i, c := range []*rosbag.Connection{first, own, second, first} {
		m := msg{c.Topic, rosbag.Time{Sec: uint32(i)}, "x"}
		if err := w.Write(c, m.Time, []byte(m.Data)); err != nil {
			t.Fatal(err)
		}
		want = append(want, m)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, allOf(t, f.b)); d != "" || len(w.Connections()) != 3 {
		t.Errorf("%d connections, %s", len(w.Connections()), d)
	}
}

// TestWriterAdopts: a connection that another one stood for is written as itself once it is adopted.
func TestWriterAdopts(t *testing.T) {
	t.Parallel()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := &rosbag.Connection{ID: 1 << 20, Topic: "/t", Header: header("a/A")} // an id that Write does not keep
	for i := range uint32(2) {
		if err := w.Write(c, rosbag.Time{Sec: i}, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := w.Adopt(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := bagfmt.NewReader(bytes.NewReader(f.b), int64(len(f.b)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []rosbag.ConnID
	for m, err := range rosbag.Messages(r, rosbag.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.Conn.ID)
	}
	if d := cmp.Diff([]rosbag.ConnID{0, 1 << 20}, ids); d != "" {
		t.Error(d)
	}
}

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	var f memFile
	w, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	large := &rosbag.Connection{Topic: "/x", Header: header(strings.Repeat("t", 2<<20))}
	if err := w.Write(large, rosbag.Time{}, nil); !errors.Is(err, rosbag.ErrLimit) {
		t.Errorf("a connection with a huge header: %v, want ErrLimit", err)
	}
	if _, err := w.AddConnection("/a", header(strings.Repeat("t", 2<<20))); !errors.Is(err, rosbag.ErrLimit) {
		t.Errorf("huge header: %v, want ErrLimit", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f.syncs != 2 {
		t.Errorf("%d syncs, want one before and one after the header", f.syncs)
	}
	if _, err := w.AddConnection("/a", nil); !errors.Is(err, rosbag.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if _, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{Compression: "zip"}); err == nil {
		t.Error("unknown compression accepted")
	}
	if _, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{ChunkBytes: math.MaxInt32}); !errors.Is(err, rosbag.ErrLimit) {
		t.Errorf("chunk of 2 GiB: %v", err)
	}
	for _, n := range []int{-1, 257} {
		if _, err := bagfmt.NewWriter(&f, bagfmt.WriterOptions{Workers: n}); err == nil {
			t.Errorf("%d workers accepted", n)
		}
	}
}

// TestAbortLeavesNothing builds chunks with and without messages that are aborted:
// the chunks and what the file's records remember are the same.
func TestAbortLeavesNothing(t *testing.T) {
	t.Parallel()
	conns, _ := sample(0)
	build := func(abort bool) (out [][]byte) {
		var b chunk.Builder
		var r chunk.Records
		for i := range 40 {
			b.Reset(&r)
			try := func(c *rosbag.Connection) {
				if !abort {
					return
				}
				before, has := b.Len(), b.HasConn(c.ID)
				b.BeginMessage(c, 5000)
				b.Room(300)
				b.AbortMessage()
				if b.Len() != before || b.HasConn(c.ID) != has {
					t.Errorf("chunk %d: %d bytes after an abort, %d before", i, b.Len(), before)
				}
			}
			for _, c := range conns { // first uses at the start, repeats within and beyond the budget later
				try(c)
			}
			b.Reset(&r) // a chunk that held nothing else is thrown away
			for k, c := range conns {
				try(c)
				if (i+k)%2 == 0 {
					b.AppendRun(c, rosbag.Time{Sec: uint32(i)}, frame(strings.Repeat("x", 900)), 1)
				}
				try(c)
			}
			out = append(out, slices.Clone(seal(t, &b, nil).Record))
		}
		return out
	}
	if d := cmp.Diff(build(false), build(true)); d != "" {
		t.Errorf("aborted messages left traces:\n%.500s", d)
	}
}
