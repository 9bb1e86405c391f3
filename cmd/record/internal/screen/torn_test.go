package screen_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/term/termtest"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// A terminal that has been narrower, if only for a moment, may show rows of an old frame
// when it grows. They go, and no line of the log does.
func TestLiveTorn(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*shown, func(width, height int)){
		"narrow, then wide": func(_ *shown, resize func(width, height int)) {
			resize(40, 24)
			termtest.After(time.Second)
			resize(80, 24)
		},
		"narrow, then high": func(_ *shown, resize func(width, height int)) {
			resize(40, 12)
			termtest.After(time.Second)
			resize(40, 24)
		},
		"narrow for a moment": func(s *shown, _ func(width, height int)) { s.live.Resized() },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			width, height := 80, 24
			show(t, 80, 24, func(s *shown) {
				s.live.Size = func() (int, int) {
					mu.Lock()
					defer mu.Unlock()
					return width, height
				}
				s.change = func(st *control.Stats) { st.Topics = st.Topics[:3] }
			}, func(s *shown) {
				for i := range 40 {
					fmt.Fprintf(s.console, "\x1b[34mline %02d\x1b[0m %s\n", i, strings.Repeat("x", 30))
				}
				termtest.After(time.Second)
				change(s, func(w, h int) {
					mu.Lock()
					defer mu.Unlock()
					width, height = w, h
				})
				// The cursor is where the terminal has put it, somewhere in the frame.
				s.tty.Write([]byte("RECORDING of old\nand its rows\n"))
				burst := ""
				for i := range 50 {
					burst += fmt.Sprintf("line %02d xxx\n", 40+i)
				}
				s.console.Write([]byte(burst))
				termtest.After(time.Second)
				got := s.tty.Shown()
				if strings.Count(got, "RECORDING") != 1 || strings.Contains(got, "its rows") || !strings.Contains(got, "\nRECORDING") {
					t.Errorf("the screen shows:\n%s", got)
				}
				if !strings.Contains(got, "line 88 xxx\nline 89 xxx\nRECORDING") {
					t.Errorf("the last lines are not there:\n%s", got)
				}
				for i := range 90 {
					if line := fmt.Sprintf("line %02d x", i); !strings.Contains(s.tty.All(), line) {
						t.Errorf("%q is lost:\n%s", line, s.tty.All())
					}
				}
			})
		})
	}
}

// Lines that are kept for that do not grow without end.
func TestLiveTornLate(t *testing.T) {
	t.Parallel()
	show(t, 80, 24, nil, func(s *shown) {
		for i := range 20_000 {
			fmt.Fprintf(s.console, "line %d\n", i)
			if i%100 == 0 {
				termtest.After(0)
			}
		}
		termtest.After(time.Second)
		s.live.Resized()
		termtest.After(time.Second)
		if got := s.tty.Shown(); !strings.Contains(got, "line 19998\nline 19999\nRECORDING") {
			t.Errorf("the screen shows:\n%s", got)
		}
		if got := s.tty.All(); strings.Count(got, "\nline 19992\n") != 2 || strings.Count(got, "\nline 19991\n") != 1 {
			t.Errorf("more or less than a screen was written again:\n%s", got[max(0, len(got)-2000):])
		}
	})
}

// A frame whose place others have taken is whole again soon.
func TestLiveMends(t *testing.T) {
	t.Parallel()
	show(t, 80, 24, nil, func(s *shown) {
		termtest.After(2 * time.Second)
		s.tty.Write([]byte(strings.Repeat("\n", 24) + "Broadcast message\n"))
		termtest.After(10 * time.Second)
		_, rest, _ := strings.Cut(s.tty.All(), "Broadcast message\n")
		if lines := strings.Split(rest, "\n"); len(lines) < 15 || !strings.HasPrefix(lines[0], "RECORDING") || !strings.Contains(rest, "/never") {
			t.Errorf("after the message:\n%s", rest)
		}
	})
}
