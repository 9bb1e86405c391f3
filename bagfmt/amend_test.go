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
	"github.com/gorosbag/gorosbag/rosbag"
)

// additions are messages on the topic and with the header of an old connection, before and behind
// what is there, and of another topic.
func additions(conns []*bagfmt.Connection, round int) (add []bagfmt.Addition, want []msg) {
	old, at := conns[0], bagfmt.Time{Sec: uint32(1000 + round)}
	add = []bagfmt.Addition{
		{Topic: old.Topic, Header: old.Header, Time: at, Data: fmt.Appendf(nil, "old %d", round)},
		{Topic: "/new", Header: header("a/New"), Time: at, Data: fmt.Appendf(nil, "new %d", round)},
		{Topic: old.Topic, Header: old.Header, Time: bagfmt.Time{Sec: uint32(1000 - round)}, Data: fmt.Appendf(nil, "early %d", round)},
	}
	for _, a := range add {
		want = append(want, msg{a.Topic, a.Time, string(a.Data)})
	}
	return add, want
}

// TestAmend adds to bags of ours and of stock, three times, and reads them in every way.
func TestAmend(t *testing.T) {
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
					conns = []*bagfmt.Connection{{Topic: "/first", Header: header("a/First")}}
				}
				size := len(f.b)
				add, more := additions(conns, round)
				if err := bagfmt.Amend(f, int64(size), add); err != nil {
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
			for m, err := range rosbag.Messages(r, bagfmt.Query{}) {
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

// disordered finds a connection behind the first ones whose chunks are not in the order of time.
func disordered(t *testing.T, b []byte, first int) *bagfmt.Connection {
	t.Helper()
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	last := map[*bagfmt.Connection]bagfmt.Time{}
	for i := range r.Chunks() {
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

func connectionsOf(t *testing.T, b []byte) []*bagfmt.Connection {
	t.Helper()
	r, err := openBag(b)
	if err != nil {
		t.Fatal(err)
	}
	return r.Connections()
}

// TestAmendRefuses: what is no closed bag is not touched.
func TestAmendRefuses(t *testing.T) {
	t.Parallel()
	good := sampleBag(t, bagfmt.CompressionLZ4)
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
		"killed":      {read("testdata/cpp_killed.bag"), bagfmt.ErrUnindexed},
		"index_pos 0": {unindexed(t, good), bagfmt.ErrUnindexed},
		"cut":         {good[: len(good)-1 : len(good)-1], bagfmt.ErrCorrupt},
		"two bags":    {slices.Concat(good, good), bagfmt.ErrCorrupt},
		"old version": {[]byte("#ROSRECORD V1.1\n"), bagfmt.ErrVersion},
		"text":        {[]byte("hello\n"), bagfmt.ErrNotBag},
		"nothing":     {nil, bagfmt.ErrNotBag},
	} {
		f := &memFile{b: slices.Clone(tc.b)}
		if err := bagfmt.Amend(f, int64(len(f.b)), []bagfmt.Addition{{Topic: "/x", Header: header("a/X")}}); !errors.Is(err, tc.want) && (name != "old version" || err == nil) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if !bytes.Equal(f.b, tc.b) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	f := &memFile{b: slices.Clone(good)}
	if err := bagfmt.Amend(f, int64(len(f.b)), []bagfmt.Addition{{Topic: "/x", Header: bagfmt.ConnectionHeader{{Key: "a=b"}}}}); err == nil || !bytes.Equal(f.b, good) {
		t.Errorf("a header that cannot be written: %v", err)
	}
}

// disk is a file whose changes are durable after a sync only.
type disk struct {
	memFile
	durable []byte
	pending []func(b []byte) []byte // changes of the file since, a sector each
	left    int                     // calls until it fails; negative for ever
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

// TestAmendCut ends the process, or the power, at each call of a run, and at each sector of
// those that are not synced, in any order. The bag is the old or the new one, and another run
// makes it the new one.
func TestAmendCut(t *testing.T) {
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
	if err := bagfmt.Amend(whole, int64(len(good)), add); err != nil {
		t.Fatal(err)
	}
	for _, rubbish := range []int{0, 700, 50_000} { // what an earlier run has left
		start := slices.Concat(good, bytes.Repeat([]byte{'x'}, rubbish))
		olds, news := 0, 0
		for left := 0; ; left++ {
			d := &disk{memFile: memFile{b: slices.Clone(start)}, durable: slices.Clone(start), left: left}
			err := bagfmt.Amend(d, int64(len(d.b)), add)
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
				if err := bagfmt.Amend(f, int64(len(b)), add); err != nil {
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

// FuzzAmend: whatever the file is, an error leaves it as it was, and success all messages.
func FuzzAmend(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		before, errs := readAll(t, b, bagfmt.Query{})
		file := &memFile{b: slices.Clone(b)}
		err := bagfmt.Amend(file, int64(len(b)), []bagfmt.Addition{{Topic: "/new", Header: header("a/New"), Time: bagfmt.Time{Sec: 1}, Data: []byte("x")}})
		if err != nil {
			if !typed(err) && !errors.Is(err, io.ErrUnexpectedEOF) && err.Error() != "the bag has no connection id left" {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		if len(errs) > 0 {
			return // of chunks
		}
		after, errs := readAll(t, file.b, bagfmt.Query{})
		if len(errs) > 0 || len(after) != len(before)+1 {
			t.Fatalf("%d messages of %d: %v", len(after), len(before), errs)
		}
	})
}
