package integration_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stdSrvs skips the test where rosservice cannot call the services of std_srvs, or fails
// it where ROS is required.
func (g *graph) stdSrvs() {
	g.t.Helper()
	const install = "the Python of std_srvs is not installed (Debian 12: apt-get install python3-std-srvs)"
	if _, err := os.Stat("/usr/lib/python3/dist-packages/std_srvs/srv"); err == nil {
		return
	}
	if os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
		g.t.Fatal("GOROSBAG_REQUIRE_ROS is set, but " + install)
	}
	g.t.Skip(install)
}

// call has rosservice call a service and returns what it answers.
func (g *graph) call(name string, args ...string) string {
	g.t.Helper()
	return g.run("rosservice", append([]string{"call", "--wait", name}, args...)...)
}

// TestServicesSteerARecording: ROS's own tools pause, split, stop and start a recording,
// and see its state, while messages flow. Each message is in one bag, or was passed by.
func TestServicesSteerARecording(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	g.stdSrvs()
	f := g.flood("/t", 100_000)
	rec := g.record("/t", "-O", "out", "--overflow=block", "__name:=rec")
	f.waitSent(20)
	contains(t, g.run("rosservice", "list"), "/rec/pause", "/rec/pause_recording", "/rec/pin", "/rec/resume", "/rec/snapshot", "/rec/split", "/rec/start", "/rec/stop")
	steps := []struct {
		service string
		args    []string
		answer  string
		success bool
		status  string
	}{
		{"/rec/pause", nil, "paused recording to out.bag", true, "paused: out.bag"},
		{"/rec/pause", nil, "already paused", true, ""},
		{"/rec/pause_recording", []string{"data: true"}, "Recording is already paused.", false, ""},
		{"/rec/pause_recording", []string{"data: false"}, "Recording is now resumed", true, "recording: out.bag"},
		{"/rec/split", nil, "closed out.bag, recording to out_1.bag", true, "recording: out_1.bag"},
		{"/rec/resume", nil, "already recording to out_1.bag", true, ""},
		{"/rec/pin", nil, "of the last 5m0s, will not be deleted: out.bag out_1.bag", true, ""},
		{"/rec/stop", nil, "closed out_1.bag", true, "stopped"},
		{"/rec/split", nil, "recorder: stopped: there is no bag before the next start", false, ""},
		{"/rec/start", nil, "recording to out_2.bag", true, "recording: out_2.bag"},
	}
	for _, s := range steps {
		answer := g.call(s.service, s.args...)
		success := "success: False"
		if s.success {
			success = "success: True"
		}
		if !strings.Contains(answer, success) || !strings.Contains(answer, `message: "`+s.answer+`"`) {
			t.Errorf("%s %v answers\n%swant %s, %q", s.service, s.args, answer, success, s.answer)
		}
		if s.status != "" {
			contains(t, g.run("rostopic", "echo", "-n1", "/rec/status"), `message: "`+s.status+`"`, `name: "/rec: /t"`)
		}
	}
	f.waitSent(f.sent.Load() + 20)
	rec.stop()
	if names := g.bags("out"); !slices.Equal(names, []string{".bag", "_1.bag", "_2.bag"}) {
		t.Errorf("files: %v", names)
	}
	last := -1
	for _, name := range []string{"out.bag", "out_1.bag", "out_2.bag"} {
		topic := read(t, filepath.Join(g.dir, name))["/t"]
		if topic == nil {
			t.Errorf("%s: no messages", name)
			continue
		}
		for _, m := range topic.Messages {
			n := int(binary.LittleEndian.Uint32(m.Data[4:]))
			if n <= last {
				t.Fatalf("%s: message %d after %d", name, n, last)
			}
			last = n
		}
	}
	contains(t, rec.out.String(), "while paused or stopped", "lost: none")
}

// TestResidentRecorder begins bags and ends them as it is told. Each begins with the
// latched messages, and none holds what the recorder says about itself.
func TestResidentRecorder(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "gomaster")
	g.stdSrvs()
	g.startPython("publish.py", "one", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0").printed("ready")
	rec := g.start("gorecord", "-a", "-O", "run", "--stopped", "__name:=rec")
	rec.printed("/latched") // it is subscribed to
	if names := g.bags("run"); len(names) > 0 {
		t.Errorf("files before the first start: %v", names)
	}
	for _, name := range []string{"run.bag", "run_1.bag"} {
		contains(t, g.call("/rec/start"), "recording to "+name)
		contains(t, g.call("/rec/stop"), "closed "+name)
		topics := read(t, filepath.Join(g.dir, name))
		if topics["/latched"] == nil || topics["/chatter"] == nil || topics["/rec/status"] != nil {
			t.Errorf("%s holds %v", name, topics)
		}
	}
	rec.stop()
}

// TestDurationFromTheStart: a recording that was not started yet does not end.
func TestDurationFromTheStart(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "gomaster")
	g.stdSrvs()
	rec := g.start("gorecord", "-a", "-O", "run", "--stopped", "--duration", "0.1", "__name:=rec")
	g.call("/rec/start") // takes longer than the duration
	if code := rec.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if names := g.bags("run"); !slices.Equal(names, []string{".bag"}) {
		t.Errorf("files: %v", names)
	}
}
