package player

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

// stateBag has two latched publishers of one topic that speak in turn, a latched topic
// that comes late, and a plain one.
func stateBag(tb testing.TB, o bagfmt.WriterOptions) []byte {
	tb.Helper()
	l1 := testplay.Conn{Topic: "/tf", CallerID: "/n1", Latching: true}
	l2 := testplay.Conn{Topic: "/tf", CallerID: "/n2", Latching: true}
	late := testplay.Conn{Topic: "/map", CallerID: "/n3", Latching: true}
	return testplay.MakeBag(tb, o,
		testplay.Message{Conn: testplay.ConnA, At: 0, Text: "a0"}, testplay.Message{Conn: l1, At: 100 * ms, Text: "1a"}, testplay.Message{Conn: l2, At: 200 * ms, Text: "2a"}, testplay.Message{Conn: testplay.ConnA, At: 300 * ms, Text: "a3"},
		testplay.Message{Conn: l1, At: 400 * ms, Text: "1b"}, testplay.Message{Conn: late, At: 500 * ms, Text: "map"}, testplay.Message{Conn: l2, At: 600 * ms, Text: "2b"}, testplay.Message{Conn: testplay.ConnA, At: 700 * ms, Text: "a7"},
		testplay.Message{Conn: l1, At: 800 * ms, Text: "1c"}, testplay.Message{Conn: testplay.ConnA, At: 900 * ms, Text: "a9"})
}

// After each jump every latched publisher holds what it did at that moment in the
// recording, and says so before anything else is published.
func TestStateAfterJumps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o      Options
		orders ordersAt
		want   string
	}{
		"forth": {
			Options{},
			ordersAt{50 * ms: seek(650 * ms), 120 * ms: stop},
			"0s /a#1 a0; 50ms /tf#1 latched 1b; 50ms /map#1 latched map; 50ms /tf#2 latched 2b; 100ms /a#1 a7; 120ms drain",
		},
		"back, to before some of it": {
			Options{Paused: true},
			ordersAt{0: seek(900 * ms), 100 * ms: seek(250 * ms), 200 * ms: stop},
			"0s /map#1 latched map; 0s /tf#2 latched 2b; 0s /tf#1 latched 1c; " +
				"100ms /map#1 unlatched; 100ms /tf#1 latched 1a; 100ms /tf#2 latched 2a; 200ms drain",
		},
		"back to the beginning": {
			Options{Paused: true},
			ordersAt{0: seek(450 * ms), 100 * ms: seek(0), 200 * ms: stop},
			"0s /map#1 unlatched; 0s /tf#2 latched 2a; 0s /tf#1 latched 1b; " +
				"100ms /tf#1 unlatched; 100ms /tf#2 unlatched; 100ms /map#1 unlatched; 200ms drain",
		},
		"to a latched message: it comes in its turn": {
			Options{Paused: true},
			ordersAt{0: seek(400 * ms), 100 * ms: step, 200 * ms: stop},
			"0s /map#1 unlatched; 0s /tf#1 latched 1a; 0s /tf#2 latched 2a; 100ms /tf#1 latched 1b; 200ms drain",
		},
		"steps back": {
			Options{Paused: true},
			ordersAt{0: seek(450 * ms), 100 * ms: back, 200 * ms: back, 300 * ms: stop},
			"0s /map#1 unlatched; 0s /tf#2 latched 2a; 0s /tf#1 latched 1b; " +
				"100ms /map#1 unlatched; 100ms /tf#1 latched 1a; 100ms /tf#2 latched 2a; 100ms /tf#1 latched 1b; " +
				"200ms /map#1 unlatched; 200ms /tf#1 latched 1a; 200ms /tf#2 latched 2a; 200ms /a#1 a3; 300ms drain",
		},
		"loop: who has changed, and who had nothing to say yet": {
			Options{Loop: true},
			ordersAt{0: func(c control.Control) { _ = c.SetLoopRange(350*ms, 550*ms) }, 560 * ms: stop},
			"0s /a#1 a0; 100ms /tf#1 latched 1a; 200ms /tf#2 latched 2a; 300ms /a#1 a3; 400ms /tf#1 latched 1b; 500ms /map#1 latched map; " +
				"550ms /map#1 unlatched; 550ms /tf#1 latched 1a; 560ms drain",
		},
		"a topic that is off": {
			Options{},
			ordersAt{
				250 * ms: func(c control.Control) { _ = c.SetTopic("/tf", false) },
				450 * ms: func(c control.Control) { _ = c.SetTopic("/tf", true) },
				460 * ms: stop,
			},
			"0s /a#1 a0; 100ms /tf#1 latched 1a; 200ms /tf#2 latched 2a; 250ms /tf#1 unlatched; 250ms /tf#2 unlatched; 300ms /a#1 a3; " +
				"450ms /tf#1 latched 1b; 450ms /tf#2 latched 2a; 460ms drain",
		},
		"a seek while a topic is off": {
			Options{},
			ordersAt{
				50 * ms:  func(c control.Control) { _ = c.SetTopic("/tf", false) },
				60 * ms:  seek(450 * ms),
				80 * ms:  func(c control.Control) { _ = c.SetTopic("/tf", true) },
				100 * ms: stop,
			},
			"0s /a#1 a0; 50ms /tf#1 unlatched; 50ms /tf#2 unlatched; 60ms /map#1 unlatched; " +
				"80ms /tf#1 latched 1b; 80ms /tf#2 latched 2a; 100ms drain",
		},
		"start inside, back to the start": {
			Options{Start: 250 * ms},
			ordersAt{180 * ms: seek(0), 200 * ms: stop},
			"0s /tf#1 latched 1a; 0s /tf#2 latched 2a; 0s /a#1 a3; 100ms /tf#1 latched 1b; " +
				"180ms /map#1 unlatched; 180ms /tf#1 latched 1a; 180ms /tf#2 latched 2a; 180ms /a#1 a3; 200ms drain",
		},
	}
	for name, tc := range tests {
		for _, chunk := range []int{1, 0} {
			t.Run(fmt.Sprintf("%s/chunk=%d", name, chunk), func(t *testing.T) {
				t.Parallel()
				bag := stateBag(t, bagfmt.WriterOptions{ChunkBytes: chunk})
				synctest.Test(t, func(t *testing.T) {
					g := newFakeGraph()
					o := tc.o
					o.Bags = testplay.OpenBags(t, bag)
					steer(t, g, o, tc.orders)
					if d := cmp.Diff(tc.want, strings.Join(g.events, "; ")); d != "" {
						t.Errorf("(-want +got):\n%s", d)
					}
				})
			})
		}
	}
}

