package screen_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/gorosbag/gorosbag/cmd/play/internal/screen"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/face/term/termtest"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// fakePlay is a play of 10 minutes. Of Control it has what a view asks for.
type fakePlay struct {
	control.Control
	at     func() time.Duration // the position
	change func(*control.Stats)
}

func (f *fakePlay) Density(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(1000 * max(0, math.Sin(float64(i)/float64(n)*9)))
	}
	return all
}

func (f *fakePlay) Status() control.Status { return f.Stats().Status }

func (f *fakePlay) Stats() control.Stats {
	at := f.at()
	zero := rosbag.Time{Sec: 1748682000, Nsec: 5e8}
	s := control.Stats{Status: control.Status{
		Phase: control.PhasePlay, Rate: 1, BagTime: zero.Add(at), Position: at, Length: 10 * time.Minute, Late: 300 * time.Microsecond,
		Played: at, Elapsed: at,
	}}
	topic := func(name, kind string, hz float64, bytes uint64, subscribers ...string) *control.TopicStats {
		n := uint64(hz * at.Seconds())
		t := control.TopicStats{Name: name, Type: kind, Messages: n, Bytes: n * bytes}
		for _, who := range subscribers {
			t.Subscribers = append(t.Subscribers, tcpros.SubscriberStats{CallerID: who})
		}
		s.Topics = append(s.Topics, t)
		s.Messages += n
		return &s.Topics[len(s.Topics)-1]
	}
	topic("/camera/front/color/image_raw", "sensor_msgs/Image", 30, 921600, "/rviz", "/detector")
	topic("/imu", "sensor_msgs/Imu", 400, 320, "/filter")
	topic("/tf", "tf2_msgs/TFMessage", 120, 180, "/rviz", "/filter", "/move_base", "/detector")
	topic("/tf_static", "tf2_msgs/TFMessage", 0, 0, "/rviz").Latching = true
	topic("/points", "sensor_msgs/PointCloud2", 10, 2<<20)
	topic("/evil\x1b[2J", "std_msgs/\u202eString", 4, 10)
	topic("/相机/图像/原始数据/很长的名字/很长的名字/很长的名字", "std_msgs/String", 4, 10, "/聆听者")
	if f.change != nil {
		f.change(&s)
	}
	return s
}

// playing runs test with the live screen of a fakePlay that has played for 5 minutes,
// in a bubble and after setup.
func playing(t *testing.T, width, height int, setup func(*fakePlay, *screen.View), test func(*termtest.Terminal, *term.Live)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tty := termtest.New(width, height)
		console := term.NewConsole(tty, true)
		defer console.Close()
		begun := time.Now()
		running := &fakePlay{at: func() time.Duration { return 5*time.Minute + time.Since(begun) }}
		is := func(name string) func(*control.Stats) string {
			return func(*control.Stats) string { return name }
		}
		view := &screen.View{
			Control: running, Name: "demo.bag", Zone: time.FixedZone("CEST", 7200),
			Keys: []term.Key[control.Stats]{
				{Press: []keys.Key{' '}, Name: is("pause"), Help: "pause and go on"},
				{Press: []keys.Key{'q'}, Name: is("quit"), Help: "quit"},
				{Press: []keys.Key{'?', 'h'}, Name: is("help")},
				{Press: []keys.Key{keys.Left}, Name: is("-5 s"), Help: "5 s back"},
				{Press: []keys.Key{keys.ShiftLeft, keys.PageUp}, Help: "60 s back"},
			},
		}
		if setup != nil {
			setup(running, view)
		}
		live := &term.Live{Console: console, Size: func() (int, int) { return width, height }, View: view}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			live.Run(ctx)
		}()
		defer func() {
			cancel()
			<-done
		}()
		test(tty, live)
		if len(tty.Odd) > 0 {
			t.Errorf("the terminal got %q", tty.Odd)
		}
	})
}

func TestPlaySizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 30}, {40, 10}, {200, 50}, {20, 12}, {60, 5}, {80, 2}, {7, 4}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			playing(t, size[0], size[1], nil, func(tty *termtest.Terminal, _ *term.Live) {
				termtest.After(10 * time.Second)
				termtest.Golden(t, fmt.Sprintf("play_%dx%d", size[0], size[1]), tty.All())
			})
		})
	}
}

func TestPlayStates(t *testing.T) {
	t.Parallel()
	many := func(s *control.Stats) {
		for i := range 193 {
			s.Topics = append(s.Topics, control.TopicStats{Name: fmt.Sprintf("/quiet/%d", i), Type: "std_msgs/Empty"})
		}
	}
	tests := map[string]func(*control.Stats){
		"paused": func(s *control.Stats) { s.Paused, s.PausedBy = true, "/imu" },
		"delayed": func(s *control.Stats) {
			s.Delayed, s.PauseOnTopics = 1200*time.Millisecond, true
			s.Topics[0].Pauses, s.Topics[1].Off = true, true
		},
		"starving": func(s *control.Stats) { s.Starving, s.Starved = 12*time.Second, 1 },
		"waiting": func(s *control.Stats) {
			s.Phase, s.WaitingFor = control.PhaseWait, []string{"/a", "/b\x1b[2J", "/c", "/d", "/e"}
		},
		"loop": func(s *control.Stats) {
			s.Loop, s.LoopFrom, s.LoopTo = true, 4*time.Minute, 7*time.Minute
			s.Bookmarks = []time.Duration{time.Minute, 9 * time.Minute, 10 * time.Minute}
		},
		"slow": func(s *control.Stats) {
			s.Rate = 5
			s.Late = 3 * time.Second
			s.Topics[2].Dropped = 12
			s.Topics[2].Subscribers[0].Dropped = 2
			s.Topics[2].Subscribers[1].Dropped = 9
			s.Topics[2].Subscribers[2].Dropped = 1
			s.Starved = 3
			s.WaitingFor = []string{"/filter"}
		},
		"many": many,
		"ends": func(s *control.Stats) { s.Phase, s.Position = control.PhaseDrain, s.Length },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playing(t, 80, 24, func(f *fakePlay, _ *screen.View) { f.change = change }, func(tty *termtest.Terminal, _ *term.Live) {
				termtest.After(10 * time.Second)
				termtest.Golden(t, "play_"+name, tty.All())
			})
		})
	}
	t.Run("help", func(t *testing.T) {
		t.Parallel()
		playing(t, 80, 24, nil, func(tty *termtest.Terminal, live *term.Live) {
			termtest.After(10 * time.Second)
			live.Press('?')
			synctest.Wait()
			termtest.Golden(t, "play_help", tty.All())
			live.Press(keys.Escape)
			synctest.Wait()
			if strings.Contains(tty.All(), "pause and go on") {
				t.Errorf("Esc does not end the help:\n%s", tty.All())
			}
		})
	})
	t.Run("ascii", func(t *testing.T) {
		t.Parallel()
		playing(t, 80, 24, func(f *fakePlay, v *screen.View) {
			v.ASCII, v.Immediate = true, true
			f.change = func(s *control.Stats) { s.Topics = s.Topics[:1] }
		}, func(tty *termtest.Terminal, _ *term.Live) {
			termtest.After(10 * time.Second)
			termtest.Golden(t, "play_ascii", tty.All())
		})
	})
}

