package player

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// plain are the connections that most tests use.
var (
	connA = TestConn{Topic: "/a", CallerID: "/n1"}
	connB = TestConn{Topic: "/b", CallerID: "/n1"}
)

// abc makes messages "x0", "x1", ... at these times.
func series(c TestConn, prefix string, at ...time.Duration) []TestMessage {
	var ms []TestMessage
	for i, d := range at {
		ms = append(ms, TestMessage{c, d, fmt.Sprintf("%s%d", prefix, i)})
	}
	return ms
}

func concat(lists ...[]TestMessage) []TestMessage {
	var all []TestMessage
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// texts reads all that a plan selects, in order.
func texts(p *plan) (out []string, damage []error) {
	t := newOrder(orderOptions{workers: 1, damaged: func(e *control.DamageError) { damage = append(damage, e) }}, p).received(p.start, nil)
	for m, r := t.next(); m != nil; m, r = t.next() {
		if r == nil || r.conn != m.Conn {
			panic("route of another connection")
		}
		out = append(out, string(m.Data()[4:]))
	}
	return out, damage
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bags [][]TestMessage
		o    Options
		want string
	}{
		"one bag, by time and not by place": {
			[][]TestMessage{concat(series(connA, "a", 2, 0, 4), series(connB, "b", 1, 3))},
			Options{},
			"a1 b0 a0 b1 a2",
		},
		"equal stamps keep the order of the file": {
			[][]TestMessage{{
				{connA, 5, "1"}, {connB, 5, "2"}, {connA, 5, "3"}, {connA, 5, "4"}, {connB, 5, "5"},
			}},
			Options{},
			"1 2 3 4 5",
		},
		"equal stamps keep the order of the bags": {
			[][]TestMessage{series(connA, "x", 1, 2, 2), series(connA, "y", 0, 2, 3), series(connB, "z", 2)},
			Options{},
			"y0 x0 x1 x2 y1 z0 y2",
		},
		"bags that follow each other": {
			[][]TestMessage{series(connA, "y", 1000, 1001), series(connA, "x", 0, 1), nil},
			Options{},
			"x0 x1 y0 y1",
		},
		"window, both ends inclusive": {
			[][]TestMessage{concat(series(connA, "a", 0, 10, 20, 30, 40), series(connB, "b", 9, 11, 30, 31))},
			Options{Start: 10, Duration: 20},
			"a1 b1 a2 a3 b2",
		},
		"window from the earliest message of all topics": {
			[][]TestMessage{series(connA, "a", 5, 15), series(connB, "b", 0, 10, 20)},
			Options{Start: 10, Topics: []string{"/a"}},
			"a1",
		},
		"window of a nanosecond": {
			[][]TestMessage{series(connA, "a", 0, 10, 11)},
			Options{Start: 10, Duration: 1},
			"a1 a2",
		},
		"topic": {
			[][]TestMessage{concat(series(connA, "a", 0, 2), series(connB, "b", 1))},
			Options{Topics: []string{"/b"}},
			"b0",
		},
		"topic without its slash": {
			[][]TestMessage{concat(series(connA, "a", 0, 2), series(connB, "b", 1), series(TestConn{Topic: "c"}, "c", 3))},
			Options{Topics: []string{"b", "/c"}},
			"b0 c0",
		},
	}
	for name, tc := range tests {
		for _, chunk := range []int{1, 0} { // a chunk for each message, or one for all
			t.Run(fmt.Sprintf("%s/chunk=%d", name, chunk), func(t *testing.T) {
				t.Parallel()
				var bags [][]byte
				for _, messages := range tc.bags {
					bags = append(bags, MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk}, messages...))
				}
				o := tc.o
				o.Bags, o.Log = OpenTestBags(t, bags...), zap.NewNop()
				p, err := testPlan(t.Context(), &o)
				if err != nil {
					t.Fatal(err)
				}
				got, damage := texts(p)
				if d := cmp.Diff(tc.want, strings.Join(got, " ")); d != "" || damage != nil {
					t.Errorf("damage %v, (-want +got):\n%s", damage, d)
				}
			})
		}
	}
}

func TestNothingSelected(t *testing.T) {
	t.Parallel()
	full := MakeBag(t, bagfmt.WriterOptions{}, series(connA, "a", 0, time.Second)...)
	empty := MakeBag(t, bagfmt.WriterOptions{})
	tests := map[string]struct {
		bag []byte
		o   Options
	}{
		"empty bag":            {empty, Options{}},
		"no such topic":        {full, Options{Topics: []string{"/x"}}},
		"start after the end":  {full, Options{Start: time.Hour}},
		"between the messages": {full, Options{Start: 1, Duration: 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Bags, tc.o.Log = OpenTestBags(t, tc.bag), zap.NewNop()
			if _, err := testPlan(t.Context(), &tc.o); !errors.Is(err, ErrNoMessages) {
				t.Errorf("got %v, want ErrNoMessages", err)
			}
		})
	}
}

