package player

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/player/internal/watchers"
	"github.com/gorosbag/gorosbag/rosbag"
)

// latchedBag has two latched publishers of one topic, and a plain topic.
func latchedBag(tb testing.TB) []byte {
	tb.Helper()
	l1 := testplay.Conn{Topic: "/tf", CallerID: "/n1", Latching: true}
	l2 := testplay.Conn{Topic: "/tf", CallerID: "/n2", Latching: true}
	return testplay.MakeBag(tb, bagfmt.WriterOptions{},
		testplay.Message{Conn: l1, At: 0, Text: "one"}, testplay.Message{Conn: l2, At: 10 * ms, Text: "two"}, testplay.Message{Conn: testplay.ConnA, At: 100 * ms, Text: "a0"},
		testplay.Message{Conn: testplay.ConnA, At: 200 * ms, Text: "a1"}, testplay.Message{Conn: l1, At: 250 * ms, Text: "one again"}, testplay.Message{Conn: testplay.ConnA, At: 300 * ms, Text: "a2"})
}

// TestRun plays from the first delay to the drain, in exact fake time.
func TestRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o     Options
		until time.Duration // 0: to its end
		want  string
	}{
		"all": {
			Options{Delay: 200 * ms},
			0,
			"200ms /tf#1 latched one; 210ms /tf#2 latched two; 300ms /a#1 a0; 400ms /a#1 a1; " +
				"450ms /tf#1 latched one again; 500ms /a#1 a2; 500ms drain",
		},
		"no delay, rate 2": {
			Options{Rate: 2},
			0,
			"0s /tf#1 latched one; 5ms /tf#2 latched two; 50ms /a#1 a0; 100ms /a#1 a1; " +
				"125ms /tf#1 latched one again; 150ms /a#1 a2; 150ms drain",
		},
		"start: latched state first, then at once the first message of the window": {
			Options{Start: 150 * ms, Duration: 50 * ms},
			0,
			"0s /tf#1 latched one; 0s /tf#2 latched two; 0s /a#1 a1; 0s drain",
		},
		"start at a latched message: it is sent once": {
			Options{Start: 10 * ms, Duration: 90 * ms},
			0,
			"0s /tf#1 latched one; 0s /tf#2 latched two; 90ms /a#1 a0; 90ms drain",
		},
		"loop: what the pass changed is put back": {
			Options{Start: 150 * ms, Loop: true},
			170 * ms,
			"0s /tf#1 latched one; 0s /tf#2 latched two; 0s /a#1 a1; 50ms /tf#1 latched one again; 100ms /a#1 a2; " +
				"150ms /tf#1 latched one; 150ms /a#1 a1",
		},
		"keep alive": {
			Options{Immediate: true, KeepAlive: true, Topics: []string{"/a"}},
			time.Hour,
			"0s /a#1 a0; 0s /a#1 a1; 0s /a#1 a2",
		},
		"interrupted in the delay": {Options{Delay: time.Second}, 500 * ms, ""},
		"interrupted between messages": {
			Options{Topics: []string{"/a"}}, 150 * ms, "0s /a#1 a0; 100ms /a#1 a1",
		},
		"paused": {Options{Paused: true}, time.Hour, ""},
		"clock": {
			Options{Topics: []string{"/a"}, Clock: true, Hz: 8, Start: 200 * ms},
			0,
			// 1000.2 s is e803 0000, 00c2eb0b. The message at 100 ms is stamped although the
			// clock's own tick comes at 125 ms.
			"0s /clock#1 e803000000c2eb0b; 0s /a#1 a1; 100ms /clock#1 e803000000a3e111; 100ms /a#1 a2; 100ms drain",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := latchedBag(t)
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				tc.o.Bags = testplay.OpenBags(t, bag)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.until > 0 {
					ctx, cancel = context.WithTimeout(ctx, tc.until)
					defer cancel()
				}
				s, err := playFake(ctx, g, tc.o)
				if err != nil {
					t.Fatal(err)
				}
				if tc.until > 0 && time.Since(g.start) != tc.until {
					t.Errorf("took %v to end after the context, want none", time.Since(g.start)-tc.until)
				}
				got := strings.Join(g.events, "; ")
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				wantInterrupted := tc.until > 0 && !tc.o.KeepAlive
				if s.Interrupted != wantInterrupted || s.Lossy() {
					t.Errorf("interrupted %v, lossy %v", s.Interrupted, s.Lossy())
				}
			})
		})
	}
}

