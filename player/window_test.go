package player

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// A read that does not return must not keep Run from ending, in any part of play.
func TestStalledFile(t *testing.T) {
	t.Parallel()
	latched := testplay.Conn{Topic: "/l", Latching: true}
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: 1}, testplay.Concat(testplay.Series(latched, "l", 0), testplay.Series(testplay.ConnA, "a", 10, 20, 30))...)
	for name, o := range map[string]Options{
		"last stamp":        {},
		"state before":      {Start: 5},
		"window in a chunk": {Start: 10, Duration: 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, f := testplay.OpenFaulty(t, data)
				stuck := make(chan struct{})
				f.Fault = func(int64, int) error {
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

// What the read-ahead keeps in memory are chunks: of a rare topic few messages may
// be read ahead, whatever other chunks of the bag look like.
func TestReadAheadBoundsChunkMemory(t *testing.T) {
	t.Parallel()
	const chunk, bound = 64 << 10, 1 << 20
	tiny, camera := testplay.Conn{Topic: "/tiny"}, testplay.Conn{Topic: "/camera"}
	var messages []testplay.Message
	for i := range 1000 { // chunks of tiny messages only
		messages = append(messages, testplay.Message{Conn: tiny, At: time.Duration(i), Text: strings.Repeat("y", 100)})
	}
	for i := range 100 { // then one of them in each chunk
		at := time.Second + time.Duration(i)
		messages = append(messages, testplay.Message{Conn: tiny, At: at, Text: "t"}, testplay.Message{Conn: camera, At: at, Text: strings.Repeat("x", chunk)})
	}
	data := testplay.MakeBag(t, bagfmt.WriterOptions{ChunkBytes: chunk, Compression: bagfmt.CompressionLZ4}, messages...)
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
		return testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", at...)...)
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
			first, last, ok := source.Span(testplay.OpenBags(t, tc.bags...))
			if ok != tc.ok || ok && (first != testplay.Base.Add(tc.first) || last != testplay.Base.Add(tc.last)) {
				t.Errorf("got %v to %v, %v", first, last, ok)
			}
		})
	}
}
