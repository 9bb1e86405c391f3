//go:build unix

// Package terminal shows the screens of programs in a terminal of tmux, and presses keys.
package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// ShellPrompt is a prompt that no program prints.
const ShellPrompt = "shell-is-here>"

// Terminal is a shell in a terminal.
type Terminal struct {
	G      *harness.Graph
	socket string
}

// Open opens a shell in a terminal of tmux, of that size.
func Open(g *harness.Graph, width, height int) *Terminal {
	g.T.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		testkit.Missing(g.T, "no terminal to test with: tmux is not installed (apt-get install tmux)")
	}
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	if err != nil {
		g.T.Fatal(err)
	}
	tm := &Terminal{G: g, socket: filepath.Join(dir, "s")}
	g.T.Cleanup(func() {
		tm.command("kill-server").Run()
		os.RemoveAll(dir)
	})
	shell := g.Command("gorecord").Path
	tm.Do("new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "env", "PS1="+ShellPrompt, "PATH="+filepath.Dir(shell)+":"+os.Getenv("PATH"), "bash", "--norc", "--noprofile")
	tm.Shows(ShellPrompt)
	return tm
}

func (tm *Terminal) command(args ...string) *exec.Cmd {
	return tm.G.Command("tmux", append([]string{"-f", "/dev/null", "-S", tm.socket}, args...)...)
}

// Do runs a command of tmux.
func (tm *Terminal) Do(args ...string) string {
	tm.G.T.Helper()
	out, err := tm.command(args...).CombinedOutput()
	if err != nil {
		tm.G.T.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Keys presses keys.
func (tm *Terminal) Keys(keys ...string) {
	tm.G.T.Helper()
	tm.Do(append([]string{"send-keys"}, keys...)...)
}

// Screen returns the visible lines.
func (tm *Terminal) Screen() string { return tm.Do("capture-pane", "-p") }

// All returns the visible lines and the scrollback. Wrapped lines are joined.
func (tm *Terminal) All() string { return tm.Do("capture-pane", "-p", "-J", "-S", "-") }

// Shows waits until a text is on the screen.
func (tm *Terminal) Shows(text string) {
	tm.G.T.Helper()
	defer func() {
		if tm.G.T.Failed() {
			tm.G.T.Logf("the terminal shows:\n%s", tm.All())
		}
	}()
	tm.G.Eventually("the screen shows "+text, func() bool { return strings.Contains(tm.Screen(), text) })
}

// Prompt waits for the shell's prompt below all else.
func (tm *Terminal) Prompt() {
	tm.G.T.Helper()
	defer func() {
		if tm.G.T.Failed() {
			tm.G.T.Logf("the terminal shows:\n%s", tm.All())
		}
	}()
	tm.G.Eventually("the shell is back", func() bool { return strings.HasSuffix(strings.TrimRight(tm.Screen(), " \n"), ShellPrompt) })
}

// Modes returns the terminal modes, as printed by stty.
func (tm *Terminal) Modes() string {
	tm.G.T.Helper()
	name := filepath.Join(tm.G.Dir, "modes")
	os.Remove(name)
	tm.Keys("stty -a > new; mv new modes", "Enter")
	tm.G.Eventually("stty says", func() bool {
		_, err := os.Stat(name)
		return err == nil
	})
	b, err := os.ReadFile(name)
	if err != nil {
		tm.G.T.Fatal(err)
	}
	tm.Prompt()
	_, modes, _ := strings.Cut(string(b), "\n") // without the size
	return modes
}

// Pid returns the process that the shell has started.
func (tm *Terminal) Pid() int {
	tm.G.T.Helper()
	shell := strings.TrimSpace(tm.Do("display-message", "-p", "#{pane_pid}"))
	b, err := os.ReadFile("/proc/" + shell + "/task/" + shell + "/children")
	if err != nil {
		tm.G.T.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		tm.G.T.Fatalf("the children of the shell: %q", b)
	}
	return pid
}

// JobControl checks a program that the shell runs in the background. It draws its frame, which
// shows title, only in the foreground; Ctrl-Z stops it and bg continues it. inForeground, if not
// nil, is called when the program is in the foreground first, and returns the new title.
func (tm *Terminal) JobControl(title string, inForeground func() string) {
	tm.G.T.Helper()
	tm.Keys("jobs", "Enter")
	tm.Shows("Running")
	if s := tm.Screen(); strings.Contains(s, title) {
		tm.G.T.Errorf("a screen in the background:\n%s", s)
	}
	tm.Keys("fg", "Enter")
	tm.Shows(title)
	if inForeground != nil {
		title = inForeground()
	}
	tm.Keys("C-z")
	tm.Shows("Stopped")
	tm.Keys("bg; clear", "Enter")
	tm.Keys("jobs", "Enter")
	tm.Shows("Running")
	tm.Keys("fg", "Enter")
	tm.Shows(title)
}

// Matches waits until a line of the screen matches an expression.
func (tm *Terminal) Matches(expression string) {
	tm.G.T.Helper()
	defer func() {
		if tm.G.T.Failed() {
			tm.G.T.Logf("the terminal shows:\n%s", tm.All())
		}
	}()
	re := regexp.MustCompile(expression)
	tm.G.Eventually("the screen matches "+expression, func() bool { return re.MatchString(tm.Screen()) })
}

// Gone waits until a text is no longer on the screen.
func (tm *Terminal) Gone(text string) {
	tm.G.T.Helper()
	tm.G.Eventually("the screen does not show "+text, func() bool { return !strings.Contains(tm.Screen(), text) })
}

// frameLine is in the lines of a frame and in no line of the log.
var frameLine = regexp.MustCompile(`RUNNING|RECORDING|--------|[▁▂▃▄▅▆▇█─]{4}|Hz|MB/s|dropped|lost|  topic$|std_msgs|/state|/camera|more  |space:|: (quit|help|slower|loop)|messages$`)

// Framed waits for one whole frame, from the rule down to the keys, with nothing of any other
// frame above it and nothing below it.
func (tm *Terminal) Framed(state string, width, height int) {
	tm.G.T.Helper()
	defer func() {
		if tm.G.T.Failed() {
			tm.G.T.Logf("the terminal shows:\n%s", tm.Screen())
		}
	}()
	tm.G.Eventually(fmt.Sprintf("one frame of at most %dx%d", width, height), func() bool {
		above, frame, ok := strings.Cut(tm.Screen(), state)
		lines := strings.Split(strings.TrimRight(frame, " \n"), "\n")
		for line := range strings.Lines(above) {
			if frameLine.MatchString(line) && !strings.Contains(line, "=") { // a log has key=value
				return false
			}
		}
		keys := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "space: p")
		})
		return ok && strings.Count(frame, state) == 0 && len(lines) < height && len(state)+len(lines[0]) >= width-1 && keys >= max(1, len(lines)-4)
	})
}

// Resize changes the size of the terminal, several times in quick succession.
func (tm *Terminal) Resize(sizes ...[2]int) {
	tm.G.T.Helper()
	for _, size := range sizes {
		tm.Do("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
	}
}
