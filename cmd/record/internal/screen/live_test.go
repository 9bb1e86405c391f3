package screen_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"github.com/gorosbag/gorosbag/cmd/record/internal/screen"
	"github.com/gorosbag/gorosbag/internal/face/term"
	"github.com/gorosbag/gorosbag/internal/face/term/keys"
	"github.com/gorosbag/gorosbag/internal/face/term/termtest"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// robot returns accounts of a recording of 12 topics that has gone on for d.
func robot(d time.Duration) control.Stats {
	start := time.Date(2026, 11, 21, 7, 13, 48, 0, time.UTC)
	now := start.Add(d)
	seconds := d.Seconds()
	s := control.Stats{
		Taken: now, Elapsed: d, File: "/bags/2026-11-21-07-13-48_2.bag", Part: 2, FileBytes: 300 << 20, Bytes: 3 << 30,
		Buffered: 12 << 20, BufferMost: 256 << 20, DiskFree: 120 << 30, TimeLeft: 2*time.Hour + 40*time.Minute,
	}
	topic := func(name, kind string, publishers int, hz float64, bytes uint64) *control.TopicStats {
		n := uint64(hz * seconds)
		t := control.TopicStats{Topic: name, Type: kind, Publishers: publishers, Messages: n, Bytes: n * bytes}
		if n > 0 {
			t.Last = now
		}
		s.Topics = append(s.Topics, t)
		return &s.Topics[len(s.Topics)-1]
	}
	topic("/camera/front/color/image_raw", "sensor_msgs/Image", 1, 30, 921600)
	topic("/camera/front/camera_info", "sensor_msgs/CameraInfo", 1, 30, 400)
	topic("/imu", "sensor_msgs/Imu", 1, 400, 320).Dropped = 17
	topic("/flood", "std_msgs/Bool", 3, 250000, 1)
	topic("/points", "sensor_msgs/PointCloud2", 1, 10, 2<<20)
	topic("/tf", "tf2_msgs/TFMessage", 5, 120, 180)
	topic("/odom", "nav_msgs/Odometry", 1, 50, 700)
	topic("/map", "nav_msgs/OccupancyGrid", 1, 0, 0).Last = start.Add(-90 * time.Minute)
	topic("/never", "", 0, 0, 0)
	topic("/silent", "std_msgs/String", 1, 0, 0)
	topic("/evil\x1b[2J\x1b]0;gone\a", "std_msgs/\u202eString", 1, 4, 10)
	topic("/相机/图像/原始数据/很长的名字/很长的名字/很长的名字", "std_msgs/String", 1, 4, 10)
	return s
}

// silent makes topics silent, slow and with wrong stamps.
func silent(s *control.Stats) {
	s.Findings = []finding.Finding{
		{Topic: "/odom", Kind: finding.Silent, Cause: finding.Gone, For: 41 * time.Second},
		{Topic: "/never", Kind: finding.Silent, Cause: finding.Absent, For: 41 * time.Second, Expected: true},
		{Topic: "/camera/front/color/image_raw", Kind: finding.Slow, Hz: 14.9, Want: 30},
		{Topic: "/imu", Kind: finding.Stamps, Cause: finding.Behind, Offset: time.Hour},
		{Topic: "/imu", Kind: finding.Stamps, Cause: finding.Still},
	}
	s.Topics[7].Latching = true
}

// TestLiveTroubles: on a narrow screen, too, the first lines say which topics are silent, and their rows come first.
func TestLiveTroubles(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 14}, {120, 30}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			show(t, size[0], size[1], func(s *shown) { s.change = silent }, func(s *shown) {
				termtest.After(10 * time.Second)
				termtest.Golden(t, fmt.Sprintf("live_silent_%dx%d", size[0], size[1]), s.tty.All())
			})
		})
	}
}

// shown is a live screen on a fake terminal, in fake time.
type shown struct {
	tty     *termtest.Terminal
	console *term.Console
	live    *term.Live
	view    *screen.View
	begun   time.Time
	begin   time.Duration // the age of the recording at first
	change  func(*control.Stats)
}

