package rosbag_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
)

// memory is a Source of messages in memory, each of which says where it is from.
type memory struct {
	conns []*rosbag.Connection
	spans []rosbag.Span
	list  []rosbag.Message // by time
	bad   int              // Next returns an error in place of the message with this number, if it is not 0

	open, opened int // cursors
	begun        int
}

var errBad = errors.New("bad place")

// newMemory returns a Source with messages at these seconds, of /imu and /odom by turns.
func newMemory(name string, seconds ...uint32) *memory {
	s := &memory{conns: []*rosbag.Connection{
		{ID: 0, Topic: "/imu", Header: rosbag.Header{{Key: "type", Value: "a/Imu"}}},
		{ID: 1, Topic: "/odom", Header: rosbag.Header{{Key: "latching", Value: "1"}}},
	}}
	counts := make([]uint32, 2)
	for i, sec := range seconds {
		text := fmt.Sprintf("%s%d", name, i)
		s.list = append(s.list, rosbag.Message{
			Conn: s.conns[i%2], Time: rosbag.Time{Sec: sec}, Frame: append([]byte{byte(len(text)), 0, 0, 0}, text...), Order: uint64(10 * i),
		})
		counts[i%2]++
	}
	if n := len(seconds); n > 0 {
		s.spans = []rosbag.Span{{
			Start: s.list[0].Time, End: s.list[n-1].Time,
			Counts: []rosbag.ConnCount{{Conn: s.conns[0], Count: counts[0]}, {Conn: s.conns[1], Count: counts[1]}},
		}}
	}
	return s
}

func (s *memory) Info() rosbag.Info {
	info := rosbag.Info{Format: "memory", Version: "1", Size: 100, Messages: uint64(len(s.list)), Indexed: true}
	if len(s.list) > 0 {
		info.Start, info.End = s.spans[0].Start, s.spans[0].End
	}
	return info
}

func (s *memory) Connections() []*rosbag.Connection { return s.conns }
func (s *memory) NumSpans() int                     { return len(s.spans) }
func (s *memory) Span(i int) *rosbag.Span           { return &s.spans[i] }

func (s *memory) Cursor(q rosbag.Query) rosbag.Cursor {
	s.open++
	s.opened++
	return &memoryCursor{s: s, q: q}
}

type memoryCursor struct {
	s      *memory
	q      rosbag.Query
	next   int
	failed bool
	msg    rosbag.Message // the one message that is valid
}

func (c *memoryCursor) Next() (*rosbag.Message, error) {
	c.msg = rosbag.Message{}
	for ; c.next < len(c.s.list); c.next++ {
		m := c.s.list[c.next]
		if m.Time.Before(c.q.Start) || !c.q.End.IsZero() && c.q.End.Before(m.Time) || c.q.Keep != nil && !c.q.Keep(m.Conn) {
			continue
		}
		if c.next == c.s.bad && c.next > 0 && !c.failed {
			c.failed = true
			c.next++
			return nil, errBad
		}
		c.next++
		c.msg = m
		return &c.msg, nil
	}
	return nil, io.EOF
}

func (c *memoryCursor) Begin() { c.s.begun++ }
func (c *memoryCursor) Close() { c.s.open-- }

// files returns Sources as the files a, b, and so on.
func files(sources ...*memory) (list []rosbag.File) {
	for i, s := range sources {
		list = append(list, rosbag.FileOf(string(rune('a'+i)), s))
	}
	return list
}

// rest reads what is left of s: the texts of messages.
func rest(tb testing.TB, s *rosbag.Sequence) (list []string) {
	tb.Helper()
	for s.HasNext() {
		m, err := s.Next()
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, string(m.Data()))
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		tb.Errorf("at the end: %v", err)
	}
	return list
}

func openCursors(sources []*memory) (open, opened int) {
	for _, s := range sources {
		open, opened = open+s.open, opened+s.opened
	}
	return open, opened
}

