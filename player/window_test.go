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
