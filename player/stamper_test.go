package player

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
	"github.com/gorosbag/gorosbag/rosbag"
)

func TestStampsNow(t *testing.T) {
	t.Parallel()
	at := testplay.Base.Add
	rate := func(r float64) func(control.Control) { return func(c control.Control) { _ = c.SetRate(r) } }
	burst := func(n int) func(control.Control) { return func(c control.Control) { c.Burst(n) } }
	tests := map[string]struct {
		messages []stampedMessage
		o        Options
		orders   ordersAt
		want     string
	}{
		"in their turn": {
			[]stampedMessage{sensor("/s", 0, 30*ms), sensor("/s", 100*ms, 0), sensor("/s", 150*ms, -20*ms)},
			Options{},
			nil,
			"0s /s -30ms; 100ms /s 0s; 150ms /s 20ms",
		},
		"no stamps": {
			[]stampedMessage{{"/s", 0, sensorData(rosbag.Time{})}, {"/text", 0, testplay.StringData("x")}, {"/tf", 0, testplay.TFData(rosbag.Time{}, at(0))}, {"/tf", 0, testplay.TFData()}},
			Options{},
			nil,
			"0s /s none; 0s /text; 0s /tf none 0s; 0s /tf",
		},
		"arrays keep the distances in them": {
			[]stampedMessage{
				{"/tf", 100 * ms, testplay.TFData(at(90*ms), at(70*ms), at(1100*ms))},
				{"/path", 200 * ms, pathData(at(190*ms), at(-100*time.Second), at(-50*time.Second), at(180*ms))},
				{"/path", 300 * ms, pathData(rosbag.Time{}, at(-100*time.Second), at(-40*time.Second))}, // its header has no stamp
			},
			Options{},
			nil,
			"0s /tf -10ms -30ms 1s; 100ms /path -10ms -1m40.2s -50.2s -20ms; 200ms /path none -1m0s 0s",
		},
		"rate": {
			sensors(30 * ms)[:3],
			Options{Rate: 2},
			nil,
			"0s /s -15ms; 50ms /s -15ms; 100ms /s -15ms",
		},
		"immediate": {
			[]stampedMessage{sensor("/s", 0, 30*ms), {"/tf", time.Hour, testplay.TFData(at(time.Hour), at(time.Hour+100*ms))}},
			Options{Immediate: true},
			nil,
			"0s /s 0s; 0s /tf 0s 0s",
		},
		"seek": {
			sensors(30 * ms),
			Options{},
			ordersAt{150 * ms: seek(690 * ms), 170 * ms: seek(100 * ms), 180 * ms: stop},
			"0s /s -30ms; 100ms /s -30ms; 160ms /s -30ms; 170ms /s -30ms",
		},
		"pause: the time that play stood still is no age": {
			sensors(80 * ms),
			Options{},
			ordersAt{150 * ms: toggle, time.Hour: toggle, time.Hour + 160*ms: stop},
			"0s /s -80ms; 100ms /s -80ms; 1h0m0.05s /s -80ms; 1h0m0.15s /s -80ms",
		},
		"steps": {
			sensors(30 * ms),
			Options{Paused: true},
			ordersAt{time.Second: step, time.Minute: step, time.Hour: burst(2), time.Hour + 1: back, time.Hour + 10*ms: toggle, time.Hour + 120*ms: stop},
			"1s /s -30ms; 1m0s /s -30ms; 1h0m0s /s -30ms; 1h0m0s /s -30ms; 1h0m0.000000001s /s -30ms; 1h0m0.11s /s -30ms",
		},
		"steps at a rate": {
			sensors(30 * ms),
			Options{Paused: true, Rate: 0.5},
			ordersAt{time.Second: step, time.Minute: step, time.Hour: stop},
			"1s /s -60ms; 1m0s /s -60ms",
		},
		"rate change: what was before it, was at the rate before": {
			sensors(80 * ms),
			Options{},
			ordersAt{150 * ms: rate(0.5), 650 * ms: rate(10), 666 * ms: stop},
			// At 150 ms the position is 150 ms, at 650 ms it is 400 ms.
			"0s /s -80ms; 100ms /s -80ms; 250ms /s -130ms; 450ms /s -160ms; 650ms /s -160ms; 660ms /s -8ms",
		},
		"rate change while paused": {
			sensors(80 * ms),
			Options{},
			ordersAt{150 * ms: toggle, 160 * ms: rate(0.5), time.Hour: toggle, time.Hour + 110*ms: stop},
			"0s /s -80ms; 100ms /s -80ms; 1h0m0.1s /s -130ms",
		},
		"loop": {
			sensors(30 * ms)[:3],
			Options{Loop: true, LoopShift: true},
			ordersAt{450 * ms: stop},
			"0s /s -30ms; 100ms /s -30ms; 200ms /s -30ms; 300ms /s -30ms; 400ms /s -30ms",
		},
		"gap that is left out": {
			[]stampedMessage{sensor("/s", 0, 30*ms), sensor("/s", time.Hour, 30*ms), sensor("/s", time.Hour+100*ms, 30*ms)},
			Options{SkipEmpty: time.Second},
			nil,
			"0s /s -30ms; 0s /s -30ms; 100ms /s -30ms",
		},
		"order by header": {
			[]stampedMessage{sensor("/s", 100*ms, 0), sensor("/s2", 130*ms, 80*ms), sensor("/s", 140*ms, 0)},
			Options{ByHeader: true, HeaderReach: time.Second},
			nil,
			"0s /s2 0s; 50ms /s 0s; 90ms /s 0s",
		},
		"clock that was recorded, and our own": {
			[]stampedMessage{{"/clock", 0, clockData(at(0))}, {"/s", 50 * ms, sensorData(at(50 * ms))}, {"/clock", 80 * ms, clockData(at(79 * ms))}, {"/clock", 80 * ms, clockData(rosbag.Time{})}},
			Options{Clock: true, Hz: 16, Rate: 0.5, Topics: []string{"/clock", "/s"}},
			nil,
			"0s /clock 0s; 0s /clock 0s; 62.5ms /clock 0s; 100ms /clock 0s; 100ms /s 0s; 125ms /clock 0s; 160ms /clock 0s; 160ms /clock -2ms; 160ms /clock none",
		},
		"clock goes on while paused": {
			sensors(30 * ms),
			Options{Clock: true, Hz: 10, Topics: []string{"/s"}},
			ordersAt{50 * ms: toggle, 240 * ms: toggle, 310 * ms: stop},
			"0s /clock 0s; 0s /s -30ms; 100ms /clock 0s; 200ms /clock 0s; 290ms /clock 0s; 290ms /s -30ms; 300ms /clock 0s",
		},
		"latched: as if it came now": {
			append([]stampedMessage{sensor("/map", 0, 5*ms)}, sensors(30*ms)...),
			Options{Start: 450 * ms},
			ordersAt{60 * ms: seek(100 * ms), 70 * ms: stop},
			"0s /map -5ms; 0s /s -30ms; 60ms /map -5ms; 60ms /s -30ms",
		},
		"latched, by a topic that is switched on again": {
			append([]stampedMessage{sensor("/map", 0, 5*ms)}, sensors(30 * ms)[:3]...),
			Options{Rate: 0.5, Topics: []string{"/map"}, KeepAlive: true},
			ordersAt{
				50 * ms: func(c control.Control) { _ = c.SetTopic("/map", false) }, time.Hour: func(c control.Control) { _ = c.SetTopic("/map", true) },
				2 * time.Hour: stop,
			},
			"0s /map -10ms; 1h0m0s /map -10ms",
		},
		"latched, at the end of a pass": {
			append([]stampedMessage{sensor("/map", 0, 5*ms)}, append(sensors(30 * ms)[1:3], sensor("/map", 200*ms, 0))...),
			Options{Loop: true},
			ordersAt{0: func(c control.Control) { _ = c.SetLoopRange(50*ms, 200*ms) }, 310 * ms: stop},
			"0s /map -5ms; 100ms /s -30ms; 200ms /s -30ms; 200ms /map 0s; 250ms /map -5ms; 300ms /s -30ms",
		},
		"another clock, hours ahead and as good as ours": {
			[]stampedMessage{
				sensor("/s", 0, -time.Hour), sensor("/s2", 100*ms, -time.Hour-5*ms), // the skew shows better
				{"/tf", 110 * ms, testplay.TFData(at(time.Hour+95*ms), at(time.Hour+100*ms))}, sensor("/s", 120*ms, -time.Hour+20*ms),
			},
			Options{},
			nil,
			"0s /s 0s; 100ms /s2 0s; 110ms /tf -20ms -15ms; 120ms /s -25ms",
		},
		"clocks of several": {
			[]stampedMessage{
				sensor("/s", 0, time.Minute), sensor("/s2", 10*ms, 2*time.Minute), sensor("/s", 20*ms, time.Minute+7*ms),
				sensor("/s2", 30*ms, 2*time.Minute+8*ms), sensor("/s", 40*ms, 9*ms),
			},
			Options{},
			nil,
			"0s /s 0s; 10ms /s2 0s; 20ms /s -7ms; 30ms /s2 -8ms; 40ms /s -9ms",
		},
		"old, but of our clock": {
			[]stampedMessage{sensor("/s", 0, 10*time.Second), sensor("/s", 10*ms, 9*time.Second)},
			Options{},
			nil,
			"0s /s -10s; 10ms /s -9s",
		},
		"damaged": {
			[]stampedMessage{{"/s", 0, sensorData(at(0))[:14]}, {"/tf", 10 * ms, testplay.TFData(at(0), at(0))[:100]}, sensor("/s", 20*ms, 0)},
			Options{},
			nil,
			"0s /s damaged; 10ms /tf damaged; 20ms /s 0s",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bag := stampedBag(t, tc.messages...)
			synctest.Test(t, func(t *testing.T) {
				g := newFakeGraph()
				events := heard(t, g, wallNow)
				o := tc.o
				o.Bags, o.Stamps = testplay.OpenBags(t, bag), StampsNow
				o.Node = nil
				steer(t, g, o, tc.orders)
				if d := cmp.Diff(strings.Split(tc.want, "; "), *events); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
			})
		})
	}
}