// show runs test with the live screen of robot, in a bubble and after setup.
func show(t *testing.T, width, height int, setup, test func(*shown)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { showIn(t, width, height, setup, test) })
}

func showIn(t *testing.T, width, height int, setup, test func(*shown)) {
	t.Helper()
	tty := termtest.New(width, height)
	s := &shown{tty: tty, console: term.NewConsole(tty, true), begun: time.Now(), begin: time.Hour, change: func(*control.Stats) {}}
	is := func(name string) func(*control.Stats) string {
		return func(*control.Stats) string { return name }
	}
	s.view = &screen.View{
		Stats: func() (control.Stats, error) {
			st := robot(s.begin + time.Since(s.begun))
			s.change(&st)
			return st, nil
		},
		Keys: []term.Key[control.Stats]{
			{Press: []keys.Key{' ', 'p'}, Name: is("pause"), Do: func() { s.console.Write([]byte("pause pressed\n")) }},
			{Press: []keys.Key{'s'}, Name: is("split"), Do: func() { s.console.Write([]byte("split pressed\n")) }},
			{Press: []keys.Key{'n'}, Name: is("snapshot")},
			{Press: []keys.Key{'q'}, Name: is("quit")},
			{Press: []keys.Key{'?'}, Name: is("help")},
		},
		Split: true, FileBytes: 1 << 30, FileTime: 2 * time.Hour,
	}
	s.live = &term.Live{Console: s.console, Size: func() (int, int) { return tty.Width, tty.Height }, View: s.view}
	if setup != nil {
		setup(s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.live.Run(ctx)
	}()
	defer s.console.Close()
	defer func() {
		cancel()
		<-done
	}()
	test(s)
	if len(tty.Odd) > 0 {
		t.Errorf("the terminal got %q", tty.Odd)
	}
}

func TestLiveSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 30}, {40, 10}, {200, 50}, {20, 12}, {60, 5}, {80, 2}, {7, 4}, {1, 1}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			show(t, size[0], size[1], nil, func(s *shown) {
				termtest.After(10 * time.Second)
				termtest.Golden(t, fmt.Sprintf("live_%dx%d", size[0], size[1]), s.tty.All())
			})
		})
	}
}

func TestLiveStates(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*shown){
		"begin":   func(s *shown) { s.begin = 0; s.change = func(st *control.Stats) { st.Topics = nil } },
		"paused":  func(s *shown) { s.change = func(st *control.Stats) { st.State = control.StatePaused } },
		"stopped": func(s *shown) { s.change = func(st *control.Stats) { st.State, st.File = control.StateStopped, "" } },
		"closing": func(s *shown) { s.change = func(st *control.Stats) { st.Ending = true } },
		"trouble": func(s *shown) {
			s.change = func(st *control.Stats) {
				st.Buffered, st.TimeLeft = 250<<20, 5*time.Minute
				st.Topics[1].Missed = 3
			}
		},
		"silent": func(s *shown) { s.change = silent },
		"ascii":  func(s *shown) { s.view.ASCII = true },
		"snapshots": func(s *shown) {
			s.change = func(st *control.Stats) {
				st.Snapshots = control.SnapshotStats{Mode: control.SnapshotOnly, Taken: 1, Held: 42 * time.Second}
				st.File = ""
				st.Buffered, st.Snapshots.Bytes = 250<<20, 246<<20
			}
		},
		"help": func(s *shown) { s.live.Press('?') },
	}
	for name, set := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show(t, 80, 24, set, func(s *shown) {
				termtest.After(10 * time.Second)
				termtest.Golden(t, "live_"+name, s.tty.All())
			})
		})
	}
}

