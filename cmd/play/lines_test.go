package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/player/control"
)

// changing is a play that is changed from outside.
type changing struct {
	control.Control
	mu      sync.Mutex
	stats   control.Stats
	changed chan struct{}
}

func (c *changing) change(change func(*control.Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *changing) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *changing) Stats() control.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

func (c *changing) Status() control.Status { return c.Stats().Status }

// lines runs test beside an eventLog and returns its lines.
func lines(t *testing.T, screen bool, test func(*changing)) string {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	synctest.Test(t, func(t *testing.T) {
		c := &changing{changed: make(chan struct{})}
		c.stats.Phase, c.stats.Rate, c.stats.Length = control.PhasePlay, 1, time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			newEventLog(c, loglimit.Logger(zap.New(core)), screen, "rosservice call /play/play").run(ctx)
		}()
		synctest.Wait()
		test(c)
		synctest.Wait()
		cancel()
		<-done
	})
	var b strings.Builder
	for _, l := range logs.All() {
		fmt.Fprintln(&b, l.Message, l.ContextMap())
	}
	return b.String()
}

// steps changes play in all that is worth a line.
func steps(c *changing) {
	for _, change := range []func(*control.Stats){
		func(s *control.Stats) { s.Paused, s.Position = true, 2*time.Second },
		func(s *control.Stats) { s.Paused = false },
		func(s *control.Stats) { s.Paused, s.PausedBy = true, "/imu" },
		func(s *control.Stats) { s.Paused = false },
		func(s *control.Stats) { s.Rate = 2 },
		func(s *control.Stats) { s.Seeks, s.Position = 1, 7*time.Second },
		func(s *control.Stats) { s.Loop, s.LoopFrom, s.LoopTo = true, time.Second, 9*time.Second },
		func(s *control.Stats) { s.Pass, s.Position = 1, time.Second },
		func(s *control.Stats) { s.PauseOnTopics = true },
		func(s *control.Stats) { s.Delayed = time.Second },
		func(s *control.Stats) { s.Delayed = 0 },
		func(s *control.Stats) { s.Bookmarks = []time.Duration{3 * time.Second} },
		func(s *control.Stats) { s.Bookmarks = []time.Duration{3 * time.Second, 4 * time.Second} },
	} {
		c.change(change)
		<-time.After(2 * changeDelay)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const want = `paused map[position:2s]
going on map[position:2s]
paused map[before topic:/imu position:2s]
going on map[position:2s]
rate changed map[rate:2]
moved map[position:7s]
loop changed map[from:1s on:true to:9s]
playing again map[pass:2]
pausing on topics changed map[on:true]
delayed by rate control map[on:true position:1s]
delayed by rate control map[on:false position:1s]
`
	const bookmarks = "bookmark map[position:3s]\nbookmark map[position:4s]\n"
	if d := cmp.Diff(want+bookmarks, lines(t, false, steps)); d != "" {
		t.Errorf("without a screen (-want +got):\n%s", d)
	}
	if d := cmp.Diff(bookmarks, lines(t, true, steps)); d != "" {
		t.Errorf("with a screen (-want +got):\n%s", d)
	}
}

// TestBeginsPaused: play that begins paused says so once, and how to continue.
func TestBeginsPaused(t *testing.T) {
	t.Parallel()
	begin := func(c *changing) {
		for _, change := range []func(*control.Stats){
			func(s *control.Stats) { s.Phase, s.Paused = control.PhaseDelay, true },
			func(s *control.Stats) { s.Phase = control.PhasePlay },
			func(s *control.Stats) { s.Paused = false },
			func(s *control.Stats) { s.Paused = true },
		} {
			c.change(change)
			<-time.After(2 * changeDelay)
		}
	}
	const want = `paused map[position:0s]
begins paused map[continue with:rosservice call /play/play position:0s]
going on map[position:0s]
paused map[position:0s]
`
	if d := cmp.Diff(want, lines(t, false, begin)); d != "" {
		t.Errorf("without a screen (-want +got):\n%s", d)
	}
	if d := cmp.Diff("", lines(t, true, begin)); d != "" {
		t.Errorf("with a screen (-want +got):\n%s", d)
	}
}

// Progress is logged every ten seconds if there is some, and a key that is held down
// does not flood the log.
func TestProgressLines(t *testing.T) {
	t.Parallel()
	got := lines(t, false, func(c *changing) {
		<-time.After(time.Second / 2)
		for range 11 {
			<-time.After(time.Second)
			c.mu.Lock()
			c.stats.Position += time.Second
			c.mu.Unlock()
		}
		<-time.After(time.Minute) // nothing moves
		c.mu.Lock()
		c.stats.Position += time.Second
		c.stats.Topics = []control.TopicStats{{Name: "/a", Dropped: 7}, {Name: "/b", Dropped: 5}}
		c.stats.WaitingFor = []string{"/viz"}
		c.mu.Unlock()
		<-time.After(progressEvery)
	})
	want := `[RUNNING]  Bag Time: 0.000000   Duration: 9.000000 / 60.000000 map[achieved:0 rate:1]
[RUNNING]  Bag Time: 0.000000   Duration: 11.000000 / 60.000000 map[achieved:0 rate:1]
[RUNNING]  Bag Time: 0.000000   Duration: 12.000000 / 60.000000 map[achieved:0 dropped:12 rate:1 waiting for:[/viz]]
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got = lines(t, false, func(c *changing) {
		for range 60 { // two seconds of a repeated key
			c.change(func(s *control.Stats) { s.Seeks++ })
			<-time.After(time.Second / 30)
		}
		<-time.After(time.Second)
	})
	if n := strings.Count(got, "moved"); n < 5 || n > 12 {
		t.Errorf("%d lines of 60 moves:\n%s", n, got)
	}
}

// A node that pauses and goes on for an hour, as fast as it can, writes some lines and then one
// every ten seconds of each kind, which say how many are left out. Progress is logged as ever.
func TestLinesOnRequest(t *testing.T) {
	t.Parallel()
	got := lines(t, false, func(c *changing) {
		for range 5 * 3600 {
			c.change(func(s *control.Stats) { s.Paused, s.Position = !s.Paused, s.Position+time.Millisecond })
			<-time.After(changeDelay)
		}
	})
	for kind, want := range map[string][2]int{"paused map": {370, 390}, "going on map": {370, 390}, "] ": {355, 361}} {
		if n := strings.Count(got, kind); n < want[0] || n > want[1] {
			t.Errorf("%d lines %q, want %d to %d", n, kind, want[0], want[1])
		}
	}
	if !strings.Contains(got, "suppressed:") {
		t.Errorf("what is left out is not counted:\n%.4000s", got)
	}
}

// Changes are logged a moment after they come. Those from just before the end are not logged
// after it, as if play went on; bookmarks are.
func TestLinesAfterTheEnd(t *testing.T) {
	t.Parallel()
	for phase, want := range map[control.Phase]string{
		control.PhaseKeepAlive: "bookmark map[position:3s]\nplaying again map[pass:4]\n",
		control.PhaseDrain:     "bookmark map[position:3s]\n",
		control.PhaseDone:      "bookmark map[position:3s]\n",
	} {
		got := lines(t, false, func(c *changing) {
			c.change(func(s *control.Stats) { s.Pass, s.Bookmarks = 3, []time.Duration{3 * time.Second} })
			<-time.After(changeDelay / 2)
			c.change(func(s *control.Stats) { s.Phase = phase })
			<-time.After(2 * changeDelay)
		})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("phase %d (-want +got):\n%s", phase, d)
		}
	}
}