// TestSequenceOfSplit reads the files of a split recording: one after the other, and tells when.
func TestSequenceOfSplit(t *testing.T) {
	t.Parallel()
	var split []*memory
	var want, wantEvents []string
	for i := range 12 {
		split = append(split, newMemory(string(rune('a'+i)), uint32(10*i), uint32(10*i+1), uint32(10*i+9)))
		before := ""
		for n := range 3 {
			want = append(want, fmt.Sprintf("%c%d", 'a'+i, n))
		}
		if i > 0 {
			before = string(rune('a' + i - 1))
		}
		wantEvents = append(wantEvents, fmt.Sprintf("%s>%c", before, 'a'+i))
	}
	var events []string
	s := rosbag.NewSequence(files(split...), rosbag.SequenceOptions{FileChanged: func(ended, begun string) { events = append(events, ended+">"+begun) }})
	if s.File() != -1 {
		t.Errorf("file %d before the first message", s.File())
	}
	var got []string
	for s.HasNext() {
		m, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(m.Data()))
		if open, _ := openCursors(split); open > 2 || int(m.Data()[0]-'a') != s.File() {
			t.Fatalf("%d cursors are open, file %d, message %s", open, s.File(), m.Data())
		}
	}
	for range 2 {
		if _, err := s.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(append(wantEvents, "l>"), events); d != "" {
		t.Error(d)
	}
	if open, opened := openCursors(split); open != 0 || opened != 12 {
		t.Errorf("%d of %d cursors are open", open, opened)
	}
}

// TestSequenceOrder has files that overlap, with messages of the same time.
func TestSequenceOrder(t *testing.T) {
	t.Parallel()
	a, b, none := newMemory("a", 1, 3, 3, 5), newMemory("b", 1, 2, 3, 6), newMemory("none")
	s := rosbag.NewSequence(files(a, none, b), rosbag.SequenceOptions{})
	want := strings.Fields("a0 b0 b1 a1 a2 b2 a3 b3")
	if d := cmp.Diff(want, rest(t, s)); d != "" {
		t.Error(d)
	}
	if none.opened != 0 {
		t.Error("a file without messages was opened")
	}
	info := s.Info()
	if info.Messages != 8 || info.Start.Sec != 1 || info.End.Sec != 6 || info.Size != 300 || !info.Indexed {
		t.Errorf("%+v", info)
	}
}

// TestSequencePipe has a file of which nothing is known beforehand.
func TestSequencePipe(t *testing.T) {
	t.Parallel()
	all := files(newMemory("a", 5, 6), newMemory("b", 1, 7))
	all[1].Info = nil
	s := rosbag.NewSequence(all, rosbag.SequenceOptions{})
	if d := cmp.Diff(strings.Fields("b0 a0 a1 b1"), rest(t, s)); d != "" {
		t.Error(d)
	}
}

// TestSequenceSeekAndFilter changes the filter after every message, and seeks to and fro.
func TestSequenceSeekAndFilter(t *testing.T) {
	t.Parallel()
	a, b := newMemory("a", 1, 1, 2, 2, 2, 3), newMemory("b", 1, 2, 2, 3, 4, 4)
	all := rest(t, rosbag.NewSequence(files(a, b), rosbag.SequenceOptions{}))
	isOdom := func(text string) bool { return (text[1]-'0')%2 == 1 }
	odom := rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.Topic == "/odom" }}
	for n := range len(all) + 1 {
		s := rosbag.NewSequence(files(a, b), rosbag.SequenceOptions{})
		for range n {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if n%2 == 1 {
			s.HasNext() // what it has read must not get lost
		}
		s.SetFilter(odom)
		at := n // what is left once the filter is taken back
		next := slices.IndexFunc(all[n:], isOdom)
		m, err := s.Next()
		switch {
		case next < 0 && !errors.Is(err, io.EOF), next >= 0 && err != nil:
			t.Fatalf("filter after %d messages: %v", n, err)
		case next >= 0:
			if at = n + next + 1; string(m.Data()) != all[at-1] {
				t.Fatalf("filter after %d messages: got %s, want %s", n, m.Data(), all[at-1])
			}
		}
		s.SetFilter(rosbag.Query{})
		if got := rest(t, s); !slices.Equal(got, all[at:]) {
			t.Fatalf("filter after %d messages, for one: %s", n, cmp.Diff(all[at:], got))
		}
	}
	s := rosbag.NewSequence(files(a, b), rosbag.SequenceOptions{})
	for sec, want := range map[uint32]int{0: 0, 1: 0, 2: 3, 3: 8, 4: 10, 9: 12} {
		s.Seek(rosbag.Time{Sec: sec})
		if got := rest(t, s); !slices.Equal(got, all[want:]) {
			t.Errorf("seek to %d: %s", sec, cmp.Diff(all[want:], got))
		}
	}
}

