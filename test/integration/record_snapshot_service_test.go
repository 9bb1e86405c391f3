//go:build unix

package integration_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSnapshotByService: rosservice takes snapshots beside a recording and without one,
// gets their names when they are closed, and is refused where there are none. A pause
// goes well with them.
func TestSnapshotByService(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "gomaster")
	g.stdSrvs()
	only, beside := g.flood("/only", 2000), g.flood("/beside", 2000)
	g.start("rostopic", "pub", "/map", "std_msgs/String", "data: map").printed("publishing and latching")
	recorders := []*process{
		g.snapshotting("/only", "/map", "--snapshot", "-O", "only", "__name:=only"),
		g.snapshotting("-a", "-x", "/only", "--snapshot-beside", "-O", "run", "__name:=beside"),
		g.record("/map", "-O", "plain", "__name:=plain"),
	}
	only.waitSent(20)
	beside.waitSent(20)
	steps := []struct{ service, success, answer string }{
		{"/only/snapshot", "True", "wrote only.bag"},
		{"/only/split", "False", "recorder: only snapshots are written: there is no bag to split"},
		{"/only/pause", "True", "paused recording"},
		{"/only/resume", "True", "recording"},
		{"/only/stop", "True", "stopped"},
		{"/only/stop", "True", "already stopped"},
		{"/only/start", "True", "recording"},
		{"/only/snapshot", "True", "wrote only_1.bag"},
		{"/beside/snapshot", "True", "wrote run_snapshot_"},
		{"/plain/snapshot", "False", "recorder: no snapshots are kept ready: the recording was not started for them"},
	}
	for _, s := range steps {
		answer := g.call(s.service)
		whole := `message: "` + s.answer + `"`
		if strings.HasSuffix(s.answer, "_") { // the date follows
			whole = strings.TrimSuffix(whole, `"`)
		}
		if !strings.Contains(answer, "success: "+s.success) || !strings.Contains(answer, whole) {
			t.Errorf("%s answers\n%swant %s, %q", s.service, answer, s.success, s.answer)
		}
	}
	for _, p := range recorders {
		p.stop()
		contains(t, p.out.String(), "lost: none")
	}
	if out := recorders[1].out.String(); strings.Contains(out, "no publisher was seen") {
		t.Errorf("a topic is listed that nobody asked for or publishes:\n%s", out)
	}
	for name, topic := range map[string]string{"only.bag": "/only", "only_1.bag": "/only", "run_snapshot_" + g.bags("run_snapshot_")[0]: "/beside"} {
		if topics := read(t, filepath.Join(g.dir, name)); topics[topic] == nil || topics["/map"] == nil {
			t.Errorf("%s: want %s and /map, there are %d topics", name, topic, len(topics))
		}
	}
}

// TestTriggerIsRecorded: with -a it is a topic as any other, once somebody publishes it.
func TestTriggerIsRecorded(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "gomaster")
	rec := g.snapshotting("-a", "--snapshot-beside", "-O", "run")
	g.run("rostopic", "pub", "-1", "/snapshot_trigger", "std_msgs/Empty")
	g.eventually("a snapshot", func() bool { return len(g.bags("run_snapshot_")) == 1 })
	rec.stop()
	contains(t, rec.out.String(), "/snapshot_trigger", "snapshots: 1, ")
	if topic := read(t, filepath.Join(g.dir, "run.bag"))["/snapshot_trigger"]; topic == nil || len(topic.Messages) != 1 {
		t.Errorf("the bag holds %v of the trigger", topic)
	}
}

// TestNoServices: on a graph with strict rules the recorder offers nothing.
func TestNoServices(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "gomaster")
	rec := g.record("/t", "-O", "out", "--no-services", "__name:=rec")
	g.flood("/t", 100).waitSent(10)
	for _, tool := range []string{"rosservice", "rostopic"} {
		if out := g.run(tool, "list"); strings.Contains(out, "/rec/") {
			t.Errorf("%s list:\n%s", tool, out)
		}
	}
	rec.stop()
}