func TestLiveColors(t *testing.T) {
	t.Parallel()
	screens := map[bool]string{}
	for _, color := range []bool{false, true} {
		show(t, 80, 24, func(s *shown) { s.view.Color = color }, func(s *shown) {
			termtest.After(time.Second)
			screens[color] = s.tty.All()
			for _, want := range []string{"\x1b[31m! 17 lost\x1b[m", "\x1b[31m      !17\x1b[m", "\x1b[2m  /never\x1b[m", "\x1b[1mRECORDING\x1b[m"} {
				if strings.Contains(s.tty.Last, want) != color {
					t.Errorf("color %v: %q in %q", color, want, s.tty.Last)
				}
			}
		})
	}
	if d := cmp.Diff(screens[false], screens[true]); d != "" {
		t.Errorf("colors take room (-without +with):\n%s", d)
	}
}

// Lines of the log stand above the frame in their order, whole, and nothing of a frame
// stays among them.
func TestLiveLog(t *testing.T) {
	t.Parallel()
	tty := ""
	show(t, 60, 16, nil, func(s *shown) {
		for i := range 40 {
			fmt.Fprintf(s.console, "line %d\n", i)
			if i%3 == 0 {
				termtest.After(100 * time.Millisecond)
			}
			if i == 20 {
				fmt.Fprintf(s.console, "a long line: %s\n", strings.Repeat("0123456789", 12))
				s.console.Write([]byte("no newline"))
			}
		}
		s.live.Press('s')
		s.live.Press('x')
		termtest.After(time.Second)
		termtest.Golden(t, "live_log", s.tty.All())
		defer func() { tty = s.tty.All() }()
		s.live.Hide(time.Second)
		termtest.After(time.Second)
		s.console.Write([]byte("hidden\n"))
		termtest.After(time.Second)
		if got := s.tty.All(); !strings.HasSuffix(got, "split pressed\nhidden\n") {
			t.Errorf("hidden:\n%s", got)
		}
		s.live.Show()
		termtest.After(0)
		if got := s.tty.All(); !strings.Contains(got, "hidden\nRECORDING") {
			t.Errorf("shown again:\n%s", got)
		}
	})
	if !strings.Contains(tty, "hidden\nRECORDING") {
		t.Errorf("the screen was:\n%s", tty)
	}
}

