//go:build unix

package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shellPrompt is nothing that a program prints.
const shellPrompt = "shell-is-here>"

// tmux is a shell in a terminal.
type tmux struct {
	g      *graph
	socket string
}

// terminal opens a shell in a terminal of tmux, of that size.
func (g *graph) terminal(width, height int) *tmux {
	g.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
			g.t.Fatal("GOROSBAG_REQUIRE_ROS is set, but tmux is not installed")
		}
		g.t.Skip("no terminal to test with: tmux is not installed (apt-get install tmux)")
	}
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	if err != nil {
		g.t.Fatal(err)
	}
	tm := &tmux{g: g, socket: filepath.Join(dir, "s")}
	g.t.Cleanup(func() {
		tm.command("kill-server").Run()
		os.RemoveAll(dir)
	})
	shell := g.command("gorecord").Path
	tm.do("new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "env", "PS1="+shellPrompt, "PATH="+filepath.Dir(shell)+":"+os.Getenv("PATH"), "bash", "--norc", "--noprofile")
	tm.shows(shellPrompt)
	return tm
}

func (tm *tmux) command(args ...string) *exec.Cmd {
	return tm.g.command("tmux", append([]string{"-f", "/dev/null", "-S", tm.socket}, args...)...)
}

func (tm *tmux) do(args ...string) string {
	tm.g.t.Helper()
	out, err := tm.command(args...).CombinedOutput()
	if err != nil {
		tm.g.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (tm *tmux) keys(keys ...string) {
	tm.g.t.Helper()
	tm.do(append([]string{"send-keys"}, keys...)...)
}

// screen returns what a user sees, line by line.
func (tm *tmux) screen() string { return tm.do("capture-pane", "-p") }

// all returns the scrollback, too. Lines that were wrapped are one.
func (tm *tmux) all() string { return tm.do("capture-pane", "-p", "-J", "-S", "-") }

// shows waits until a text is on the screen.
func (tm *tmux) shows(text string) {
	tm.g.t.Helper()
	defer func() {
		if tm.g.t.Failed() {
			tm.g.t.Logf("the terminal shows:\n%s", tm.all())
		}
	}()
	tm.g.eventually("the screen shows "+text, func() bool { return strings.Contains(tm.screen(), text) })
}

// prompt waits for the shell's prompt below all else.
func (tm *tmux) prompt() {
	tm.g.t.Helper()
	defer func() {
		if tm.g.t.Failed() {
			tm.g.t.Logf("the terminal shows:\n%s", tm.all())
		}
	}()
	tm.g.eventually("the shell is back", func() bool { return strings.HasSuffix(strings.TrimRight(tm.screen(), " \n"), shellPrompt) })
}

// modes returns those of the terminal.
func (tm *tmux) modes() string {
	tm.g.t.Helper()
	name := filepath.Join(tm.g.dir, "modes")
	os.Remove(name)
	tm.keys("stty -a > new; mv new modes", "Enter")
	tm.g.eventually("stty says", func() bool {
		_, err := os.Stat(name)
		return err == nil
	})
	b, err := os.ReadFile(name)
	if err != nil {
		tm.g.t.Fatal(err)
	}
	tm.prompt()
	_, modes, _ := strings.Cut(string(b), "\n") // without the size
	return modes
}

// pid returns the process that the shell has started.
func (tm *tmux) pid() int {
	tm.g.t.Helper()
	shell := strings.TrimSpace(tm.do("display-message", "-p", "#{pane_pid}"))
	b, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
	if err != nil {
		tm.g.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		tm.g.t.Fatalf("the children of the shell: %q", b)
	}
	return pid
}

// matches waits until a line of the screen matches an expression.
func (tm *tmux) matches(expression string) {
	tm.g.t.Helper()
	defer func() {
		if tm.g.t.Failed() {
			tm.g.t.Logf("the terminal shows:\n%s", tm.all())
		}
	}()
	re := regexp.MustCompile(expression)
	tm.g.eventually("the screen matches "+expression, func() bool { return re.MatchString(tm.screen()) })
}

// gone waits until a text is not on the screen any more.
func (tm *tmux) gone(text string) {
	tm.g.t.Helper()
	tm.g.eventually("the screen does not show "+text, func() bool { return !strings.Contains(tm.screen(), text) })
}

// ofFrame is in the lines of a frame and in no line of the log.
var ofFrame = regexp.MustCompile(`RUNNING|RECORDING|--------|[▁▂▃▄▅▆▇█─]{4}|Hz|MB/s|dropped|lost|  topic$|std_msgs|/state|/camera|more  |space:|: (quit|help|slower|loop)|messages$`)

// framed waits for one whole frame, from the rule down to the keys, with nothing of any other
// frame above it and nothing below it.
func (tm *tmux) framed(state string, width, height int) {
	tm.g.t.Helper()
	defer func() {
		if tm.g.t.Failed() {
			tm.g.t.Logf("the terminal shows:\n%s", tm.screen())
		}
	}()
	tm.g.eventually(fmt.Sprintf("one frame of at most %dx%d", width, height), func() bool {
		above, frame, ok := strings.Cut(tm.screen(), state)
		lines := strings.Split(strings.TrimRight(frame, " \n"), "\n")
		for line := range strings.Lines(above) {
			if ofFrame.MatchString(line) && !strings.Contains(line, `"`) { // a log quotes names
				return false
			}
		}
		keys := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "sp") && strings.HasSuffix(line[:min(len(line), 12)], "pause")
		})
		return ok && strings.Count(frame, state) == 0 && len(lines) < height && len(state)+len(lines[0]) >= width-1 && keys >= max(1, len(lines)-4)
	})
}

// resize gives the terminal sizes, one right after the other.
func (tm *tmux) resize(sizes ...[2]int) {
	tm.g.t.Helper()
	for _, size := range sizes {
		tm.do("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
	}
}
