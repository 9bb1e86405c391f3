package player

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// steer plays in a bubble, with orders given at their times, and returns what happened.
func steer(t *testing.T, g *fakeGraph, o Options, orders ordersAt) control.Summary {
	t.Helper()
	return steerOn(t, g, g, o, orders)
}

// steerOn is steer on a graph that is made of g.
func steerOn(t *testing.T, on stage.Graph, g *fakeGraph, o Options, orders ordersAt) control.Summary {
	t.Helper()
	given := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.OnStart = func(c control.Control) {
		go func() {
			defer close(given)
			for _, at := range slices.Sorted(maps.Keys(orders)) {
				select {
				case <-time.After(at - time.Since(g.start)):
				case <-ctx.Done():
					return
				}
				orders[at](c)
			}
		}()
	}
	s, err := playFake(ctx, on, o)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-given
	return s
}

// ordersAt builds the orders of a test from "when verb" pairs.
type ordersAt = map[time.Duration]func(control.Control)

func toggle(c control.Control) { c.Toggle() }
func step(c control.Control)   { c.Step() }
func back(c control.Control)   { c.StepBack() }

// noBack tries to step back where no message is before.
func noBack(t *testing.T) func(control.Control) {
	return func(c control.Control) {
		if c.StepBack() {
			t.Error("a step back succeeds at the beginning")
		}
	}
}
func stop(c control.Control) { c.Stop() }

func seek(to time.Duration) func(control.Control) { return func(c control.Control) { c.Seek(to) } }

// tenMessages is a bag of messages 0 to 9, one in 100 ms, on /a.
func tenMessages(tb testing.TB, o bagfmt.WriterOptions) []byte {
	tb.Helper()
	var at []time.Duration
	for i := range 10 {
		at = append(at, time.Duration(i)*100*ms)
	}
	return testplay.MakeBag(tb, o, testplay.Series(testplay.ConnA, "", at...)...)
}

