package player

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/transport"
)

func TestClock(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schedule transport.Schedule
		late     time.Duration
		stays    bool // Options.KeepAlive
		pos      []time.Duration
		orders   func(c control.Control) map[time.Duration]func()
		until    time.Duration
		want     []string
	}{
		"by the wall, whatever the rate": {
			schedule: transport.Schedule{Rate: 2},
			pos:      []time.Duration{0, 60 * ms, 250 * ms},
			until:    130 * ms,
			want: []string{
				"0s clock 0s", "0s message 0", "30ms clock 60ms", "30ms message 1", "50ms clock 100ms", "100ms clock 200ms",
				"125ms clock 250ms", "125ms message 2",
			},
		},
		"ends with the last message": {
			schedule: transport.Schedule{Rate: 0.5},
			pos:      []time.Duration{0, 10 * ms},
			until:    110 * ms,
			want:     []string{"0s clock 0s", "0s message 0", "20ms clock 10ms", "20ms message 1", "50ms clock 10ms", "100ms clock 10ms"},
		},
		"goes on after the last message of a player that stays": {
			stays: true,
			pos:   []time.Duration{0, 10 * ms},
			until: 110 * ms,
			want:  []string{"0s clock 0s", "0s message 0", "10ms clock 10ms", "10ms message 1", "50ms clock 50ms", "100ms clock 100ms"},
		},
		"stands while paused": {
			pos: []time.Duration{0, 60 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){20 * ms: func() { c.Pause() }, 120 * ms: func() { c.Resume() }}
			},
			until: 170 * ms,
			want: []string{
				"0s clock 0s", "0s message 0", "50ms clock 20ms", "100ms clock 20ms", "150ms clock 50ms", "160ms clock 60ms", "160ms message 1",
			},
		},
		"does not overtake a message that is late, and does not starve": {
			late:  80 * ms,
			pos:   []time.Duration{0, 10 * ms, 20 * ms},
			until: 110 * ms,
			want: []string{
				"0s clock 0s", "0s message 0", "50ms clock 10ms", "90ms message 1", "90ms clock 20ms", "90ms message 2",
				"100ms clock 20ms",
			},
		},
		"stamps each step": {
			schedule: transport.Schedule{Paused: true},
			pos:      []time.Duration{0, 100 * ms, 200 * ms},
			orders: func(c control.Control) map[time.Duration]func() {
				return map[time.Duration]func(){10 * ms: func() { c.Step() }, 20 * ms: func() { c.Step() }, 30 * ms: func() { c.Step() }}
			},
			until: 40 * ms,
			want: []string{
				"0s clock 0s", "10ms clock 0s", "10ms message 0", "20ms clock 100ms", "20ms message 1", "30ms clock 200ms", "30ms message 2",
			},
		},
		"stamps each message of immediate play": {
			schedule: transport.Schedule{Immediate: true},
			pos:      []time.Duration{0, time.Hour},
			until:    60 * ms,
			want:     []string{"0s clock 0s", "0s clock 0s", "0s message 0", "0s clock 1h0m0s", "0s message 1", "50ms clock 1h0m0s"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newRig(tc.schedule, tc.late).withClock(1)
				g.load(t.Context(), tc.pos...)
				ctx, cancel := context.WithTimeout(t.Context(), tc.until)
				defer cancel()
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					pacing.Repeat(ctx, 50*ms, g.control.tick)
				}()
				var orders map[time.Duration]func()
				if tc.orders != nil {
					orders = tc.orders(g.control)
				}
				play := t.Context()
				if g.control.keepAlive = tc.stays; tc.stays {
					play = ctx
				}
				g.run(play, orders)
				<-ended
				if d := cmp.Diff(tc.want, g.events); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// While play waits for the disk the clock is still published, but stands: messages that are not
// known yet may be anywhere after the last one.
func TestClockWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{}, 0).withClock(1)
		ctx, cancel := context.WithTimeout(t.Context(), 160*ms)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			pacing.Repeat(ctx, 50*ms, g.control.tick)
		}()
		paced := make(chan struct{})
		go func() {
			defer close(paced)
			g.control.pace(t.Context())
		}()
		g.load(t.Context(), 0, 10*ms)
		<-time.After(120 * ms)
		g.load(t.Context(), 125*ms)
		g.queue.Close(0)
		<-paced
		<-done
		want := []string{
			"0s clock 0s", "0s message 0", "10ms clock 10ms", "10ms message 1", "50ms clock 10ms", "100ms clock 10ms",
			"125ms clock 125ms", "125ms message 0", "150ms clock 125ms",
		}
		if d := cmp.Diff(want, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if n := g.queue.StarvedCount(); n != 1 && n != 2 {
			t.Errorf("starved %d times", n)
		}
	})
}

