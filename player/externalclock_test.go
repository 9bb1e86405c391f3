package player

import (
	gocmp "cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/follow"
	"github.com/gorosbag/gorosbag/player/internal/source"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// playClock plays by an external clock.
func playClock(t *testing.T, g *fakeGraph, clock *follow.Clock, o Options) {
	t.Helper()
	o.Stamps, o.Rate, o.Hz, o.Log = StampsClock, gocmp.Or(o.Rate, 1), 100, zap.NewNop()
	if _, err := play(t.Context(), &o, g, clock.TimeBase(func() {})); err != nil {
		t.Fatal(err)
	}
}

// TestStampsClock has play follow a simulator. Times are those of the wall clock; stamps are told relative
// to the clock of the simulator.
func TestStampsClock(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o      Options
		set    func(wall time.Duration) time.Duration // the clock at a wall time, every 10 ms
		orders ordersAt
		want   string
	}{
		"begins with the clock": {
			Options{},
			func(wall time.Duration) time.Duration {
				if wall < time.Second {
					return 0
				}
				return wall
			},
			ordersAt{1250 * ms: stop},
			"1s /s -30ms; 1.1s /s -30ms; 1.2s /s -30ms",
		},
		"at its rate": {
			Options{},
			func(wall time.Duration) time.Duration { return 500*time.Second + wall/2 },
			ordersAt{450 * ms: stop},
			"0s /s -30ms; 200ms /s -30ms; 400ms /s -30ms",
		},
		"at a multiple of its rate": {
			Options{Rate: 2},
			func(wall time.Duration) time.Duration { return 500*time.Second + wall/2 },
			ordersAt{250 * ms: stop},
			"0s /s -15ms; 100ms /s -15ms; 200ms /s -15ms",
		},
		"in its steps": {
			Options{},
			func(wall time.Duration) time.Duration { return 500*time.Second + wall.Truncate(150*ms) },
			ordersAt{500 * ms: stop},
			"0s /s -30ms; 150ms /s -80ms; 300ms /s -130ms; 300ms /s -30ms; 450ms /s -80ms",
		},
		"in long steps": {
			Options{},
			func(wall time.Duration) time.Duration { return 500*time.Second + wall.Truncate(800*ms) },
			ordersAt{1200 * ms: stop},
			"0s /s -30ms; 800ms /s -730ms; 800ms /s -630ms; 800ms /s -530ms; 800ms /s -430ms; 800ms /s -330ms; 800ms /s -230ms; 800ms /s -130ms; 800ms /s -30ms",
		},
		"stands still with it, but for steps": {
			Options{},
			func(wall time.Duration) time.Duration {
				if wall > 250*ms {
					return 500*time.Second + max(250*ms, wall-time.Minute+250*ms)
				}
				return 500*time.Second + wall
			},
			ordersAt{10 * time.Second: toggle, 11 * time.Second: step, 12 * time.Second: toggle, time.Minute + 160*ms: stop},
			"0s /s -30ms; 100ms /s -30ms; 200ms /s -30ms; 11s /s -30ms; 1m0.1s /s -30ms",
		},
		"goes on where it is when the clock is set": {
			Options{},
			func(wall time.Duration) time.Duration {
				if wall > 250*ms {
					return wall - 200*ms
				}
				return 500*time.Second + wall
			},
			ordersAt{450 * ms: stop},
			"0s /s -30ms; 100ms /s -30ms; 200ms /s -30ms; 310ms /s -30ms; 410ms /s -30ms",
		},
		"seek": {
			Options{},
			func(wall time.Duration) time.Duration { return 500*time.Second + wall },
			ordersAt{150 * ms: seek(690 * ms), 170 * ms: seek(100 * ms), 180 * ms: stop},
			"0s /s -30ms; 100ms /s -30ms; 160ms /s -30ms; 170ms /s -30ms",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := stampedBag(t, sensors(30*ms)...)
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				clock := follow.NewClock(zap.NewNop())
				said := time.Duration(0)
				events := heard(t, g, func() rosbag.Time { return rosbag.Time{}.Add(said) })
				done := make(chan struct{})
				tc.o.OnStart = func(c control.Control) {
					go func() {
						defer close(done)
						for wall := time.Duration(0); c.Status().Phase < control.PhaseDrain; wall += 10 * ms {
							said = tc.set(wall)
							clock.Frames(clockFrame(said), 1, time.Time{})
							synctest.Wait()
							if order := tc.orders[wall]; order != nil {
								order(c)
								synctest.Wait()
							}
							<-time.After(10 * ms)
						}
					}()
				}
				tc.o.Bags = testplay.OpenBags(t, bag)
				playClock(t, g, clock, tc.o)
				<-done
				if d := cmp.Diff(strings.Split(tc.want, "; "), *events); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// clockFrame is a message of the clock.
func clockFrame(d time.Duration) []byte { return testplay.Framed(clockData(rosbag.Time{}.Add(d))) }

// Who looks is told that play waits for the clock.
func TestWaitingForTheClock(t *testing.T) {
	t.Parallel()
	bag := stampedBag(t, sensors(0)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.frames = func(string, []byte) {}
		core, logs := observer.New(zap.InfoLevel)
		clock := follow.NewClock(zap.New(core))
		var got []string
		done := make(chan struct{})
		o := Options{Bags: testplay.OpenBags(t, bag), OnStart: func(c control.Control) {
			go func() {
				defer close(done)
				look := func(after time.Duration) {
					<-time.After(after)
					got = append(got, fmt.Sprint(c.Stats().WaitingFor))
				}
				look(10 * time.Second)
				clock.Frames(clockFrame(time.Second), 1, time.Time{})
				look(500 * ms)
				look(500 * ms)
				c.Pause()
				look(time.Second)
				c.Resume()
				clock.Frames(append(clockFrame(time.Second+1), clockFrame(0)...), 2, time.Time{})
				look(0)
				clock.Frames(append([]byte{3, 0, 0, 0, 1, 2, 3}, clockFrame(time.Hour)...), 2, time.Time{})
				look(1)
				c.Stop()
			}()
		}}
		playClock(t, g, clock, o)
		<-done
		if d := cmp.Diff([]string{"[/clock]", "[]", "[/clock]", "[]", "[]", "[]"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if waits, jumps := logs.FilterMessageSnippet("still waiting for the clock").Len(), logs.FilterMessageSnippet("has jumped").Len(); waits != 3 || jumps != 1 {
			t.Errorf("logged %d times that play waits, %d times that the clock has jumped", waits, jumps)
		}
	})
}

// Play that waits for a clock can be interrupted.
func TestInterruptedWaitForTheClock(t *testing.T) {
	t.Parallel()
	bag := stampedBag(t, sensors(0)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.frames = func(topic string, _ []byte) { t.Error("published on", topic) }
		o := Options{Bags: testplay.OpenBags(t, bag), OnStart: func(c control.Control) { time.AfterFunc(time.Minute, c.Stop) }}
		playClock(t, g, follow.NewClock(zap.NewNop()), o)
		if got := time.Since(g.start); got != time.Minute {
			t.Errorf("ended after %v", got)
		}
	})
}

func TestStampsOptions(t *testing.T) {
	t.Parallel()
	node := new(tcpros.Node)
	for want, o := range map[string]Options{
		"":                         {Stamps: StampsNow, Clock: true, Immediate: true},
		"is none of the constants": {Stamps: 3},
		"neither Clock":            {Stamps: StampsClock, Clock: true},
		"nor Immediate":            {Stamps: StampsClock, Immediate: true},
	} {
		o.Node, o.Bags, o.LoopShift = node, []*source.Recording{nil}, true
		o, err := o.withDefaults()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		if err == nil && o.LoopShift {
			t.Error("stamps of now are shifted")
		}
	}
	bag := stampedBag(t, stampedMessage{"/clock", 0, clockData(testplay.Base)}, sensor("/s", 1, 0))
	g := newFakeGraph()
	for want, o := range map[string]Options{
		"the bags have that topic, too (/clock): exclude it": {},
		"ended": {Exclude: []string{"/clock"}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		o.Bags, o.Stamps, o.Rate, o.Log = testplay.OpenBags(t, bag), StampsClock, 1, zap.NewNop()
		o.OnStart = func(control.Control) { cancel(nil) }
		s, err := play(ctx, &o, g, follow.NewClock(o.Log).TimeBase(func() {}))
		text := "ended"
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, want) || err == nil && !s.Interrupted {
			t.Errorf("%s, want %s", text, want)
		}
		cancel(nil)
	}
}
