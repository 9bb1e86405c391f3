//go:build unix

package play_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/terminal"
)

// stroll is 100 s long: each second a word on /walk, and each ten seconds one on /stop.
func stroll() []bags.StringMessage {
	all := []bags.StringMessage{{Topic: "/map", Node: "/mapper", Latching: true, Text: "here"}}
	for i := range 101 {
		all = append(all, bags.StringMessage{Topic: "/walk", Node: "/walker", At: time.Duration(i) * time.Second, Text: strconv.Itoa(i)})
		if i%10 == 5 {
			all = append(all, bags.StringMessage{Topic: "/stop", Node: "/walker", At: time.Duration(i)*time.Second + time.Second/2, Text: strconv.Itoa(i)})
		}
	}
	return all
}

// last waits until the last word that was heard of /walk is this one.
func last(e *peers.Listener, want string) {
	e.G.T.Helper()
	e.G.Eventually("the last word is "+want, func() bool {
		words := e.Texts("/walk")
		return len(words) > 0 && words[len(words)-1] == want
	})
}

// smeared returns the lines that are neither of stock nor of the log nor of the summary.
func smeared(all string) (odd []string) {
	whole := regexp.MustCompile(`^(\d\d:\d\d:\d\d .*|Opening .*|Waiting .* done\.|Hit space to .*|Done\.|` +
		`bookmarks:|  \d+\.\d{9}  --start \d+\.\d{9}|  messages  .* topic| +\d+ .* : std_msgs/String|\d+ messages, .*|late: .*|lost: .*|` +
		`code \d+|\[1\]\+ .*|goplay .*|` + regexp.QuoteMeta(terminal.ShellPrompt) + `.*|)$`)
	for line := range strings.Lines(all) {
		if line = strings.TrimRight(line, " \n"); !whole.MatchString(line) {
			odd = append(odd, line)
		}
	}
	return odd
}

// Each key does what the help says, and what the screen shows is what a subscriber gets.
func TestPlayScreenKeys(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "stroll.bag", stroll()...)
	e := peers.Listen(g, "listener", "/walk", "/stop", "/map")
	tm := terminal.Open(g, 80, 24)
	before := tm.Modes()
	tm.Keys("goplay --pause --pause-topics /stop --bags stroll.bag", "Enter")
	press := func(key, want string) {
		t.Helper()
		tm.Keys(key)
		tm.Shows(want)
	}
	tm.Shows("PAUSED 0:00.000 of 1:40.0 - stroll.bag -")
	e.WaitLinked()
	press("Right", "PAUSED 0:05.000 of")
	press("NPage", "PAUSED 1:05.000 of")
	press("Left", "PAUSED 1:00.000 of")
	press("PPage", "PAUSED 0:00.000 of")
	press("S-Right", "PAUSED 1:00.000 of")
	press("S-Left", "PAUSED 0:00.000 of")
	press("End", "PAUSED 1:40.000 of")
	press("Home", "PAUSED 0:00.000 of")
	for _, digit := range []int{1, 2, 9, 0, 4, 5, 6, 7, 8, 3} {
		press(strconv.Itoa(digit), fmt.Sprintf("PAUSED %d:%d0.000 of", digit/6, digit%6))
	}
	press("s", "PAUSED 0:30.000 of")
	last(e, "30")
	press(".", "PAUSED 0:31.000 of")
	last(e, "31")
	press(",", "PAUSED 0:30.000 of")
	last(e, "30")
	press("S", "PAUSED 0:29.000 of")
	last(e, "29")

	press("Up", "rate 2x ")
	press("Up", "rate 4x ")
	press("Down", "rate 2x ")
	press("=", "rate 1x ")

	press("[", "loop off, 0:29.0 to 1:40.0")
	press("5", "PAUSED 0:50.000 of")
	press("]", "loop off, 0:29.0 to 0:50.0")
	press("l", "loop 0:29.0 to 0:50.0")
	tm.Shows("PAUSED 0:29.000 of") // the second mark is where the first is
	press("l", "loop off, 0:29.0 to 0:50.0")
	press("5", "PAUSED 0:50.000 of")

	tm.Shows("pauses on topics")
	tm.Keys("t")
	tm.Gone("pauses on topics")
	press("b", "bookmarks: 1")
	press("Left", "PAUSED 0:45.000 of")
	press("b", "bookmarks: 2")

	press("?", "left: 5 s back")
	tm.Keys("Escape")
	tm.Gone("left: 5 s back")
	press("t", "pauses on topics")
	press("Space", "paused before /stop") // it runs for half a second, which a busy machine may not show
	tm.Shows("PAUSED 0:45.500 of")
	press("Space", "RUNNING")
	e.G.Eventually("47 is heard", func() bool { return slices.Contains(e.Texts("/walk"), "47") })
	press("Space", "PAUSED")

	tm.Keys("q")
	tm.Prompt()
	tm.Shows("1500000050.000000000  --start 50.000000000")
	tm.Shows("1500000045.000000000  --start 45.000000000")
	if now := tm.Modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
	if odd := smeared(tm.All()); odd != nil {
		t.Errorf("smeared: %q", odd)
	}
	if maps := e.Texts("/map"); len(maps) == 0 || maps[0] != "here" {
		t.Errorf("/map: %q", maps)
	}
}

