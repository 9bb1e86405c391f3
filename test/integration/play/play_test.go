package play_test

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// heard is what subscribe.py prints about a message.
type heard struct {
	Topic    string `json:"topic"`
	CallerID string `json:"callerid"`
	Latching string `json:"latching"`
	Data     string `json:"data"`
}

func heardBy(p *harness.Process) []heard {
	p.T.Helper()
	var all []heard
	for s := bufio.NewScanner(strings.NewReader(p.Out.String())); s.Scan(); {
		var h heard
		if json.Unmarshal(s.Bytes(), &h) == nil && h.Topic != "" {
			all = append(all, h)
		}
	}
	return all
}

// subscribe starts a rospy node on topics.
func subscribe(g *harness.Graph, name string, topics ...string) *harness.Process {
	g.T.Helper()
	p := g.StartPython("subscribe.py", append([]string{name}, topics...)...)
	p.Printed("ready")
	return p
}

// TestPlayToROS plays the demo bag, or every bag at hand, to a rospy and a roscpp subscriber: the
// same messages in the same order as in the bag.
func TestPlayToROS(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	for _, bag := range bags.Real(t) {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			harness.LongCase(t, bag != bags.Demo(t), "runs nodes in Python for seconds; TestRecordingOfPlay plays this bag, too")
			g := harness.NewGraph(t, "roscore")
			want := byTopic(bags.Dump(g, bag))
			var topics []string
			for topic := range want {
				topics = append(topics, topic)
				if strings.HasPrefix(topic, "/rosout") {
					delete(want, topic) // the subscribers themselves speak there
				}
			}
			slices.Sort(topics)
			rospy := subscribe(g, "listener", topics...)
			roscpp := g.Start("/usr/lib/rosbag/record", append([]string{"-O", "out", "-b", "0"}, topics...)...)
			g.Eventually("the roscpp recorder has its file", func() bool { return harness.Size(g, "out.bag.active") >= 0 })
			stalls := g.Stalls(roscpp)
			// One of the two is enough for --wait-for-subscribers; the other is listed.
			play := g.Start("goplay", bag, "--wait-for-subscribers", "--link-timeout", "60", "--delay", "1", "--queue", "0", "--rate", rateFor(bag))
			if code := play.Wait(); code != 0 {
				t.Fatalf("goplay: exit code %d\n%s", code, play.Out.String())
			}
			roscpp.WaitIdle() // with SIGINT it forgets what it has not written
			still := stalls()
			roscpp.Stop()
			rospy.Stop()
			compareWithStock(t, want, byTopic(bags.Dump(g, "out.bag")), still)
			got := map[string][]string{}
			for _, h := range heardBy(rospy) {
				got[h.Topic] = append(got[h.Topic], h.Data)
			}
			compareOrder(t, "rospy", want, got)
		})
	}
}

// rateFor plays long bags faster, but not so fast that a rospy subscriber drops.
func rateFor(bag string) string {
	if strings.Contains(bag, "robot-24") {
		return "2"
	}
	return "4"
}

// byTopic merges the connections of each topic in time order.
func byTopic(conns map[string]bags.Dumped) map[string][]string {
	type stamped struct {
		t    int64
		data string
	}
	merged := map[string][]stamped{}
	for _, c := range conns {
		for _, m := range c.Messages {
			merged[c.Topic] = append(merged[c.Topic], stamped{m.T, m.Data})
		}
	}
	all := map[string][]string{}
	for topic, messages := range merged {
		slices.SortStableFunc(messages, func(a, b stamped) int { return int(a.t - b.t) })
		for _, m := range messages {
			all[topic] = append(all[topic], m.data)
		}
	}
	return all
}

// compareWithStock compares with the messages that stock's recorder got. Some may be missing if
// the machine stood still for longer than it takes to fill its queue.
func compareWithStock(t *testing.T, want, got map[string][]string, still time.Duration) {
	t.Helper()
	const queueLasts = harness.StockQueue * time.Millisecond // of a topic with 1 kHz
	if still > queueLasts {
		left := map[string][]string{}
		for topic, w := range want {
			g := got[topic]
			for _, data := range w {
				if len(g) > 0 && g[0] == data {
					left[topic], g = append(left[topic], data), g[1:]
				}
			}
			if missing := len(w) - len(left[topic]); missing > 0 && len(w) > harness.StockQueue && len(g) == 0 {
				t.Logf("stock has dropped %d of %d messages of %s; the machine stood still for %v", missing, len(w), topic, still)
			} else {
				left[topic] = w
			}
		}
		want = left
	}
	compareOrder(t, "roscpp", want, got)
}

func compareOrder(t *testing.T, who string, want, got map[string][]string) {
	t.Helper()
	for topic, w := range want {
		if g := got[topic]; !slices.Equal(g, w) {
			t.Errorf("%s: %s: %d messages, the bag has %d, or their order differs", who, topic, len(g), len(w))
		}
	}
}

