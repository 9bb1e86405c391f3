package player

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

// audience is a viewer of a playback in a test.
type audience struct {
	t      *testing.T
	source *live.Source
	viewer *live.Viewer
	zero   rosbag.Time // of the bag
}

func newAudience(t *testing.T, v *Viewing) *audience {
	return &audience{t: t, source: v.Source(), zero: testplay.Base}
}

// attach attaches the viewer and subscribes it to topics.
func (a *audience) attach(topics ...string) {
	a.t.Helper()
	if a.viewer == nil {
		v, err := a.source.Store.Attach(a.source.Info().Clock)
		if err != nil {
			a.t.Error(err)
			return
		}
		a.viewer = v
		a.t.Cleanup(v.Close)
	}
	for _, c := range a.source.Store.Channels() {
		if slices.Contains(topics, c.Topic) {
			if err := a.viewer.Subscribe(c.ID); err != nil {
				a.t.Error(err)
			}
		}
	}
}

// sees checks what the viewer has been sent since the last call, without times.
func (a *audience) sees(want ...string) {
	a.t.Helper()
	topics := map[live.ChannelID]string{}
	for _, c := range a.source.Store.Channels() {
		topics[c.ID] = c.Topic
	}
	got := []string{}
	for f, ok := a.viewer.Take(); ok; f, ok = a.viewer.Take() {
		switch at := f.Time.Sub(a.zero); f.Kind {
		case live.Jump:
			got = append(got, fmt.Sprintf("jump to %v", at))
		case live.Message:
			got = append(got, fmt.Sprintf("%s %s at %v", topics[f.Channel], f.Payload[4:], at))
		case live.Clock:
		}
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("the viewer sees %q, want %q", got, want)
	}
}

// viewed plays the bag of states for a viewer, with orders as in steer.
func viewed(t *testing.T, o Options, orders func(a *audience) ordersAt) {
	t.Helper()
	t.Parallel()
	bag := stateBag(t, bagfmt.WriterOptions{})
	synctest.Test(t, func(t *testing.T) {
		o.Bags = testplay.OpenBags(t, bag)
		o.Viewing = NewViewing(ViewingOptions{Name: "goplay /play"})
		steer(t, newFakeGraph(), o, orders(newAudience(t, o.Viewing)))
	})
}

// TestViewerSees: a viewer that comes gets the latest message of each publisher, and then what is
// played, with the times in the bag.
func TestViewerSees(t *testing.T) {
	viewed(t, Options{}, func(a *audience) ordersAt {
		return ordersAt{
			350 * ms: func(control.Control) {
				a.attach("/a", "/tf")
				a.sees("/a a3 at 300ms", "/tf 1a at 100ms", "/tf 2a at 200ms")
			},
			650 * ms: func(control.Control) { a.sees("/tf 1b at 400ms", "/tf 2b at 600ms"); a.attach("/map") },
			660 * ms: func(control.Control) { a.sees("/map map at 500ms") },
			850 * ms: func(c control.Control) { a.sees("/a a7 at 700ms", "/tf 1c at 800ms"); c.Stop() },
		}
	})
}

// TestViewerAfterJumps: after a jump a viewer gets what is latched there and the last message of each
// other topic, also while play is paused.
func TestViewerAfterJumps(t *testing.T) {
	viewed(t, Options{Paused: true}, func(a *audience) ordersAt {
		return ordersAt{
			0:       func(control.Control) { a.attach("/a", "/tf", "/map") },
			10 * ms: seek(650 * ms),
			100 * ms: func(c control.Control) {
				a.sees("jump to 650ms", "/tf 1b at 400ms", "/map map at 500ms", "/tf 2b at 600ms", "/a a3 at 300ms")
				c.Step()
			},
			150 * ms: func(c control.Control) { a.sees("/a a7 at 700ms"); c.StepBack() },
			200 * ms: func(c control.Control) {
				a.sees("jump to 600ms", "/tf 2a at 200ms", "/tf 1b at 400ms", "/map map at 500ms", "/tf 2b at 600ms", "/a a3 at 300ms")
				c.SetTopic("/a", false)
				c.Seek(950 * ms)
			},
			300 * ms: func(c control.Control) {
				a.sees("jump to 900ms", "/map map at 500ms", "/tf 2b at 600ms", "/tf 1c at 800ms")
				c.Stop()
			},
		}
	})
}

// TestViewerOfLoop: each pass of a loop is a jump back.
func TestViewerOfLoop(t *testing.T) {
	viewed(t, Options{Loop: true}, func(a *audience) ordersAt {
		return ordersAt{
			850 * ms:  func(control.Control) { a.attach("/a") },
			1350 * ms: func(c control.Control) { a.sees("jump to 0s", "/a a0 at 0s", "/a a3 at 300ms"); c.Stop() },
		}
	})
}

// TestViewerOfLatchedInLoop: a viewer drops what it has when play jumps back, so it gets the latched
// messages of the beginning again, also those that subscribers have already.
func TestViewerOfLatchedInLoop(t *testing.T) {
	viewed(t, Options{Loop: true, Start: 550 * ms}, func(a *audience) ordersAt {
		return ordersAt{
			250 * ms: func(control.Control) { a.attach("/map") },
			260 * ms: func(control.Control) { a.sees("/map map at 500ms") },
			450 * ms: func(c control.Control) { a.sees("jump to 600ms", "/map map at 500ms"); c.Stop() },
		}
	})
}

