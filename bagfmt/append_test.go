package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/bagfmt/recovery"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/rosbag"
)

// additions are messages on the topic and with the header of an old connection, before and after
// what is there, and of another topic.
func additions(conns []*rosbag.Connection, round int) (add []addition, want []msg) {
	like, at := &rosbag.Connection{Topic: conns[0].Topic, Header: conns[0].Header}, rosbag.Time{Sec: uint32(1000 + round)}
	add = []addition{
		{like, at, fmt.Sprintf("old %d", round)},
		{&rosbag.Connection{Topic: "/new", Header: header("a/New")}, at, fmt.Sprintf("new %d", round)},
		{like, rosbag.Time{Sec: uint32(1000 - round)}, fmt.Sprintf("early %d", round)},
	}
	for _, a := range add {
		want = append(want, msg{a.conn.Topic, a.time, a.data})
	}
	return add, want
}

// addition is a message of a connection that the bag does not have.
type addition struct {
	conn *rosbag.Connection
	time rosbag.Time
	data string
}

// amend adds messages to the bag in f, as gobag note does.
func amend(f bagfmt.File, size int, add ...addition) error {
	w, err := bagfmt.Append(f, int64(size), bagfmt.WriterOptions{})
	if err != nil {
		return err
	}
	for _, a := range add {
		if err := w.Write(a.conn, a.time, []byte(a.data)); err != nil {
			w.Abort()
			return err
		}
	}
	if err := w.Close(); err != nil {
		w.Abort()
		return err
	}
	return nil
}

// TestAppendOften adds to bags of ours and of stock, three times, and reads them in every way.
func TestAppendOften(t *testing.T) {
	t.Parallel()
	bags := map[string][]byte{"empty": writeBag(t, bagfmt.WriterOptions{}, nil, nil)}
	for _, c := range compressions {
		bags["ours, "+string(c)] = sampleBag(t, c)
	}
	names, err := filepath.Glob("testdata/*_*.bag")
	if err != nil || len(names) < 6 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if b, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		} else if _, err := openBag(b); err == nil {
			bags[name] = b
		}
	}
	for name, b := range bags {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f := &memFile{b: slices.Clone(b)}
			want := allOf(t, b)
			for round := range 3 {
				r, err := openBag(f.b)
				if err != nil {
					t.Fatal(err)
				}
				conns := r.Connections()
				if len(conns) == 0 {
					conns = []*rosbag.Connection{{Topic: "/first", Header: header("a/First")}}
				}
				size := len(f.b)
				add, more := additions(conns, round)
				if err := amend(f, size, add...); err != nil {
					t.Fatal(err)
				}
				want = append(want, more...)
				if d := cmp.Diff(byTime(want), allOf(t, f.b)); d != "" {
					t.Fatalf("round %d (-want +got):\n%s", round, d)
				}
				if !bytes.Equal(f.b[4109:len(b)], b[4109:]) {
					t.Errorf("round %d: what was there has changed", round)
				}
			}
			if got, want := len(connectionsOf(t, f.b)), len(connectionsOf(t, b))+3*2; got != want {
				t.Errorf("%d connections, want %d: two more each time", got, want)
			}
			if conn := disordered(t, f.b, len(connectionsOf(t, b))); conn != nil {
				t.Errorf("connection %d, which was added, goes back in time from chunk to chunk", conn.ID)
			}
			if got, errs := scanAll(t, f.b); len(errs) > 0 || cmp.Diff(byTime(want), byTime(got)) != "" {
				t.Errorf("scanned: %v\n%s", errs, cmp.Diff(byTime(want), byTime(got)))
			}
			r, err := openAny(unindexed(t, f.b))
			if err != nil {
				t.Fatal(err)
			}
			var got []msg
			for m, err := range rosbag.Messages(r, rosbag.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, asMsg(m))
			}
			if d := cmp.Diff(byTime(want), got); d != "" {
				t.Errorf("without its index (-want +got):\n%s", d)
			}
			var recovered memFile
			w, err := bagfmt.NewWriter(&recovered, bagfmt.WriterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := recovery.Recover(bytes.NewReader(f.b), int64(len(f.b)), w, recovery.Options{})
			if err = errors.Join(err, w.Close()); err != nil || rep.Lossy() {
				t.Fatalf("%+v, %v", rep, err)
			}
			if d := cmp.Diff(byTime(want), allOf(t, recovered.b)); d != "" {
				t.Errorf("recovered (-want +got):\n%s", d)
			}
			if d := cmp.Diff(len(want)+2, len(appendTo(t, f, bagfmt.WriterOptions{}, want[:1]))); d != "" {
				t.Errorf("appended to: %s", d)
			}
		})
	}
}