// The loop between the marks goes back by itself, and what is beyond is not played.
func TestPlayScreenLoop(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "stroll.bag", stroll()...)
	e := peers.Listen(g, "listener", "/walk")
	tm := terminal.Open(g, 80, 24)
	tm.Keys("goplay --pause --rate 20 stroll.bag", "Enter")
	tm.Shows("PAUSED 0:00.000 of 1:40.0")
	tm.Keys("1")
	tm.Shows("PAUSED 0:10.000")
	tm.Keys("[")
	tm.Shows("loop off, 0:10.0 to 1:40.0")
	tm.Keys("2")
	tm.Shows("PAUSED 0:20.000")
	tm.Keys("]", "l")
	tm.Shows("loop 0:10.0 to 0:20.0")
	tm.Keys("Home", "Space")
	e.WaitFor("/walk", 40)
	tm.Keys("q")
	tm.Prompt()
	rounds := 0
	for _, word := range e.Texts("/walk") {
		n, err := strconv.Atoi(word)
		if err != nil || n > 20 {
			t.Errorf("/walk beyond the end of the loop: %q", word)
		}
		if n == 10 {
			rounds++
		}
	}
	if rounds < 2 {
		t.Errorf("%d rounds: %q", rounds, e.Texts("/walk"))
	}
}

// Two hundred topics, names of all kinds, and windows of all sizes.
func TestPlayScreenSizes(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestPlayScreenKeys tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	all := stroll()
	for i := range 197 {
		all = append(all, bags.StringMessage{Topic: fmt.Sprintf("/robot%d/state", i), Node: "/n", At: time.Second, Text: "x"})
	}
	for i := range 100 {
		all = append(all, bags.StringMessage{Topic: "/camera/image", Node: "/n", At: time.Duration(i) * time.Second, Text: strings.Repeat("x", 1000)})
	}
	all = append(all, bags.StringMessage{Topic: "/图像", Node: "/n", Text: "a name that ROS does not know"})
	bags.Make(g, "相机.bag", all...)
	peers.Listen(g, "listener", "/walk")
	tm := terminal.Open(g, 80, 24)
	tm.Keys("goplay --loop --rate 4 相机.bag", "Enter")
	tm.Shows(" of 1:40.0 - 相机.bag -")
	tm.Shows("/camera/image : std_msgs/String")
	tm.Shows("and 19") // of 200 and more
	if s := tm.All(); !strings.Contains(s, `topic=/图像`) {
		t.Errorf("nothing is said of the topic that cannot be played:\n%s", s)
	}
	for _, size := range [][2]int{{60, 24}, {80, 30}, {40, 10}, {200, 50}, {20, 12}, {120, 50}, {60, 12}, {120, 8}, {50, 40}, {80, 24}, {60, 5}, {80, 24}, {10, 3}, {80, 24}} {
		tm.Resize(size)
		tm.Framed("RUNNING", size[0], size[1])
	}
	tm.Resize([][2]int{{60, 24}, {80, 24}}...) // which is no change for who looks only now and then
	tm.Framed("RUNNING", 80, 24)
	tm.Resize([][2]int{{70, 24}, {60, 24}, {50, 20}, {40, 16}, {60, 20}, {30, 12}, {70, 24}, {90, 30}}...)
	tm.Framed("RUNNING", 90, 30)
	for _, line := range []string{"goplay --loop --rate 4", "Opening 相机.bag", "Hit space to toggle paused"} {
		if s := tm.All(); !strings.Contains(s, line) {
			t.Errorf("%q is lost:\n%s", line, s)
		}
	}
	tm.Shows("and ")
	tm.Shows("space: pause")
	tm.Keys("q")
	tm.Prompt()
	if s := tm.Screen(); strings.Contains(s, "space: pause") {
		t.Errorf("of the screen stays:\n%s", s)
	}
	tm = terminal.Open(g, 24, 12)
	tm.Keys("goplay --loop 相机.bag", "Enter")
	tm.Framed("RUNNING", 24, 12)
	tm.Keys("q")
	tm.Prompt()
}