// TestSequenceSeekAmongFiles: after Seek the files are new again. Those that are read from, and no
// others, are opened, and FileChanged tells of them.
func TestSequenceSeekAmongFiles(t *testing.T) {
	t.Parallel()
	var split []*memory
	for i := range 5 {
		split = append(split, newMemory(string(rune('a'+i)), uint32(10*i), uint32(10*i+5)))
	}
	var events []string
	s := rosbag.NewSequence(files(split...), rosbag.SequenceOptions{FileChanged: func(ended, begun string) { events = append(events, ended+">"+begun) }})
	for i := 4; i >= 0; i-- {
		s.Seek(rosbag.Time{Sec: uint32(10 * i)})
		_, before := openCursors(split)
		m, err := s.Next()
		open, opened := openCursors(split)
		if err != nil || m.Time.Sec != uint32(10*i) || opened != before+1 || open != 1 {
			t.Fatalf("seek to file %d: %v, %v, %d cursors opened, %d open", i, m, err, opened-before, open)
		}
		if want := fmt.Sprintf(">%c", 'a'+i); !strings.HasSuffix(events[len(events)-1], want) {
			t.Errorf("seek to file %d: %v", i, events)
		}
	}
	events = nil
	s.Seek(rosbag.Time{}) // the file it is in
	s.SetFilter(rosbag.Query{End: rosbag.Time{Sec: 22}})
	if d := cmp.Diff(strings.Fields("a0 a1 b0 b1 c0"), rest(t, s)); d != "" {
		t.Error(d)
	}
	s.Seek(rosbag.Time{Sec: 20})
	if d := cmp.Diff(strings.Fields("c0"), rest(t, s)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(strings.Fields("a>b b>c c> >c c>"), events); d != "" {
		t.Error(d)
	}
}

// TestSequenceSeekInFile seeks within the file that is read: it is not a new one, neither at once nor
// when the reading comes back to it.
func TestSequenceSeekInFile(t *testing.T) {
	t.Parallel()
	a, b := newMemory("a", 1, 3, 5), newMemory("b", 2, 4, 6)
	var events []string
	s := rosbag.NewSequence(files(a, b), rosbag.SequenceOptions{FileChanged: func(ended, begun string) { events = append(events, ended+">"+begun) }})
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	s.Seek(rosbag.Time{})
	if d := cmp.Diff(strings.Fields("a0 b0 a1 b1 a2 b2"), rest(t, s)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(strings.Fields(">a a>b b>"), events); d != "" {
		t.Error(d)
	}
}

// TestSequenceErrors continues after what cannot be read, and names the file.
func TestSequenceErrors(t *testing.T) {
	t.Parallel()
	a, b := newMemory("a", 1, 2, 3), newMemory("b", 4, 5, 6)
	a.bad = 1
	all := files(a, b, newMemory("c", 5, 6))
	all[2].Open = func(rosbag.Query) (rosbag.Cursor, error) { return nil, errBad }
	s := rosbag.NewSequence(all, rosbag.SequenceOptions{})
	var got []string
	for s.HasNext() {
		m, err := s.Next()
		if err != nil {
			got = append(got, fmt.Sprintf("%v of %d", err, s.File()))
			continue
		}
		got = append(got, string(m.Data()))
	}
	if d := cmp.Diff([]string{"a0", "bad place of 0", "a2", "b0", "b1", "bad place of 2", "b2"}, got); d != "" {
		t.Error(d)
	}
}

// TestSequenceClosed also begins before it reads.
func TestSequenceClosed(t *testing.T) {
	t.Parallel()
	a, b, late := newMemory("a", 1, 2, 3), newMemory("b", 1, 2), newMemory("late", 2)
	s := rosbag.NewSequence(files(a, b, late), rosbag.SequenceOptions{})
	s.Begin()
	if a.begun != 1 || b.begun != 1 || late.opened != 0 {
		t.Errorf("begun: %d, %d; the late one was opened %d times", a.begun, b.begun, late.opened)
	}
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if a.open != 0 || b.open != 0 {
		t.Errorf("%d and %d cursors are open", a.open, b.open)
	}
	if m, err := s.Next(); s.HasNext() || m != nil || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v, %v", m, err)
	}
	s.Begin()
	if a.opened != 1 {
		t.Error("it was opened after Close")
	}
}
