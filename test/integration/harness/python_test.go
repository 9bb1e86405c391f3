package harness_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// TestPython: a program in Python that is forked has arguments, directory, environment and
// standard files of its own, also where the modules of ROS have read them when they were
// imported, and ends as it would by itself.
func TestPython(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	script := filepath.Join(g.Dir, "script.py")
	if err := os.WriteFile(script, []byte(`
import json, os, signal, sys, time
import rosgraph, rospy
how = sys.argv[1]
if how == 'tell':
    print(json.dumps({'argv': sys.argv[1:], 'path': sys.path[0], 'cwd': os.getcwd(), 'master': rosgraph.get_master_uri(), 'name': rospy.get_name(),
                      'topic': rospy.resolve_name('a'), 'env': sorted(e for e in os.environ.items() if e[0].startswith(('ROS', 'PYTHON', 'EXTRA'))), 'all': sorted(e for e in os.environ if e != 'GOROSBAG_TEST_PYTHON'), 'mark': os.environ['GOROSBAG_TEST_RUN'] in open('/proc/self/environ').read(),
                      'stdin': sys.stdin.read(), 'open': sorted(os.listdir('/proc/self/fd'), key=int)[:-1], 'sigint': str(signal.getsignal(signal.SIGINT))[:34]}))
elif how == 'exit':
    sys.exit(3)
elif how == 'raise':
    raise ValueError('of the script')
elif how == 'killed':
    os.kill(os.getpid(), signal.SIGKILL)
else:
    print('ready')
    while True:
        time.sleep(0.05)  # a signal just before signal.pause() would not end it
`), 0o600); err != nil {
		t.Fatal(err)
	}
	python := func(args ...string) *exec.Cmd { return g.Command("python3", append([]string{script}, args...)...) }
	var told [2]string
	for i, plain := range []bool{true, false} {
		cmd := python("tell", "two words", "__ns:=/space", "a:=b")
		if plain {
			cmd.Path, cmd.Args = "/usr/bin/python3", append([]string{"python3"}, cmd.Args...)
		}
		cmd.Stdin = strings.NewReader("input")
		cmd.Env = append(cmd.Env, "EXTRA=more")
		out, err := testkit.Output(cmd)
		if err != nil {
			t.Fatal(err)
		}
		told[i] = string(out)
	}
	harness.Contains(t, told[0], `"argv": ["tell", "two words", "__ns:=/space", "a:=b"]`, g.Dir, g.URI(), "/space/unnamed", `"more"`, `"input"`)
	if diff := cmp.Diff(told[0], told[1]); diff != "" {
		t.Errorf("forked programs are not as others (-plain +forked):\n%s", diff)
	}

	for how, want := range map[string]string{"exit": "exit status 3", "raise": "exit status 1", "killed": "signal: killed"} {
		out, err := testkit.CombinedOutput(python(how))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s:\n%s", how, err, want, out)
		}
		if how == "raise" {
			harness.Contains(t, string(out), "Traceback (most recent call last):", script, "ValueError: of the script")
		}
	}

	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL} {
		p := g.Launch("waits", python("wait"))
		p.Printed("ready")
		p.Signal(s)
		p.Wait()
		if status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != s {
			t.Errorf("after %v: %v", s, p.Cmd.ProcessState)
		}
	}
	_, run := testkit.Mark("")
	g.Eventually("none is left", func() bool {
		for _, pid := range testkit.Marked(strings.TrimSuffix(run, ".")) {
			if files, err := os.Readlink("/proc/" + pid + "/cwd"); err == nil && files == g.Dir && pid != strconv.Itoa(g.Core.Cmd.Process.Pid) {
				return false
			}
		}
		return true
	})

	if err := g.Try("rostopic", "list"); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := g.Try("rostopic", "info", "/nope"); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("rostopic of a topic that is not there: %v", err)
	}
}
