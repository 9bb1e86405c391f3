package bagfmt_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// countingFS counts the files that are open.
type countingFS struct {
	fstest.MapFS
	open, most, opened int
}

type countedFile struct {
	fs.File
	c *countingFS
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	if _, isDir := f.(fs.ReadDirFile); isDir {
		return f, nil
	}
	c.open++
	c.opened++
	c.most = max(c.most, c.open)
	return &countedFile{f, c}, nil
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	return f.File.(io.ReaderAt).ReadAt(p, off)
}

func (f *countedFile) Close() error { f.c.open--; return f.File.Close() }

// partsOf cuts msgs into n bags by place.
func partsOf(tb testing.TB, conns []*bagfmt.Connection, msgs []msg, n int) fstest.MapFS {
	tb.Helper()
	out := make(fstest.MapFS)
	for i := range n {
		part := msgs[i*len(msgs)/n : (i+1)*len(msgs)/n]
		out[fmt.Sprintf("run/x_%d.bag", i)] = &fstest.MapFile{Data: writeBag(tb, bagfmt.WriterOptions{ChunkBytes: 100}, conns, part)}
	}
	return out
}

// steady returns n messages of the connections of sample with times that rise by 1 s
// every third message.
func steady(n, from int) (conns []*bagfmt.Connection, msgs []msg) {
	conns, _ = sample(0)
	for i := range n {
		msgs = append(msgs, msg{conns[i%3].Topic, bagfmt.Time{Sec: uint32(from + i/3)}, fmt.Sprintf("message %d of %d", i, from)})
	}
	return conns, msgs
}

func openSequence(tb testing.TB, fsys fs.FS, o bagfmt.SequenceOptions, names ...string) *bagfmt.Sequence {
	tb.Helper()
	s, err := bagfmt.OpenSequence(fsys, o, names...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// rest reads what is left of s.
func rest(tb testing.TB, s *bagfmt.Sequence) []msg {
	tb.Helper()
	var out []msg
	for m, err := range s.All() {
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, asMsg(m))
	}
	return out
}

func TestSequenceOfSplitFiles(t *testing.T) {
	t.Parallel()
	conns, msgs := steady(36, 100)
	fsys := &countingFS{MapFS: partsOf(t, conns, msgs, 12)}
	var events []string
	s := openSequence(t, fsys, bagfmt.SequenceOptions{FileChanged: func(closed, opened string) {
		events = append(events, closed+">"+opened)
	}}, "run")
	if fsys.open != 0 {
		t.Errorf("%d files are open before the first message", fsys.open)
	}
	if !s.HasNextFile() || s.File() != "run/x_0.bag" {
		t.Errorf("before: next %v, file %q", s.HasNextFile(), s.File())
	}
	if diff := cmp.Diff(msgs, rest(t, s)); diff != "" {
		t.Error(diff)
	}
	if s.HasNextFile() || s.File() != "run/x_11.bag" {
		t.Errorf("after: next %v, file %q", s.HasNextFile(), s.File())
	}
	if fsys.most > 2 || fsys.open != 0 {
		t.Errorf("%d files were open at once, %d still are", fsys.most, fsys.open)
	}
	want := []string{">run/x_0.bag"}
	for i := range 11 {
		want = append(want, fmt.Sprintf("run/x_%d.bag>run/x_%d.bag", i, i+1))
	}
	if diff := cmp.Diff(append(want, "run/x_11.bag>"), events); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) || len(events) != 13 {
		t.Errorf("at the end: %v, %d events", err, len(events))
	}
}

