//go:build unix

package integration_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// closed waits until the bag is closed.
func (g *graph) closed(bag string) {
	g.t.Helper()
	g.eventually(bag+" is closed", func() bool {
		_, err := os.Stat(filepath.Join(g.dir, bag))
		return err == nil
	})
}

// The screen of gorecord as its user sees it: it follows the recording and the size
// of the terminal, keys do what they say, and nothing of it stays behind.
func TestRecordScreen(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	before := tm.modes()
	g.start("goplay", "--loop", "--quiet", demoBag(t))

	tm.keys("gorecord -a -O run --split", "Enter")
	tm.shows("/imu/data : sensor_msgs/Imu")
	tm.shows("space: pause   q: quit   s: split   ?: help")
	tm.keys("s")
	tm.shows(" run_1.bag -")
	tm.keys("Space", "Space")
	tm.shows(`{"command": "resume"}`)
	tm.keys("Space")
	tm.shows("PAUSED")
	tm.keys("p")
	tm.shows("RECORDING")
	tm.keys("?")
	tm.shows("pubs: publishers linked now")
	tm.keys("?")
	tm.do("resize-window", "-x", "40", "-y", "10")
	tm.shows("more   ")
	tm.do("resize-window", "-x", "120", "-y", "40")
	tm.shows("missed")

	tm.keys("C-z")
	tm.prompt()
	if now := tm.modes(); now != before {
		t.Errorf("the modes of the terminal after Ctrl-Z:\n%s\nbefore:\n%s", now, before)
	}
	if s := tm.all(); strings.Contains(s, "RECORDING") || strings.Contains(s, "space:") {
		t.Errorf("after Ctrl-Z stays:\n%s", s)
	}
	tm.keys("fg", "Enter")
	tm.shows("space: pause")
	tm.keys("q")
	tm.prompt()
	tm.shows("lost: none")
	g.closed("run_1.bag")
	if now := tm.modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
	whole := regexp.MustCompile(`^(20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO (options|[A-Z][^{]*)( \{.*\})?|` + regexp.QuoteMeta(shellPrompt) + `.*|)$`)
	log, table, ok := strings.Cut(tm.all(), "  messages  ")
	if !ok || strings.Contains(table, "space:") {
		t.Errorf("the table:\n%s", table)
	}
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, " \n")
		if !whole.MatchString(line) && !strings.HasPrefix(line, "[1]+  Stopped") && !strings.HasPrefix(line, "gorecord -a") {
			t.Errorf("smeared: %q", line)
		}
	}
}

// Whatever sizes its terminal gets, there is one frame, and of the log nothing is lost.
func TestRecordScreenSizes(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	g.start("goplay", "--loop", "--quiet", demoBag(t))
	tm.keys("gorecord -a -O run", "Enter")
	tm.shows("/imu/data : sensor_msgs/Imu")
	for _, size := range [][2]int{{60, 24}, {80, 30}, {200, 50}, {20, 12}, {10, 3}, {80, 24}} {
		tm.resize(size)
		tm.framed("RECORDING", size[0], size[1])
	}
	tm.resize([][2]int{{50, 12}, {80, 24}, {40, 10}, {90, 30}}...)
	tm.framed("RECORDING", 90, 30)
	for _, line := range []string{"INFO options {", "INFO Recording to", `{"topic": "/tf_static"}`} {
		if s := tm.all(); !strings.Contains(s, line) {
			t.Errorf("%q is lost:\n%s", line, s)
		}
	}
	tm.keys("q")
	tm.prompt()
}

// Colors are for those who want them (https://no-color.org).
func TestRecordScreenColors(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{"gorecord -a -O run": true, "NO_COLOR=1 gorecord -a -O run": false} {
		g := newGraph(t, "gomaster")
		tm := g.terminal(80, 24)
		tm.keys(command, "Enter")
		tm.shows("RECORDING")
		if s := tm.do("capture-pane", "-p", "-e"); strings.Contains(s, "\x1b[") != want {
			t.Errorf("%s: colors should be %v:\n%q", command, want, s)
		}
		tm.keys("q")
		g.closed("run.bag")
	}
}