// disordered finds a connection after the first ones whose chunks are not in the order of time.
func disordered(t *testing.T, b []byte, first int) *rosbag.Connection {
	t.Helper()
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	last := map[*rosbag.Connection]rosbag.Time{}
	for i := range r.NumSpans() {
		entries, err := r.Index(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Time.Before(last[e.Conn]) && slices.Index(r.Connections(), e.Conn) >= first {
				return e.Conn
			}
			last[e.Conn] = e.Time
		}
	}
	return nil
}

func connectionsOf(t *testing.T, b []byte) []*rosbag.Connection {
	t.Helper()
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	return r.Connections()
}

// TestAppendRefuses: what is no closed bag is not touched.
func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	good := sampleBag(t, rosbag.CompressionLZ4)
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, tc := range map[string]struct {
		b    []byte
		want error
	}{
		"killed":      {read("testdata/cpp_killed.bag"), rosbag.ErrUnindexed},
		"index_pos 0": {unindexed(t, good), rosbag.ErrUnindexed},
		"torn chunk":  {unindexed(t, good)[:5000:5000], rosbag.ErrUnindexed},
		"cut":         {good[: len(good)-1 : len(good)-1], rosbag.ErrCorrupt},
		"two bags":    {slices.Concat(good, good), rosbag.ErrCorrupt},
		"old version": {[]byte("#ROSRECORD V1.1\n"), rosbag.ErrVersion},
		"text":        {[]byte("hello\n"), rosbag.ErrNotBag},
		"nothing":     {nil, rosbag.ErrNotBag},
	} {
		f := &memFile{b: slices.Clone(tc.b)}
		if err := amend(f, len(f.b), addition{conn: &rosbag.Connection{Topic: "/x", Header: header("a/X")}}); !errors.Is(err, tc.want) && (name != "old version" || err == nil) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if !bytes.Equal(f.b, tc.b) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := bagfmt.Append(&memFile{b: good}, 0, bagfmt.WriterOptions{}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("size 0: %v", err)
	}
	f := &memFile{b: slices.Clone(good)}
	if err := amend(f, len(f.b), addition{conn: &rosbag.Connection{Topic: "/x", Header: rosbag.Header{{Key: "a=b"}}}}); err == nil || !bytes.Equal(f.b, good) {
		t.Errorf("a header that cannot be written: %v", err)
	}
}

// disk is a file whose changes are durable after a sync only.
type disk struct {
	memFile
	durable []byte
	pending []func(b []byte) []byte // changes of the file since, a sector each
	left    int                     // calls until it fails; negative forever
}

var errCut = errors.New("cut")

// step reports whether the next call is done.
func (d *disk) step() bool {
	d.left--
	return d.left != -1
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if !d.step() {
		return 0, errCut
	}
	for from := 0; from < len(p); {
		at := int(off) + from
		to := min(len(p), from+sector-at%sector)
		part := slices.Clone(p[from:to])
		d.pending = append(d.pending, func(b []byte) []byte {
			if end := at + len(part); end > len(b) {
				b = append(b, make([]byte, end-len(b))...)
			}
			copy(b[at:], part)
			return b
		})
		from = to
	}
	return d.memFile.WriteAt(p, off)
}

const sector = 512