// Stamps that messages share are the same afterwards, whatever the rate: a stereo camera and
// a camera's info are found by that.
func TestEqualStampsStayEqual(t *testing.T) {
	t.Parallel()
	var messages []stampedMessage
	for i := range 300 {
		stamp := time.Duration(i) * 33_333_333
		data := sensorData(testplay.Base.Add(stamp))
		messages = append(messages, stampedMessage{"/s", stamp + 20*ms + time.Duration(i)*1001, data}, stampedMessage{"/s2", stamp + 31*ms, data})
	}
	bag := stampedBag(t, messages...)
	for _, rate := range []float64{1, 3, 0.7, 1e-3, 12345.678} {
		synctest.Test(t, func(t *testing.T) {
			g := newFakeGraph()
			got := map[string][]rosbag.Time{}
			g.frames = func(topic string, frame []byte) {
				got[topic] = append(got[topic], stdmsg.StampAt(frame[stdmsg.FramePrefix:], 4))
			}
			if _, err := playFake(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), Rate: rate, Stamps: StampsNow}); err != nil {
				t.Fatal(err)
			}
			if len(got["/s"]) != 300 || !slices.Equal(got["/s"], got["/s2"]) {
				t.Errorf("rate %v: (-/s +/s2):\n%s", rate, cmp.Diff(got["/s"], got["/s2"]))
			}
		})
	}
}