// Play continues after a damaged chunk and reports its offset.
func TestDamagedChunk(t *testing.T) {
	t.Parallel()
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4}, series(connA, "a", 0, 1, 2, 3)...)
	bags := OpenTestBags(t, data)
	chunk := bags[0].Source().Span(2)
	data[chunk.Pos+130] ^= 0x55 // in the stored data: its header has about 80 bytes

	o := Options{Bags: bags, Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	damaged := source.NewDamageLog(p.log)
	r := newReader(newOrder(orderOptions{workers: 1, damaged: damaged.Report}, p), newQueue(1<<20, 1<<10))
	r.readPasses(t.Context(), readRequest{})
	var got []string
	for it, ok := popOne(t.Context(), r.queue); ok; it, ok = popOne(t.Context(), r.queue) {
		got = append(got, string(it.frame[8:]))
	}
	if d := cmp.Diff([]string{"a0", "a1", "a3"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	damage := damaged.Found()
	var corrupt *rosbag.CorruptError
	if len(damage) != 1 || !errors.As(damage[0], &corrupt) || corrupt.Offset != chunk.Pos || damage[0].Messages != 1 {
		t.Errorf("damage %v, want one place at %d", damage, chunk.Pos)
	}
}

// A chunk that is too large is lost, and the line about it names the option.
func TestLargeChunk(t *testing.T) {
	t.Parallel()
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4}, concat(series(connA, "a", 0), series(connB, strings.Repeat("b", 1000), 1))...)
	b, err := source.OpenAt(t.Context(), "large", bytes.NewReader(data), int64(len(data)), source.Options{MaxChunkBytes: 900})
	if err != nil {
		t.Fatal(err)
	}
	core, logged := observer.New(zap.ErrorLevel)
	o := Options{Bags: []*source.Recording{b}, Log: zap.New(core)}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	damaged := source.NewDamageLog(p.log)
	r := newReader(newOrder(orderOptions{workers: 1, damaged: damaged.Report}, p), newQueue(1<<20, 1<<10))
	r.readPasses(t.Context(), readRequest{})
	if damage := damaged.Found(); len(damage) != 1 || !errors.Is(damage[0], rosbag.ErrLimit) || damage[0].Messages != 1 {
		t.Errorf("damage %v", damage)
	}
	if logged.FilterMessageSnippet("--max-chunk").Len() != 1 {
		t.Errorf("logged %v", logged.All())
	}
}