// Rates of topics are in the time of the bags: a pause and a seek leave them, and so
// does the rate of play, which is told as what is asked for and what comes.
func TestPlayRates(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var at, played, elapsed time.Duration
	rate, seeks, paused, extra := 5.0, uint64(0), false, uint64(0)
	set := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
	}
	playing(t, 80, 24, func(f *fakePlay, _ *screen.View) {
		f.at = func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return at
		}
		f.change = func(s *control.Stats) {
			mu.Lock()
			defer mu.Unlock()
			s.Rate, s.Seeks, s.Paused, s.Played, s.Elapsed = rate, seeks, paused, played, elapsed
			s.Topics = s.Topics[1:2]
			s.Topics[0].Messages = uint64(400*s.Position.Seconds()) + extra
		}
	}, func(tty *termtest.Terminal, _ *term.Live) {
		play := func(d time.Duration, times float64) {
			for range int(d / term.Refresh) {
				termtest.After(term.Refresh)
				set(func() {
					d := time.Duration(float64(term.Refresh) * times)
					at, played, elapsed = at+d, played+d, elapsed+term.Refresh
				})
			}
			termtest.After(term.Refresh)
		}
		expect := func(when string, want ...string) {
			t.Helper()
			for _, w := range append(want, "\n   400 ") {
				if !strings.Contains(tty.All(), w) {
					t.Errorf("%s: no %q in\n%s", when, w, tty.All())
				}
			}
		}
		play(10*time.Second, 3.1)
		expect("too slow", "rate 3.1x of 5x")
		set(func() { paused = true })
		termtest.After(time.Minute)
		expect("paused", "rate 3.1x of 5x")
		set(func() { paused = false })
		play(10*time.Second, 5)
		expect("fast enough", "rate 5x ")
		set(func() { seeks, at, extra = 1, time.Second, 200_000 })
		termtest.After(time.Second)
		expect("after a seek")
		set(func() { rate = 0.1 })
		play(20*time.Second, 0.1)
		expect("slow", "rate 0.1x ")
		play(5*time.Second, 0)
		expect("standing still", "rate 0x of 0.1x")
	})
}

// escapes are what a frame may hold beside text.
var escapes = regexp.MustCompile(`\x1b\[\d*m`)

// Whatever topics and subscribers are called, a frame fits the terminal and does not
// drive it.
func TestPlayFits(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"/", "a", "camera", "相机", "\x1b[2J", "\u009b5A", "\n", "é", "👩‍🚀", "\u202e", "\xff", " ", "\u0300", "한", "\a", "𝔸", "🇩🇪"}
	name := func() string {
		b := strings.Builder{}
		for range 1 + r.IntN(20) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	duration := func() time.Duration { return time.Duration(r.Int64N(int64(100*time.Hour))) >> r.IntN(40) }
	for range 100 {
		f := &fakePlay{at: duration}
		f.change = func(s *control.Stats) {
			s.Length, s.Rate, s.Late, s.Delayed = duration(), math.Exp(r.NormFloat64()*5), duration(), duration()
			s.Phase, s.Paused, s.Loop = control.Phase(r.IntN(int(control.PhaseDone)+1)), r.IntN(2) == 0, r.IntN(2) == 0
			s.LoopFrom, s.LoopTo, s.Bookmarks = duration(), duration(), []time.Duration{duration(), duration()}
			s.Topics = s.Topics[:r.IntN(2)]
			for range r.IntN(30) {
				s.WaitingFor = append(s.WaitingFor, name())
				s.Topics = append(s.Topics, control.TopicStats{
					Name: name(), Type: name(), Messages: r.Uint64() >> r.IntN(64), Bytes: r.Uint64() >> r.IntN(64), Dropped: r.Uint64() >> r.IntN(64),
					Off: r.IntN(4) == 0, Pauses: r.IntN(4) == 0, Latching: r.IntN(4) == 0,
					Subscribers: []tcpros.SubscriberStats{{CallerID: name(), Dropped: r.Uint64() >> r.IntN(64)}, {CallerID: name()}},
				})
			}
		}
		view := &screen.View{
			Control: f, Name: name(), Color: r.IntN(2) == 0, ASCII: r.IntN(4) == 0, Immediate: r.IntN(4) == 0,
			Keys: []term.Key[control.Stats]{{Press: []keys.Key{keys.ShiftLeft}, Name: func(*control.Stats) string { return "back" }, Help: "back"}},
		}
		width, height := 20+r.IntN(181), 1+r.IntN(60)
		for range 3 {
			lines := view.Frame(width, height, r.IntN(3) == 0)
			if len(lines) == 0 || len(lines) > max(1, height-1) {
				t.Fatalf("%d lines on a terminal of %d", len(lines), height)
			}
			for _, line := range lines {
				text := escapes.ReplaceAllString(line, "")
				if n := uniseg.StringWidth(text); n >= width {
					t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
				}
				if i := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) && c != '\u200d' }); i >= 0 {
					t.Fatalf("the terminal would get %q", text[i:])
				}
			}
		}
	}
}

