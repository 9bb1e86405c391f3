package bagfmt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/rosbag"
)

// ReadAt and Truncate make a memFile one that can be appended to.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func (f *memFile) Truncate(size int64) error {
	f.b = f.b[:size]
	return nil
}

// appendTo writes more messages behind the bag in f, and returns what it holds then.
func appendTo(t *testing.T, f *memFile, o bagfmt.WriterOptions, more []msg) []msg {
	t.Helper()
	w, err := bagfmt.NewAppendWriter(f, int64(len(f.b)), o)
	if err != nil {
		t.Fatal(err)
	}
	conns := w.Connections()
	for i, m := range more {
		if err := w.WriteMessage(conns[i%len(conns)], m.Time, []byte(m.Data)); err != nil {
			t.Fatal(err)
		}
	}
	extra, err := w.AddConnection("/extra", header("a/Extra"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMessage(extra, bagfmt.Time{Sec: 900}, []byte("extra")); err != nil {
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
	out, errs := readAll(t, b, bagfmt.Query{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return out
}

func TestAppend(t *testing.T) {
	t.Parallel()
	conns, old := steady(30, 100)
	_, more := steady(12, 200)
	want := append(slices.Concat(old, more), msg{"/extra", bagfmt.Time{Sec: 900}, "extra"})
	for _, c := range compressions {
		closed := writeBag(t, bagfmt.WriterOptions{Compression: c, ChunkBytes: 200}, conns, old)
		r, err := bagfmt.NewReader(bytes.NewReader(closed), int64(len(closed)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{
			"closed":      closed,
			"index_pos 0": unindexed(t, closed),
			"killed":      unindexed(t, closed)[:r.IndexPos():r.IndexPos()],
		} {
			f := &memFile{b: slices.Clone(b)}
			if diff := cmp.Diff(want, appendTo(t, f, bagfmt.WriterOptions{Compression: c, Workers: 2}, more)); diff != "" {
				t.Errorf("%s, %s: %s", c, name, diff)
			}
			if f.syncs != 2 {
				t.Errorf("%s, %s: %d syncs", c, name, f.syncs)
			}
		}
	}
}

// A crash between any two steps leaves a bag with all old messages.
func TestAppendKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	conns, old := steady(30, 100)
	f := &memFile{b: writeBag(t, bagfmt.WriterOptions{ChunkBytes: 200}, conns, old)}
	w, err := bagfmt.NewAppendWriter(f, int64(len(f.b)), bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		r, err := bagfmt.NewReader(bytes.NewReader(f.b), int64(len(f.b)), bagfmt.ReaderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range rosbag.Messages(r, bagfmt.Query{}) {
			if err != nil {
				t.Errorf("%s: %v", when, err)
			}
			n++
		}
		if n != len(old) || r.Indexed() {
			t.Errorf("%s: %d messages, indexed %v", when, n, r.Indexed())
		}
	}
	check("opened")
	if err := w.WriteMessage(w.Connections()[0], bagfmt.Time{Sec: 500}, []byte("new")); err != nil {
		t.Fatal(err)
	}
	check("not yet written")
}

func TestAppendEmpty(t *testing.T) {
	t.Parallel()
	conns, _ := steady(0, 0)
	f := &memFile{b: writeBag(t, bagfmt.WriterOptions{}, conns, nil)}
	w, err := bagfmt.NewAppendWriter(f, int64(len(f.b)), bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := allOf(t, f.b); len(got) != 0 {
		t.Errorf("messages %v", got)
	}
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	conns, old := steady(30, 100)
	good := writeBag(t, bagfmt.WriterOptions{ChunkBytes: 200}, conns, old)
	r, err := bagfmt.NewReader(bytes.NewReader(good), int64(len(good)), bagfmt.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := r.Chunks()[len(r.Chunks())-1].Pos
	type test struct {
		b    []byte
		want error
	}
	tests := map[string]test{
		"torn chunk":    {good[: last+100 : last+100], bagfmt.ErrCorrupt},
		"no index data": {unindexed(t, withoutIndexData(t, good)), bagfmt.ErrCorrupt},
		"old version":   {[]byte("#ROSRECORD V1.1\n"), bagfmt.ErrVersion},
		"text":          {[]byte("hello\n"), bagfmt.ErrNotBag},
		"two bags":      {slices.Concat(good, good), bagfmt.ErrCorrupt},
	}
	// A reader gets along with an index position before the index section, but what is
	// between would be cut off.
	pos := recordsOf(t, good, 3)[0].fields["index_pos"]
	for _, r := range records(t, good) {
		if r.op == 4 || r.op == 5 {
			tests[fmt.Sprintf("index position at %d", r.off)] = test{setU64(good, pos, uint64(r.off)), bagfmt.ErrCorrupt}
		}
		if r.op == 5 {
			inside := r.dataAt + 4 // of its first record, a connection
			tests[fmt.Sprintf("index position at %d", inside)] = test{setU64(good, pos, uint64(inside)), bagfmt.ErrCorrupt}
		}
	}
	for name, tc := range tests {
		f := &memFile{b: slices.Clone(tc.b)}
		if _, err := bagfmt.NewAppendWriter(f, int64(len(f.b)), bagfmt.WriterOptions{}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if !bytes.Equal(f.b, tc.b) {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := bagfmt.NewAppendWriter(&memFile{b: good}, 0, bagfmt.WriterOptions{}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("size 0: %v", err)
	}
}
