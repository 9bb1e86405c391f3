package integration_test

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// heard is what subscribe.py prints about a message.
type heard struct {
	Topic    string `json:"topic"`
	CallerID string `json:"callerid"`
	Latching string `json:"latching"`
	Data     string `json:"data"`
}

func (p *process) heard() []heard {
	p.t.Helper()
	var all []heard
	for s := bufio.NewScanner(strings.NewReader(p.out.String())); s.Scan(); {
		var h heard
		if json.Unmarshal(s.Bytes(), &h) == nil && h.Topic != "" {
			all = append(all, h)
		}
	}
	return all
}

// subscribe starts a rospy node on topics.
func (g *graph) subscribe(name string, topics ...string) *process {
	g.t.Helper()
	p := g.startPython("subscribe.py", append([]string{name}, topics...)...)
	p.printed("ready")
	return p
}

// TestPlayToROS plays every bag at hand to a rospy and a roscpp subscriber: the same
// messages in the same order as in the bag.
func TestPlayToROS(t *testing.T) {
	t.Parallel()
	needROS(t)
	for _, bag := range realBags(t) {
		t.Run(filepath.Base(bag), func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, "roscore")
			want := byTopic(g.dump(bag))
			var topics []string
			for topic := range want {
				topics = append(topics, topic)
				if strings.HasPrefix(topic, "/rosout") {
					delete(want, topic) // the subscribers themselves speak there
				}
			}
			slices.Sort(topics)
			rospy := g.subscribe("listener", topics...)
			roscpp := g.start("/usr/lib/rosbag/record", append([]string{"-O", "out", "-b", "0"}, topics...)...)
			g.eventually("the roscpp recorder has its file", func() bool { return size(g, "out.bag.active") >= 0 })
			play := g.start("goplay", bag, "--wait-for-subscribers", "--delay", "1", "--queue", "0", "--rate", rateFor(bag))
			if code := play.wait(); code != 0 {
				t.Fatalf("goplay: exit code %d\n%s", code, play.out.String())
			}
			roscpp.stop()
			rospy.stop()
			compareOrder(t, "roscpp", want, byTopic(g.dump("out.bag")))
			got := map[string][]string{}
			for _, h := range rospy.heard() {
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
func byTopic(conns map[string]dumped) map[string][]string {
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

func compareOrder(t *testing.T, who string, want, got map[string][]string) {
	t.Helper()
	for topic, w := range want {
		if g := got[topic]; !slices.Equal(g, w) {
			t.Errorf("%s: %s: %d messages, the bag has %d, or their order differs", who, topic, len(g), len(w))
		}
	}
}

// TestLateSubscriberGetsEachLatchedMessage: both publishers of /tf_static.
func TestLateSubscriberGetsEachLatchedMessage(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		early := g.subscribe("early", "/odom") // before the player: it plays for half a second only
		play := g.start("goplay", "--duration", "0.5", "--delay", "2", "--keep-alive", "--topics", "/tf_static", "/map", "/odom", "--bags", demoBag(t))
		g.eventually("the player publishes", func() bool { return len(early.heard()) > 0 })
		late := g.subscribe("late", "/tf_static", "/map")
		g.eventually("three latched messages", func() bool { return len(late.heard()) >= 3 })
		var got []string
		for _, h := range late.heard() {
			if h.Latching != "1" {
				t.Errorf("%s: latching=%s", h.Topic, h.Latching)
			}
			got = append(got, h.Topic)
		}
		slices.Sort(got)
		if want := []string{"/map", "/tf_static", "/tf_static"}; !slices.Equal(got, want) {
			t.Errorf("late subscriber got %v, want %v", got, want)
		}
		play.stop()
	})
}

// TestROSToolsSeeUs runs what a person types against our nodes.
func TestROSToolsSeeUs(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachMaster(t, func(t *testing.T, g *graph) {
		play := g.start("goplay", demoBag(t), "--loop", "--quiet", "__name:=player")
		rec := g.record("-a", "-O", "out", "__name:=recorder")
		rec.printed("/odom")
		g.eventually("something is recorded", func() bool { return size(g, "out.bag.active") > 20_000 })

		contains(t, g.run("rostopic", "info", "/odom"), "Type: nav_msgs/Odometry", " * /player (http://127.0.0.1:", " * /recorder (http://127.0.0.1:")
		contains(t, g.run("rostopic", "list"), "/odom\n", "/tf_static\n")
		contains(t, g.run("rostopic", "type", "/scan"), "sensor_msgs/LaserScan")
		contains(t, g.run("rostopic", "echo", "-n", "1", "/odom"), `child_frame_id: "base_footprint"`)
		contains(t, g.run("rosnode", "info", "/player"), "Publications:", " * /odom [nav_msgs/Odometry]", "to: /recorder", "direction: outbound", "transport: TCPROS")
		contains(t, g.run("rosnode", "info", "/recorder"), "Subscriptions:", " * /odom [nav_msgs/Odometry]", "direction: inbound")
		contains(t, g.run("rosnode", "ping", "-c", "2", "/recorder"), "ping average")
		hz := g.start("rostopic", "hz", "-w", "50", "/imu/data")
		hz.printed("average rate: ")

		g.run("rosnode", "kill", "/recorder")
		if code := rec.wait(); code != 0 {
			t.Errorf("gorecord after rosnode kill: exit code %d\n%s", code, rec.out.String())
		}
		read(t, filepath.Join(g.dir, "out.bag"))
		play.stop()
		if out := g.run("rosnode", "list"); strings.Contains(out, "/player") || strings.Contains(out, "/recorder") {
			t.Errorf("left behind at the master: %s", out)
		}
	})
}

func contains(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is missing in:\n%s", w, out)
		}
	}
}

