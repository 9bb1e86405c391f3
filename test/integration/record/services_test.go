package record_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// getLoggers is a service whose Python class is always beside rospy.
var getLoggers = tcpros.ServiceType{Type: "roscpp/GetLoggers", MD5Sum: "32e97e85527d4678a8f9279894bb64b0"}

func serve(g *harness.Graph, n *tcpros.Node, name string, typ tcpros.ServiceType, h tcpros.ServiceHandler) {
	g.T.Helper()
	if _, err := n.AdvertiseService(tcpros.ServiceOptions{Name: name, Type: typ, Handle: h}); err != nil {
		g.T.Fatal(err)
	}
	g.Eventually(name+" is registered", func() bool {
		_, err := n.Master().LookupService(g.T.Context(), name)
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
	harness.Long(t, "steers a recording with ROS's tools in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		n := peers.Node(g, "ours")
		serve(g, n, "/ours/loggers", getLoggers, oneLogger)
		serve(g, n, "/ours/no", getLoggers, func(context.Context, []byte) ([]byte, error) { return nil, errors.New("not today") })
		serve(g, n, "/ours/short", getLoggers, func(context.Context, []byte) ([]byte, error) { return []byte{1}, nil })
		g.Listed("rosservice", "/ours/loggers", "/ours/no")
		harness.Contains(t, g.Run("rosservice", "type", "/ours/loggers"), "roscpp/GetLoggers")
		harness.Contains(t, g.Run("rosservice", "node", "/ours/loggers"), "/ours")
		harness.Contains(t, g.Run("rosservice", "uri", "/ours/loggers"), "rosrpc://127.0.0.1:")
		harness.Contains(t, g.Run("rosservice", "info", "/ours/loggers"), "Node: /ours", "URI: rosrpc://127.0.0.1:", "Type: roscpp/GetLoggers", "Args: ")
		harness.Contains(t, g.Run("rosservice", "find", "roscpp/GetLoggers"), "/ours/loggers", "/ours/no")
		harness.Contains(t, g.Run("rosnode", "info", "/ours"), "Services:", " * /ours/loggers")
		harness.Contains(t, g.Run("rosservice", "call", "/ours/loggers"), `name: "ours"`, `level: "warn"`)
		for name, want := range map[string]string{"/ours/no": "not today", "/ours/short": "cannot deserialize"} {
			out, err := g.Command("rosservice", "call", name).CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: %v: %s", name, err, out)
			}
		}

		g.KillMaster()
		g.StartMaster()
		g.Eventually("the service is registered again", func() bool {
			_, err := n.Master().LookupService(t.Context(), "/ours/loggers")
			return err == nil
		})
		harness.Contains(t, g.Run("rosservice", "call", "/ours/loggers"), `name: "ours"`)
		if err := n.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if out := g.Run("rosservice", "list"); strings.Contains(out, "/ours") {
			t.Errorf("left registered: %s", out)
		}
	})
}

// TestServicesOfROS calls services of rospy and roscpp.
func TestServicesOfROS(t *testing.T) {
	t.Parallel()
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		g.StartPython("refuse.py").Printed("ready")
		g.Start("/usr/lib/rosbag/play", bags.Demo(t), "--loop", "--quiet", "__name:=player")
		n := peers.Node(g, "ours")
		g.Eventually("the player's service", func() bool {
			_, err := n.Master().LookupService(t.Context(), "/player/pause_playback")
			return err == nil
		})
		got, err := n.CallService(t.Context(), "/player/pause_playback", tcpros.SetBoolService, stdmsg.EncodeBool(true))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := stdmsg.DecodeOutcome(got); err != nil || !o.Success || !strings.Contains(o.Message, "paused") {
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

// compile builds a roscpp program of testdata, which takes ten seconds. It is kept beside
// the programs of ours for as long as its source is older.
func compile(g *harness.Graph, name string) string {
	g.T.Helper()
	compiling.Lock()
	defer compiling.Unlock()
	path := filepath.Join(harness.Bin(), strings.TrimSuffix(name, ".cpp"))
	source, err := os.Stat(g.Script(name))
	if err != nil {
		g.T.Fatal(err)
	}
	if built, err := os.Stat(path); err == nil && built.ModTime().After(source.ModTime()) {
		return path
	}
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "roscpp").Output()
	if err != nil {
		noCompiler(g.T, err)
	}
	if _, err := exec.LookPath("g++"); err != nil {
		noCompiler(g.T, err)
	}
	unfinished := filepath.Join(g.Dir, name+".out")
	build := exec.Command("g++", append([]string{"-o", unfinished, g.Script(name)}, strings.Fields(string(flags))...)...)
	if out, err := testkit.CombinedOutput(build); err != nil {
		g.T.Fatalf("%s: %v\n%s", name, err, out)
	}
	program, err := os.ReadFile(unfinished)
	if err != nil {
		g.T.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path+".new", program, 0o700), os.Rename(path+".new", path)); err != nil {
		g.T.Fatal(err)
	}
	return path
}

var compiling sync.Mutex

// noCompiler skips a test that compiles a roscpp program, or fails it where ROS is
// required.
func noCompiler(t *testing.T, err error) {
	t.Helper()
	const install = "roscpp cannot be compiled (Debian 12: apt-get install g++ pkg-config libroscpp-dev libstd-srvs-dev): "
	testkit.Missing(t, install+err.Error())
}

// TestServiceForROSCPP has a roscpp program call a service of ours.
func TestServiceForROSCPP(t *testing.T) {
	t.Parallel()
	harness.Long(t, "builds and runs nodes in C++, for seconds")
	harness.NeedROS(t)
	if _, err := os.Stat("/usr/include/std_srvs/SetBool.h"); err != nil {
		noCompiler(t, err)
	}
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "ours")
	serve(g, n, "/ours/set", tcpros.SetBoolService, func(_ context.Context, request []byte) ([]byte, error) {
		on, err := stdmsg.DecodeBool(request)
		if err != nil {
			return nil, err
		}
		if !on {
			return nil, errors.New("off is not for sale")
		}
		return stdmsg.Outcome{Success: on, Message: fmt.Sprint("set to ", on)}.Encode(), nil
	})
	harness.Contains(t, g.Run(compile(g, "caller.cpp"), "/ours/set"), "1 1 set to true\n0 0 \n1 1 set to true\n", "off is not for sale")
}
