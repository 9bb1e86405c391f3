// Package integration_test runs the built programs as a user does: against the
// embedded master always, against real ROS where it is installed. With
// GOROSBAG_REQUIRE_ROS=1 a missing ROS is a failure.
package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
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

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/xmlrpc"
)

// patience bounds every wait for something that should take well under a second, on a
// machine that is busy with other tests.
const patience = time.Minute

var bin string // where the built programs are

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gorosbag-bin-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		defer removeImages()
		bin = dir
		build := exec.Command("go", "build", "-o", dir, "github.com/gorosbag/gorosbag/cmd/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		for name, pkg := range map[string]string{"gorecord": "record", "goplay": "play", "gobag": "bag", "gomaster": "master"} {
			if err := os.Rename(filepath.Join(dir, pkg), filepath.Join(dir, name)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return m.Run()
	}())
}

// lookAtSources looks at the files that the programs are built from, and at what is packed
// with them. The go command keeps results of tests as long as what the tests themselves have
// looked at, once they run, is unchanged: it knows nothing of what they make others build.
var lookAtSources = sync.OnceValue(func() error {
	return filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && path != "../.." && (strings.HasPrefix(name, ".") || name == "bin" || name == "demo-out"):
			return filepath.SkipDir
		case !d.IsDir():
			_, err = os.Stat(path)
		}
		return err
	})
})

// needROS skips the test where real ROS is not installed, or fails if it must be.
func needROS(t *testing.T) {
	t.Helper()
	const install = "real ROS is not installed (Debian 12: apt-get install ros-core python3-sensor-msgs python3-tf2-msgs python3-nav-msgs python3-diagnostic-msgs)"
	switch {
	case !rosMissing():
	case os.Getenv("GOROSBAG_REQUIRE_ROS") != "":
		t.Fatal("GOROSBAG_REQUIRE_ROS is set, but " + install)
	default:
		t.Skip(install)
	}
}

// need skips the test where a tool does not work, such as strace in a container that
// may not trace. With GOROSBAG_REQUIRE_ROS=1, that is in CI, it has to.
func need(t *testing.T, tool string, args ...string) {
	t.Helper()
	out, err := exec.Command(tool, args...).CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("GOROSBAG_REQUIRE_ROS") != "":
		t.Fatalf("%s %v: %v\n%s", tool, args, err, out)
	default:
		t.Skipf("%s %v: %v\n%s", tool, args, err, out)
	}
}

// allowed skips the test where the machine does not let a command do its work, such as to
// make network namespaces in a container without rights. That cannot be installed, so it
// holds in CI, too.
func allowed(t *testing.T, tool string, args ...string) {
	t.Helper()
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Skipf("not possible here: %s %v: %v\n%s", tool, args, err, out)
	}
}

func rosMissing() bool {
	for _, path := range []string{"/usr/lib/rosbag/record", "/usr/lib/python3/dist-packages/sensor_msgs"} {
		if _, err := os.Stat(path); err != nil {
			return true
		}
	}
	return false
}

// graph is a master and the environment to reach it in.
type graph struct {
	t    *testing.T
	kind string // gomaster or roscore
	port string
	dir  string // working directory of its programs
	core *process
}

// eachMaster runs a test against the embedded master and, if installed, roscore.
func eachMaster(t *testing.T, test func(t *testing.T, g *graph)) {
	t.Helper()
	for _, kind := range []string{"gomaster", "roscore"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newGraph(t, kind))
		})
	}
}

func newGraph(t *testing.T, kind string) *graph {
	t.Helper()
	if kind == "roscore" {
		needROS(t)
	}
	g := &graph{t: t, kind: kind, port: freePort(t), dir: t.TempDir()}
	g.startMaster()
	return g
}

func (g *graph) uri() string { return "http://127.0.0.1:" + g.port }