// The screen shows which subscriber stops play, and which subscriber loses messages.
func TestPlayScreenSlow(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestPlayScreenKeys tests the usual one")
	t.Run("drop", func(t *testing.T) {
		t.Parallel()
		g := harness.NewGraph(t, "gomaster")
		var bag []bags.StringMessage
		for i := range 3000 {
			bag = append(bag, bags.StringMessage{Topic: "/big", Node: "/camera", At: time.Duration(i) * 10 * time.Millisecond, Text: strings.Repeat("x", 100_000)})
		}
		bags.Make(g, "big.bag", bag...)
		e := peers.Listen(g, "listener", "/big")
		tm := terminal.Open(g, 120, 30)
		tm.Keys("goplay --loop --overflow drop --queue 2 big.bag -d 1 __name:=player", "Enter")
		deafSubscriber(g, e.Node, "/player", "/big")
		tm.Matches(` [1-9]\d* dropped: /deaf [1-9]`)
		// On a busy machine the listener, too, is now and then too slow for a queue of two, and its
		// number leaves no room for its name.
		tm.Matches(`/big : std_msgs/String -> /deaf \([1-9]\d* dropped\)(, /listener| and 1 more)`)
		tm.Shows("RUNNING")
		tm.Keys("q")
		tm.Matches(`lost: \d+ by full queues of slow subscribers`)
		tm.Prompt()
	})
	t.Run("rate control", func(t *testing.T) {
		t.Parallel()
		g := harness.NewGraph(t, "gomaster")
		bags.Make(g, "stroll.bag", stroll()...)
		e := peers.Listen(g, "listener", "/walk")
		r := peers.Reports(g, e.Node, "/done", "geometry_msgs/PointStamped", "c63aecb41bfdfd6b7e1fac37c7cbe7bf", "Header header\nPoint point\n")
		tm := terminal.Open(g, 80, 24)
		tm.Keys("goplay --rate 10 --rate-control-topic /done --rate-control-max-delay 2.5 stroll.bag", "Enter")
		tm.Shows("DELAYED 0:03.0 of")
		tm.Matches(`rate control is \d\.\d s behind`)
		r.WaitForSubscriber()
		r.Report(bags.Start().Add(10 * time.Second))
		tm.Shows("DELAYED 0:13.0 of")
		r.Report(bags.Start().Add(time.Hour))
		tm.Shows("RUNNING ")
		last(e, "100")
		tm.Prompt()
	})
}

// However play ends or is stopped, the terminal is as it was.
func TestPlayScreenEnds(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs a dozen players, one for each way to end")
	signal := func(s ...syscall.Signal) func(*terminal.Terminal) {
		return func(tm *terminal.Terminal) {
			pid := tm.Pid()
			for i, s := range s {
				if err := syscall.Kill(pid, s); err != nil && i == 0 { // or the one before has ended it
					tm.G.T.Fatal(err)
				}
			}
		}
	}
	tests := map[string]struct {
		end  func(*terminal.Terminal)
		code string
	}{
		"q":            {func(tm *terminal.Terminal) { tm.Keys("q") }, "code 0"},
		"Ctrl-C":       {func(tm *terminal.Terminal) { tm.Keys("C-c") }, "code 0"},
		"SIGTERM":      {signal(syscall.SIGTERM), "code 0"},
		"SIGHUP":       {signal(syscall.SIGHUP), "code 0"},
		"SIGQUIT":      {signal(syscall.SIGQUIT), "code 2"},
		"crash":        {signal(syscall.SIGSEGV), "code 134"},                              // as a panic: nothing of the program runs any more
		"three at all": {signal(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP), "code "}, // 2, or 0 if the end was faster
		"Ctrl-Z": {func(tm *terminal.Terminal) {
			tm.Keys("C-z")
			tm.Shows("Stopped")
			tm.Keys("stty -a | grep -o ' icanon'", "Enter") // of the shell's terminal
			tm.Shows(" icanon")
			tm.Keys("fg", "Enter")
			tm.Shows("RUNNING")
			tm.Keys("Space")
			tm.Shows("PAUSED")
			tm.Keys("q")
			tm.Prompt()
			tm.Keys("echo code $?", "Enter")
		}, "code 0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			bags.Make(g, "stroll.bag", stroll()...)
			tm := terminal.Open(g, 80, 24)
			before := tm.Modes()
			tm.Keys("goplay stroll.bag; echo code $?", "Enter")
			tm.Shows("RUNNING")
			tc.end(tm)
			tm.Shows(tc.code)
			tm.Prompt()
			if now := tm.Modes(); now != before {
				t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
			}
			if s := tm.All(); strings.Contains(s, "space: pause") && name != "crash" {
				t.Errorf("of the screen stays:\n%s", s)
			}
		})
	}
}

