package play_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestServicesSteerPlay: ROS's own tools steer play and see its state.
func TestServicesSteerPlay(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	g.StdSrvs()
	bags.Make(g, "walk.bag", bags.Walk()...)
	e := peers.Listen(g, "listener", "/chatter", "/state")
	play := g.Start("goplay", "walk.bag", "-d", "0.6", "-k", "--pause", "__name:=player")
	g.Listed("rosservice", "/player/bookmark", "/player/is_paused", "/player/loop", "/player/loop_from", "/player/loop_to", "/player/pause",
		"/player/pause_on_topics", "/player/pause_playback", "/player/play", "/player/step", "/player/step_back", "/player/stop", "/player/toggle")
	g.Listed("rostopic", "/player/burst", "/player/seek", "/player/seek_to", "/player/set_rate", "/player/status")
	harness.Contains(t, g.Run("rostopic", "type", "/player/seek"), "std_msgs/Float64") // so that the shell completes a command
	status := peers.Listen(g, "status", "/player/status")
	for _, s := range []struct {
		do     string   // a service, or a topic
		args   []string // type and value if it is a topic
		answer string   // of the service, or in the log
		status string
	}{
		{"/player/pause_playback", []string{"data: true"}, `success: False message: "Bag is already paused."`, "paused at 0.000 s of 1.200 s"},
		{"/player/is_paused", nil, `success: True message: "paused at 0.000 s of 1.200 s"`, ""},
		{"/player/step", nil, `success: True message: "one message on from 0.000 s"`, ""},
		{"/player/burst", []string{"std_msgs/UInt32", "4"}, "burst of 4 messages", "paused at 0.100 s of 1.200 s"}, // c0, A0, B0, o0 and c1
		{"/player/step_back", nil, `success: True message: "one message back from 0.100 s"`, "paused at 0.050 s of 1.200 s"},
		{"/player/seek", []string{"std_msgs/Float64", "0.56"}, "seek to 0.560 s", "paused at 0.560 s of 1.200 s"},
		{"/player/seek", []string{"std_msgs/Float64", "--", "-0.5"}, "seek to 0.700 s", "paused at 0.700 s of 1.200 s"},
		{"/player/seek_to", []string{"std_msgs/Time", "{data: {secs: 1500000001}}"}, "seek to 1.000 s", "paused at 1.000 s of 1.200 s"},
		{"/player/set_rate", []string{"std_msgs/Float64", "0.2"}, "rate 0.2", ""},
		{"/player/toggle", nil, `success: True message: "playing at 1.000 s of 1.200 s"`, "all is published at 1.200 s of 1.200 s"},
	} {
		if len(s.args) > 1 {
			pub := g.Start("rostopic", append([]string{"pub", s.do}, s.args...)...)
			play.Printed(s.answer)
			pub.Signal(syscall.SIGINT)
			pub.Wait()
		} else if got := strings.Join(strings.Fields(g.Call(s.do, s.args...)), " "); got != s.answer {
			t.Errorf("%s %v answers %s, want %s", s.do, s.args, got, s.answer)
		}
		g.Eventually("the status after "+s.do+" tells "+s.status, func() bool {
			all := status.Received()
			return len(all) > 0 && strings.Contains(all[len(all)-1].Data, s.status)
		})
	}
	play.Printed(`moved {"position": "560ms"}`)
	echo := strings.Join(strings.Fields(g.Run("rostopic", "echo", "-n1", "/player/status")), " ")
	harness.Contains(t, echo, `name: "/player: playing" message: "all is published at 1.200 s of 1.200 s"`, `key: "rate" value: "0.2"`, `name: "/player: /chatter"`)
	e.WaitFor("/chatter", 3)
	harness.Contains(t, g.Call("/player/stop"), "success: True")
	play.Ended(0, `"service": "~pause_playback", "success": false, "answer": "Bag is already paused."`)
}

// TestPlayWithoutServices: on a graph with strict rules the player offers nothing.
func TestPlayWithoutServices(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	e := peers.Listen(g, "listener", "/chatter")
	g.Start("goplay", "walk.bag", "-l", "-q", "--no-services", "__name:=player")
	e.WaitFor("/chatter", 1)
	for _, tool := range []string{"rosservice", "rostopic"} {
		if out := g.Run(tool, "list"); strings.Contains(out, "/player/") {
			t.Errorf("%s list:\n%s", tool, out)
		}
	}
}

// TestStatusIsNotPartOfTheBag: -a does not record the ~status of a player, unless a topic on the
// command line names it. It does record a topic that a robot calls status.
func TestStatusIsNotPartOfTheBag(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	rec := g.Record("-a", "-x", "/rosout", "-O", "all", "__name:=rec")
	named := g.Record("/player/status", "-O", "named", "__name:=named")
	e := peers.Listen(g, "listener", "/player/status")
	play := g.Start("goplay", "walk.bag", "-l", "-q", "__name:=player")
	g.Eventually("status and messages are recorded", func() bool {
		all, status := map[string][]string{}, map[string][]string{}
		bags.AddMessages(all, g.Dir+"/all.bag.active") // an error: it has no header yet
		bags.AddMessages(status, g.Dir+"/named.bag.active")
		return len(e.Received()) > 0 && len(status) > 0 && len(all) >= 3
	})
	play.Stop()
	rec.Stop()
	named.Stop()
	if topic := bags.Read(t, g.Dir+"/named.bag")["/player/status"]; topic == nil || len(topic.Messages) == 0 {
		t.Error("the status is not recorded where it is named")
	}
	all := bags.Read(t, g.Dir+"/all.bag")
	if all["/player/status"] != nil || all["/chatter"] == nil || len(all) != 3 {
		t.Errorf("with -a: %v", all)
	}
}

// TestMarksSideBySide: a loop between two marks that are nearly equal does not use all of a processor.
func TestMarksSideBySide(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	p := startPlayer(g, bags.Demo(t), "--loop")
	p.begun()
	for _, length := range []string{"0.000000001", "0.001"} {
		p.post("loop_range", `{"from": 1, "to": 1`+length[1:]+`}`)
		begun := time.Now() // before the state: a machine that stands still makes the passes seem slower
		first := p.state().Pass
		const passes = 50
		harness.Eventually(t, "fifty passes", func() bool { return p.state().Pass >= first+passes })
		if took := time.Since(begun); took < passes*9*time.Millisecond {
			t.Errorf("length %s: %d passes took %v, want 10 ms each", length, passes, took)
		}
	}
	p.Stop()
}
