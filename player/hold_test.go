package player

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/tcpros"
)

// closedDoor is a topic without room for a while.
type closedDoor struct{ from, to time.Duration }

func (d closedDoor) on(g *fakeGraph) {
	start := g.start
	g.room = func(string) bool { return time.Since(start) < d.from || time.Since(start) >= d.to }
	time.AfterFunc(d.to, func() {
		for _, o := range g.offered() {
			o.Freed()
		}
	})
}

// Play waits for a subscriber without room, loses nothing, and can be steered meanwhile.
func TestOverflowBlock(t *testing.T) {
	t.Parallel()
	bag := tenMessages(t, bagfmt.WriterOptions{})
	tests := map[string]struct {
		o      Options
		door   closedDoor
		orders ordersAt
		want   string
	}{
		"a short wait is made up for": {
			Options{Start: 600 * ms},
			closedDoor{50 * ms, 150 * ms},
			nil,
			"0s 6; 150ms 7; 200ms 8; 300ms 9; 300ms drain",
		},
		"a long one moves the schedule": {
			Options{Start: 600 * ms},
			closedDoor{50 * ms, time.Second},
			nil,
			"0s 6; 1s 7; 1.1s 8; 1.2s 9; 1.2s drain",
		},
		"immediate": {
			Options{Start: 700 * ms, Immediate: true},
			closedDoor{0, time.Second},
			nil,
			"1s 7; 1s 8; 1s 9; 1s drain",
		},
		"pause": {
			Options{Start: 700 * ms},
			closedDoor{50 * ms, time.Second},
			ordersAt{500 * ms: toggle, 2 * time.Second: toggle},
			"0s 7; 2s 8; 2.1s 9; 2.1s drain",
		},
		"a step waits, too": {
			Options{Start: 700 * ms, Paused: true},
			closedDoor{0, time.Second},
			ordersAt{500 * ms: step, 2 * time.Second: stop},
			"1s 7; 2s drain",
		},
		"seek": {
			Options{},
			closedDoor{50 * ms, time.Second},
			ordersAt{500 * ms: seek(800 * ms)},
			"0s 0; 1s 8; 1.1s 9; 1.1s drain",
		},
		"stop": {
			Options{},
			closedDoor{50 * ms, time.Hour},
			ordersAt{500 * ms: func(c control.Control) {
				if d := cmp.Diff([]string{"/slow of /a"}, c.Stats().WaitingFor); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if p := c.Status().Position; p != 100*ms {
					t.Errorf("position %v while waiting", p)
				}
				c.Stop()
			}},
			"0s 0; 500ms drain",
		},
		"a topic that is off": {
			Options{Start: 700 * ms},
			closedDoor{50 * ms, time.Hour},
			ordersAt{500 * ms: func(c control.Control) { _ = c.SetTopic("/a", false) }},
			"0s 7; 600ms drain",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				tc.door.on(g)
				g.stats = func() []tcpros.SubscriberStats {
					return []tcpros.SubscriberStats{{CallerID: "/fast"}, {CallerID: "/slow", Full: !g.room("/a")}}
				}
				o := tc.o
				o.Bags, o.Overflow = testplay.OpenBags(t, bag), OverflowBlock
				steer(t, g, o, tc.orders)
				if d := cmp.Diff(tc.want, strings.ReplaceAll(strings.Join(g.events, "; "), "/a#1 ", "")); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// The log names who never reads, and not too often.
func TestHeldUpIsTold(t *testing.T) {
	t.Parallel()
	bag := tenMessages(t, bagfmt.WriterOptions{})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		closedDoor{50 * ms, time.Hour}.on(g)
		g.stats = func() []tcpros.SubscriberStats {
			return []tcpros.SubscriberStats{{CallerID: "/fast"}, {CallerID: "/slow", Full: true}}
		}
		core, logs := observer.New(zap.WarnLevel)
		steer(t, g, Options{Bags: testplay.OpenBags(t, bag), Overflow: OverflowBlock, Log: zap.New(core)}, ordersAt{30 * time.Second: stop})
		var told []string
		for _, e := range logs.All() {
			told = append(told, fmt.Sprint(e.Time.Sub(g.start), e.ContextMap()["subscribers"]))
		}
		want := []string{"3.1s [/slow of /a]", "13.1s [/slow of /a]", "23.1s [/slow of /a]"}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// Play waits while the subscriber of rate control is behind, and continues from there.
func TestRateControl(t *testing.T) {
	t.Parallel()
	bag := tenMessages(t, bagfmt.WriterOptions{})
	report := func(c *RateControl, pos time.Duration) func(control.Control) {
		return func(control.Control) { c.Report(testplay.Base.Add(pos)) }
	}
	tests := map[string]struct {
		o      Options
		orders func(c *RateControl) ordersAt
		want   string
	}{
		"nobody reports": {
			Options{Start: 500 * ms},
			func(*RateControl) ordersAt { return ordersAt{time.Second: stop} },
			"0s 5; 100ms 6; 200ms 7; 300ms 8; 1s drain", // 300 ms ahead of the start is too much
		},
		"behind, then not": {
			Options{},
			func(c *RateControl) ordersAt {
				return ordersAt{50 * ms: report(c, 0), time.Second: report(c, 50*ms), 2 * time.Second: report(c, 800*ms)}
			},
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 1.1s 4; 2.1s 5; 2.2s 6; 2.3s 7; 2.4s 8; 2.5s 9; 2.5s drain",
		},
		"seek": {
			Options{},
			func(*RateControl) ordersAt { return ordersAt{time.Second: seek(700 * ms), 2 * time.Second: stop} },
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 1s 7; 1.1s 8; 1.2s 9; 1.2s drain",
		},
		"steps do not wait": {
			Options{},
			func(*RateControl) ordersAt {
				return ordersAt{time.Second: func(c control.Control) {
					if d := c.Status().Delayed; d != 300*ms {
						t.Errorf("delayed by %v", d)
					}
					c.Pause()
				}, 1100 * ms: step, 1200 * ms: step, 1300 * ms: stop}
			},
			"0s 0; 100ms 1; 200ms 2; 300ms 3; 1.1s 4; 1.2s 5; 1.3s drain",
		},
		"immediate": {
			Options{Immediate: true, Start: 500 * ms},
			func(c *RateControl) ordersAt {
				return ordersAt{time.Second: report(c, 800*ms)}
			},
			"0s 5; 0s 6; 0s 7; 0s 8; 1s 9; 1s drain",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				c := NewRateControl(250 * ms)
				o := tc.o
				o.Bags, o.RateControl = testplay.OpenBags(t, bag), c
				steer(t, g, o, tc.orders(c))
				if d := cmp.Diff(tc.want, strings.ReplaceAll(strings.Join(g.events, "; "), "/a#1 ", "")); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

func TestDensity(t *testing.T) {
	t.Parallel()
	// One chunk for each message, and one more with ten from 0 to 900 ms.
	bags := [][]byte{tenMessages(t, bagfmt.WriterOptions{ChunkBytes: 1}), tenMessages(t, bagfmt.WriterOptions{})}
	tests := map[string]struct {
		o    Options
		n    int
		want []uint64
	}{
		"halves":  {Options{}, 2, []uint64{10, 10}},
		"one":     {Options{}, 1, []uint64{20}},
		"tenths":  {Options{}, 10, []uint64{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
		"none":    {Options{}, 0, nil},
		"a half":  {Options{Start: 450 * ms, Duration: 450 * ms}, 1, []uint64{9}}, // 500 to 900 ms: 5, and 10*4/9
		"a point": {Options{Start: 900 * ms}, 3, []uint64{1, 0, 0}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []uint64
				o := tc.o
				o.Bags, o.Immediate = testplay.OpenBags(t, bags...), true
				o.OnStart = func(c control.Control) { got = c.Density(tc.n) }
				if _, err := playFake(t.Context(), newFakeGraph(), o); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}