func (d *disk) Truncate(size int64) error {
	if !d.step() {
		return errCut
	}
	d.pending = append(d.pending, func(b []byte) []byte { return b[:min(int(size), len(b))] })
	return d.memFile.Truncate(size)
}

func (d *disk) Sync() error {
	if !d.step() {
		return errCut
	}
	d.durable, d.pending = slices.Clone(d.b), nil
	return d.memFile.Sync()
}

// TestAppendCut ends the process, or the power, at each call of a run, and at each sector of
// those that are not synced, in any order. The bag is the old or the new one, and another run
// makes it the new one.
func TestAppendCut(t *testing.T) {
	testkit.SkipInRace(t, "one goroutine damages a bag at place after place")
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	conns, old := sample(300)
	good := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 500}, conns, old)
	add, more := additions(conns, 0)
	was := byTime(old)
	will := byTime(append(slices.Clone(old), more...))
	check := func(when string, b []byte) (isNew bool) {
		t.Helper()
		got := allOf(t, b)
		switch {
		case cmp.Equal(got, will):
			return true
		case !cmp.Equal(got, was):
			t.Fatalf("%s: neither the old nor the new bag", when)
		}
		return false
	}
	whole := &memFile{b: slices.Clone(good)}
	if err := amend(whole, len(good), add...); err != nil {
		t.Fatal(err)
	}
	for _, rubbish := range []int{0, 700, 50_000} { // what an earlier run has left
		start := slices.Concat(good, bytes.Repeat([]byte{'x'}, rubbish))
		olds, news := 0, 0
		for left := 0; ; left++ {
			d := &disk{memFile: memFile{b: slices.Clone(start)}, durable: slices.Clone(start), left: left}
			err := amend(d, len(d.b), add...)
			if err != nil && !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			check(fmt.Sprintf("killed after %d calls", left), d.b)
			for range 20 {
				b := slices.Clone(d.durable)
				share := rnd.Float64()
				for _, change := range d.pending {
					if rnd.Float64() < share {
						b = change(b)
					}
				}
				if check(fmt.Sprintf("power cut after %d calls", left), b) {
					news++
				} else {
					olds++
				}
				f := &memFile{b: b}
				if err := amend(f, len(b), add...); err != nil {
					t.Fatalf("another run: %v", err)
				}
				if got := allOf(t, f.b); len(got) != len(will) && len(got) != len(will)+len(add) {
					t.Fatalf("another run: %d messages", len(got))
				}
			}
			if err == nil {
				if !check("to the end", d.durable) || len(d.pending) > 0 {
					t.Error("not durable at the end")
				}
				if !bytes.Equal(d.durable, whole.b) {
					t.Errorf("%d bytes of rubbish: another file than without them", rubbish)
				}
				break
			}
		}
		if olds == 0 || news == 0 {
			t.Errorf("%d old and %d new bags", olds, news)
		}
	}
}

// FuzzAppend: whatever the file is, an error leaves it as it was, and success all messages.
func FuzzAppend(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		before, errs := readAll(t, b, rosbag.Query{})
		file := &memFile{b: slices.Clone(b)}
		err := amend(file, len(b), addition{&rosbag.Connection{Topic: "/new", Header: header("a/New")}, rosbag.Time{Sec: 1}, "x"})
		if err != nil {
			if !typed(err) && !errors.Is(err, io.ErrUnexpectedEOF) && err.Error() != "the bag has no connection id left" {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if len(errs) > 0 {
			return // of chunks
		}
		after, errs := readAll(t, file.b, rosbag.Query{})
		if len(errs) > 0 || len(after) != len(before)+1 {
			t.Fatalf("%d messages of %d: %v", len(after), len(before), errs)
		}
	})
}

// ReadAt and Truncate make a memFile one that can be appended to.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func (f *memFile) Truncate(size int64) error {
	f.b = f.b[:size]
	return nil
}