// A recording that has ended leaves the log and nothing else.
func TestLiveEnd(t *testing.T) {
	t.Parallel()
	var tty *termtest.Terminal
	show(t, 60, 16, nil, func(s *shown) {
		tty = s.tty
		s.console.Write([]byte("first\n"))
		termtest.After(time.Second)
		s.console.Write([]byte("last\x7f\u009b2J\xff\n"))
	})
	if d := cmp.Diff("first\nlast\\x7f\\u009b2J\ufffd\n", tty.All()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if tty.Row != 2 || tty.Column != 0 {
		t.Errorf("the cursor is at %d, %d", tty.Row, tty.Column)
	}
}

// A screen where nothing changes is hardly written, and one of another size is drawn
// anew.
func TestLiveIdle(t *testing.T) {
	t.Parallel()
	var narrow atomic.Bool
	show(t, 60, 16, func(s *shown) {
		fixed := robot(time.Hour)
		s.change = func(st *control.Stats) { *st = fixed }
		s.live.Size = func() (int, int) {
			if narrow.Load() {
				return 40, 10
			}
			return 60, 16
		}
	}, func(s *shown) {
		termtest.After(11 * time.Second) // each 5 s it is drawn anew
		before := s.tty.Count()
		termtest.After(3 * time.Second)
		if n := s.tty.Count() - before; n != 0 {
			t.Errorf("%d writes of the same", n)
		}
		narrow.Store(true)
		termtest.After(time.Second)
		for line := range strings.Lines(s.tty.All()) {
			if uniseg.StringWidth(line) > 40 {
				t.Errorf("too wide after the change of size: %q", line)
			}
		}
	})
}

// A frame that grows on a terminal that has shrunk, which we do not know yet, leaves
// nothing in the scrollback.
func TestLiveGrows(t *testing.T) {
	t.Parallel()
	show(t, 80, 24, func(s *shown) {
		s.live.Size = func() (int, int) { return 80, 24 }
		s.change = func(st *control.Stats) { st.Topics = st.Topics[:2] }
	}, func(s *shown) {
		termtest.After(time.Second)
		s.tty.Shrink(8)
		s.live.Press('?')
		termtest.After(time.Second)
		s.live.Press('?')
		termtest.After(time.Second)
		if got := s.tty.All(); strings.Count(got, "RECORDING") != 1 {
			t.Errorf("a frame stays:\n%s", got)
		}
	})
}

// Topics that are about as heavy do not change places all the time.
func TestLiveSteady(t *testing.T) {
	t.Parallel()
	frames := uint64(0)
	show(t, 80, 24, func(s *shown) {
		s.change = func(st *control.Stats) {
			frames++
			st.Topics = []control.TopicStats{
				{Topic: "/a", Bytes: 1<<20 + 1000*frames},
				{Topic: "/b", Bytes: 1<<20 + 1000*frames + 2000*(frames%2) - 1000},
				{Topic: "/heavy", Bytes: 4 << 20},
			}
		}
	}, func(s *shown) {
		for range 10 {
			termtest.After(term.Refresh)
			if got := s.tty.All(); strings.Index(got, "/heavy") > strings.Index(got, "/a") || strings.Index(got, "/a") > strings.Index(got, "/b") {
				t.Fatalf("the order of the topics:\n%s", got)
			}
		}
	})
}

// A file that a stopped recording begins with is as old as it is, not as the recording.
func TestLiveStarts(t *testing.T) {
	t.Parallel()
	show(t, 120, 24, func(s *shown) {
		s.change = func(st *control.Stats) {
			st.Part = 0
			if time.Since(s.begun) < time.Minute {
				st.State, st.File = control.StateStopped, ""
			}
		}
	}, func(s *shown) {
		termtest.After(90*time.Second + term.Refresh/2)
		if got := s.tty.All(); !strings.Contains(got, "next bag in 1:59:30") {
			t.Errorf("the file is 30 s old and full after 2 h:\n%s", got)
		}
	})
}

// Hz is of what comes, also in a pause, and when messages turn out to be lost.
func TestLiveRates(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*control.TopicStats){
		"passed": func(st *control.TopicStats) { st.Passed, st.Messages = st.Messages, 0 },
		"left out": func(st *control.TopicStats) {
			st.LeftOut = st.Messages / 4 * 3
			st.Messages -= st.LeftOut
		},
		"dropped": func(st *control.TopicStats) { st.Dropped, st.Messages = st.Messages, 0 },
		"lost later": func(st *control.TopicStats) {
			if n := st.Messages / 2000 * 2000; n > 0 { // each 5 s all until then
				st.Dropped, st.Messages = n, st.Messages-n
			}
		},
	}
	for name, move := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			show(t, 80, 24, func(s *shown) {
				s.change = func(st *control.Stats) {
					st.Topics = st.Topics[2:3]
					move(&st.Topics[0])
				}
			}, func(s *shown) {
				for range 10 {
					termtest.After(1100 * time.Millisecond)
					if got := s.tty.All(); !strings.Contains(got, "\n   400 ") {
						t.Errorf("/imu should have 400 Hz:\n%s", got)
						return
					}
				}
			})
		})
	}
}

// 500 topics cost little: four frames a second.
func BenchmarkLive500(b *testing.B) {
	s := robot(time.Hour)
	for i := range 488 {
		t := s.Topics[i%12]
		t.Topic = fmt.Sprintf("/robot%d/%s", i, strings.Trim(t.Topic, "/"))
		s.Topics = append(s.Topics, t)
	}
	c := term.NewConsole(io.Discard, true)
	defer c.Close()
	l := &term.Live{Console: c, Size: func() (int, int) { return 200, 50 }, View: &screen.View{Stats: func() (control.Stats, error) {
		s.Taken = s.Taken.Add(term.Refresh)
		s.Elapsed += term.Refresh
		return s, nil
	}}}
	b.ReportAllocs()
	for b.Loop() {
		l.Show() // draws
	}
}
