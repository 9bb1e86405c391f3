package integration_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestUpstreamRecorder checks what the recorder tests of rosbag's own repository
// check, with gorecord, publishers of rospy and roscpp, a roscore, and rosbag info and
// rosbag's Python API as judges.
func TestUpstreamRecorder(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	for _, name := range []string{"chatter1", "chatter2"} {
		g.start("rostopic", "pub", "-r", "10", "/chatter", "std_msgs/String", name, "__name:="+name)
	}
	g.start("/usr/lib/rosbag/play", demoBag(t), "--loop", "--quiet", "__name:=roscpp")
	g.startPython("publish.py", "latching", "/latched,std_msgs/Int32,0,1,0").printed("ready")
	g.eventually("both talk", func() bool {
		out, err := g.command("rostopic", "info", "/chatter").Output()
		return err == nil && strings.Count(string(out), "* /chatter") == 2
	})
	for name, test := range map[string]func(*graph){
		"two publishers": func(g *graph) {
			g.runRecorder("/chatter", "-O", "out", "--duration=2")
			if n := g.info("out.bag", "topics[0].connections"); n != "2" {
				g.t.Errorf("%s connections", n)
			}
		},
		"one publisher, two topics": func(g *graph) {
			g.runRecorder("/odom", "imu/data", "-O", "out", "--duration=2")
			callers := map[string]bool{}
			for key, conn := range g.dump("out.bag") {
				callers[key] = len(conn.Messages) > 0
			}
			if len(callers) != 2 || !callers["/odom /roscpp"] || !callers["imu/data /roscpp"] {
				g.t.Errorf("recorded %v", callers)
			}
		},
		"latched publisher": func(g *graph) {
			rec := g.record("/latched", "/map", "-O", "out", "--flush-interval", "50ms")
			here := &outcome{dir: g.dir}
			g.eventually("both are recorded", func() bool { return len(here.soFar()["/latched"])*len(here.soFar()["/map"]) > 0 })
			rec.stop()
			for key, caller := range map[string]string{"/latched /latching": "/latching", "/map /roscpp": "/roscpp"} {
				conn := g.dump("out.bag")[key]
				if conn.Header["latching"] != "1" || conn.Header["callerid"] != caller {
					g.t.Errorf("%s: header %v", key, conn.Header)
				}
			}
		},
		"SIGINT cleans up":  func(g *graph) { g.cleansUp(syscall.SIGINT) },
		"SIGTERM cleans up": func(g *graph) { g.cleansUp(syscall.SIGTERM) },
		"split":             func(g *graph) { g.split(0) },
		"max splits":        func(g *graph) { g.split(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(g.in(t, name))
		})
	}
}

// runRecorder records until the recorder ends by itself.
func (g *graph) runRecorder(args ...string) {
	g.t.Helper()
	if code := g.record(args...).wait(); code != 0 {
		g.t.Errorf("exit code %d", code)
	}
}

// info asks rosbag info for one value.
func (g *graph) info(bag, key string) string {
	g.t.Helper()
	return strings.TrimSpace(g.run("rosbag", "info", "-y", "-k", key, bag))
}

// cleansUp ends a recording by a signal.
func (g *graph) cleansUp(s syscall.Signal) {
	g.t.Helper()
	rec := g.record("/chatter", "-O", "out.bag", "--duration=50", "--flush-interval", "50ms")
	g.eventually("something is recorded", func() bool { return size(g, "out.bag.active") > 4117 })
	rec.signal(s)
	if code := rec.wait(); code != 0 {
		g.t.Errorf("exit code %d", code)
	}
	if left, err := os.ReadDir(g.dir); err != nil || len(left) != 1 || left[0].Name() != "out.bag" {
		g.t.Errorf("the directory holds %v, %v", left, err)
	}
	if n, err := strconv.Atoi(g.info("out.bag", "messages")); err != nil || n == 0 {
		g.t.Errorf("%d messages, %v", n, err)
	}
}

// split records into several files and checks that none is missing, and that all but
// the oldest are kept.
func (g *graph) split(keep int) {
	g.t.Helper()
	rec := g.record("/chatter", "-O", "out", "--split", "--duration=0.5", "--max-splits", strconv.Itoa(keep))
	g.eventually("five files", func() bool { return size(g, "out_4.bag.active") >= 0 })
	rec.stop()
	first := 0
	for first < 10 && size(g, "out_"+strconv.Itoa(first)+".bag") < 0 {
		first++
	}
	files, err := filepath.Glob(filepath.Join(g.dir, "*"))
	if err != nil {
		g.t.Fatal(err)
	}
	if keep > 0 && len(files) != keep+1 || keep == 0 && (first != 0 || len(files) < 5) {
		g.t.Errorf("files %v", files)
	}
	for i := first; i < first+len(files)-1; i++ { // the last may be empty
		bag := "out_" + strconv.Itoa(i) + ".bag"
		if d := g.info(bag, "duration"); d > "0.6" || !strings.HasPrefix(d, "0.") {
			g.t.Errorf("%s lasts %s s", bag, d)
		}
	}
}
