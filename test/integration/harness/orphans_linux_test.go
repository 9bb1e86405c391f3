package harness_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// victimVar makes TestVictim start programs and hang. Its value is the file into which TestVictim
// writes the mark of these programs and the directory of its run.
const victimVar = "HARNESS_TEST_VICTIM"

// TestVictim runs in a process that TestNoOrphans ends.
func TestVictim(t *testing.T) {
	tell := os.Getenv(victimVar)
	if tell == "" {
		t.Skip("for TestNoOrphans")
	}
	kind := "gomaster"
	if !harness.ROSMissing() && os.Getenv(victimVar+"_GENTLE") == "" {
		kind = "roscore" // with children, and children of those
	}
	g := harness.NewGraph(t, kind)
	if kind == "roscore" {
		g.StartPython("publish.py", "talker", "/chatter,std_msgs/String,50,0,20").Printed("ready") // forked
	}
	harness.NewGraph(t, "gomaster")
	g.Start("goplay", bags.Demo(t), "--loop", "__name:=player").Printed(" done.")
	g.Start("/usr/bin/setsid", "sh", "-c", "sleep 600 & sleep 600; true") // in a session of its own
	_, mark := testkit.Mark("")
	mark = strings.TrimSuffix(mark, ".")
	g.Eventually("all programs run", func() bool { return len(testkit.Marked(mark)) >= 6 })
	if err := os.WriteFile(tell, []byte(mark+"\n"+harness.RunDir()), 0o600); err != nil {
		t.Fatal(err)
	}
	select {}
}

// TestNoOrphans: what tests have started ends with them, also if they are killed, or have
// taken longer than they may. Nor is a temporary file left.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"killed", "timeout"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			limit, env := 10*time.Minute, ""
			if end == "timeout" {
				limit, env = 2*time.Second, victimVar+"_GENTLE=1" // a roscore would take longer to start
			}
			for ; ; limit *= 2 {
				if told := victim(t, limit, end == "killed", env); told != "" {
					mark, dir, _ := strings.Cut(told, "\n")
					gone(t, mark, dir)
					return
				}
				if limit > harness.Timeout {
					t.Fatal("the programs do not start")
				}
			}
		})
	}
}

// victim runs TestVictim until it is killed, or hits its limit. It returns what TestVictim has
// written, which is nothing if the limit came too soon.
func victim(t *testing.T, limit time.Duration, kill bool, env string) string {
	t.Helper()
	tell := filepath.Join(t.TempDir(), "told")
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.timeout="+limit.String())
	cmd.Env = append(os.Environ(), victimVar+"="+tell, env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := testkit.Start(cmd); err != nil {
		t.Fatal(err)
	}
	told := func() string {
		b, err := os.ReadFile(tell)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(b)
	}
	if kill {
		harness.Eventually(t, "the programs run", func() bool { return told() != "" })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("it ends with %v:\n%s", err, out.String())
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); kill && (!ok || status.Signal() != syscall.SIGKILL) || !kill && !strings.Contains(out.String(), "test timed out") {
		t.Fatalf("it ends with %v:\n%s", err, out.String())
	}
	return told()
}

// gone waits until no process carries the mark, and a directory is not there any more.
func gone(t *testing.T, mark, dir string) {
	t.Helper()
	harness.Eventually(t, "all are gone", func() bool { return len(testkit.Marked(mark)) == 0 }, func() string {
		var all strings.Builder
		for _, pid := range testkit.Marked(mark) {
			line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			all.WriteString(pid + " " + strings.ReplaceAll(string(line), "\x00", " ") + "\n")
		}
		return all.String()
	})
	harness.Eventually(t, dir+" is gone", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}
