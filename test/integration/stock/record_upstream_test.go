package stock_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// TestUpstreamRecorder checks what the recorder tests of rosbag's own repository
// check, with gorecord, publishers of rospy and roscpp, a roscore, and rosbag info and
// rosbag's Python API as judges.
func TestUpstreamRecorder(t *testing.T) {
	t.Parallel()
	harness.Long(t, "asks tools of ROS in Python again and again, for half a minute of processor time")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	for _, name := range []string{"chatter1", "chatter2"} {
		g.Start("rostopic", "pub", "-r", "10", "/chatter", "std_msgs/String", name, "__name:="+name)
	}
	g.Start("/usr/lib/rosbag/play", bags.Demo(t), "--loop", "--quiet", "__name:=roscpp")
	g.StartPython("publish.py", "latching", "/latched,std_msgs/Int32,0,1,0").Printed("ready")
	g.Eventually("both talk", func() bool {
		out, err := g.Command("rostopic", "info", "/chatter").Output()
		return err == nil && strings.Count(string(out), "* /chatter") == 2
	})
	for name, test := range map[string]func(*harness.Graph){
		"two publishers": func(g *harness.Graph) {
			runRecorder(g, "/chatter", "-O", "out", "--duration=6")
			if n := info(g, "out.bag", "topics[0].connections"); n != "2" {
				g.T.Errorf("%s connections", n)
			}
		},
		"one publisher, two topics": func(g *harness.Graph) {
			runRecorder(g, "/odom", "imu/data", "-O", "out", "--duration=6")
			callers := map[string]bool{}
			for key, conn := range bags.Dump(g, "out.bag") {
				callers[key] = len(conn.Messages) > 0
			}
			if len(callers) != 2 || !callers["/odom /roscpp"] || !callers["imu/data /roscpp"] {
				g.T.Errorf("recorded %v", callers)
			}
		},
		"latched publisher": func(g *harness.Graph) {
			rec := g.Record("/latched", "/map", "-O", "out", "--flush-interval", "50ms")
			here := &outcome{dir: g.Dir}
			g.Eventually("both are recorded", func() bool { return len(here.soFar()["/latched"])*len(here.soFar()["/map"]) > 0 })
			rec.Stop()
			for key, caller := range map[string]string{"/latched /latching": "/latching", "/map /roscpp": "/roscpp"} {
				conn := bags.Dump(g, "out.bag")[key]
				if conn.Header["latching"] != "1" || conn.Header["callerid"] != caller {
					g.T.Errorf("%s: header %v", key, conn.Header)
				}
			}
		},
		"SIGINT cleans up":  func(g *harness.Graph) { cleansUp(g, syscall.SIGINT) },
		"SIGTERM cleans up": func(g *harness.Graph) { cleansUp(g, syscall.SIGTERM) },
		"split":             func(g *harness.Graph) { split(g, 0) },
		"max splits":        func(g *harness.Graph) { split(g, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(g.In(t, name))
		})
	}
}

// runRecorder records until the recorder ends by itself.
func runRecorder(g *harness.Graph, args ...string) {
	g.T.Helper()
	if code := g.Record(args...).Wait(); code != 0 {
		g.T.Errorf("exit code %d", code)
	}
}

// info asks rosbag info for one value.
func info(g *harness.Graph, bag, key string) string {
	g.T.Helper()
	return strings.TrimSpace(g.Run("rosbag", "info", "-y", "-k", key, bag))
}

// cleansUp ends a recording by a signal.
func cleansUp(g *harness.Graph, s syscall.Signal) {
	g.T.Helper()
	rec := g.Record("/chatter", "-O", "out.bag", "--duration=50", "--flush-interval", "50ms")
	g.Eventually("something is recorded", func() bool { return harness.Size(g, "out.bag.active") > 4117 })
	rec.Signal(s)
	if code := rec.Wait(); code != 0 {
		g.T.Errorf("exit code %d", code)
	}
	if left, err := os.ReadDir(g.Dir); err != nil || len(left) != 1 || left[0].Name() != "out.bag" {
		g.T.Errorf("the directory holds %v, %v", left, err)
	}
	if n, err := strconv.Atoi(info(g, "out.bag", "messages")); err != nil || n == 0 {
		g.T.Errorf("%d messages, %v", n, err)
	}
}

// split records into several files and checks that none is missing, and that all but
// the oldest are kept.
func split(g *harness.Graph, keep int) {
	g.T.Helper()
	rec := g.Record("/chatter", "-O", "out", "--split", "--duration=0.5", "--max-splits", strconv.Itoa(keep))
	g.Eventually("five files", func() bool { return harness.Size(g, "out_4.bag.active") >= 0 })
	rec.Stop()
	first := 0
	for first < 10 && harness.Size(g, "out_"+strconv.Itoa(first)+".bag") < 0 {
		first++
	}
	files, err := filepath.Glob(filepath.Join(g.Dir, "*.bag*"))
	if err != nil {
		g.T.Fatal(err)
	}
	if keep > 0 && len(files) != keep || // stock leaves one more
		keep == 0 && (first != 0 || len(files) < 5) {
		g.T.Errorf("files %v", files)
	}
	for i := first; i < first+len(files)-1; i++ { // the last may be empty
		bag := "out_" + strconv.Itoa(i) + ".bag"
		if d := info(g, bag, "duration"); d > "0.6" || !strings.HasPrefix(d, "0.") {
			g.T.Errorf("%s lasts %s s", bag, d)
		}
	}
}