func TestSequenceMergesOverlappingFiles(t *testing.T) {
	t.Parallel()
	conns, a := steady(30, 100)
	_, b := steady(30, 105)
	fsys := fstest.MapFS{
		"b.bag":        {Data: writeBag(t, bagfmt.WriterOptions{ChunkBytes: 100}, conns, a)},
		"a.bag.active": {Data: writeBag(t, bagfmt.WriterOptions{}, conns, b)},
		"b.orig.bag":   {Data: []byte("what a tool left of b.bag")},
		"notes.txt":    {Data: []byte("no bag")},
	}
	s := openSequence(t, fsys, bagfmt.SequenceOptions{Workers: 2}, "b.bag", ".", "[ab].bag")
	want := slices.Concat(a, b)
	slices.SortStableFunc(want, func(x, y msg) int { return x.Time.Compare(y.Time) })
	if diff := cmp.Diff(want, rest(t, s)); diff != "" {
		t.Error(diff)
	}
	m := s.Metadata()
	if len(m.Files) != 2 || m.Files[0].Name != "b.bag" || m.Messages != 60 || m.Start.Sec != 100 || m.End.Sec != 114 || !m.Files[1].Indexed {
		t.Errorf("metadata %+v", m)
	}
	topics := s.Topics()
	if len(topics) != 2 || topics[0].Topic != "/imu" || topics[0].Messages != 40 || topics[0].Connections != 4 || topics[0].MessageDefinition == "" {
		t.Errorf("topics %+v", topics)
	}
}