// TestNoMaster: an end before the master has answered is a loss of everything, also an end by Control.Stop.
func TestNoMaster(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0)...)
	for name, stop := range map[string]bool{"interrupt": false, "stop": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := newFakeGraph()
				g.registers = time.Hour
				s, err := playFake(ctx, g, Options{Bags: testplay.OpenBags(t, bag), OnStart: func(c control.Control) {
					time.AfterFunc(time.Second, func() {
						if stop {
							c.Stop()
						} else {
							cancel()
						}
					})
				}})
				if err != nil || !s.NoMaster || !s.Lossy() || s.Messages != 0 {
					t.Errorf("%+v, %v", s, err)
				}
			})
		})
	}
}

// TestUnserved: subscribers that get nothing, because they take UDPROS only or no descriptor is left, are a loss with their names.
func TestUnserved(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.udpOnly = map[string][]string{"/a": {"/x", "/y"}, "/other": {"/z"}}
		s, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag)})
		if d := cmp.Diff([]string{"/x of /a", "/y of /a"}, s.UDPOnly); d != "" || err != nil || !s.Lossy() {
			t.Errorf("%v, lossy %v (-want +got):\n%s", err, s.Lossy(), d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.refused = map[string][]string{"/a": {"/z"}, "/other": {"/z"}}
		s, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag)})
		if d := cmp.Diff([]string{"/z of /a"}, s.Refused); d != "" || err != nil || !s.Lossy() {
			t.Errorf("%v, lossy %v (-want +got):\n%s", err, s.Lossy(), d)
		}
	})
}

func TestPhases(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0, 250*ms)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.registers = 30 * ms // the delay counts from then
		g.subscribers = func() int {
			if time.Since(g.start) < 540*ms {
				return 0
			}
			return 1
		}
		var got []string
		last := control.Phase(-1)
		calls := 0
		s, err := playFake(t.Context(), g, Options{
			Bags: testplay.OpenBags(t, bag), Delay: 200 * ms, WaitForSubscribers: true,
			OnStatus: func(s control.Status) {
				calls++
				if s.Phase != last {
					got = append(got, fmt.Sprintf("%v %d", time.Since(g.start), s.Phase))
				}
				last = s.Phase
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			fmt.Sprintf("0s %d", control.PhaseRegister), fmt.Sprintf("30ms %d", control.PhaseDelay), fmt.Sprintf("230ms %d", control.PhaseWait),
			fmt.Sprintf("550ms %d", control.PhasePlay), fmt.Sprintf("800ms %d", control.PhaseDrain), fmt.Sprintf("800ms %d", control.PhaseDone),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if calls > len(want)+8 {
			t.Errorf("%d calls in 0.77 s, want 10 in a second and one for each phase", calls)
		}
		wantSum := control.Summary{
			Topics:   []control.TopicSummary{{Name: "/a", Type: testplay.StringType, Messages: 2, Bytes: 12, Subscribers: 1}},
			Messages: 2, Bytes: 12, Played: 250 * ms, Elapsed: 250 * ms,
			Timing: control.Timing{Messages: 2}, Starved: s.Starved,
		}
		if d := cmp.Diff(wantSum, s); d != "" {
			t.Errorf("summary (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"/a"}, g.registered); d != "" {
			t.Errorf("waited for (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"/a"}, g.closed); d != "" {
			t.Errorf("withdrawn (-want +got):\n%s", d)
		}
	})
}

// The first order may come before the first message, the last one after the end.
func TestControlOutsideOfPlay(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0, 100*ms)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		var running control.Control
		_, err := playFake(t.Context(), g, Options{
			Bags: testplay.OpenBags(t, bag), Delay: 200 * ms,
			OnStart: func(c control.Control) {
				running = c
				if !c.Toggle() {
					t.Error("not paused")
				}
				time.AfterFunc(time.Second, func() { c.Resume() })
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff("1s /a#1 a0; 1.1s /a#1 a1; 1.1s drain", strings.Join(g.events, "; ")); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		running.Pause()
		running.Step()
		if s := running.Status(); s.Phase != control.PhaseDone || s.Messages != 2 {
			t.Errorf("status %+v", s)
		}
	})
}

var errSlow = errors.New("slow")

func TestDrain(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0)...)
	tests := map[string]struct {
		interrupt time.Duration
		want      error
	}{
		"somebody did not take all": {0, errSlow},
		"interrupted":               {time.Second, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				g.drains = func(ctx context.Context) error {
					pacing.Wait(ctx, 7*time.Second)
					return errSlow
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.interrupt > 0 {
					time.AfterFunc(tc.interrupt, cancel)
				}
				s, err := playFake(ctx, g, Options{Bags: testplay.OpenBags(t, bag)})
				if err != nil {
					t.Fatal(err)
				}
				if !errors.Is(s.Undelivered, tc.want) || s.Interrupted == (tc.want != nil) || s.Lossy() != (tc.want != nil) {
					t.Errorf("undelivered %v, interrupted %v, lossy %v", s.Undelivered, s.Interrupted, s.Lossy())
				}
			})
		})
	}
}