// A player that a shell runs in the background goes on and leaves the terminal to
// others, until it gets it.
func TestPlayScreenBackground(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestPlayScreenKeys tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "stroll.bag", stroll()...)
	e := peers.Listen(g, "listener", "/walk")
	tm := terminal.Open(g, 80, 24)
	tm.Keys("goplay --loop --rate 4 --wait-for-subscribers --topics /walk --bags stroll.bag &", "Enter")
	e.WaitFor("/walk", 5)
	tm.JobControl("RUNNING", func() string {
		tm.Keys("Space")
		tm.Shows("PAUSED")
		return "PAUSED"
	})
	tm.Keys("C-c")
	tm.Prompt()
}

// A terminal that takes nothing, as after Ctrl-S, does not hold up play, nor its end.
func TestPlayScreenBlocked(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a variant of the screen; TestPlayScreenKeys tests the usual one")
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "stroll.bag", stroll()...)
	e := peers.Listen(g, "listener", "/walk")
	tm := terminal.Open(g, 80, 24)
	before := tm.Modes()
	tm.Keys("goplay --pause --rate 20 --topics /walk --bags stroll.bag", "Enter")
	tm.Shows("PAUSED")
	e.WaitLinked()
	pid := tm.Pid()
	tm.Keys("Space", "C-s")
	stands := tm.Screen()
	last(e, "100")
	if now := tm.Screen(); now != stands {
		t.Skipf("this terminal does not stop for Ctrl-S:\n%s", now)
	}
	g.Eventually("goplay ends", func() bool { return syscall.Kill(pid, 0) != nil })
	tm.Keys("C-q", "Enter")
	tm.Keys("clear", "Enter")
	tm.Prompt()
	if now := tm.Modes(); now != before {
		t.Errorf("the modes of the terminal at the end:\n%s\nbefore:\n%s", now, before)
	}
}

// Without a terminal, or with the option that turns the screen off, goplay prints lines. Keys work all
// the same.
func TestPlayNoScreen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command string
		lines   bool
	}{
		"option": {"goplay --pause stroll.bag --no-screen", true},
		"dumb":   {"TERM=dumb goplay --pause stroll.bag", true},
		"quiet":  {"goplay --pause stroll.bag -q", false},
		"pipe":   {"goplay --pause stroll.bag | (trap '' INT; cat)", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			bags.Make(g, "stroll.bag", stroll()...)
			e := peers.Listen(g, "listener", "/walk")
			tm := terminal.Open(g, 80, 24)
			tm.Keys(tc.command, "Enter")
			tm.Shows("Hit space to toggle paused, or 's' to step.")
			e.WaitLinked()
			tm.Keys("9", "Up", "Up", "Up", "Space")
			last(e, "100")
			tm.Prompt()
			s := tm.All()
			for _, line := range []string{"moved position=1m3", "rate changed rate=", "going on "} {
				if strings.Contains(s, line) != tc.lines {
					t.Errorf("%q should be there: %v\n%s", line, tc.lines, s)
				}
			}
			if strings.Contains(s, "RUNNING 1:") || strings.Contains(s, "space: pause") {
				t.Errorf("a screen:\n%s", s)
			}
		})
	}
}

// The screen has colors unless NO_COLOR is set (https://no-color.org).
func TestPlayScreenColors(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{"goplay stroll.bag": true, "NO_COLOR=1 goplay stroll.bag": false} {
		g := harness.NewGraph(t, "gomaster")
		bags.Make(g, "stroll.bag", stroll()...)
		tm := terminal.Open(g, 80, 24)
		tm.Keys(command, "Enter")
		tm.Shows("RUNNING")
		if s := tm.Do("capture-pane", "-p", "-e"); strings.Contains(s, "\x1b[") != want {
			t.Errorf("%s: colors should be %v:\n%q", command, want, s)
		}
		tm.Keys("q")
		tm.Prompt()
	}
}

// goplay reads keys from a pipe, as stock does. The end of the pipe does not end play.
func TestPlayKeysFromPipe(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "stroll.bag", stroll()...)
	e := peers.Listen(g, "listener", "/walk")
	keys, err := os.CreateTemp(g.Dir, "keys")
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if err := os.WriteFile(filepath.Join(g.Dir, filepath.Base(keys.Name())), []byte("9\x1b[A\x1b[A\x1b[A "), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := g.Command("goplay", "--pause", "--wait-for", "/walk", "stroll.bag")
	if cmd.Stdin, err = os.Open(keys.Name()); err != nil {
		t.Fatal(err)
	}
	p := g.Launch("goplay", cmd)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.Out.String())
	}
	last(e, "100")
}