// After a long wait for the disk there is no burst: play continues from there.
func TestNoBurstAfterTheDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{}, 0)
		var told []time.Duration
		g.queue.OnSlow = func(d time.Duration) { told = append(told, d) }
		paced := make(chan struct{})
		go func() {
			defer close(paced)
			g.control.pace(t.Context())
		}()
		g.load(t.Context(), 0, 10*ms)
		<-time.After(60 * ms)
		g.load(t.Context(), 20*ms, 70*ms) // this is made up for
		<-time.After(4940 * ms)
		if got := g.control.Status().Starving; got != 4930*ms {
			t.Errorf("waits for the disk for %v", got)
		}
		g.queue.Push(t.Context(), readahead.Item{Frame: []byte("memory")}) // it does not end the wait
		synctest.Wait()
		g.load(t.Context(), 80*ms, 90*ms, 100*ms)
		g.queue.Close(0)
		<-paced
		if n := g.queue.StarvedCount(); n != 2 {
			t.Errorf("starved %d times", n)
		}
		want := []string{
			"0s message 0", "10ms message 1", "60ms message 0", "70ms message 1",
			"5s message 0", "5.01s message 1", "5.02s message 2",
		}
		if d := cmp.Diff(want, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if d := cmp.Diff([]time.Duration{3 * time.Second}, told); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
		if got := g.control.Status().Starving; got != 0 {
			t.Errorf("waits for the disk for %v at the end", got)
		}
	})
}

// A rate that does not divide evenly must not put a stamp a nanosecond too low.
func TestClockIsNotBehindItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{Rate: 1.0 / 3}, 0).withClock(1)
		g.load(t.Context(), 0, 1, 10, 100_000_001)
		g.run(t.Context(), nil)
		want := []string{
			"0s clock 0s", "0s message 0", "3ns clock 1ns", "3ns message 1", "30ns clock 10ns", "30ns message 2",
			"300.000003ms clock 100.000001ms", "300.000003ms message 3",
		}
		if d := cmp.Diff(want, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// Without subscribers of the clock a message costs no clock message.
func TestClockThatNobodyHears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newRig(transport.Schedule{}, 0).withClock(0)
		g.load(t.Context(), 0, 10*ms)
		g.run(t.Context(), nil)
		if d := cmp.Diff([]string{"0s clock 0s", "0s message 0", "10ms message 1"}, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// TestTopicsThatPlayPublishes: recorded topics that play itself publishes are left out and named once, unless
// they are asked for, or get another name. Otherwise two clocks would mix.
func TestTopicsThatPlayPublishes(t *testing.T) {
	t.Parallel()
	clock := testplay.Conn{Topic: "/clock", Type: stdmsg.ClockType, MD5Sum: stdmsg.ClockMD5}
	status := testplay.Conn{Topic: "status"}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(
		testplay.Series(testplay.ConnA, "a", 0, 10*ms), testplay.Series(clock, "recorded", 1*ms, 5*ms), testplay.Series(status, "old", 2*ms))...)
	for name, tc := range map[string]struct {
		o      Options
		played string // the topics of the bag
		said   string
	}{
		"without a clock":        {Options{}, "/a /clock /status", ""},
		"clock":                  {Options{Clock: true}, "/a /status", "[/clock]"},
		"clock and status":       {Options{Clock: true, Own: []string{"status"}}, "/a", "[/clock /status]"},
		"asked for by topic":     {Options{Clock: true, Topics: []string{"/a", "clock"}}, "/a /clock", ""},
		"asked for by type":      {Options{Clock: true, Types: []string{stdmsg.ClockType}}, "/clock", ""},
		"others are asked for":   {Options{Clock: true, Topics: []string{"/a"}}, "/a", ""},
		"excluded":               {Options{Clock: true, Exclude: []string{"/clock"}}, "/a /status", ""},
		"under another name":     {Options{Clock: true, Rename: []string{"/clock=/sim"}}, "/a /sim /status", ""},
		"another gets this name": {Options{Clock: true, Rename: []string{"/a=/clock"}, Exclude: []string{"/clock"}}, "/status", "[/clock]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				core, logs := observer.New(zap.InfoLevel)
				g := newFakeGraph()
				played := map[string]bool{}
				g.frames = func(topic string, frame []byte) {
					if topic != "/clock" || len(frame) != stdmsg.FramePrefix+stdmsg.ClockBytes {
						played[topic] = true
					}
				}
				o := tc.o
				o.Log, o.Bags = zap.New(core), testplay.OpenBags(t, bag, bag)
				if _, err := playFake(t.Context(), g, o); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(slices.Sorted(maps.Keys(played)), " "); got != tc.played {
					t.Errorf("played are %s, want %s", got, tc.played)
				}
				said := ""
				for _, e := range logs.FilterMessageSnippet("left out").All() {
					said += fmt.Sprint(e.ContextMap()["topics"])
				}
				if said != tc.said {
					t.Errorf("said to be left out: %q, want %q", said, tc.said)
				}
			})
		})
	}
}

// The clock must not be published on a topic that has another type.
func TestClockTopicOfAnotherType(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.Conn{Topic: "/clock"}, "x", 0)...)
	g := newFakeGraph()
	_, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), Clock: true, Topics: []string{"clock"}})
	if !errors.Is(err, control.ErrOption) || !strings.Contains(err.Error(), "topic /clock of the bags: its type is std_msgs/String") {
		t.Errorf("got %v", err)
	}
	if len(g.offers) != 0 {
		t.Errorf("advertised %v", g.offers)
	}
}