func (g *graph) startMaster() {
	g.t.Helper()
	if g.kind == "roscore" {
		g.core = g.start("roscore", "-p", g.port)
		g.eventually("roscore answers", func() bool { return g.try("rosparam", "get", "/run_id") == nil })
		return
	}
	g.core = g.start("gomaster", "-p", g.port)
	g.eventually("gomaster listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+g.port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// killMaster ends the master without a chance to say goodbye. A roscore follows its
// rosmaster.
func (g *graph) killMaster() {
	g.t.Helper()
	answer, err := xmlrpc.Call(g.t.Context(), xmlrpc.NewHTTPClient(patience), g.uri(), "getPid", "/test")
	if err != nil {
		g.t.Fatal(err)
	}
	triple, ok := answer.([]any)
	if !ok || len(triple) != 3 {
		g.t.Fatalf("getPid answers %v", answer)
	}
	pid, ok := triple[2].(int)
	if !ok || pid <= 1 {
		g.t.Fatalf("getPid answers %v", answer)
	}
	if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
		g.t.Fatalf("%v, %v", p, err)
	}
	g.core.wait()
}

// command prepares one of our programs, or one of ROS, in the graph.
func (g *graph) command(name string, args ...string) *exec.Cmd {
	if err := lookAtSources(); err != nil {
		g.t.Fatal(err)
	}
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); err != nil {
		path = name
		if !strings.Contains(name, "/") {
			path = filepath.Join("/usr/bin", name)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "PATH=/usr/bin:"+os.Getenv("PATH"), "ROS_MASTER_URI="+g.uri(), "ROS_IP=127.0.0.1",
		"ROS_HOME="+g.dir, "ROS_LOG_DIR="+filepath.Join(g.dir, "log"), "PYTHONUNBUFFERED=1")
	return cmd
}

// process is a running program.
type process struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	out    output
	exited chan struct{}
	err    error
}

// start runs a program until the test ends, unless it ends before.
func (g *graph) start(name string, args ...string) *process {
	g.t.Helper()
	return g.launch(name, g.command(name, args...))
}

func (g *graph) launch(name string, cmd *exec.Cmd) *process {
	g.t.Helper()
	p := &process{t: g.t, name: name, cmd: cmd, exited: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = &p.out, &p.out
	}
	cmd.WaitDelay = 2 * time.Second // children of a killed program may hold its output open
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	g.t.Cleanup(func() {
		p.signal(syscall.SIGINT)
		select {
		case <-p.exited:
		case <-time.After(patience):
			cmd.Process.Kill()
			<-p.exited
		}
		if g.t.Failed() {
			g.t.Logf("%s printed:\n%s", name, p.out.String())
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.exited:
	default:
		p.cmd.Process.Signal(s)
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(2 * patience):
		p.t.Fatalf("%s does not end; it printed:\n%s", p.name, p.out.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop ends the program with SIGINT and expects exit code 0.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 0 {
		p.t.Fatalf("%s: exit code %d; it printed:\n%s", p.name, code, p.out.String())
	}
}

// run runs a program to its end and returns what it printed.
func (g *graph) run(name string, args ...string) string {
	g.t.Helper()
	p := g.start(name, args...)
	if code := p.wait(); code != 0 {
		g.t.Fatalf("%s %v: exit code %d; it printed:\n%s", name, args, code, p.out.String())
	}
	return p.out.String()
}

// try runs a program without judging it.
func (g *graph) try(name string, args ...string) error {
	return g.command(name, args...).Run()
}

// python runs a script of testdata with ROS's Python and decodes the JSON it prints.
func (g *graph) python(into any, script string, args ...string) {
	g.t.Helper()
	cmd := g.command("python3", append([]string{g.script(script)}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		g.t.Fatalf("%s %v: %v\n%s", script, args, err, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		g.t.Fatalf("%s: %v in %.200q", script, err, out.String())
	}
}

func (g *graph) script(name string) string {
	g.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		g.t.Fatal(err)
	}
	return path
}

// startPython starts a script that runs until it is stopped.
func (g *graph) startPython(script string, args ...string) *process {
	g.t.Helper()
	return g.launch(script, g.command("python3", append([]string{g.script(script)}, args...)...))
}

// eventually waits for a condition.
func (g *graph) eventually(what string, ok func() bool) {
	g.t.Helper()
	eventually(g.t, what, ok)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// printed waits until the program has printed text.
func (p *process) printed(text string) {
	p.t.Helper()
	eventually(p.t, p.name+" prints "+text, func() bool { return strings.Contains(p.out.String(), text) })
}

// output collects what a program prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// nextPort is where freePort looks on. The ports of connections begin at 32768: one of
// those could be taken again before a slow master listens.
var nextPort atomic.Uint32

func freePort(t *testing.T) string {
	t.Helper()
	const first, count = 12_000, 20_000
	nextPort.CompareAndSwap(0, rand.Uint32N(count)) // other tests run beside these
	for range count {
		port := strconv.Itoa(first + int(nextPort.Add(1)%count))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// newBag begins a bag in a file. It is complete when the Writer is closed.
func newBag(t *testing.T, path string) *bagfmt.Writer {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w, err := bagfmt.NewWriter(f, bagfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// demoBag is the bag that the repository ships.
func demoBag(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../testdata/demo.bag")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
