package recorded_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/view/recorded"
	"github.com/gorosbag/gorosbag/internal/view/timeline"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func at(ms int) rosbag.Time { return rosbag.Time{Sec: 1000}.Add(time.Duration(ms) * time.Millisecond) }

type message struct {
	topic string
	ms    int
	text  string
}

// write writes a bag of small chunks and opens it.
func write(t *testing.T, list ...message) *bags.Recording {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.bag")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{ChunkBytes: 400})
	if err != nil {
		t.Fatal(err)
	}
	conns := make(map[string]*rosbag.Connection)
	for _, m := range list {
		c := conns[m.topic]
		if c == nil {
			h := rosbag.Header{{Key: "type", Value: note.Type}, {Key: "md5sum", Value: note.MD5Sum}, {Key: "message_definition", Value: note.Definition}}
			if m.topic == "/map" {
				h = append(h, rosbag.Field{Key: "latching", Value: "1"})
			}
			if c, err = w.AddConnection(m.topic, h); err != nil {
				t.Fatal(err)
			}
			conns[m.topic] = c
		}
		if err := w.Write(c, at(m.ms), note.Encode(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := bags.Open(t.Context(), path, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// tick is a topic with a message each 10 ms from start to end, with one second of silence from 1000 on.
func ticks(start, end int) (list []message) {
	list = append(list, message{"/map", start, "map"})
	for ms := start; ms < end; ms += 10 {
		if ms < 1000 || ms >= 2000 {
			list = append(list, message{"/tick", ms, fmt.Sprint(ms)})
		}
		list = append(list, message{"/other", ms, "x"})
	}
	return append(list, message{"/other", end, "the end"})
}

// TestTopics: rates and gaps come from the chunk infos, also across files; a latched topic has none.
func TestTopics(t *testing.T) {
	t.Parallel()
	s := recorded.New([]*bags.Recording{write(t, ticks(0, 1500)...), write(t, ticks(1500, 3000)...)})
	if s.Start != at(0) || s.End != at(3000) || len(s.Topics) != 3 {
		t.Fatalf("from %v to %v, %d topics", s.Start, s.End, len(s.Topics))
	}
	row, ok := s.Row("/tick")
	tick := s.Topics[row]
	if !ok || tick.Messages != 200 || len(tick.Gaps) != 1 || len(tick.Connections) != 2 {
		t.Fatalf("%+v", tick)
	}
	if g := tick.Gaps[0]; g.From != at(990) || g.To != at(2000) || tick.Period != 10*time.Millisecond {
		t.Errorf("a gap of %v from %v on, a period of %v", g.Len(), g.From, tick.Period)
	}
	if row, _ := s.Row("/map"); len(s.Topics[row].Gaps) != 0 || !s.Topics[row].Latched {
		t.Errorf("%+v", s.Topics[row])
	}
	bytes, messages := s.Bytes(func(r int) bool { return r == row }, at(0), at(990))
	if messages < 90 || messages > 110 || bytes < 3000 || bytes > 20000 {
		t.Errorf("%d messages with %d bytes are in a second", messages, bytes)
	}
}

// TestEvents: what comes now and then, and gorecord's own topics, have neither a period nor gaps.
func TestEvents(t *testing.T) {
	t.Parallel()
	var list []message
	for n, ms := 0, 0; n < 60; n++ {
		ms += []int{2, 3, 700, 20, 4000, 1, 90}[n%7]
		list = append(list, message{"/joy", ms, "x"}, message{"/gorecord/marks", 100*n + n%3, "x"}, message{"/rosout", 1000 * n, "x"})
	}
	slices.SortStableFunc(list, func(a, b message) int { return a.ms - b.ms })
	s := recorded.New([]*bags.Recording{write(t, list...)})
	for _, topic := range s.Topics {
		if topic.Period != 0 || len(topic.Gaps) != 0 || topic.More != 0 {
			t.Errorf("%s: a period of %v, gaps %v", topic.Name, topic.Period, topic.Gaps)
		}
	}
	if len(s.Topics) != 3 {
		t.Errorf("%d topics", len(s.Topics))
	}
}

// TestBursts: messages that come in bursts are as many per second as they are.
func TestBursts(t *testing.T) {
	t.Parallel()
	var list []message
	for ms := 0; ms < 3000; ms += 50 {
		list = append(list, message{"/tf", ms, "x"}, message{"/tf", ms + 1, "x"})
	}
	for ms := 0; ms < 3000; ms += 20 { // a busy machine holds some up, which then come at once
		late := ms
		if part := ms % 1000; part >= 500 && part < 800 {
			late += 800 - part + (part-500)/20
		}
		list = append(list, message{"/odom", late, "x"})
	}
	slices.SortStableFunc(list, func(a, b message) int { return a.ms - b.ms })
	s := recorded.New([]*bags.Recording{write(t, list...)})
	for i, want := range []time.Duration{20 * time.Millisecond, 25 * time.Millisecond} {
		if p := s.Topics[i].Period; p < want*19/20 || p > want*21/20 {
			t.Errorf("%s: a period of %v, want %v", s.Topics[i].Name, p, want)
		}
	}
}

// TestManyChunks: of more chunks than are read the gaps are about right, and the end of a topic exactly.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	list := ticks(0, 20_000)
	for ms := 20_010; ms < 30_000; ms += 10 {
		list = append(list, message{"/other", ms, "x"})
	}
	s := recorded.New([]*bags.Recording{write(t, list...)})
	if n := s.Files[0].Source.NumSpans(); n <= recorded.MaxExact {
		t.Fatalf("%d chunks only", n)
	}
	row, _ := s.Row("/tick")
	g := s.Topics[row].Gaps
	if len(g) != 2 || g[0].Len() < 800*time.Millisecond || g[0].Len() > 1100*time.Millisecond || g[1].From != at(19_990) || g[1].To != s.End {
		t.Errorf("gaps %v", g)
	}
}

// TestExact: where few chunks are in view, messages and gaps are where they are.
func TestExact(t *testing.T) {
	t.Parallel()
	s := recorded.New([]*bags.Recording{write(t, ticks(0, 3000)...)})
	row, _ := s.Row("/tick")
	axis := timeline.Axis{From: at(900), To: at(2100), Bins: 120}
	d, gaps, inView := s.Density(t.Context(), axis, func(r int) bool { return r == row }, true)
	if inView == 0 || inView > recorded.MaxExact {
		t.Fatalf("%d chunks in view", inView)
	}
	for bin, level := range d.Levels(row) {
		if full := bin < 10 || bin >= 110; full != (level > 0) {
			t.Errorf("bin %d: %d", bin, level)
		}
	}
	if g := gaps[row]; len(g) != 1 || g[0].From != at(990) || g[0].To != at(2000) {
		t.Errorf("gaps %v", g)
	}
}

// TestExactAround: near the end of a topic, and within a gap, it is seen that nothing comes.
func TestExactAround(t *testing.T) {
	t.Parallel()
	list := append(ticks(0, 3000), message{"/other", 4000, "x"})
	s := recorded.New([]*bags.Recording{write(t, list...)})
	row, _ := s.Row("/tick")
	for name, tc := range map[string]struct{ from, to, first, last int }{
		"the end": {2500, 4000, 2990, 4000}, "within": {1100, 1900, 990, 2000}, "after it": {3200, 3900, 2990, 4000},
	} {
		axis := timeline.Axis{From: at(tc.from), To: at(tc.to), Bins: 100}
		_, gaps, _ := s.Density(t.Context(), axis, func(r int) bool { return r == row }, true)
		want := timeline.Gap{From: at(tc.first), To: at(tc.last)}
		if !slices.Contains(gaps[row], want) {
			t.Errorf("%s: gaps %v, want %v", name, gaps[row], want)
		}
	}
}

// huge is a recording of one span with many messages, which must not be read.
type huge struct {
	rosbag.Indexed
	span rosbag.Span
	read bool
}

func (h *huge) Info() rosbag.Info {
	return rosbag.Info{Start: h.span.Start, End: h.span.End, Messages: recorded.MaxExactMessages + 1}
}

func (h *huge) Connections() []*rosbag.Connection { return []*rosbag.Connection{h.span.Counts[0].Conn} }
func (h *huge) NumSpans() int                     { return 1 }
func (h *huge) Span(int) *rosbag.Span             { return &h.span }
func (h *huge) Index(int, func(*rosbag.Connection) bool) ([]rosbag.Entry, error) {
	h.read = true
	return nil, nil
}

// TestManyMessages: the times of a million messages are not read for a look at a time line, also if they are in one span.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	c := &rosbag.Connection{Topic: "/imu"}
	counts := []rosbag.ConnCount{{Conn: c, Count: recorded.MaxExactMessages + 1}}
	source := &huge{span: rosbag.Span{Start: at(0), End: at(5000), Counts: counts}}
	other := write(t, message{"/b", 0, "x"}, message{"/b", 90_000, "x"})
	s := recorded.New([]*bags.Recording{{Name: "x.db3", Source: source}, other})
	imu := &s.Topics[1]
	if g := imu.Gaps; len(g) != 1 || g[0].From != at(5000) || imu.Last != at(5000) {
		t.Errorf("gaps %v, the last one at %v", g, imu.Last)
	}
	axis := timeline.Axis{From: at(0), To: at(10_000), Bins: 10}
	d, gaps, _ := s.Density(t.Context(), axis, func(int) bool { return true }, true)
	if levels := d.Levels(1); levels[0] == 0 || levels[9] != 0 || gaps != nil {
		t.Errorf("levels %v, gaps %v", levels, gaps)
	}
	if source.read {
		t.Error("the times of all messages were read")
	}
}

// TestFind steps through the messages of a topic, also of the same time and across files.
func TestFind(t *testing.T) {
	t.Parallel()
	s := recorded.New([]*bags.Recording{
		write(t, message{"/a", 10, "first"}, message{"/b", 15, "x"}, message{"/a", 20, "same"}, message{"/a", 20, "again"}),
		write(t, message{"/a", 30, "last"}, message{"/b", 40, "x"}),
	})
	ctx := t.Context()
	text := func(f recorded.Found, err error) string {
		if err != nil {
			return err.Error()
		}
		text, _ := note.Decode(f.Message.Data())
		return text
	}
	for ms, want := range map[int]string{0: "first", 10: "first", 19: "first", 20: "again", 29: "again", 35: "last", 99: "last"} {
		if got := text(s.At(ctx, "/a", at(ms))); got != want {
			t.Errorf("at %d ms: %q, want %q", ms, got, want)
		}
	}
	place := recorded.Place{Time: at(10)}
	for _, want := range []string{"same", "again", "last"} {
		f, err := s.Next(ctx, "/a", place)
		if got := text(f, err); got != want {
			t.Errorf("after %v: %q, want %q", place, got, want)
		}
		place = f.Place
	}
	if _, err := s.Next(ctx, "/a", place); !errors.Is(err, recorded.ErrNone) {
		t.Errorf("after the last one: %v", err)
	}
	for _, want := range []string{"again", "same", "first"} {
		f, err := s.Previous(ctx, "/a", place)
		if got := text(f, err); got != want {
			t.Errorf("before %v: %q, want %q", place, got, want)
		}
		place = f.Place
	}
	if _, err := s.Previous(ctx, "/a", place); !errors.Is(err, recorded.ErrNone) {
		t.Errorf("before the first one: %v", err)
	}
	if _, err := s.At(ctx, "/none", at(5)); !errors.Is(err, recorded.ErrNone) {
		t.Errorf("of no topic: %v", err)
	}
	if got := text(s.Exactly(ctx, "/a", recorded.Place{Time: at(20), Number: 1})); got != "again" {
		t.Errorf("the second of the same time: %q", got)
	}
}

// TestLatestUntil: what is before a jump of the clock is found at once.
func TestLatestUntil(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * 3600 * 1000
	s := recorded.New([]*bags.Recording{write(t, message{"/a", 0, "x"}), write(t, message{"/a", year, "x"}, message{"/a", year + 50, "x"})})
	for name, test := range map[string]struct {
		until, want int
		ok          bool
	}{
		"before all":      {-1, 0, false},
		"the first":       {0, 0, true},
		"in the silence":  {year - 1, 0, true},
		"in the second":   {year + 10, year + 10, true},
		"behind all":      {3 * year, year + 50, true},
		"the last itself": {year + 50, year + 50, true},
	} {
		if got, ok := s.LatestUntil(at(test.until)); ok != test.ok || ok && got != at(test.want) {
			t.Errorf("%s: %v %t, want %v %t", name, got, ok, at(test.want), test.ok)
		}
	}
}
