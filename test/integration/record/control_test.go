package record_test

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestServicesSteerARecording: ROS's own tools pause, split, stop and start a recording,
// and see its state, while messages flow. Each message is in one bag, or was passed by.
func TestServicesSteerARecording(t *testing.T) {
	t.Parallel()
	harness.Long(t, "steers a recording with ROS's tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	g.StdSrvs()
	f := peers.NewFlood(g, "/t", 100_000)
	rec := g.Record("/t", "-O", "out", "--overflow=block", "__name:=rec")
	f.WaitSent(20)
	g.Listed("rosservice", "/rec/mark", "/rec/pause", "/rec/pause_recording", "/rec/pin", "/rec/resume", "/rec/snapshot", "/rec/split", "/rec/start", "/rec/stop")
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
		{"/rec/pin", nil, "bags of the last 5m0s are protected from deletion: out.bag out_1.bag", true, ""},
		{"/rec/stop", nil, "closed out_1.bag", true, "stopped"},
		{"/rec/split", nil, "stopped: there is no bag before the next start", false, ""},
		{"/rec/start", nil, "recording to out_2.bag", true, "recording: out_2.bag"},
	}
	for _, s := range steps {
		if s.service == "/rec/split" || s.service == "/rec/stop" { // each bag has something in it
			f.WaitSent(f.Sent.Load() + 20)
		}
		answer := g.Call(s.service, s.args...)
		success := "success: False"
		if s.success {
			success = "success: True"
		}
		if !strings.Contains(answer, success) || !strings.Contains(answer, `message: "`+s.answer+`"`) {
			t.Errorf("%s %v answers\n%swant %s, %q", s.service, s.args, answer, success, s.answer)
		}
		if s.status != "" {
			out := ""
			g.Eventually("the status after "+s.service, func() bool { // it is told after the answer
				out = g.Run("rostopic", "echo", "-n1", "/rec/status")
				return strings.Contains(out, `message: "`+s.status+`"`)
			}, func() string { return out })
			harness.Contains(t, out, `name: "/rec: /t"`)
		}
	}
	f.WaitSent(f.Sent.Load() + 20)
	rec.Stop()
	if names := bags.Names(g, "out"); !slices.Equal(names, []string{".bag", "_1.bag", "_2.bag"}) {
		t.Errorf("files: %v", names)
	}
	last := -1
	for _, name := range []string{"out.bag", "out_1.bag", "out_2.bag"} {
		topic := bags.Read(t, filepath.Join(g.Dir, name))["/t"]
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
	harness.Contains(t, rec.Out.String(), "while paused or stopped", "lost: none")
}

// TestResidentRecorder: services start and stop the bags of a recorder that keeps running. Each bag
// starts with the latched messages, and no bag has the messages that the recorder itself publishes.
func TestResidentRecorder(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	g.StdSrvs()
	g.StartPython("publish.py", "one", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0").Printed("ready")
	rec := g.Start("gorecord", "-a", "-O", "run", "--stopped", "__name:=rec")
	rec.Printed("/latched") // it is subscribed to
	if names := bags.Names(g, "run"); len(names) > 0 {
		t.Errorf("files before the first start: %v", names)
	}
	for _, name := range []string{"run.bag", "run_1.bag"} {
		harness.Contains(t, g.Call("/rec/start"), "recording to "+name)
		recorded(g, name, 1, "/latched", "/chatter") // the links may not be there at the first start
		harness.Contains(t, g.Call("/rec/stop"), "closed "+name)
		topics := bags.Read(t, filepath.Join(g.Dir, name))
		if topics["/latched"] == nil || topics["/chatter"] == nil || topics["/rec/status"] != nil {
			t.Errorf("%s holds %v", name, topics)
		}
	}
	rec.Stop()
}

// TestDurationFromTheStart: --duration counts from the start of the recording, not of the program.
func TestDurationFromTheStart(t *testing.T) {
	t.Parallel()
	harness.Long(t, "calls services with ROS's tools in Python")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	g.StdSrvs()
	rec := g.Start("gorecord", "-a", "-O", "run", "--stopped", "--duration", "0.1", "__name:=rec")
	g.Call("/rec/start") // takes longer than the duration
	if code := rec.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if names := bags.Names(g, "run"); !slices.Equal(names, []string{".bag"}) {
		t.Errorf("files: %v", names)
	}
}
