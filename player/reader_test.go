package player

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/rosbag"
)

// countedChunks counts how often each chunk is read.
type countedChunks struct {
	*bytes.Reader
	chunks []int64 // where they begin
	stored []int64

	mu   sync.Mutex
	read map[int]int
}

func (c *countedChunks) ReadAt(p []byte, off int64) (int, error) {
	for i := range c.stored {
		if pos := c.chunks[i]; int64(len(p)) == c.stored[i] && off > pos && off < pos+200 {
			c.mu.Lock()
			c.read[i]++
			c.mu.Unlock()
		}
	}
	return c.Reader.ReadAt(p, off)
}

// Who seeks to and fro unpacks no chunk twice, neither for the state nor for what follows.
func TestSeekUnpacksOnce(t *testing.T) {
	t.Parallel()
	latched := func(i int) TestMessage {
		return TestMessage{TestConn{Topic: fmt.Sprint("/l", i), CallerID: "/n", Latching: true}, time.Duration(i) * ms, "state"}
	}
	messages := []TestMessage{latched(0), latched(1), latched(2)}
	for i := range 50 {
		messages = append(messages, TestMessage{connA, time.Duration(3+i) * ms, fmt.Sprint(3 + i)})
	}
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionBZ2}, messages...)
	file := &countedChunks{Reader: bytes.NewReader(data), read: map[int]int{}}
	opened, err := bagfmt.NewReader(file, file.Size(), bagfmt.ReaderOptions{Cache: bagfmt.NewCache(1<<20, 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	bag, err := source.New(t.Context(), "bag", opened, nil)
	if err != nil {
		t.Fatal(err)
	}
	var stored []int64
	for h := range opened.ChunkHeaders() {
		stored = append(stored, h.StoredBytes)
	}
	file.stored = stored
	for i := range opened.NumSpans() {
		file.chunks = append(file.chunks, opened.Span(i).Pos)
	}
	o := Options{Bags: []*source.Recording{bag}, Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	q := newQueue(1<<20, 4)
	r := newReader(testOrder(p), q)
	r.zero, r.zeroKnown = testBase, true
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wg.Go(func() { r.run(ctx) })
	for _, to := range []int{40, 10, 41, 10, 40, 11} {
		o := readRequest{epoch: q.restart(), ReadRequest: transport.ReadRequest{
			From: transport.Place{Stamp: testBase.Add(time.Duration(to) * ms)}, Arrive: true, Loop: transport.Loop{To: transport.Forever},
		}}
		r.submit(o)
		it, ok := popOne(t.Context(), q)
		if !ok || it.jump == nil || len(it.jump.latched) != 3 {
			t.Fatalf("seek to %d: got %+v first", to, it)
		}
		if it, ok = popOne(t.Context(), q); !ok || string(it.frame[8:]) != fmt.Sprint(to) {
			t.Fatalf("seek to %d: got %q", to, it.frame)
		}
	}
	file.mu.Lock()
	defer file.mu.Unlock()
	if len(file.read) < 7 {
		t.Errorf("only chunks %v are read", file.read)
	}
	for i, n := range file.read {
		if n > 1 {
			t.Errorf("chunk %d is read %d times", i, n)
		}
	}
}

// The state at the turn of a loop is that of the order of headers: what was received
// before the loop, but belongs behind its beginning, is not in it.
func TestLoopByHeader(t *testing.T) {
	t.Parallel()
	const s = time.Second
	bag := headedBag(t, bagfmt.WriterOptions{}, []headed{
		{"/latched", 0, 0},             // 0
		{"/latched", 1 * s, 2500 * ms}, // 1 comes in the loop
		{"/a", 2 * s, 2 * s},           // 2
		{"/a", 3 * s, 3 * s},           // 3
		{"/latched", 4 * s, 1500 * ms}, // 4 is valid before the loop
		{"/a", 5 * s, 5 * s},           // 5
	})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		var got []string
		g.frames = func(topic string, frame []byte) {
			m := rosbag.Message{Frame: frame}
			got = append(got, fmt.Sprintf("%v %s %d", time.Since(g.start), topic, numberOf(&m)))
		}
		o := Options{Bags: OpenTestBags(t, bag), ByHeader: true, HeaderReach: 3 * s, Loop: true, Paused: true}
		steer(t, g, o, ordersAt{
			100 * ms:  func(c control.Control) { _ = c.SetMarks(2*s, 3*s) },
			200 * ms:  seek(2 * s),
			s:         toggle,
			3400 * ms: stop,
		})
		want := []string{
			"200ms /latched 4", "1s /a 2", "1.5s /latched 1", "2s /a 3",
			"2.5s /latched 4", "2.5s /a 2", "3s /latched 1",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
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
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1, Compression: rosbag.CompressionBZ2}, series(connA, "a", 0, 1, 2, 3, 4, 5, 6, 7)...)
	file := &stalledFile{Reader: bytes.NewReader(data), wait: make(chan struct{})}
	bag, err := source.OpenAt(t.Context(), "bag", file, file.Size(), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Bags: []*source.Recording{bag}, Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	file.stall.Store(true)
	cancel := make(chan struct{})
	s := newOrder(orderOptions{workers: 1, damaged: func(e *control.DamageError) { t.Error(e) }}, p).received(p.start, cancel)
	s.begin()
	close(cancel)
	for range 2 {
		if m, _ := s.next(); m != nil {
			t.Errorf("got %v after the end", m)
		}
	}
	close(file.wait)
	s.close()
}