// TestLateSubscriberGetsEachLatchedMessage: a late subscriber of /tf_static gets the latched message of
// each of its two publishers.
func TestLateSubscriberGetsEachLatchedMessage(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		early := subscribe(g, "early", "/odom") // before the player: it plays for half a second only
		play := g.Start("goplay", "--duration", "0.5", "--wait-for", "/odom", "--keep-alive", "--topics", "/tf_static", "/map", "/odom", "--bags", bags.Demo(t))
		g.Eventually("the player publishes", func() bool { return len(heardBy(early)) > 0 })
		late := subscribe(g, "late", "/tf_static", "/map")
		g.Eventually("three latched messages", func() bool { return len(heardBy(late)) >= 3 })
		var got []string
		for _, h := range heardBy(late) {
			if h.Latching != "1" {
				t.Errorf("%s: latching=%s", h.Topic, h.Latching)
			}
			got = append(got, h.Topic)
		}
		slices.Sort(got)
		if want := []string{"/map", "/tf_static", "/tf_static"}; !slices.Equal(got, want) {
			t.Errorf("late subscriber got %v, want %v", got, want)
		}
		play.Stop()
	})
}

// TestROSToolsSeeUs runs what a person types against our nodes.
func TestROSToolsSeeUs(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		play := g.Start("goplay", bags.Demo(t), "--loop", "--quiet", "__name:=player")
		rec := g.Record("-a", "-O", "out", "__name:=recorder")
		rec.Printed("/odom")
		g.Eventually("something is recorded", func() bool { return harness.Size(g, "out.bag.active") > 20_000 })

		watcher := peers.Node(g, "watcher")
		g.Eventually("the master lists the recorder of /odom", func() bool { // it may have been the others that were recorded
			state, err := watcher.Master().SystemState(t.Context())
			return err == nil && slices.Contains(state.Subscribers["/odom"], "/recorder")
		})
		harness.Contains(t, g.Run("rostopic", "info", "/odom"), "Type: nav_msgs/Odometry", " * /player (http://127.0.0.1:", " * /recorder (http://127.0.0.1:")
		g.Listed("rostopic", "/odom", "/tf_static")
		harness.Contains(t, g.Run("rostopic", "type", "/scan"), "sensor_msgs/LaserScan")
		harness.Contains(t, g.Run("rostopic", "echo", "-n", "1", "/odom"), `child_frame_id: "base_footprint"`)
		harness.Contains(t, g.Run("rosnode", "info", "/player"), "Publications:", " * /odom [nav_msgs/Odometry]", "to: /recorder", "direction: outbound", "transport: TCPROS")
		harness.Contains(t, g.Run("rosnode", "info", "/recorder"), "Subscriptions:", " * /odom [nav_msgs/Odometry]", "direction: inbound")
		harness.Contains(t, g.Run("rosnode", "ping", "-c", "2", "/recorder"), "ping average")
		hz := g.Start("rostopic", "hz", "-w", "50", "/imu/data")
		hz.Printed("average rate: ")

		g.Run("rosnode", "kill", "/recorder")
		if code := rec.Wait(); code != 0 {
			t.Errorf("gorecord after rosnode kill: exit code %d\n%s", code, rec.Out.String())
		}
		bags.Read(t, filepath.Join(g.Dir, "out.bag"))
		play.Stop()
		if out := g.Run("rosnode", "list"); strings.Contains(out, "/player") || strings.Contains(out, "/recorder") {
			t.Errorf("left behind at the master: %s", out)
		}
	})
}

// TestROSNodesOverGomaster lets rospy and roscpp nodes talk to each other.
func TestROSNodesOverGomaster(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	g.StartPython("publish.py", "talker", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0").Printed("ready")
	listener := subscribe(g, "listener", "/chatter", "/latched", "/odom")
	g.Start("/usr/lib/rosbag/play", bags.Demo(t), "--loop", "--quiet", "__name:=roscpp_player")
	roscpp := g.Start("/usr/lib/rosbag/record", "/chatter", "/latched", "/odom", "-O", "out", "__name:=roscpp_recorder")
	for _, topic := range []string{"/chatter", "/latched", "/odom"} {
		g.Eventually("the rospy listener hears "+topic, func() bool {
			return slices.ContainsFunc(heardBy(listener), func(h heard) bool { return h.Topic == topic })
		})
	}
	g.Eventually("the roscpp recorder writes", func() bool { return harness.Size(g, "out.bag.active") > 50_000 })
	harness.Contains(t, g.Run("rosnode", "list"), "/talker", "/listener", "/roscpp_player", "/roscpp_recorder")
	g.Listed("rosservice", "/roscpp_player/get_loggers", "/talker/set_logger_level")
	harness.Contains(t, g.Run("rosservice", "call", "/talker/get_loggers"), "name: \"rosout\"")
	g.Run("rosparam", "set", "/a/b", "[1, 2.5, x, true]")
	g.Run("rosparam", "set", "/a/c", "{d: 1, e: hello}")
	harness.Contains(t, g.Run("rosparam", "get", "/a"), "- 2.5", "- true", "d: 1", "e: hello")
	harness.Contains(t, g.Run("rosparam", "list"), "/a/b\n", "/a/c/d\n", "/run_id\n", "/rosversion\n")
	g.Eventually("rosnode ping -a reaches 4 nodes", func() bool { // it waits three seconds for each
		return strings.Count(g.Run("rosnode", "ping", "-a"), "xmlrpc reply from") >= 4
	})
	roscpp.Stop()
	got := byTopic(bags.Dump(g, "out.bag"))
	for _, topic := range []string{"/chatter", "/latched", "/odom"} {
		if len(got[topic]) == 0 {
			t.Errorf("the roscpp recorder got nothing of %s", topic)
		}
	}
}
