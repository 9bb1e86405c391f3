//go:build unix

package record_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestSnapshotByService: rosservice takes snapshots beside a recording and without one,
// gets their names when they are closed, and is refused where there are none. A pause
// goes well with them.
func TestSnapshotByService(t *testing.T) {
	t.Parallel()
	harness.Long(t, "steers a recording with ROS's tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	g.StdSrvs()
	only, beside := peers.NewFlood(g, "/only", 100_000), peers.NewFlood(g, "/beside", 100_000)
	g.Start("rostopic", "pub", "/map", "std_msgs/String", "data: map").Printed("publishing and latching")
	recorders := []*harness.Process{
		snapshotting(g, "/only", "/map", "--snapshot", "-O", "only", "__name:=only"),
		snapshotting(g, "-a", "-x", "/only", "--snapshot-beside", "-O", "run", "__name:=beside"),
		g.Record("/map", "-O", "plain", "__name:=plain"),
	}
	only.WaitSent(20)
	beside.WaitSent(20)
	steps := []struct{ service, success, answer string }{
		{"/only/snapshot", "True", "wrote only.bag"},
		{"/only/split", "False", "only snapshots are written: there is no bag to split"},
		{"/only/pause", "True", "paused recording"},
		{"/only/resume", "True", "recording"},
		{"/only/stop", "True", "stopped"},
		{"/only/stop", "True", "already stopped"},
		{"/only/start", "True", "recording"},
		{"/only/snapshot", "True", "wrote only_1.bag"},
		{"/beside/snapshot", "True", "wrote run_snapshot_"},
		{"/plain/snapshot", "False", "no snapshots are kept ready: record with --snapshot or --snapshot-beside"},
	}
	for _, s := range steps {
		answer := g.Call(s.service)
		whole := `message: "` + s.answer + `"`
		if strings.HasSuffix(s.answer, "_") { // the date follows
			whole = strings.TrimSuffix(whole, `"`)
		}
		if !strings.Contains(answer, "success: "+s.success) || !strings.Contains(answer, whole) {
			t.Errorf("%s answers\n%swant %s, %q", s.service, answer, s.success, s.answer)
		}
	}
	for _, p := range recorders {
		p.Stop()
		harness.Contains(t, p.Out.String(), "lost: none")
	}
	if out := recorders[1].Out.String(); strings.Contains(out, "no publisher was seen") {
		t.Errorf("a topic is listed that nobody asked for or publishes:\n%s", out)
	}
	for name, topic := range map[string]string{"only.bag": "/only", "only_1.bag": "/only", "run_snapshot_" + bags.Names(g, "run_snapshot_")[0]: "/beside"} {
		if topics := bags.Read(t, filepath.Join(g.Dir, name)); topics[topic] == nil || topics["/map"] == nil {
			t.Errorf("%s: want %s and /map, there are %d topics", name, topic, len(topics))
		}
	}
}

// TestTriggerIsRecorded: -a records the topic of the trigger, too, as soon as somebody publishes it.
func TestTriggerIsRecorded(t *testing.T) {
	t.Parallel()
	harness.Long(t, "calls services with ROS's tools in Python")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	rec := snapshotting(g, "-a", "--snapshot-beside", "-O", "run")
	g.Start("rostopic", "pub", "/snapshot_trigger", "std_msgs/Empty") // latched, until the end
	g.Eventually("a snapshot", func() bool { return len(bags.Names(g, "run_snapshot_")) == 1 })
	recorded(g, "run.bag", 1, "/snapshot_trigger")
	rec.Stop()
	harness.Contains(t, rec.Out.String(), "/snapshot_trigger", "snapshots: 1, ")
	if topic := bags.Read(t, filepath.Join(g.Dir, "run.bag"))["/snapshot_trigger"]; topic == nil || len(topic.Messages) != 1 {
		t.Errorf("the bag holds %v of the trigger", topic)
	}
}

// TestNoServices: on a graph with strict rules the recorder offers nothing.
func TestNoServices(t *testing.T) {
	t.Parallel()
	harness.Long(t, "calls services with ROS's tools in Python")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("/t", "-O", "out", "--no-services", "__name:=rec")
	peers.NewFlood(g, "/t", 100).WaitSent(10)
	for _, tool := range []string{"rosservice", "rostopic"} {
		if out := g.Run(tool, "list"); strings.Contains(out, "/rec/") {
			t.Errorf("%s list:\n%s", tool, out)
		}
	}
	rec.Stop()
}