// appendTo writes more messages after the bag in f, and returns what it holds then.
func appendTo(t *testing.T, f *memFile, o bagfmt.WriterOptions, more []msg) []msg {
	t.Helper()
	w, err := bagfmt.Append(f, int64(len(f.b)), o)
	if err != nil {
		t.Fatal(err)
	}
	conns := w.Connections()
	for i, m := range more {
		if err := w.Write(conns[i%len(conns)], m.Time, []byte(m.Data)); err != nil {
			t.Fatal(err)
		}
	}
	extra, err := w.AddConnection("/extra", header("a/Extra"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(extra, rosbag.Time{Sec: 900}, []byte("extra")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return allOf(t, f.b)
}

// allOf reads a sound bag.
func allOf(t *testing.T, b []byte) []msg {
	t.Helper()
	out, errs := readAll(t, b, rosbag.Query{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return out
}

func TestAppend(t *testing.T) {
	t.Parallel()
	conns, old := steady(30, 100)
	_, more := steady(12, 200)
	want := append(slices.Concat(old, more), msg{"/extra", rosbag.Time{Sec: 900}, "extra"})
	for _, c := range compressions {
		closed := writeBag(t, bagfmt.WriterOptions{Compression: c, ChunkBytes: 200}, conns, old)
		f := &memFile{b: slices.Clone(closed)}
		if diff := cmp.Diff(want, appendTo(t, f, bagfmt.WriterOptions{Compression: c, ChunkBytes: 100, Workers: 2}, more)); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
		if f.syncs != 2 {
			t.Errorf("%s: %d syncs", c, f.syncs)
		}
	}
}

// TestAppendKeepsWhatIsThere: until it is closed the bag is the old one, and after Abort byte for byte.
func TestAppendKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	conns, old := steady(30, 100)
	good := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 200}, conns, old)
	for _, workers := range []int{0, 2} {
		f := &memFile{b: slices.Clone(good)}
		w, err := bagfmt.Append(f, int64(len(f.b)), bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string) {
			t.Helper()
			if got := allOf(t, f.b); !slices.Equal(got, old) {
				t.Errorf("%s: %s", when, cmp.Diff(old, got))
			}
		}
		check("opened")
		for i := range 10 {
			if err := w.Write(w.Connections()[0], rosbag.Time{Sec: uint32(500 + i)}, []byte("new")); err != nil {
				t.Fatal(err)
			}
			check("written")
		}
		w.Abort()
		if !bytes.Equal(f.b, good) {
			t.Error("after Abort it is another file")
		}
		w.Abort()
		if err := w.Write(conns[0], rosbag.Time{}, nil); !errors.Is(err, rosbag.ErrClosed) {
			t.Errorf("after Abort: %v", err)
		}
	}
}

func TestAppendEmpty(t *testing.T) {
	t.Parallel()
	conns, _ := steady(0, 0)
	f := &memFile{b: writeBag(t, bagfmt.WriterOptions{}, conns, nil)}
	if err := amend(f, len(f.b)); err != nil {
		t.Fatal(err)
	}
	if got := allOf(t, f.b); len(got) != 0 {
		t.Errorf("messages %v", got)
	}
}

// TestAppendOddPosition: where a reader gets along with an index position before the index section,
// nothing is lost.
func TestAppendOddPosition(t *testing.T) {
	t.Parallel()
	conns, old := steady(30, 100)
	good := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 200}, conns, old)
	pos := recordsOf(t, good, 3)[0].fields["index_pos"]
	for _, r := range records(t, good) {
		if r.op != 4 && r.op != 5 {
			continue
		}
		for _, at := range []int{r.off, r.dataAt + 4} {
			odd := setU64(good, pos, uint64(at))
			f := &memFile{b: slices.Clone(odd)}
			if err := amend(f, len(f.b), addition{&rosbag.Connection{Topic: "/x", Header: header("a/X")}, rosbag.Time{Sec: 900}, "x"}); err != nil {
				if !bytes.Equal(f.b, odd) {
					t.Errorf("index position at %d: %v, and the file was changed", at, err)
				}
				continue
			}
			if n := len(allOf(t, f.b)); n != len(old)+1 {
				t.Errorf("index position at %d: %d messages, want %d", at, n, len(old)+1)
			}
		}
	}
}
