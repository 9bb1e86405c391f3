package timeline

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// planOf plans what options select.
func planOf(t *testing.T, o plan.Options, bags ...*source.Recording) *plan.Plan {
	t.Helper()
	o.Log = zap.NewNop()
	p, err := plan.New(t.Context(), o, bags, testplay.Resolve)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// texts reads all that a plan selects, in order.
func texts(p *plan.Plan) (out []string, damage []error) {
	t := New(Options{Workers: 1, Damaged: func(e *control.DamageError) { damage = append(damage, e) }}, p).From(p.Start, nil, nil)
	for m, r := t.Next(); m != nil; m, r = t.Next() {
		if r == nil || r.Conn != m.Conn {
			panic("route of another connection")
		}
		out = append(out, string(m.Data()[4:]))
	}
	return out, damage
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bags [][]testplay.Message
		o    plan.Options
		want string
	}{
		"one bag, by time and not by place": {
			[][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 2, 0, 4), testplay.Series(testplay.ConnB, "b", 1, 3))},
			plan.Options{},
			"a1 b0 a0 b1 a2",
		},
		"equal stamps keep the order of the file": {
			[][]testplay.Message{{
				{Conn: testplay.ConnA, At: 5, Text: "1"}, {Conn: testplay.ConnB, At: 5, Text: "2"}, {Conn: testplay.ConnA, At: 5, Text: "3"}, {Conn: testplay.ConnA, At: 5, Text: "4"}, {Conn: testplay.ConnB, At: 5, Text: "5"},
			}},
			plan.Options{},
			"1 2 3 4 5",
		},
		"equal stamps keep the order of the bags": {
			[][]testplay.Message{testplay.Series(testplay.ConnA, "x", 1, 2, 2), testplay.Series(testplay.ConnA, "y", 0, 2, 3), testplay.Series(testplay.ConnB, "z", 2)},
			plan.Options{},
			"y0 x0 x1 x2 y1 z0 y2",
		},
		"bags that follow each other": {
			[][]testplay.Message{testplay.Series(testplay.ConnA, "y", 1000, 1001), testplay.Series(testplay.ConnA, "x", 0, 1), nil},
			plan.Options{},
			"x0 x1 y0 y1",
		},
		"window, both ends inclusive": {
			[][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 10, 20, 30, 40), testplay.Series(testplay.ConnB, "b", 9, 11, 30, 31))},
			plan.Options{Start: 10, Duration: 20},
			"a1 b1 a2 a3 b2",
		},
		"window from the earliest message of all topics": {
			[][]testplay.Message{testplay.Series(testplay.ConnA, "a", 5, 15), testplay.Series(testplay.ConnB, "b", 0, 10, 20)},
			plan.Options{Start: 10, Topics: []string{"/a"}},
			"a1",
		},
		"window of a nanosecond": {
			[][]testplay.Message{testplay.Series(testplay.ConnA, "a", 0, 10, 11)},
			plan.Options{Start: 10, Duration: 1},
			"a1 a2",
		},
		"topic": {
			[][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 2), testplay.Series(testplay.ConnB, "b", 1))},
			plan.Options{Topics: []string{"/b"}},
			"b0",
		},
		"topic without its slash": {
			[][]testplay.Message{testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 2), testplay.Series(testplay.ConnB, "b", 1), testplay.Series(testplay.Conn{Topic: "c"}, "c", 3))},
			plan.Options{Topics: []string{"b", "/c"}},
			"b0 c0",
		},
	}
	for name, tc := range tests {
		for _, chunk := range []int{1, 0} { // a chunk for each message, or one for all
			t.Run(fmt.Sprintf("%s/chunk=%d", name, chunk), func(t *testing.T) {
				t.Parallel()
				var bags [][]byte
				for _, messages := range tc.bags {
					bags = append(bags, testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...))
				}
				got, damage := texts(planOf(t, tc.o, testplay.OpenBags(t, bags...)...))
				if d := cmp.Diff(tc.want, strings.Join(got, " ")); d != "" || damage != nil {
					t.Errorf("damage %v, (-want +got):\n%s", damage, d)
				}
			})
		}
	}
}

// A file that shrinks under play ends there; play does not hang or spin.
func TestShrunkFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Series(testplay.ConnA, long, 0, 1, 2, 3)...)
	whole := testplay.OpenBags(t, data)[0]
	cut := whole.Source().Span(2).Pos + 20
	f := &shrinking{data: data}
	b := testplay.Open(t, "shrinking", f, int64(len(data)), bagfmt.ReaderOptions{})
	f.data = data[:cut:cut]
	got, damage := texts(planOf(t, plan.Options{}, b))
	if d := cmp.Diff([]string{long + "0", long + "1"}, got); d != "" || len(damage) == 0 {
		t.Errorf("damage %v, (-want +got):\n%s", damage, d)
	}
}

