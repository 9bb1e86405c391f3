package player

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/rosbag"
)

// faultyFile is a bag on a disk that makes trouble after opening.
type faultyFile struct {
	*bytes.Reader
	fault func(off int64, n int) error // called before each read
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.fault != nil {
		if err := f.fault(off, len(p)); err != nil {
			return 0, err
		}
	}
	return f.Reader.ReadAt(p, off)
}

func openFaulty(t *testing.T, data []byte) (*source.Recording, *faultyFile) {
	t.Helper()
	f := &faultyFile{Reader: bytes.NewReader(data)}
	b, err := source.OpenAt(t.Context(), "faulty", f, int64(len(data)), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b, f
}

// A read that does not return must not keep Run from ending, in any part of play.
func TestStalledFile(t *testing.T) {
	t.Parallel()
	latched := TestConn{Topic: "/l", Latching: true}
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, concat(series(latched, "l", 0), series(connA, "a", 10, 20, 30))...)
	for name, o := range map[string]Options{
		"last stamp":        {},
		"state before":      {Start: 5},
		"window in a chunk": {Start: 10, Duration: 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, f := openFaulty(t, data)
				stuck := make(chan struct{})
				f.fault = func(int64, int) error {
					<-stuck
					return nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				o.Bags = []*source.Recording{b}
				s, err := playFake(ctx, newFakeGraph(), o)
				if got := time.Since(start); got > time.Minute+readerGrace || err != nil || !s.Interrupted {
					t.Errorf("ended after %v with %+v, %v", got, s, err)
				}
				close(stuck)
				synctest.Wait()
			})
		})
	}
}

// Planning needs times only: it must not read the data of big chunks.
func TestPlanReadsIndexesOnly(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	data := MakeBag(t, bagfmt.WriterOptions{}, series(connA, big, 0, 10, 20, 30)...)
	b, f := openFaulty(t, data)
	read := 0
	f.fault = func(_ int64, n int) error {
		read += n
		return nil
	}
	o := Options{Bags: []*source.Recording{b}, Start: 5, Duration: 20, Log: zap.NewNop()}
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.last.Sub(testBase); got != 20 || read > 256<<10 {
		t.Errorf("last at %v; %d bytes read of a bag of %d", got, read, len(data))
	}
}

// A latched topic without a message in the window or before it is not offered:
// --wait-for-subscribers must not wait for subscribers of a topic without messages.
func TestLatchedTopicAfterTheWindow(t *testing.T) {
	t.Parallel()
	late := TestConn{Topic: "/late", Latching: true}
	bag := MakeBag(t, bagfmt.WriterOptions{}, concat(series(connA, "a", 0, 10, 20), series(late, "l", 40))...)
	p, _ := makePlan(t, Options{Start: 5, Duration: 20}, bag)
	if d := cmp.Diff([]string{"/a"}, topicNames(p)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What the read-ahead keeps in memory are chunks: of a rare topic few messages may
// be read ahead, whatever other chunks of the bag look like.
func TestReadAheadBoundsChunkMemory(t *testing.T) {
	t.Parallel()
	const chunk, bound = 64 << 10, 1 << 20
	tiny, camera := TestConn{Topic: "/tiny"}, TestConn{Topic: "/camera"}
	var messages []TestMessage
	for i := range 1000 { // chunks of tiny messages only
		messages = append(messages, TestMessage{tiny, time.Duration(i), strings.Repeat("y", 100)})
	}
	for i := range 100 { // then one of them in each chunk
		at := time.Second + time.Duration(i)
		messages = append(messages, TestMessage{tiny, at, "t"}, TestMessage{camera, at, strings.Repeat("x", chunk)})
	}
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk, Compression: rosbag.CompressionLZ4}, messages...)
	synctest.Test(t, func(t *testing.T) {
		p, _ := makePlan(t, Options{Topics: []string{"/tiny"}}, data)
		ctx, cancel := context.WithCancel(t.Context())
		r := newReader(testOrder(p), newQueue(bound, 1<<20))
		go r.readPasses(ctx, readRequest{})
		synctest.Wait() // it waits for room
		rare := 0
		for _, it := range r.queue.items {
			if it.frame != nil && it.pos >= time.Second {
				rare++
			}
		}
		if rare == 0 || rare*chunk > bound {
			t.Errorf("%d messages keep a chunk of %d bytes each, the bound is %d", rare, chunk, bound)
		}
		cancel()
		synctest.Wait()
	})
}

