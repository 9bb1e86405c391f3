//go:build unix

package record_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/terminal"
)

// The screen of gorecord as its user sees it: it follows the recording and the size
// of the terminal, keys do what they say, and nothing of it stays behind.
func TestRecordScreen(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	tm := terminal.Open(g, 80, 24)
	before := tm.Modes()
	g.Start("goplay", "--loop", "--quiet", bags.Demo(t))

	tm.Keys("gorecord -a -O run --split", "Enter")
	tm.Shows("/imu/data : sensor_msgs/Imu")
	tm.Shows("space: pause   q: quit   s: split   m: mark   ?: help")
	tm.Keys("s")
	tm.Shows(" run_1.bag -")
	tm.Keys("Space", "Space")
	tm.Shows(`command=resume`)
	tm.Keys("Space")
	tm.Shows("PAUSED")
	tm.Keys("p")
	tm.Shows("RECORDING")
	tm.Keys("?")
	tm.Shows("pubs: publishers linked now")
	tm.Keys("?")
	tm.Keys("m")
	tm.Shows("mark (Enter writes it, Esc does not): _")
	tm.Keys("Escape")
	tm.Gone("mark (Enter")
	tm.Keys("m")
	tm.Shows("mark (Enter writes it, Esc does not): _") // else a text that comes in one piece is taken for a paste of commands
	tm.Keys("quiet Türx", "BSpace", " p", "Enter")
	tm.Shows(`Mark text="quiet Tür p"`)
	tm.Do("resize-window", "-x", "40", "-y", "10")
	tm.Shows("more   ")
	tm.Do("resize-window", "-x", "120", "-y", "40")
	tm.Shows("missed")

	tm.Keys("C-z")
	tm.Prompt()
	if now := tm.Modes(); now != before {
		t.Errorf("the modes of the terminal after Ctrl-Z:\n%s\nbefore:\n%s", now, before)
	}
	if s := tm.All(); strings.Contains(s, "RECORDING") || strings.Contains(s, "space:") {
		t.Errorf("after Ctrl-Z stays:\n%s", s)
	}
	tm.Keys("fg", "Enter")
	tm.Shows("space: pause")
	tm.Keys("q")
	tm.Prompt()
	tm.Shows("lost: none")
	g.Closed("run_1.bag")
	if now := tm.Modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
	whole := regexp.MustCompile(`^(\d\d:\d\d:\d\d (?:WARN )?[A-Za-z].*|` + regexp.QuoteMeta(terminal.ShellPrompt) + `.*|)$`)
	log, table, ok := strings.Cut(tm.All(), "  messages  ")
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

// After each change of the size of the terminal there is one frame, and no line of the log is lost.
func TestRecordScreenSizes(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestRecordScreen tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	tm := terminal.Open(g, 80, 24)
	g.Start("goplay", "--loop", "--quiet", bags.Demo(t))
	tm.Keys("gorecord -a -O run", "Enter")
	tm.Shows("/imu/data : sensor_msgs/Imu")
	for _, size := range [][2]int{{60, 24}, {80, 30}, {200, 50}, {20, 12}, {10, 3}, {80, 24}} {
		tm.Resize(size)
		tm.Framed("RECORDING", size[0], size[1])
	}
	tm.Resize([][2]int{{50, 12}, {80, 24}, {40, 10}, {90, 30}}...)
	tm.Framed("RECORDING", 90, 30)
	for _, line := range []string{"Recording to file=", " Subscribing to "} {
		if s := tm.All(); !strings.Contains(s, line) {
			t.Errorf("%q is lost:\n%s", line, s)
		}
	}
	tm.Keys("q")
	tm.Prompt()
}

// A key that the recording has no use for says why.
func TestRecordScreenUselessKeys(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	for key, c := range map[string]struct{ option, answer string }{
		"n": {"", `the key did nothing command=snapshot error="no snapshots are kept ready: record with --snapshot or --snapshot-beside"`},
		"s": {" --snapshot", `the key did nothing command=split error="only snapshots are written: there is no bag to split"`},
	} {
		tm := terminal.Open(g, 150, 24)
		tm.Keys("gorecord /t -O "+key+c.option, "Enter")
		tm.Shows("q: quit")
		tm.Keys(key)
		tm.Shows(c.answer)
		tm.Keys("q")
		tm.Prompt()
	}
}

// With many topics a terminal gets their number; without a screen, each name, as in pipes.
func TestRecordScreenManyTopics(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{"": "Subscribing to 40 topics", "--no-screen": "Subscribing to topic=/t40"} {
		g := harness.NewGraph(t, "gomaster")
		tm := terminal.Open(g, 80, 24)
		tm.Keys("gorecord "+option+" -O run /t{1..40}", "Enter")
		tm.Shows(want)
		if n := strings.Count(tm.All(), "Subscribing to topic=/t"); (n == 0) != (option == "") {
			t.Errorf("%q: %d lines with a topic", option, n)
		}
		tm.Keys("C-c")
		g.Closed("run.bag")
	}
}

// The screen has colors unless NO_COLOR is set (https://no-color.org).
func TestRecordScreenColors(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{"gorecord -a -O run": true, "NO_COLOR=1 gorecord -a -O run": false} {
		g := harness.NewGraph(t, "gomaster")
		tm := terminal.Open(g, 80, 24)
		tm.Keys(command, "Enter")
		tm.Shows("RECORDING")
		if s := tm.Do("capture-pane", "-p", "-e"); strings.Contains(s, "\x1b[") != want {
			t.Errorf("%s: colors should be %v:\n%q", command, want, s)
		}
		tm.Keys("q")
		g.Closed("run.bag")
	}
}

// A recorder that a shell runs in the background goes on and leaves the terminal to
// others, until it gets it.
func TestRecordScreenBackground(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestRecordScreen tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	tm := terminal.Open(g, 80, 24)
	g.Start("goplay", "--loop", "--quiet", bags.Demo(t))
	tm.Keys("gorecord -a -O run &", "Enter")
	tm.Shows("Subscribing to ")
	tm.JobControl("RECORDING", nil)
	tm.Keys("C-c")
	tm.Prompt()
	g.Closed("run.bag")
}

// A terminal that takes nothing, as after Ctrl-S, holds up neither the recording nor
// its end.
func TestRecordScreenBlocked(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestRecordScreen tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	tm := terminal.Open(g, 80, 24)
	before := tm.Modes()
	g.Start("goplay", "--loop", "--quiet", bags.Demo(t))
	tm.Keys("gorecord -a -O run --split", "Enter")
	tm.Shows("/imu/data : sensor_msgs/Imu")
	pid := tm.Pid()
	tm.Keys("C-s")
	stands := tm.Screen()
	tm.Keys("s") // two lines of the log, and a closed file to wait for
	g.Closed("run_0.bag")
	if now := tm.Screen(); now != stands {
		t.Skipf("this terminal does not stop for Ctrl-S:\n%s", now)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	g.Closed("run_1.bag")
	g.Eventually("gorecord ends", func() bool { return syscall.Kill(pid, 0) != nil })
	tm.Keys("C-q", "Enter")
	tm.Keys("clear", "Enter")
	tm.Prompt()
	if now := tm.Modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
}

// A Ctrl-C that ends a recording ends the tee that reads from it, too. The table is not lost.
func TestRecordScreenTable(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	tm := terminal.Open(g, 80, 24)
	tm.Keys("gorecord -a -O run | true", "Enter")
	tm.Shows("RECORDING")
	tm.Keys("C-c")
	tm.Shows("lost: none")
	tm.Prompt()
}

// A terminal that is closed ends the recording as any other signal does.
func TestRecordScreenHangup(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestRecordScreen tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	tm := terminal.Open(g, 80, 24)
	tm.Keys("gorecord -a -O run", "Enter")
	tm.Shows("RECORDING")
	tm.Do("kill-server")
	g.Closed("run.bag")
}

// Without a terminal, or with the option that turns the screen off, the program prints only its log.
func TestRecordNoScreen(t *testing.T) {
	t.Parallel()
	shared := harness.NewGraph(t, "gomaster")
	shared.Start("goplay", "--loop", "--quiet", bags.Demo(t))
	for name, command := range map[string]string{
		"option": "gorecord -a -O run --no-screen",
		"dumb":   "TERM=dumb gorecord -a -O run",
		"quiet":  "gorecord -a -O run -q; echo lost: unknown",
		"pipe":   "gorecord -a -O run 2>&1 | (trap '' INT; cat)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &harness.Graph{T: t, Kind: shared.Kind, Port: shared.Port, Dir: t.TempDir()}
			tm := terminal.Open(g, 80, 24)
			tm.Keys(command, "Enter")
			g.Eventually("something is recorded", func() bool {
				info, err := os.Stat(filepath.Join(g.Dir, "run.bag.active"))
				return err == nil && info.Size() > 100<<10
			})
			if s := tm.All(); strings.Contains(s, "RECORDING") || strings.Contains(s, "space:") {
				t.Errorf("a screen:\n%s", s)
			}
			tm.Keys("C-c")
			tm.Shows("lost: ")
			g.Closed("run.bag")
		})
	}
}