type shrinking struct{ data []byte }

func (f *shrinking) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(f.data)).ReadAt(p, off)
}

// countedCursors counts cursors.
type countedCursors struct{ open, opened int }

// countedSource counts its cursors.
type countedSource struct {
	rosbag.Indexed
	*countedCursors
}

type countedCursor struct {
	rosbag.Cursor
	*countedCursors
}

func (s countedSource) Cursor(q rosbag.Query) rosbag.Cursor {
	s.open++
	s.opened++
	return countedCursor{s.Indexed.Cursor(q), s.countedCursors}
}

func (c countedCursor) Close() {
	c.open--
	c.Cursor.Close()
}

// A bag split in many files is opened file by file, in whatever order they are named; one
// that holds nothing to be played is not opened at all.
func TestTimelineOpensInTurn(t *testing.T) {
	t.Parallel()
	var bags [][]byte
	const sec = time.Second
	for _, at := range []time.Duration{4 * sec, 2 * sec, 5 * sec, sec, 3 * sec} {
		bags = append(bags, testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", at)...))
	}
	bags = append(bags,
		testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnB, "b", 6*sec)...),
		testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 7*sec)...))
	p := planOf(t, plan.Options{Topics: []string{"/a"}}, testplay.OpenBags(t, bags...)...)
	core, logs := observer.New(zap.DebugLevel)
	p.Log = zap.New(core)
	var cursors countedCursors
	for _, b := range p.Bags {
		b.Source = countedSource{b.Source, &cursors}
	}
	order := New(Options{Workers: 1, Damaged: func(e *control.DamageError) { t.Error(e) }}, p)
	line := order.From(testplay.Base.Add(2*sec), nil, nil)
	defer line.Close()
	onlyOne := func(when string) {
		t.Helper()
		if cursors.open != 1 {
			t.Errorf("%s %d bags are open, want 1", when, cursors.open)
		}
	}
	line.Begin()
	onlyOne("at the beginning")
	for n, want := range []time.Duration{2 * sec, 3 * sec, 4 * sec, 5 * sec, 7 * sec} {
		m, _ := line.Next()
		if m == nil || m.Time.Sub(testplay.Base) != want {
			t.Fatalf("message %d is %+v, want that at %v", n, m, want)
		}
		onlyOne(fmt.Sprintf("for message %d", n))
	}
	if m, _ := line.Next(); m != nil || cursors.open != 0 || cursors.opened != 5 {
		t.Errorf("%+v at the end, %+v, want 5 bags: without the one before the beginning, and that of another topic", m, cursors)
	}
	var begun []any
	for _, e := range logs.All() {
		begun = append(begun, e.ContextMap()["bag"])
	}
	if d := cmp.Diff([]any{"bag1", "bag4", "bag0", "bag2", "bag6"}, begun); d != "" {
		t.Errorf("the log names the bags (-want +got):\n%s", d)
	}
	early := order.From(testplay.Base, nil, nil)
	early.Next()
	early.Close() // one bag is open, the others never were
	if m, _ := early.Next(); m != nil {
		t.Errorf("%+v after the end", m)
	}
}

// stalledFile is a file whose reads do not return before they may.
type stalledFile struct {
	*bytes.Reader
	stall atomic.Bool
	wait  chan struct{}
}

func (f *stalledFile) ReadAt(p []byte, off int64) (int, error) {
	if f.stall.Load() {
		<-f.wait
	}
	return f.Reader.ReadAt(p, off)
}

// Who goes elsewhere does not wait for what is being unpacked for the old place.
func TestTimelineCanceled(t *testing.T) {
	t.Parallel()
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionBZ2}, testplay.Series(testplay.ConnA, "a", 0, 1, 2, 3, 4, 5, 6, 7)...)
	file := &stalledFile{Reader: bytes.NewReader(data), wait: make(chan struct{})}
	bag := testplay.Open(t, "bag", file, file.Size(), bagfmt.ReaderOptions{})
	p := planOf(t, plan.Options{}, bag)
	file.stall.Store(true)
	cancel := make(chan struct{})
	s := New(Options{Workers: 1, Damaged: func(e *control.DamageError) { t.Error(e) }}, p).From(p.Start, cancel, nil)
	s.Begin()
	close(cancel)
	for range 2 {
		if m, _ := s.Next(); m != nil {
			t.Errorf("got %v after the end", m)
		}
	}
	close(file.wait)
	s.Close()
}
