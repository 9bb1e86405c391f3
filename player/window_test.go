package player

import (
	"context"
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