// TestViewerOfStamps: a viewer sees the stamps of the bag, whatever messages are published with.
func TestViewerOfStamps(t *testing.T) {
	t.Parallel()
	bag := stampedBag(t, sensors(0)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		published := rosbag.Time{}
		g.frames = func(_ string, frame []byte) { published = stdmsg.StampAt(frame[stdmsg.FramePrefix:], 4) }
		o := Options{Bags: testplay.OpenBags(t, bag), Stamps: StampsNow, Paused: true, Viewing: NewViewing(ViewingOptions{})}
		a := newAudience(t, o.Viewing)
		steer(t, g, o, ordersAt{
			10 * ms: func(control.Control) { a.attach("/s") },
			20 * ms: func(c control.Control) { a.viewer.Take(); c.Burst(3) },
			50 * ms: func(c control.Control) {
				seen := 0
				for f, ok := a.viewer.Take(); ok; f, ok = a.viewer.Take() {
					if f.Kind == live.Message {
						seen++
					}
					if at := f.Time.Sub(a.zero); f.Kind == live.Message && stdmsg.StampAt(f.Payload, 4).Sub(a.zero) != at {
						t.Errorf("a message from %v has the stamp %v", at, stdmsg.StampAt(f.Payload, 4))
					}
				}
				if seen < 2 {
					t.Errorf("%d messages are seen", seen)
				}
				c.Stop()
			},
		})
		if published.Sec == 0 || published.Sub(testplay.Base) < time.Hour {
			t.Errorf("published with the stamp %v: it was not moved", published)
		}
	})
}

// TestViewerControls: what viewers ask for is done in the order seek, speed, play or pause, and they
// are told the state.
func TestViewerControls(t *testing.T) {
	viewed(t, Options{Paused: true, KeepAlive: true}, func(a *audience) ordersAt {
		p := a.source.Playback
		is := func(status live.PlaybackStatus, at time.Duration, speed float64) {
			t.Helper()
			if s := p.State(); s.Status != status || s.Time.Sub(a.zero) != at || s.Speed != speed {
				t.Errorf("state %+v, at %v; want %v at %v", s, s.Time.Sub(a.zero), status, at)
			}
		}
		var changed <-chan struct{}
		return ordersAt{
			10 * ms: func(control.Control) {
				if first, last := p.Range(); first != a.zero || last.Sub(a.zero) != 900*ms {
					t.Errorf("range %v to %v", first, last)
				}
				if i := a.source.Info(); !i.Clock || i.Session == "" || i.Name != "goplay /play" {
					t.Errorf("%+v", i)
				}
				is(live.Paused, 0, 1)
				changed = p.Changed()
				if !p.Do(live.PlaybackRequest{Play: true, Speed: 2, Seek: true, SeekTo: a.zero.Add(500 * ms)}) {
					t.Error("a seek is no jump")
				}
			},
			60 * ms: func(control.Control) { // 50 ms later at double speed
				<-changed
				is(live.Playing, 600*ms, 2)
				if p.Do(live.PlaybackRequest{Speed: 1}) {
					t.Error("a pause is a jump")
				}
				is(live.Paused, 600*ms, 1)
				p.Do(live.PlaybackRequest{Play: true, Speed: float64(float32(0.1))})
			},
			100 * ms: func(c control.Control) {
				if r := c.Status().Rate; r != float64(float32(0.1)) {
					t.Errorf("rate %v", r)
				}
				c.SetRate(0.1)
				p.Do(live.PlaybackRequest{Play: true, Speed: float64(float32(0.1))})
				if r := c.Status().Rate; r != 0.1 {
					t.Errorf("a viewer that sends the speed it was told makes it %v", r)
				}
				p.Do(live.PlaybackRequest{Play: true, Speed: 1})
			},
			2 * time.Second: func(control.Control) {
				is(live.Ended, 900*ms, 1)
				p.Do(live.PlaybackRequest{Speed: 1})
				is(live.Ended, 900*ms, 1)
				p.Do(live.PlaybackRequest{Play: true, Speed: 1})
				is(live.Ended, 900*ms, 1)
				p.Do(live.PlaybackRequest{Play: true, Speed: 1, Seek: true, SeekTo: a.zero.Add(850 * ms)})
				is(live.Playing, 850*ms, 1)
			},
			3 * time.Second: func(c control.Control) { is(live.Ended, 900*ms, 1); c.Stop() },
		}
	})
}

// TestViewerWaits: while play waits for subscribers, viewers are told that it does.
func TestViewerWaits(t *testing.T) {
	t.Parallel()
	bag := stateBag(t, bagfmt.WriterOptions{})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		start := time.Now()
		g.subscribers = func() int {
			if time.Since(start) < time.Second {
				return 0
			}
			return 1
		}
		o := Options{Bags: testplay.OpenBags(t, bag), WaitForSubscribers: true, Viewing: NewViewing(ViewingOptions{})}
		p := o.Viewing.Source().Playback
		if s := p.State(); s.Status != live.Buffering {
			t.Errorf("before: %+v", s)
		}
		steer(t, g, o, ordersAt{
			500 * ms: func(control.Control) {
				if s := p.State(); s.Status != live.Buffering {
					t.Errorf("while waiting: %+v", s)
				}
			},
			1500 * ms: func(c control.Control) {
				if s := p.State(); s.Status != live.Playing {
					t.Errorf("after: %+v", s)
				}
				c.Stop()
			},
		})
		if s := p.State(); s.Status != live.Ended {
			t.Errorf("at the end: %+v", s)
		}
	})
}