func TestRefusedTopic(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Concat(testplay.Series(testplay.ConnA, "a", 0, 2), testplay.Series(testplay.ConnB, "b", 1))...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.refuse = "/a"
		s, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag)})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Unplayable) != 1 || s.Unplayable[0].Messages != 2 || s.Messages != 1 {
			t.Errorf("summary %+v", s)
		}
	})
}

// Nothing but damage: that is a loss, not an empty selection.
func TestAllDamaged(t *testing.T) {
	t.Parallel()
	data := testplay.MakeBag(t, bagfmt.WriterOptions{Compression: rosbag.CompressionLZ4}, testplay.Series(testplay.ConnA, "a", 0)...)
	bags := testplay.OpenBags(t, data)
	data[bags[0].Source().Span(0).Pos+130] ^= 0x55
	synctest.Test(t, func(t *testing.T) {
		s, err := playFake(t.Context(), newFakeGraph(), Options{Bags: bags, Loop: true})
		if err != nil || len(s.Damage) != 1 || !s.Lossy() {
			t.Errorf("got %+v, %v", s, err)
		}
	})
}

// A front end that hangs, as on a frozen terminal, holds up neither play nor its end.
func TestStatusThatHangs(t *testing.T) {
	t.Parallel()
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(testplay.ConnA, "a", 0, 100*ms)...)
	for _, phase := range []control.Phase{control.PhaseRegister, control.PhasePlay, control.PhaseDone} {
		synctest.Test(t, func(t *testing.T) {
			g := newFakeGraph()
			frozen := make(chan struct{})
			calls := 0
			s, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), OnStatus: func(s control.Status) {
				if s.Phase >= phase {
					calls++
					<-frozen
				}
			}})
			if err != nil || s.Messages != 2 || time.Since(g.start) != 100*ms+watchers.Grace {
				t.Errorf("phase %d: ended after %v with %+v, %v", phase, time.Since(g.start), s, err)
			}
			if d := cmp.Diff("0s /a#1 a0; 100ms /a#1 a1; 100ms drain", strings.Join(g.events, "; ")); d != "" {
				t.Errorf("phase %d (-want +got):\n%s", phase, d)
			}
			close(frozen)
			synctest.Wait()
			if calls != 1 {
				t.Errorf("phase %d: %d calls, want none after Run has returned", phase, calls)
			}
		})
	}
}