// Whatever is ordered, stamps do not go back, none is from the future, and none is older than
// the latency at the lowest rate.
func TestStampsNeverGoBack(t *testing.T) {
	t.Parallel()
	const latency, lowest, oldest = 80 * ms, 0.25, 320 * ms
	bag := stampedBag(t, sensors(latency)...)
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			g := newFakeGraph()
			var last rosbag.Time
			count := 0
			var log []string
			g.frames = func(_ string, frame []byte) {
				stamp, now := stdmsg.StampAt(frame[stdmsg.FramePrefix:], 4), wallNow()
				count++
				if age := now.Sub(stamp); age < 0 || age > oldest+1 || stamp.Before(last) {
					t.Errorf("seed %d, %v: message %d is %v old, %v after the last\n%s", seed, time.Since(g.start), count, age, stamp.Sub(last), strings.Join(log, "\n"))
				}
				last = stamp
			}
			orders := ordersAt{}
			for at := time.Duration(0); at < 20*time.Second; at += time.Duration(r.IntN(400)) * ms {
				n, to, rate := r.IntN(8), time.Duration(r.IntN(900))*ms, lowest*float64(int(1)<<r.IntN(5))
				orders[at+1] = func(c control.Control) {
					log = append(log, fmt.Sprint(at, " ", n, " ", to, " ", rate, " ", c.Status().Position, " ", c.Status().Paused))
					switch n {
					case 0, 1:
						c.Toggle()
					case 2, 3:
						_ = c.SetRate(rate)
					case 4:
						c.Seek(to)
					case 5:
						c.Step()
					case 6:
						c.StepBack()
					case 7:
						_ = c.SetLoopRange(to/2, to+100*ms)
					}
				}
			}
			orders[20*time.Second+1] = stop
			steer(t, g, Options{Bags: testplay.OpenBags(t, bag), Stamps: StampsNow, Loop: true}, orders)
			if count < 20 {
				t.Errorf("seed %d: only %d messages", seed, count)
			}
		})
	}
}