// A name that somebody has made long to do harm costs a moment, not the screen.
func TestPlayLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("/a", 50_000)
	f := &fakePlay{at: func() time.Duration { return time.Minute }, change: func(s *control.Stats) {
		s.Topics[0].Name, s.PausedBy = long, long
		s.Topics[0].Subscribers[0].CallerID = long
	}}
	begun := time.Now()
	(&screen.View{Control: f, Name: long}).Frame(80, 24, false)
	if d := time.Since(begun); d > time.Minute { // it takes hours where each column costs a walk over the name
		t.Errorf("a frame takes %v", d)
	}
}

// Who holds play up and what is lost is said in any case, with as many names as have room.
func TestPlayNames(t *testing.T) {
	t.Parallel()
	names := []string{"/robot1/some/namespace/state", "/robot2/some/namespace/state", "/robot3/some/namespace/state", "/robot4"}
	wait := func(s *control.Stats) { s.Phase, s.WaitingFor = control.PhaseWait, names }
	full := func(s *control.Stats) { s.WaitingFor = names }
	drop := func(s *control.Stats) {
		s.Topics[0].Dropped = 12
		for i, name := range names {
			s.Topics[0].Subscribers = append(s.Topics[0].Subscribers, tcpros.SubscriberStats{CallerID: name, Dropped: uint64(5 - i)})
		}
	}
	deaf := func(s *control.Stats) {
		s.Topics[1].Dropped, s.Topics[1].Subscribers = 9, []tcpros.SubscriberStats{{CallerID: "/listener"}, {CallerID: "/deaf", Dropped: 9}}
	}
	pause := func(s *control.Stats) { s.Paused, s.PausedBy = true, "/one/more/topic/with/a/long/name/state" }
	for _, tc := range []struct {
		change func(*control.Stats)
		width  int
		want   string
	}{
		{wait, 200, "waiting for subscribers of /robot1/some/namespace/state, /robot2/some/namespace/state, /robot3/some/namespace/state and 1 more"},
		{wait, 80, "waiting for subscribers of /robot1/some/namespace/state and 3 more"},
		{wait, 40, "waiting for subscribers\n"},
		{full, 60, "waiting for /robot1/some/namespace/state and 3 more"},
		{full, 30, "waiting for a subscriber\n"},
		{drop, 120, "! 12 dropped: /robot1/some/namespace/state 5, /robot2/some/namespace/state 4 and 2 more"},
		{drop, 60, "! 12 dropped: /robot1/some/namespace/state 5 and 3 more"},
		{drop, 40, "! 12 dropped\n"},
		{pause, 40, "paused before …/with/a/long/name/state\n"},
		{deaf, 200, "/imu : sensor_msgs/Imu -> /deaf (9 dropped), /listener\n"},
	} {
		f := &fakePlay{at: func() time.Duration { return time.Minute }, change: tc.change}
		frame := strings.Join((&screen.View{Control: f}).Frame(tc.width, 40, false), "\n")
		if !strings.Contains(strings.ReplaceAll(frame, "   ", "\n"), tc.want) {
			t.Errorf("%d columns: no %q in\n%s", tc.width, tc.want, frame)
		}
	}
}
