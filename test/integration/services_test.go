package integration_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// getLoggers is a service whose Python class is always beside rospy.
var getLoggers = tcpros.ServiceType{Type: "roscpp/GetLoggers", MD5Sum: "32e97e85527d4678a8f9279894bb64b0"}

// node starts a node of ours in this process.
func (g *graph) node(name string) *tcpros.Node {
	g.t.Helper()
	n, err := tcpros.NewNode(g.t.Context(), tcpros.NodeOptions{
		BaseName: name, MasterURI: g.uri(), Getenv: func(string) string { return "" },
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = n.Close(ctx)
	})
	return n
}

func (g *graph) serve(n *tcpros.Node, name string, typ tcpros.ServiceType, h tcpros.ServiceHandler) {
	g.t.Helper()
	if _, err := n.AdvertiseService(tcpros.ServiceOptions{Name: name, Type: typ, Handle: h}); err != nil {
		g.t.Fatal(err)
	}
	g.eventually(name+" is registered", func() bool {
		_, err := n.Master().LookupService(g.t.Context(), name)
		return err == nil
	})
}

// oneLogger is a response of roscpp/GetLoggers.
func oneLogger(context.Context, []byte) ([]byte, error) {
	b := binary.LittleEndian.AppendUint32(nil, 1)
	for _, s := range []string{"ours", "warn"} {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b, nil
}

// TestServicesForROS has ROS's tools list, describe and call services of ours, also
// after the master was restarted.
func TestServicesForROS(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		n := g.node("ours")
		g.serve(n, "/ours/loggers", getLoggers, oneLogger)
		g.serve(n, "/ours/no", getLoggers, func(context.Context, []byte) ([]byte, error) { return nil, errors.New("not today") })
		g.serve(n, "/ours/short", getLoggers, func(context.Context, []byte) ([]byte, error) { return []byte{1}, nil })
		contains(t, g.run("rosservice", "list"), "/ours/loggers", "/ours/no")
		contains(t, g.run("rosservice", "type", "/ours/loggers"), "roscpp/GetLoggers")
		contains(t, g.run("rosservice", "node", "/ours/loggers"), "/ours")
		contains(t, g.run("rosservice", "uri", "/ours/loggers"), "rosrpc://127.0.0.1:")
		contains(t, g.run("rosservice", "info", "/ours/loggers"), "Node: /ours", "URI: rosrpc://127.0.0.1:", "Type: roscpp/GetLoggers", "Args: ")
		contains(t, g.run("rosservice", "find", "roscpp/GetLoggers"), "/ours/loggers", "/ours/no")
		contains(t, g.run("rosnode", "info", "/ours"), "Services:", " * /ours/loggers")
		contains(t, g.run("rosservice", "call", "/ours/loggers"), `name: "ours"`, `level: "warn"`)
		for name, want := range map[string]string{"/ours/no": "not today", "/ours/short": "cannot deserialize"} {
			out, err := g.command("rosservice", "call", name).CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}

		g.killMaster()
		g.startMaster()
		g.eventually("the service is registered again", func() bool {
			_, err := n.Master().LookupService(t.Context(), "/ours/loggers")
			return err == nil
		})
		contains(t, g.run("rosservice", "call", "/ours/loggers"), `name: "ours"`)
		if err := n.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if out := g.run("rosservice", "list"); strings.Contains(out, "/ours") {
			t.Errorf("left registered: %s", out)
		}
	})
}

// TestServicesOfROS calls services of rospy and roscpp.
func TestServicesOfROS(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		g.startPython("refuse.py").printed("ready")
		g.start("/usr/lib/rosbag/play", demoBag(t), "--loop", "--quiet", "__name:=player")
		n := g.node("ours")
		g.eventually("the player's service", func() bool {
			_, err := n.Master().LookupService(t.Context(), "/player/pause_playback")
			return err == nil
		})
		got, err := n.CallService(t.Context(), "/player/pause_playback", tcpros.SetBoolService, tcpros.EncodeBool(true))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := tcpros.DecodeOutcome(got); err != nil || !o.Success || !strings.Contains(o.Message, "paused") {
			t.Errorf("roscpp answers %+v, %v", o, err)
		}
		got, err = n.CallService(t.Context(), "/refuser/get_loggers", getLoggers, nil)
		if err != nil || !strings.Contains(string(got), "rosout") {
			t.Errorf("rospy answers %q, %v", got, err)
		}
		refusal := (*tcpros.ServiceError)(nil)
		if _, err := n.CallService(t.Context(), "/refuse", tcpros.ServiceType{}, nil); !errors.As(err, &refusal) || !strings.Contains(refusal.Text, "not from python") {
			t.Errorf("rospy refuses with %v", err)
		}
		for _, name := range []string{"/refuse", "/player/pause_playback"} {
			if _, err := n.CallService(t.Context(), name, getLoggers, nil); !errors.Is(err, tcpros.ErrPeer) {
				t.Errorf("%s with another md5sum: %v", name, err)
			}
		}
	})
}

// compile builds a roscpp program of testdata.
func (g *graph) compile(name string) string {
	g.t.Helper()
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "roscpp").Output()
	if err != nil {
		noCompiler(g.t, err)
	}
	if _, err := exec.LookPath("g++"); err != nil {
		noCompiler(g.t, err)
	}
	path := filepath.Join(g.dir, strings.TrimSuffix(name, ".cpp"))
	build := exec.Command("g++", append([]string{"-o", path, g.script(name)}, strings.Fields(string(flags))...)...)
	if out, err := build.CombinedOutput(); err != nil {
		g.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return path
}

// noCompiler skips a test that compiles a roscpp program, or fails it where ROS is
// required.
func noCompiler(t *testing.T, err error) {
	t.Helper()
	const install = "roscpp cannot be compiled (Debian 12: apt-get install g++ pkg-config libroscpp-dev libstd-srvs-dev): "
	if os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
		t.Fatal("GOROSBAG_REQUIRE_ROS is set, but "+install, err)
	}
	t.Skip(install, err)
}

// TestServiceForROSCPP has a roscpp program call a service of ours.
func TestServiceForROSCPP(t *testing.T) {
	t.Parallel()
	needROS(t)
	if _, err := os.Stat("/usr/include/std_srvs/SetBool.h"); err != nil {
		noCompiler(t, err)
	}
	g := newGraph(t, "gomaster")
	n := g.node("ours")
	g.serve(n, "/ours/set", tcpros.SetBoolService, func(_ context.Context, request []byte) ([]byte, error) {
		on, err := tcpros.DecodeBool(request)
		if err != nil {
			return nil, err
		}
		if !on {
			return nil, errors.New("off is not for sale")
		}
		return tcpros.Outcome{Success: on, Message: fmt.Sprint("set to ", on)}.Encode(), nil
	})
	contains(t, g.run(g.compile("caller.cpp"), "/ours/set"), "1 1 set to true\n0 0 \n1 1 set to true\n", "off is not for sale")
}