// What does not fit its definition is counted and logged once for each topic.
func TestUnstamped(t *testing.T) {
	t.Parallel()
	bad := sensorData(testplay.Base)[:14]
	bag := stampedBag(t, stampedMessage{"/s", 0, bad}, stampedMessage{"/s", 1, bad}, stampedMessage{"/s2", 2, bad}, sensor("/s", 3, 0))
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		g.frames = func(string, []byte) {}
		s, logs, err := playLogged(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), Stamps: StampsNow})
		if err != nil {
			t.Fatal(err)
		}
		if s.Unstamped != 3 || s.Topics[0].Unstamped != 2 || s.Topics[1].Unstamped != 1 || s.Lossy() {
			t.Errorf("summary %+v", s)
		}
		if n := logs.FilterMessageSnippet("does not fit its definition").Len(); n != 2 {
			t.Errorf("logged %d times", n)
		}
	})
}

// A topic whose definition does not tell where stamps are is named, and is played.
func TestStampsOfUnknownTypes(t *testing.T) {
	t.Parallel()
	c := testplay.Conn{Topic: "/x", Type: "a/X", MD5Sum: strings.Repeat("1", 32), NoDefinition: true}
	bag := testplay.MakeBag(t, bagfmt.WriterOptions{}, testplay.Series(c, "x", 0)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		_, logs, err := playLogged(t.Context(), g, Options{Bags: testplay.OpenBags(t, bag), Stamps: StampsNow})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"0s /x#1 x0", "0s drain"}, g.events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if n := logs.FilterMessageSnippet("stay as they were recorded").Len(); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// A subscriber of rate control reports the stamps that it receives.
func TestRateControlByStampsOfNow(t *testing.T) {
	t.Parallel()
	bag := stampedBag(t, sensors(30*ms)...)
	synctest.Test(t, func(t *testing.T) {
		g := newFakeGraph()
		events := heard(t, g, wallNow)
		c := NewRateControl(150 * ms)
		steer(t, g, Options{Bags: testplay.OpenBags(t, bag), Stamps: StampsNow, RateControl: c}, ordersAt{
			time.Second:     func(control.Control) { c.Report(wallNow().Add(-780 * ms)) }, // the stamp of the message at 200 ms was due at 220 ms
			2 * time.Second: seek(700 * ms),
			3 * time.Second: stop,
		})
		want := "0s /s -30ms; 100ms /s -30ms; 200ms /s -30ms; 1.1s /s -30ms; 2s /s -30ms; 2.1s /s -30ms; 2.2s /s -30ms"
		if d := cmp.Diff(strings.Split(want, "; "), *events); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
