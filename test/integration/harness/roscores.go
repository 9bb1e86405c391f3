package harness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/internal/testkit"
)

// roscores are the roscores of tests, which run testdata/roscore.py. The next test takes over the
// roscore of a test that has left nothing registered in it. StartMaster starts the program roscore
// instead.
var roscores struct {
	sync.Mutex
	idle    []*roscore
	started int
}

type roscore struct {
	port    string
	mark    string
	process *Process
}

func (c *roscore) uri() string { return "http://127.0.0.1:" + c.port }

// acquireRoscore gives a roscore to a test until that ends.
func acquireRoscore(t *testing.T) (core *Process, port string) {
	t.Helper()
	c := idleRoscore()
	if c == nil {
		c = newRoscore(t)
	}
	c.process.T = t
	t.Cleanup(func() {
		c.process.logIfFailed()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if t.Failed() || !c.reset(ctx) {
			testkit.Sweep(c.mark)
			return
		}
		roscores.Lock()
		defer roscores.Unlock()
		roscores.idle = append(roscores.idle, c)
	})
	return c.process, c.port
}

func idleRoscore() *roscore {
	roscores.Lock()
	defer roscores.Unlock()
	if len(roscores.idle) == 0 {
		return nil
	}
	c := roscores.idle[len(roscores.idle)-1]
	roscores.idle = roscores.idle[:len(roscores.idle)-1]
	return c
}

func newRoscore(t *testing.T) *roscore {
	t.Helper()
	roscores.Lock()
	roscores.started++
	name := "roscore" + strconv.Itoa(roscores.started)
	roscores.Unlock()
	entry, mark := testkit.Mark(name)
	c := &roscore{port: FreePort(t), mark: mark}
	dir := filepath.Join(RunDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join(root, "test/integration/harness/testdata/roscore.py"))
	if err != nil {
		t.Fatal(err)
	}
	c.process = startRoscore(t, c.uri(), func() *Process {
		cmd := exec.Command("/usr/bin/python3", script, c.port)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), entry, "PATH=/usr/bin:"+os.Getenv("PATH"), "ROS_MASTER_URI="+c.uri(), "ROS_IP=127.0.0.1",
			"ROS_HOME="+dir, "ROS_LOG_DIR="+filepath.Join(dir, "log"), "PYTHONUNBUFFERED=1")
		if err := useForkServer(cmd); err != nil {
			t.Fatal(err)
		}
		p, err := launch("roscore", cmd)
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
	pid, ok := askMaster(t.Context(), c.uri(), "getPid")
	if c.process.worker, _ = pid.(int); !ok || c.process.worker == 0 {
		t.Fatalf("getPid of the roscore answers %v", pid)
	}
	return c
}

// startRoscore starts a roscore and waits until it answers. On a busy machine roscore itself
// gives up its master after some ten seconds: then it is started again.
func startRoscore(t *testing.T, uri string, start func() *Process) *Process {
	t.Helper()
	for {
		p := start()
		answers := false
		Eventually(t, "roscore answers", func() bool {
			answers = roscoreAnswers(t.Context(), uri)
			select {
			case <-p.Exited:
				return true
			default:
				return answers
			}
		}, func() string { return tail(p.Out.String()) })
		if answers {
			return p
		}
		t.Logf("roscore (%s) gave up:\n%s", p.Cmd.ProcessState, tail(p.Out.String()))
	}
}

// roscoreAnswers reports whether a roscore has its parameters and its node.
func roscoreAnswers(ctx context.Context, uri string) bool {
	_, hasParams := askMaster(ctx, uri, "getParam", "/run_id")
	_, hasNode := askMaster(ctx, uri, "lookupNode", "/rosout")
	return hasParams && hasNode
}

// askMaster calls a method of the Master API, or of its parameter server.
func askMaster(ctx context.Context, uri, method string, args ...any) (value any, ok bool) {
	answer, err := xmlrpc.Call(ctx, xmlrpc.NewHTTPClient(Timeout), uri, method, append([]any{"/test"}, args...)...)
	if triple, isList := answer.([]any); err == nil && isList && len(triple) == 3 && triple[0] == 1 {
		return triple[2], true
	}
	return nil, false
}

// reset deletes the parameters that a test has set in a roscore. It reports false if a node is
// still registered, for example because it was killed.
func (c *roscore) reset(ctx context.Context) bool {
	select {
	case <-c.process.Exited:
		return false
	default:
	}
	state, ok := askMaster(ctx, c.uri(), "getSystemState")
	if !ok || registered(state) != 0 {
		return false
	}
	names, ok := askMaster(ctx, c.uri(), "getParamNames")
	all, isList := names.([]any)
	if !ok || !isList {
		return false
	}
	for _, name := range all {
		text, _ := name.(string)
		if text == "/run_id" || text == "/rosdistro" || text == "/rosversion" || strings.HasPrefix(text, "/roslaunch/") {
			continue
		}
		if _, ok := askMaster(ctx, c.uri(), "deleteParam", text); !ok {
			return false
		}
	}
	return true
}

// registered counts the nodes in the result of getSystemState, at each topic and service, except
// the node of the roscore itself. For a result that is no system state it returns 1.
func registered(state any) (count int) {
	parts, ok := state.([]any)
	if !ok || len(parts) != 3 {
		return 1
	}
	for _, part := range parts {
		entries, _ := part.([]any)
		for _, entry := range entries {
			pair, ok := entry.([]any)
			if !ok || len(pair) != 2 {
				return 1
			}
			nodes, _ := pair[1].([]any)
			for _, node := range nodes {
				if node != "/rosout" {
					count++
				}
			}
		}
	}
	return count
}

// stopIdleRoscores ends the roscores that no test uses.
func stopIdleRoscores() {
	for c := idleRoscore(); c != nil; c = idleRoscore() {
		testkit.Sweep(c.mark)
	}
}