// TestROSNodesOverGomaster lets rospy and roscpp nodes talk to each other.
func TestROSNodesOverGomaster(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "gomaster")
	g.startPython("publish.py", "talker", "/chatter,std_msgs/String,50,0,20", "/latched,std_msgs/Int32,0,1,0").printed("ready")
	listener := g.subscribe("listener", "/chatter", "/latched", "/odom")
	g.start("/usr/lib/rosbag/play", demoBag(t), "--loop", "--quiet", "__name:=roscpp_player")
	roscpp := g.start("/usr/lib/rosbag/record", "/chatter", "/latched", "/odom", "-O", "out", "__name:=roscpp_recorder")
	for _, topic := range []string{"/chatter", "/latched", "/odom"} {
		g.eventually("the rospy listener hears "+topic, func() bool {
			return slices.ContainsFunc(listener.heard(), func(h heard) bool { return h.Topic == topic })
		})
	}
	g.eventually("the roscpp recorder writes", func() bool { return size(g, "out.bag.active") > 50_000 })
	contains(t, g.run("rosnode", "list"), "/talker", "/listener", "/roscpp_player", "/roscpp_recorder")
	contains(t, g.run("rosservice", "list"), "/roscpp_player/get_loggers", "/talker/set_logger_level")
	contains(t, g.run("rosservice", "call", "/talker/get_loggers"), "name: \"rosout\"")
	g.run("rosparam", "set", "/a/b", "[1, 2.5, x, true]")
	g.run("rosparam", "set", "/a/c", "{d: 1, e: hello}")
	contains(t, g.run("rosparam", "get", "/a"), "- 2.5", "- true", "d: 1", "e: hello")
	contains(t, g.run("rosparam", "list"), "/a/b\n", "/a/c/d\n", "/run_id\n", "/rosversion\n")
	if n := strings.Count(g.run("rosnode", "ping", "-a"), "xmlrpc reply from"); n < 4 {
		t.Errorf("rosnode ping -a reaches %d nodes of 4", n)
	}
	roscpp.stop()
	got := byTopic(g.dump("out.bag"))
	for _, topic := range []string{"/chatter", "/latched", "/odom"} {
		if len(got[topic]) == 0 {
			t.Errorf("the roscpp recorder got nothing of %s", topic)
		}
	}
}