func TestSteer(t *testing.T) {
	t.Parallel()
	a := []string{"/a"}
	tests := map[string]struct {
		o      Options
		orders ordersAt
		want   string // without "/a#1"
	}{
		"seek forth": {
			Options{},
			ordersAt{250 * ms: seek(700 * ms)},
			"0s 0; 100ms 1; 200ms 2; 250ms 7; 350ms 8; 450ms 9; 450ms drain",
		},
		"seek back": {
			Options{},
			ordersAt{850 * ms: seek(650 * ms)},
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 400ms 4; 500ms 5; 600ms 6; 700ms 7; 800ms 8; 900ms 7; 1s 8; 1.1s 9; 1.1s drain",
		},
		"seek beyond the ends": {
			Options{},
			ordersAt{150 * ms: seek(-time.Second), 280 * ms: seek(time.Hour)},
			"0s 0; 100ms 1; 150ms 0; 250ms 1; 280ms 9; 280ms drain",
		},
		"seek while paused": {
			Options{Paused: true},
			ordersAt{100 * ms: seek(450 * ms), 200 * ms: step, 300 * ms: seek(200 * ms), 400 * ms: step, 500 * ms: toggle, 650 * ms: stop},
			"200ms 5; 400ms 2; 600ms 3; 650ms drain",
		},
		"seek at another rate": {
			Options{Rate: 2},
			ordersAt{125 * ms: seek(700 * ms)},
			"0s 0; 50ms 1; 100ms 2; 125ms 7; 175ms 8; 225ms 9; 225ms drain",
		},
		"seek in the delay": {
			Options{Delay: time.Second},
			ordersAt{500 * ms: seek(800 * ms)},
			"1s 8; 1.1s 9; 1.1s drain",
		},
		"many seeks at once": {
			Options{},
			ordersAt{150 * ms: func(c control.Control) {
				for i := range 50 {
					c.Seek(time.Duration(i) * 17 * ms)
				}
				c.Seek(850 * ms)
			}},
			"0s 0; 100ms 1; 200ms 9; 200ms drain",
		},
		"immediate play honors pause and seek": {
			Options{Immediate: true, Paused: true},
			ordersAt{100 * ms: seek(500 * ms), 200 * ms: step, 300 * ms: seek(800 * ms), 400 * ms: toggle},
			"200ms 5; 400ms 8; 400ms 9; 400ms drain",
		},
		"rate without a jump": {
			Options{},
			ordersAt{
				150 * ms: func(c control.Control) { _ = c.SetRate(0.5) },
				400 * ms: func(c control.Control) { _ = c.SetRate(5) }, // at 275 ms
			},
			"0s 0; 100ms 1; 250ms 2; 405ms 3; 425ms 4; 445ms 5; 465ms 6; 485ms 7; 505ms 8; 525ms 9; 525ms drain",
		},
		"rate while paused": {
			Options{Paused: true},
			ordersAt{
				0: step, 100 * ms: func(c control.Control) { _ = c.SetRate(10) }, 200 * ms: toggle,
			},
			"0s 0; 210ms 1; 220ms 2; 230ms 3; 240ms 4; 250ms 5; 260ms 6; 270ms 7; 280ms 8; 290ms 9; 290ms drain",
		},
		"steps back and forth": {
			Options{},
			ordersAt{
				350 * ms: toggle, 400 * ms: back, 500 * ms: back, 600 * ms: step, 700 * ms: back, 800 * ms: step, 900 * ms: stop,
			},
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 400ms 2; 500ms 1; 600ms 2; 700ms 1; 800ms 2; 900ms drain",
		},
		"step back at the beginning": {
			Options{Paused: true},
			ordersAt{0: step, 100 * ms: noBack(t), 200 * ms: step, 300 * ms: back, 400 * ms: noBack(t), 500 * ms: seek(0), 600 * ms: noBack(t), 700 * ms: step, 800 * ms: stop},
			"0s 0; 200ms 1; 300ms 0; 700ms 0; 800ms drain",
		},
		"step back after a seek": {
			Options{Paused: true},
			ordersAt{0: seek(500 * ms), 100 * ms: back, 200 * ms: step, 300 * ms: stop},
			"100ms 4; 200ms 5; 300ms drain",
		},
		"two steps back at once": {
			Options{},
			ordersAt{450 * ms: func(c control.Control) {
				c.Pause()
				c.StepBack()
				c.StepBack()
			}, 600 * ms: stop},
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 400ms 4; 450ms 2; 600ms drain",
		},
		"step back and burst only while paused": {
			Options{},
			ordersAt{150 * ms: func(c control.Control) {
				if c.StepBack() || c.Burst(3) {
					t.Error("done while playing")
				}
			}, 250 * ms: stop},
			"0s 0; 100ms 1; 200ms 2; 250ms drain",
		},
		"burst": {
			Options{},
			ordersAt{150 * ms: toggle, 300 * ms: func(c control.Control) { c.Burst(4) }, 400 * ms: toggle},
			"0s 0; 100ms 1; 300ms 2; 300ms 3; 300ms 4; 300ms 5; 500ms 6; 600ms 7; 700ms 8; 800ms 9; 800ms drain",
		},
		"loop over a range": {
			Options{},
			ordersAt{
				150 * ms: func(c control.Control) {
					if err := c.SetLoopRange(250*ms, 450*ms); err != nil {
						t.Error(err)
					}
					c.SetLoop(true)
				},
				700 * ms: func(c control.Control) { c.SetLoop(false) },
			},
			// At 450 ms the first pass ends. The next one, 250 to 450 ms, and a third that goes on.
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 400ms 4; 500ms 3; 600ms 4; 700ms 3; 800ms 4; 900ms 5; 1s 6; 1.1s 7; 1.2s 8; 1.3s 9; 1.3s drain",
		},
		"an end that play has passed": {
			Options{},
			ordersAt{
				550 * ms: func(c control.Control) { _ = c.SetLoopRange(100*ms, 300*ms); c.SetLoop(true) },
				700 * ms: stop,
			},
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 400ms 4; 500ms 5; 550ms 1; 650ms 2; 700ms drain",
		},
		"seek after the loop": {
			Options{Loop: true},
			ordersAt{
				50 * ms:  func(c control.Control) { _ = c.SetLoopRange(100*ms, 200*ms) },
				150 * ms: seek(750 * ms),
				750 * ms: stop,
			},
			// To the end, then back into the loop.
			"0s 0; 100ms 1; 200ms 8; 300ms 9; 400ms 1; 500ms 2; 600ms 1; 700ms 2; 750ms drain",
		},
		"seek back from the end": {
			Options{KeepAlive: true, Start: 700 * ms},
			ordersAt{time.Second: seek(150 * ms), 2 * time.Second: stop},
			"0s 7; 100ms 8; 200ms 9; 1.05s 9; 2s drain",
		},
		"loop at the end": {
			Options{KeepAlive: true, Start: 800 * ms},
			ordersAt{time.Second: func(c control.Control) { c.SetLoop(true) }, 1250 * ms: stop},
			"0s 8; 100ms 9; 1s 8; 1.1s 9; 1.2s 8; 1.25s drain",
		},
		"stop": {
			Options{KeepAlive: true, Loop: true}, ordersAt{150 * ms: stop}, "0s 0; 100ms 1; 150ms drain",
		},
		"stop in the delay": {Options{Delay: time.Second}, ordersAt{150 * ms: stop}, "150ms drain"},
		"pause topics": {
			Options{PauseTopics: a, Start: 700 * ms},
			ordersAt{
				200 * ms: toggle, 500 * ms: func(c control.Control) {
					if by := c.Status().PausedBy; by != "/a" {
						t.Errorf("paused by %q", by)
					}
					c.PauseOnTopics(false)
				}, 600 * ms: toggle,
			},
			"200ms 7; 600ms 8; 700ms 9; 700ms drain",
		},
		"pause topics, by steps": {
			Options{PauseTopics: []string{"a"}, Immediate: true, Start: 700 * ms},
			ordersAt{
				100 * ms: step, 200 * ms: func(c control.Control) { c.Burst(2) },
			},
			"100ms 7; 200ms 8; 200ms 9; 200ms drain",
		},
		"pause topics of others": {
			Options{PauseTopics: []string{"/b"}, Start: 700 * ms}, nil, "0s 7; 100ms 8; 200ms 9; 200ms drain",
		},
		"topic off and on": {
			Options{Start: 500 * ms},
			ordersAt{
				50 * ms:  func(c control.Control) { _ = c.SetTopic("/a", false) },
				250 * ms: func(c control.Control) { _ = c.SetTopic("/a", true) },
			},
			"0s 5; 300ms 8; 400ms 9; 400ms drain",
		},
	}
	for name, tc := range tests {
		for _, chunk := range []int{1, 0} { // a chunk for each message, or one for all
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				bag := tenMessages(t, bagfmt.WriterOptions{ChunkBytes: chunk, Compression: rosbag.CompressionLZ4})
				synctest.Test(t, func(t *testing.T) {
					g := newFakeGraph()
					o := tc.o
					o.Bags = testplay.OpenBags(t, bag)
					s := steer(t, g, o, tc.orders)
					got := strings.ReplaceAll(strings.Join(g.events, "; "), "/a#1 ", "")
					if d := cmp.Diff(tc.want, got); d != "" || s.Interrupted {
						t.Errorf("interrupted %v, (-want +got):\n%s", s.Interrupted, d)
					}
				})
			})
		}
	}
}

// A bookmark beyond the bound is refused, and play goes on.
func TestTooManyBookmarks(t *testing.T) {
	t.Parallel()
	bag := tenMessages(t, bagfmt.WriterOptions{})
	synctest.Test(t, func(t *testing.T) {
		s := steer(t, newFakeGraph(), Options{Bags: testplay.OpenBags(t, bag)}, ordersAt{150 * ms: func(c control.Control) {
			for range 1000 {
				if at, err := c.Bookmark(); at != 150*ms || err != nil {
					t.Errorf("bookmark at %v: %v", at, err)
				}
			}
			changed := c.Changed()
			if _, err := c.Bookmark(); !errors.Is(err, control.ErrBookmarks) {
				t.Errorf("one bookmark too many: %v", err)
			}
			select {
			case <-changed:
				t.Error("a bookmark that is refused wakes who waits for changes")
			default:
			}
		}})
		if s.Messages != 10 {
			t.Errorf("%d messages", s.Messages)
		}
	})
}
