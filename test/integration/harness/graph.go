package harness

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

// Graph is a master and the environment to reach it in.
type Graph struct {
	T    *testing.T
	Kind string // gomaster or roscore
	Port string
	Dir  string   // working directory of its programs
	Env  []string // of its programs, beside what they need for the graph
	Core *Process

	marked sync.Once
	mark   string // in the environment of its programs and of their children
}

// EachMaster runs a test against the embedded master and, if installed, roscore, which is long:
// another master in Python.
func EachMaster(t *testing.T, test func(t *testing.T, g *Graph)) {
	t.Helper()
	eachMaster(t, "roscore", "the same with a master in Python", test)
}

// EachMasterForROS is EachMaster for tests with nodes and tools of ROS. Here the embedded master is
// long: the same programs in Python take some seconds of CPU time each, once more.
func EachMasterForROS(t *testing.T, test func(t *testing.T, g *Graph)) {
	t.Helper()
	NeedROS(t)
	eachMaster(t, "gomaster", "runs nodes in Python for seconds, as with roscore", test)
}

func eachMaster(t *testing.T, long, reason string, test func(t *testing.T, g *Graph)) {
	t.Helper()
	for _, kind := range []string{"gomaster", "roscore"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			LongCase(t, kind == long, reason)
			test(t, NewGraph(t, kind))
		})
	}
}

// NewGraph returns a graph with a master of that kind. A roscore may be reused from another test;
// only its own /rosout is registered.
func NewGraph(t *testing.T, kind string) *Graph {
	t.Helper()
	g := &Graph{T: t, Kind: kind, Dir: t.TempDir()}
	if kind == "roscore" {
		NeedROS(t)
		g.Core, g.Port = acquireRoscore(t)
		return g
	}
	g.Port = FreePort(t)
	g.StartMaster()
	return g
}

// URI is where the master listens.
func (g *Graph) URI() string { return "http://127.0.0.1:" + g.Port }

// StartMaster starts or restarts the master.
func (g *Graph) StartMaster() {
	g.T.Helper()
	if g.Kind == "roscore" {
		g.Core = startRoscore(g.T, g.URI(), func() *Process { return g.Start("roscore", "-p", g.Port) })
		return
	}
	g.Core = g.Start("gomaster", "-p", g.Port)
	g.Eventually("gomaster listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+g.Port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// KillMaster kills the master with SIGKILL. A roscore ends with its rosmaster.
func (g *Graph) KillMaster() {
	g.T.Helper()
	answer, err := xmlrpc.Call(g.T.Context(), xmlrpc.NewHTTPClient(Timeout), g.URI(), "getPid", "/test")
	if err != nil {
		g.T.Fatal(err)
	}
	triple, ok := answer.([]any)
	if !ok || len(triple) != 3 {
		g.T.Fatalf("getPid answers %v", answer)
	}
	pid, ok := triple[2].(int)
	if !ok || pid <= 1 {
		g.T.Fatalf("getPid answers %v", answer)
	}
	if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
		g.T.Fatalf("%v, %v", p, err)
	}
	g.Core.Wait()
}

// Command prepares one of our programs, or one of ROS, in the graph.
func (g *Graph) Command(name string, args ...string) *exec.Cmd {
	if err := statSources(); err != nil {
		g.T.Fatal(err)
	}
	path := filepath.Join(Bin(), name)
	if _, err := os.Stat(path); err != nil {
		path = name
		if !strings.Contains(name, "/") {
			path = filepath.Join("/usr/bin", name)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = g.Dir
	cmd.Env = append(os.Environ(), g.environmentMark(), "PATH=/usr/bin:"+os.Getenv("PATH"), "ROS_MASTER_URI="+g.URI(), "ROS_IP=127.0.0.1",
		"ROS_HOME="+g.Dir, "ROS_LOG_DIR="+filepath.Join(g.Dir, "log"), "PYTHONUNBUFFERED=1")
	cmd.Env = append(cmd.Env, g.Env...)
	if err := useForkServer(cmd); err != nil {
		g.T.Fatal(err)
	}
	return cmd
}

// Start runs a program until the test ends, unless it ends before.
func (g *Graph) Start(name string, args ...string) *Process {
	g.T.Helper()
	return g.Launch(name, g.Command(name, args...))
}

// environmentMark returns the variable that marks the programs of the graph. Marked programs that
// still run after the test has ended its programs are killed.
func (g *Graph) environmentMark() string {
	g.marked.Do(func() {
		g.mark = strconv.FormatUint(graphs.Add(1), 10)
		_, mark := testkit.Mark(g.mark)
		g.T.Cleanup(func() { testkit.Sweep(mark) })
	})
	entry, _ := testkit.Mark(g.mark)
	return entry
}

var graphs atomic.Uint64

// Launch starts a command as Start does.
func (g *Graph) Launch(name string, cmd *exec.Cmd) *Process {
	g.T.Helper()
	p, err := launch(name, cmd)
	if err != nil {
		g.T.Fatal(err)
	}
	p.T = g.T
	g.T.Cleanup(func() {
		p.Signal(syscall.SIGINT)
		select {
		case <-p.Exited:
		case <-time.After(Timeout):
			cmd.Process.Kill()
			<-p.Exited
		}
		p.logIfFailed()
	})
	return p
}

// launch starts a command that no test owns.
func launch(name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, Cmd: cmd, Exited: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = &p.Out, &p.Out
	}
	cmd.WaitDelay = 10 * time.Second // children of a killed program may hold its output open; a busy machine takes a while to read it
	if err := testkit.Start(cmd); err != nil {
		return nil, err
	}
	// owner: the process p; ends with it.
	go func() {
		p.err = cmd.Wait()
		close(p.Exited)
	}()
	return p, nil
}

// Run runs a program to its end and returns what it printed.
func (g *Graph) Run(name string, args ...string) string {
	g.T.Helper()
	p := g.Start(name, args...)
	if code := p.Wait(); code != 0 {
		g.T.Fatalf("%s %v: exit code %d; it printed:\n%s", name, args, code, p.Out.String())
	}
	return p.Out.String()
}

// Try runs a program and returns its error.
func (g *Graph) Try(name string, args ...string) error {
	return testkit.Run(g.Command(name, args...))
}

// Python runs a script of testdata with ROS's Python and decodes the JSON it prints.
func (g *Graph) Python(into any, script string, args ...string) {
	g.T.Helper()
	cmd := g.Command("python3", append([]string{g.Script(script)}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := testkit.Run(cmd); err != nil {
		g.T.Fatalf("%s %v: %v\n%s", script, args, err, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		g.T.Fatalf("%s: %v in %.200q", script, err, out.String())
	}
}

// Script returns the path of a script: of the package, or of those that all share.
func (g *Graph) Script(name string) string {
	g.T.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		g.T.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(filepath.Dir(path), "../../harness/testdata", name)
	}
	return path
}

// StartPython starts a script that runs until it is stopped.
func (g *Graph) StartPython(script string, args ...string) *Process {
	g.T.Helper()
	return g.Launch(script, g.Command("python3", append([]string{g.Script(script)}, args...)...))
}

// In returns the graph for a test of its own, with a directory of its own.
func (g *Graph) In(t *testing.T, dir string) *Graph {
	t.Helper()
	sub := &Graph{T: t, Kind: g.Kind, Port: g.Port, Dir: filepath.Join(g.Dir, dir), Env: g.Env}
	if err := os.MkdirAll(sub.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return sub
}