// The clock jumps at once to where play continues; a message is never
// from its future.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	bag := tenMessages(t, bagfmt.WriterOptions{})
	tests := map[string]struct {
		o      Options
		orders ordersAt
		want   string
	}{
		"seek back": {
			Options{Start: 500 * ms},
			ordersAt{150 * ms: seek(0), 170 * ms: stop},
			"0s clock 0s; 0s 5; 100ms clock 100ms; 100ms 6; 125ms clock 125ms; " +
				"150ms clock 0s; 150ms clock 0s; 150ms 5; 170ms drain",
		},
		"while paused it stands": {
			Options{Start: 500 * ms, Paused: true},
			ordersAt{150 * ms: seek(250 * ms), 260 * ms: stop},
			"0s clock 0s; 125ms clock 0s; 150ms clock 250ms; 150ms clock 250ms; 250ms clock 250ms; 260ms drain",
		},
		"loop": {
			Options{Start: 800 * ms, Loop: true},
			ordersAt{220 * ms: stop},
			"0s clock 0s; 0s 8; 100ms clock 100ms; 100ms 9; 125ms clock 125ms; 200ms clock 0s; 200ms 8; 220ms drain",
		},
		"loop that shifts": {
			Options{Start: 800 * ms, Loop: true, LoopShift: true},
			ordersAt{240 * ms: stop},
			"0s clock 0s; 0s 8; 100ms clock 100ms; 100ms 9; 125ms clock 125ms; 200ms clock 200ms; 200ms 8; 240ms drain",
		},
		"skipped": {
			Options{Start: 800 * ms, SkipEmpty: 50 * ms},
			nil,
			"0s clock 0s; 0s 8; 0s clock 100ms; 0s 9; 0s drain",
		},
		"only for other topics": {
			Options{Start: 700 * ms, ClockTopics: []string{"/b"}},
			nil,
			"0s clock 0s; 0s 7; 100ms 8; 125ms clock 125ms; 200ms 9; 200ms drain",
		},
		"for each message": {
			Options{Start: 700 * ms, ClockTopics: []string{"a"}, ClockPerMessage: true},
			nil,
			"0s clock 0s; 0s clock 0s; 0s 7; 100ms clock 100ms; 100ms 8; 125ms clock 125ms; 200ms clock 200ms; 200ms 9; 200ms drain",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				g.clockZero = testplay.Base.Add(tc.o.Start)
				o := tc.o
				o.Bags, o.Clock, o.Hz = testplay.OpenBags(t, bag), true, 8
				steer(t, g, o, tc.orders)
				if d := cmp.Diff(tc.want, strings.ReplaceAll(strings.Join(g.events, "; "), "/a#1 ", "")); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// Gaps that are too long are jumped over; the spacing after them stays.
func TestSkipEmpty(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "", 0, 100*ms, 5*time.Second, 5100*ms, 7*time.Second, 7100*ms)...)
	tests := map[string]struct {
		o      Options
		orders ordersAt
		want   string
	}{
		"one":    {Options{SkipEmpty: 2 * time.Second}, nil, "0s 0; 100ms 1; 100ms 2; 200ms 3; 2.1s 4; 2.2s 5; 2.2s drain"},
		"both":   {Options{SkipEmpty: time.Second, Rate: 2}, nil, "0s 0; 50ms 1; 50ms 2; 100ms 3; 100ms 4; 150ms 5; 150ms drain"},
		"paused": {Options{SkipEmpty: time.Second}, ordersAt{50 * ms: toggle, time.Second: toggle}, "0s 0; 1.05s 1; 1.05s 2; 1.15s 3; 1.15s 4; 1.25s 5; 1.25s drain"},
		"seek":   {Options{SkipEmpty: time.Second}, ordersAt{50 * ms: seek(time.Second)}, "0s 0; 50ms 2; 150ms 3; 150ms 4; 250ms 5; 250ms drain"},
		"loop": {
			Options{SkipEmpty: time.Second, Start: 5 * time.Second, Loop: true},
			ordersAt{150 * ms: stop, 50 * ms: func(c control.Control) { _ = c.SetLoopRange(0, 1900*ms) }},
			"0s 2; 100ms 3; 100ms 2; 150ms drain",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				o := tc.o
				o.Bags = testplay.OpenBags(t, bag)
				steer(t, g, o, tc.orders)
				if d := cmp.Diff(tc.want, strings.ReplaceAll(strings.Join(g.events, "; "), "/a#1 ", "")); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}