// A file that shrinks under play ends there; play does not hang or spin.
func TestShrunkFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, series(connA, long, 0, 1, 2, 3)...)
	whole := OpenTestBags(t, data)[0]
	cut := whole.Source().Span(2).Pos + 20
	f := &shrinking{data: data}
	b, err := source.OpenAt(t.Context(), "shrinking", f, int64(len(data)), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.data = data[:cut:cut]
	o := Options{Bags: []*source.Recording{b}, Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	got, damage := texts(p)
	if d := cmp.Diff([]string{long + "0", long + "1"}, got); d != "" || len(damage) == 0 {
		t.Errorf("damage %v, (-want +got):\n%s", damage, d)
	}
}

type shrinking struct{ data []byte }

func (f *shrinking) ReadAt(p []byte, off int64) (int, error) {
	return strings.NewReader(string(f.data)).ReadAt(p, off)
}

// The reader must not wait for a player that has gone.
func TestReaderEndsWithContext(t *testing.T) {
	t.Parallel()
	o := Options{Bags: OpenTestBags(t, MakeBag(t, bagfmt.WriterOptions{}, series(connA, "a", 0, 1, 2)...)), Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	damaged := source.NewDamageLog(p.log)
	r := newReader(newOrder(orderOptions{workers: 1, damaged: damaged.Report}, p), newQueue(1, 1))
	r.submit(readRequest{ReadRequest: transport.ReadRequest{Loop: transport.Loop{On: true, To: transport.Forever}}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.run(ctx)
	}()
	popOne(ctx, r.queue)
	cancel()
	<-done
}

// Whatever makes a chunk unreadable, what is lost with it is counted; a damaged
// index costs nothing.
func TestLossesOfAChunk(t *testing.T) {
	t.Parallel()
	errDisk := errors.New("disk")
	long := strings.Repeat("x", 100<<10) // reads of a neighbor do not get to its middle
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, series(connA, long, 0, 1, 2, 3)...)
	opened := OpenTestBags(t, data)[0].Source()
	pos := opened.Span(1).Pos
	indexAt := pos + int64(bytes.Index(data[pos:], []byte("ver=")))
	tests := map[string]struct {
		damage   func(data []byte)
		fault    func(off int64, n int) error
		messages []uint64 // lost, for each damage
		played   int
		wantErr  error
	}{
		"sound": {played: 4},
		"index, rebuilt from the chunk": {
			damage: func(data []byte) { data[indexAt+4] = 9 },
			played: 4,
		},
		"read error in the chunk": {
			fault: func(off int64, n int) error {
				if middle := pos + 50<<10; off <= middle && middle < off+int64(n) {
					return errDisk
				}
				return nil
			},
			messages: []uint64{1}, played: 3, wantErr: errDisk,
		},
		"length of the chunk": {
			damage: func(data []byte) {
				at := pos + 4 + int64(binary.LittleEndian.Uint32(data[pos:])) // behind its header
				binary.LittleEndian.PutUint32(data[at:], 1<<31-16)
			},
			messages: []uint64{1}, played: 3,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := slices.Clone(data)
			b, f := openFaulty(t, data)
			if tc.damage != nil {
				tc.damage(data)
			}
			f.fault = tc.fault
			o := Options{Bags: []*source.Recording{b}, Log: zap.NewNop()}
			p, err := testPlan(t.Context(), &o)
			if err != nil {
				t.Fatal(err)
			}
			damaged := source.NewDamageLog(p.log)
			r := newReader(newOrder(orderOptions{workers: 1, damaged: damaged.Report}, p), newQueue(1<<30, 1<<10))
			r.readPasses(t.Context(), readRequest{})
			var lost []uint64
			for _, e := range damaged.Found() {
				lost = append(lost, e.Messages)
				if tc.wantErr != nil && !errors.Is(e, tc.wantErr) || e.IsReadError() != (tc.wantErr != nil) {
					t.Errorf("got %v, unread %v, want %v", e, e.IsReadError(), tc.wantErr)
				}
			}
			if d := cmp.Diff(tc.messages, lost); d != "" || r.queue.count != tc.played {
				t.Errorf("%d played, want %d; damage %v, lost (-want +got):\n%s", r.queue.count, tc.played, damaged.Found(), d)
			}
		})
	}
}

// A chunk that is too big to be unpacked is lost with its messages.
func TestChunkBeyondTheLimit(t *testing.T) {
	t.Parallel()
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionLZ4}, series(connA, "a", 0, 1, 2)...)
	bags := OpenTestBags(t, data)
	pos := int(bags[0].Source().Span(1).Pos)
	size := pos + bytes.Index(data[pos:], []byte("size=")) + len("size=")
	binary.LittleEndian.PutUint32(data[size:], 1<<32-16) // no reader takes more than 2 GiB
	o := Options{Bags: bags, Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	damaged := source.NewDamageLog(p.log)
	r := newReader(newOrder(orderOptions{workers: 1, damaged: damaged.Report}, p), newQueue(1<<20, 1<<10))
	r.readPasses(t.Context(), readRequest{})
	damage := damaged.Found()
	if len(damage) != 1 || !errors.Is(damage[0], rosbag.ErrLimit) || damage[0].Messages != 1 || r.queue.count != 2 {
		t.Errorf("%d played, damage %+v", r.queue.count, damage)
	}
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
		bags = append(bags, MakeBag(t, bagfmt.WriterOptions{}, series(connA, "a", at)...))
	}
	bags = append(bags,
		MakeBag(t, bagfmt.WriterOptions{}, series(connB, "b", 6*sec)...),
		MakeBag(t, bagfmt.WriterOptions{}, series(connA, "a", 7*sec)...))
	p, _ := makePlan(t, Options{Topics: []string{"/a"}}, bags...)
	var cursors countedCursors
	for _, b := range p.bags {
		b.source = countedSource{b.source, &cursors}
	}
	line := testOrder(p).received(testBase.Add(2*sec), nil)
	defer line.close()
	onlyOne := func(when string) {
		t.Helper()
		if cursors.open != 1 {
			t.Errorf("%s %d bags are open, want 1", when, cursors.open)
		}
	}
	line.begin()
	onlyOne("at the beginning")
	for n, want := range []time.Duration{2 * sec, 3 * sec, 4 * sec, 5 * sec, 7 * sec} {
		m, _ := line.next()
		if m == nil || m.Time.Sub(testBase) != want {
			t.Fatalf("message %d is %+v, want that at %v", n, m, want)
		}
		onlyOne(fmt.Sprintf("for message %d", n))
	}
	if m, _ := line.next(); m != nil || cursors.open != 0 || cursors.opened != 5 {
		t.Errorf("%+v at the end, %+v, want 5 bags: without the one before the beginning, and that of another topic", m, cursors)
	}
	early := testOrder(p).received(testBase, nil)
	early.next()
	early.close() // one bag is open, the others never were
	if m, _ := early.next(); m != nil {
		t.Errorf("%+v after the end", m)
	}
}

// Only play that is faster than it was recorded unpacks on several cores.
func TestAheadWorkers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    Options
		want int
	}{
		{Options{Rate: 1}, 1}, {Options{Rate: 0.5}, 1}, {Options{Rate: 1.5}, 2}, {Options{Rate: 1, Immediate: true}, 2},
	} {
		if got := aheadWorkers(&tc.o); got != tc.want {
			t.Errorf("rate %v, immediate %v: %d workers, want %d", tc.o.Rate, tc.o.Immediate, got, tc.want)
		}
	}
}