// The span is that of all bags, in any order, and bags without messages do not count.
func TestSpan(t *testing.T) {
	t.Parallel()
	bag := func(at ...time.Duration) []byte {
		return MakeBag(t, bagfmt.WriterOptions{}, series(connA, "a", at...)...)
	}
	tests := map[string]struct {
		bags        [][]byte
		first, last time.Duration
		ok          bool
	}{
		"nothing":         {[][]byte{bag()}, 0, 0, false},
		"one":             {[][]byte{bag(10, 20)}, 10, 20, true},
		"empty before":    {[][]byte{bag(), bag(10, 20), bag()}, 10, 20, true},
		"in order":        {[][]byte{bag(10, 20), bag(30, 40)}, 10, 40, true},
		"the other order": {[][]byte{bag(30, 40), bag(10, 20)}, 10, 40, true},
		"one in another":  {[][]byte{bag(20, 30), bag(10, 40)}, 10, 40, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, last, ok := source.Span(OpenTestBags(t, tc.bags...))
			if ok != tc.ok || ok && (first != testBase.Add(tc.first) || last != testBase.Add(tc.last)) {
				t.Errorf("got %v to %v, %v", first, last, ok)
			}
		})
	}
}

// Who is in a window is known by the chunks that lie in it, by the indexes of those that
// it cuts, and by their infos where there are too many of these.
func TestConnectionsInWindow(t *testing.T) {
	t.Parallel()
	var messages []TestMessage
	for i := range 40 { // chunks of /a and /b, one millisecond apart each
		at := time.Duration(i) * 10 * ms
		messages = append(messages, TestMessage{connA, at, "a"}, TestMessage{connB, at + 5*ms, "b"})
	}
	small := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 2 * 30}, messages...)
	whole := MakeBag(t, bagfmt.WriterOptions{}, messages...)
	tests := map[string]struct {
		bag             []byte
		start, duration time.Duration
		want            []string
	}{
		"all":                  {small, 0, 0, []string{"/a", "/b"}},
		"one message":          {small, 10 * ms, 1, []string{"/a"}},
		"the other":            {small, 15 * ms, 1, []string{"/b"}},
		"exactly one":          {small, 11 * ms, 4 * ms, []string{"/b"}},
		"between two":          {small, 11 * ms, 3 * ms, nil},
		"from the last on":     {small, 395 * ms, 0, []string{"/b"}},
		"in one chunk":         {whole, 11 * ms, 4 * ms, []string{"/b"}},
		"in one chunk, start":  {whole, 395 * ms, 0, []string{"/b"}},
		"in one chunk, both":   {whole, 10 * ms, 5 * ms, []string{"/a", "/b"}},
		"in one chunk, nobody": {whole, 11 * ms, 3 * ms, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Bags: OpenTestBags(t, tc.bag), Log: zap.NewNop(), Start: tc.start, Duration: tc.duration}
			p, err := testPlan(t.Context(), &o)
			if errors.Is(err, ErrNoMessages) != (tc.want == nil) {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, topicNames(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The last stamp is that of the last message to be played, in whichever chunk it is.
func TestLastStampOfBags(t *testing.T) {
	t.Parallel()
	long := TestMessage{connB, 0, "b"} // its chunk lasts longest
	tests := map[string]struct {
		o     Options
		chunk int
		bags  [][]TestMessage
		want  time.Duration
	}{
		"one bag":              {Options{}, 1, [][]TestMessage{series(connA, "a", 10, 20, 30)}, 30},
		"the first bag":        {Options{}, 1, [][]TestMessage{series(connA, "a", 10, 50), series(connA, "a", 20, 40)}, 50},
		"the second bag":       {Options{}, 1, [][]TestMessage{series(connA, "a", 10, 40), series(connA, "a", 20, 50)}, 50},
		"of another topic":     {Options{Topics: []string{"/a"}}, 0, [][]TestMessage{concat(series(connA, "a", 10, 20), series(connB, "b", 90))}, 20},
		"in chunks of others":  {Options{Topics: []string{"/a"}}, 1, [][]TestMessage{concat(series(connA, "a", 10, 20), series(connB, "b", 80, 90))}, 20},
		"the end of a window":  {Options{Duration: 25}, 1, [][]TestMessage{series(connA, "a", 10, 20, 35, 40)}, 35},
		"in a cut chunk":       {Options{Duration: 24}, 0, [][]TestMessage{series(connA, "a", 10, 20, 35, 40)}, 20},
		"not sorted":           {Options{}, 1, [][]TestMessage{concat(series(connA, "a", 30, 20, 10), series(connB, "b", 25))}, 30},
		"start of a window":    {Options{Start: 15}, 1, [][]TestMessage{concat([]TestMessage{long}, series(connA, "a", 10, 20))}, 20},
		"start, in one chunk":  {Options{Start: 15}, 0, [][]TestMessage{concat([]TestMessage{long}, series(connA, "a", 10, 20))}, 20},
		"one message, no more": {Options{Start: 10}, 1, [][]TestMessage{concat([]TestMessage{long}, series(connA, "a", 10))}, 10},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bags [][]byte
			for _, messages := range tc.bags {
				bags = append(bags, MakeBag(t, bagfmt.WriterOptions{ChunkBytes: tc.chunk}, messages...))
			}
			p, _ := makePlan(t, tc.o, bags...)
			if got := p.last.Sub(testBase); got != tc.want {
				t.Errorf("the last message is at %d, want %d", got, tc.want)
			}
		})
	}
}

// However many chunks a bag has, planning reads the indexes of those that the window cuts,
// and of the one that ends last.
func TestPlanReadsFewIndexes(t *testing.T) {
	t.Parallel()
	var messages []TestMessage
	for i := range 60 {
		messages = append(messages, TestMessage{connA, time.Duration(i) * ms, strings.Repeat("x", 100<<10)})
	}
	data := MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, messages...)
	for name, o := range map[string]Options{
		"all": {}, "a window": {Start: 10 * ms, Duration: 30 * ms}, "a window that ends between chunks": {Start: 10 * ms, Duration: 30*ms + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := openFaulty(t, data)
			reads := 0
			f.fault = func(int64, int) error {
				reads++
				return nil
			}
			o.Bags, o.Log = []*source.Recording{b}, zap.NewNop()
			if _, err := testPlan(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
			if reads > 4 {
				t.Errorf("%d reads of a bag of %d chunks", reads, b.Source().NumSpans())
			}
		})
	}
}

// If more than maxProbed chunks lie partly in the window, their connections count as present.
func TestWindowThatCutsManyChunks(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{maxProbed, maxProbed + 1} {
		var messages []TestMessage
		for i := range cut { // a chunk each: the second message fills it
			at := time.Duration(i)
			messages = append(messages, TestMessage{connA, at, "a"}, TestMessage{connB, time.Second + at, strings.Repeat("b", 4000)})
		}
		p, _ := makePlan(t, Options{Start: 500 * ms}, MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 4000}, messages...))
		if n := p.bags[0].source.NumSpans(); n != cut {
			t.Fatalf("%d chunks, want %d", n, cut)
		}
		want := []string{"/b"}
		if cut > maxProbed {
			want = []string{"/a", "/b"}
		}
		if d := cmp.Diff(want, topicNames(p)); d != "" {
			t.Errorf("%d chunks are cut (-want +got):\n%s", cut, d)
		}
	}
}