// A recorder that a shell runs in the background goes on and leaves the terminal to
// others, until it gets it.
func TestRecordScreenBackground(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	g.start("goplay", "--loop", "--quiet", demoBag(t))
	tm.keys("gorecord -a -O run &", "Enter")
	tm.shows(`{"topic": "/tf_static"}`)
	tm.keys("jobs", "Enter")
	tm.shows("Running")
	if s := tm.screen(); strings.Contains(s, "RECORDING") {
		t.Errorf("a screen in the background:\n%s", s)
	}
	tm.keys("fg", "Enter")
	tm.shows("RECORDING")
	tm.keys("C-z")
	tm.shows("Stopped")
	tm.keys("bg; clear", "Enter")
	tm.keys("jobs", "Enter")
	tm.shows("Running")
	tm.keys("fg", "Enter")
	tm.shows("RECORDING")
	tm.keys("C-c")
	tm.prompt()
	g.closed("run.bag")
}

// A terminal that takes nothing, as after Ctrl-S, holds up neither the recording nor
// its end.
func TestRecordScreenBlocked(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	before := tm.modes()
	g.start("goplay", "--loop", "--quiet", demoBag(t))
	tm.keys("gorecord -a -O run --split", "Enter")
	tm.shows("/imu/data : sensor_msgs/Imu")
	pid := tm.pid()
	tm.keys("C-s")
	stands := tm.screen()
	tm.keys("s") // two lines of the log, and a closed file to wait for
	g.closed("run_0.bag")
	if now := tm.screen(); now != stands {
		t.Skipf("this terminal does not stop for Ctrl-S:\n%s", now)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	g.closed("run_1.bag")
	g.eventually("gorecord ends", func() bool { return syscall.Kill(pid, 0) != nil })
	tm.keys("C-q", "Enter")
	tm.keys("clear", "Enter")
	tm.prompt()
	if now := tm.modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
}

// A Ctrl-C that ends a recording ends the tee behind it, too. The table is not lost.
func TestRecordScreenTable(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	tm.keys("gorecord -a -O run | true", "Enter")
	tm.shows("RECORDING")
	tm.keys("C-c")
	tm.shows("lost: none")
	tm.prompt()
}

// A terminal that is closed ends the recording as any other signal does.
func TestRecordScreenHangup(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	tm.keys("gorecord -a -O run", "Enter")
	tm.shows("RECORDING")
	tm.do("kill-server")
	g.closed("run.bag")
}

// The third signal ends the process at once, but the terminal is given back.
func TestRecordScreenThirdSignal(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	tm := g.terminal(80, 24)
	before := tm.modes()
	tm.keys("gorecord -a -O run; echo code $?", "Enter")
	tm.shows("RECORDING")
	pid := tm.pid()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} { // of equal ones some would fall together
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	tm.shows("code 2")
	tm.prompt()
	if now := tm.modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
	if s := tm.all(); strings.Contains(s, "space:") {
		t.Errorf("of the screen stays:\n%s", s)
	}
}

// Where no screen is wanted, or none can be, there is only the log.
func TestRecordNoScreen(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"option": "gorecord -a -O run --no-screen",
		"dumb":   "TERM=dumb gorecord -a -O run",
		"quiet":  "gorecord -a -O run -q; echo lost: unknown",
		"pipe":   "gorecord -a -O run 2>&1 | (trap '' INT; cat)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, "gomaster")
			tm := g.terminal(80, 24)
			g.start("goplay", "--loop", "--quiet", demoBag(t))
			tm.keys(command, "Enter")
			g.eventually("something is recorded", func() bool {
				info, err := os.Stat(filepath.Join(g.dir, "run.bag.active"))
				return err == nil && info.Size() > 100<<10
			})
			if s := tm.all(); strings.Contains(s, "RECORDING") || strings.Contains(s, "space:") {
				t.Errorf("a screen:\n%s", s)
			}
			tm.keys("C-c")
			tm.shows("lost: ")
			g.closed("run.bag")
		})
	}
}