func TestSequenceSeekAndFilter(t *testing.T) {
	t.Parallel()
	conns, a := steady(30, 100)
	_, b := steady(30, 103)
	fsys := fstest.MapFS{
		"a.bag": {Data: writeBag(t, bagfmt.WriterOptions{ChunkBytes: 60}, conns, a)},
		"b.bag": {Data: writeBag(t, bagfmt.WriterOptions{ChunkBytes: 200}, conns, b)},
	}
	all := rest(t, openSequence(t, fsys, bagfmt.SequenceOptions{}, "."))
	odom := bagfmt.Query{Keep: func(c *bagfmt.Connection) bool { return c.Topic == "/odom" }}
	for n := range len(all) + 1 {
		s := openSequence(t, fsys, bagfmt.SequenceOptions{}, ".")
		for range n {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		s.SetFilter(odom)
		at := n // what is left once the filter is taken back
		next := slices.IndexFunc(all[n:], func(m msg) bool { return m.Topic == "/odom" })
		m, err := s.Next()
		switch {
		case next < 0 && !errors.Is(err, io.EOF), next >= 0 && err != nil:
			t.Fatalf("filter after %d messages: %v", n, err)
		case next >= 0:
			if at = n + next + 1; asMsg(m) != all[at-1] {
				t.Fatalf("filter after %d messages: got %v, want %v", n, asMsg(m), all[at-1])
			}
		}
		s.ResetFilter()
		if got := rest(t, s); !slices.Equal(got, all[at:]) {
			t.Fatalf("filter after %d messages, for one: %s", n, cmp.Diff(all[at:], got))
		}
	}
	s := openSequence(t, fsys, bagfmt.SequenceOptions{}, ".")
	for _, sec := range []uint32{105, 0, 111, 104, 200, 103} {
		s.Seek(bagfmt.Time{Sec: sec})
		want := slices.DeleteFunc(slices.Clone(all), func(m msg) bool { return m.Time.Sec < sec })
		if got := rest(t, s); !slices.Equal(got, want) {
			t.Errorf("seek to %d: %s", sec, cmp.Diff(want, got))
		}
	}
}

// After Seek the files are new again: those that are read from, and no others, are
// opened, and FileChanged hears of them.
func TestSequenceSeekAmongFiles(t *testing.T) {
	t.Parallel()
	conns, msgs := steady(36, 100) // 3 a second, so that each of 12 files has one
	fsys := &countingFS{MapFS: partsOf(t, conns, msgs, 12)}
	var events []string
	s := openSequence(t, fsys, bagfmt.SequenceOptions{FileChanged: func(closed, opened string) {
		events = append(events, closed+">"+opened)
	}}, "run")
	for sec := uint32(111); sec >= 100; sec-- {
		s.Seek(bagfmt.Time{Sec: sec})
		opened := fsys.opened
		m, err := s.Next()
		if err != nil || m.Time.Sec != sec || fsys.opened != opened+1 || fsys.open > 2 {
			t.Fatalf("seek to %d: %v, %v, %d files opened, %d open", sec, m, err, fsys.opened-opened, fsys.open)
		}
		if want := fmt.Sprintf(">run/x_%d.bag", sec-100); !strings.HasSuffix(events[len(events)-1], want) {
			t.Errorf("seek to %d: %v", sec, events[len(events)-1])
		}
	}
	events = nil
	s.Seek(bagfmt.Time{Sec: 100}) // the file it is in
	s.SetFilter(bagfmt.Query{End: bagfmt.Time{Sec: 102}})
	if !s.HasNextFile() {
		t.Error("no next file after Seek")
	}
	if got := rest(t, s); !slices.Equal(got, msgs[:9]) {
		t.Errorf("messages %v", got)
	}
	s.Seek(bagfmt.Time{Sec: 102})
	if got := rest(t, s); !slices.Equal(got, msgs[6:9]) {
		t.Errorf("messages %v", got)
	}
	want := []string{
		"run/x_0.bag>run/x_1.bag", "run/x_1.bag>run/x_2.bag", "run/x_2.bag>",
		">run/x_2.bag", "run/x_2.bag>",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
}

func TestSequenceNames(t *testing.T) {
	t.Parallel()
	conns, msgs := steady(1, 100)
	b := writeBag(t, bagfmt.WriterOptions{}, conns, msgs)
	want := []string{"a1a.bag", "a1b2.bag", "a01b10.bag", "a1b10.bag", "a1c.bag", "x.bag", "x_1.bag", "x_2.bag", "x_10.bag"}
	fsys := make(fstest.MapFS)
	for _, name := range want {
		fsys[name] = &fstest.MapFile{Data: b}
	}
	s := openSequence(t, fsys, bagfmt.SequenceOptions{}, ".")
	var got []string
	for _, f := range s.Metadata().Files {
		got = append(got, f.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSequenceClosed(t *testing.T) {
	t.Parallel()
	conns, msgs := steady(36, 100)
	fsys := &countingFS{MapFS: partsOf(t, conns, msgs, 3)}
	s := openSequence(t, fsys, bagfmt.SequenceOptions{Workers: 1}, "run")
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || fsys.open != 0 {
		t.Fatalf("%v, %d files open", err, fsys.open)
	}
	if m, err := s.Next(); m != nil || err == nil || errors.Is(err, io.EOF) || fsys.open != 0 {
		t.Errorf("after Close: %v, %v, %d files open", m, err, fsys.open)
	}
	n := 0
	for range s.All() {
		n++
	}
	if n > 1 {
		t.Errorf("%d steps after Close", n)
	}
}

func TestSequenceGoesOnBehindDamage(t *testing.T) {
	t.Parallel()
	conns, msgs := steady(36, 100)
	fsys := partsOf(t, conns, msgs, 3)
	bad := fsys["run/x_1.bag"].Data
	bad[4117+60] ^= 1 // in the first chunk, which has a checksum
	s := openSequence(t, fsys, bagfmt.SequenceOptions{}, "run/x_?.bag")
	var got []msg
	var failed []error
	for m, err := range s.All() {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		got = append(got, asMsg(m))
	}
	var file *bagfmt.FileError
	if len(failed) != 1 || !errors.As(failed[0], &file) || file.Name != "run/x_1.bag" || !errors.Is(failed[0], bagfmt.ErrCorrupt) {
		t.Errorf("errors %v", failed)
	}
	if lost := len(msgs) - len(got); lost < 1 || lost > 4 || got[len(got)-1] != msgs[len(msgs)-1] {
		t.Errorf("%d messages lost of %d", lost, len(msgs))
	}
}

func TestSequenceRefuses(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"text.bag":   {Data: []byte("no bag\n")},
		"none/a.txt": {Data: []byte("no bag\n")},
		"pipe.bag":   {Mode: fs.ModeNamedPipe},
	}
	tests := map[string]struct {
		name string
		want error
	}{
		"missing":   {"missing.bag", fs.ErrNotExist},
		"pattern":   {"*.log", fs.ErrNotExist},
		"directory": {"none", fs.ErrNotExist},
		"text":      {"text.bag", bagfmt.ErrNotBag},
		"pipe":      {"pipe.bag", bagfmt.ErrNotBag},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := bagfmt.OpenSequence(fsys, bagfmt.SequenceOptions{}, tc.name)
			var file *bagfmt.FileError
			if !errors.Is(err, tc.want) || !errors.As(err, &file) || file.Name != tc.name {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}
