package service_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// manager collects what a service tells systemd.
type manager struct {
	path string
	mu   sync.Mutex
	said []string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	m := &manager{path: filepath.Join(t.TempDir(), "notify")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1<<16)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, string(b[:n]))
			m.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return m
}

// heard reports whether one datagram has all of these.
func (m *manager) heard(all ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
datagrams:
	for _, s := range m.said {
		for _, want := range all {
			if !strings.Contains(s, want) {
				continue datagrams
			}
		}
		return true
	}
	return false
}

func (m *manager) start(g *harness.Graph, name string, args ...string) *harness.Process {
	cmd := g.Command(name, args...)
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+m.path, "WATCHDOG_USEC=300000")
	return g.Launch(name, cmd)
}

// TestSystemdHearsRecord: a service is ready when the master knows it, not before, and it
// says what it does up to its end.
func TestSystemdHearsRecord(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	g.KillMaster()
	m := newManager(t)
	p := m.start(g, "gorecord", "-a", "-O", "x")
	g.Eventually("it waits for the master", func() bool {
		return m.heard("STATUS=waiting for the ROS master "+g.URI(), "WATCHDOG=1", "EXTEND_TIMEOUT_USEC=")
	})
	if m.heard("READY=1") {
		t.Error("ready without a master")
	}
	g.StartMaster()
	g.Eventually("it is ready", func() bool { return m.heard("READY=1") })
	peers.Talk(g, "one", "/chatter")
	g.Eventually("it says what it does", func() bool { // of /chatter, and of its own /rosout
		return m.heard("STATUS=recording 2 topics, ", "MiB/s, 0 messages lost, ", " in x.bag", "WATCHDOG=1")
	})
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	g.Eventually("what was told is read: it stops", func() bool { return m.heard("STOPPING=1", "EXTEND_TIMEOUT_USEC=") })
}

func TestSystemdHearsPlay(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	m := newManager(t)
	p := m.start(g, "goplay", "--loop", bags.Demo(t))
	g.Eventually("it is ready", func() bool { return m.heard("READY=1", "WATCHDOG=1") })
	g.Eventually("it plays", func() bool { return m.heard("STATUS=playing, ", " at rate 1, ", "0 messages dropped") })
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	g.Eventually("what was told is read: it stops", func() bool { return m.heard("STOPPING=1") })
}

// TestRemoteShutdownRefused: with --allow-remote-shutdown=false a program does not end
// because another node wants it to, and says who that was.
func TestRemoteShutdownRefused(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"gorecord": {"-a", "-O", "x"}, "goplay": {"--loop", "--keep-alive", bags.Demo(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			p := g.Start(name, append(args, "--allow-remote-shutdown=false", "__name:=service")...)
			other := peers.Node(g, "other")
			var uri string
			g.Eventually("it is registered", func() (ok bool) {
				var err error
				uri, err = other.Master().LookupNode(t.Context(), "/service")
				return err == nil
			})
			answer, err := xmlrpc.Call(t.Context(), xmlrpc.NewHTTPClient(harness.Timeout), uri, "shutdown", "/other", "because")
			if reply, ok := answer.([]any); err != nil || !ok || len(reply) != 3 || reply[0] != -1 {
				t.Errorf("shutdown answers %v, %v", answer, err)
			}
			p.Printed("shutdown request refused")
			harness.Contains(t, p.Out.String(), "127.0.0.1")
			if answer, err := xmlrpc.Call(t.Context(), xmlrpc.NewHTTPClient(harness.Timeout), uri, "getPid", "/other"); err != nil {
				t.Errorf("getPid answers %v, %v", answer, err)
			}
			p.Stop()
		})
	}
}

// TestEndedByPeers: what others end says so at its end. That somebody asked for it is no fault; that another node has
// taken the name is.
func TestEndedByPeers(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"gorecord": {"-a", "-O", "x", "--no-screen"}, "goplay": {"--loop", bags.Demo(t)},
	} {
		for how, end := range map[string]func(g *harness.Graph, uri string){
			"user request": func(g *harness.Graph, uri string) {
				if _, err := xmlrpc.Call(g.T.Context(), xmlrpc.NewHTTPClient(harness.Timeout), uri, "shutdown", "/rosnode", "user request"); err != nil {
					g.T.Error(err)
				}
			},
			"new node registered with same name": func(g *harness.Graph, _ string) { peers.Advertise(g, peers.Node(g, "service"), "/other", false) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				g := harness.NewGraph(t, "gomaster")
				p := g.Start(name, append(args, "__name:=service")...)
				var uri string
				g.Eventually("it is registered", func() (ok bool) {
					var err error
					uri, err = peers.Node(g, "looks").Master().LookupNode(t.Context(), "/service")
					return err == nil
				})
				end(g, uri)
				code, last := 0, ""
				if strings.HasPrefix(how, "new") {
					code, last = 3, "another node has registered with the name of this one; give each its own with __name:="
				}
				p.Ended(code)
				harness.Contains(t, p.Out.String(), "ended by another node or the master: ", how, last)
			})
		}
	}
}

// TestPrintConfig: the YAML that is printed means the same when it is read again.
func TestPrintConfig(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	cmd := g.Command("gorecord", "--config", example(t, "gorecord.yaml"), "--print-config", "-b", "64", "--every", "/scan=3", "imu:=/front/imu", "__name:=robot")
	cmd.Env = append(cmd.Env, "GORECORD_PARAMS=false")
	first, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nbuffsize: 64 # flag\n", "\nparams: false # environment GORECORD_PARAMS\n", "gorecord.yaml:", "\n# overflow: drop # default\n", "\nevery: # flag\n  /scan: 3\n",
		"\nros_master_uri: \"" + g.URI() + "\" # environment ROS_MASTER_URI\n", "\n# Node: /robot\n", "\n# The name imu means: /front/imu\n",
	} {
		harness.Contains(t, string(first), want)
	}
	path := filepath.Join(g.Dir, "again.yaml")
	if err := os.WriteFile(path, first, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := g.Command("gorecord", "--config", path, "--print-config").Output()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := values(first), values(again); a != b {
		t.Errorf("first\n%s\nagain\n%s", a, b)
	}
}

// values returns the keys and values of a configuration without where they come from.
func values(text []byte) string {
	var out []string
	for line := range strings.Lines(string(text)) {
		if v, _, _ := strings.Cut(line, "#"); strings.TrimSpace(v) != "" {
			out = append(out, strings.TrimSpace(v))
		}
	}
	return strings.Join(out, "\n")
}

// example is the path of an example file.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../packaging", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWrongConfig: what a new user gets to see, and that nothing is recorded then.
func TestWrongConfig(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	path := filepath.Join(g.Dir, "robot.yaml")
	if err := os.WriteFile(path, []byte("all: true\nmax_byte: 5G\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"gorecord": {"-a"}, "goplay": {bags.Demo(t)}} {
		out, err := g.Command(name, append(args, "--config", path)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%s: %v", name, err)
		}
		want := map[string]string{
			"gorecord": "gorecord: " + path + ":2: max_byte: there is no such option; did you mean max_bytes?\n",
			"goplay":   "goplay: " + path + ":1: all: there is no such option",
		}[name]
		if !strings.HasPrefix(string(out), want) {
			t.Errorf("%s prints %q, want %q", name, out, want)
		}
	}
}
