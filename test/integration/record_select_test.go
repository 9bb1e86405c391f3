package integration_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSelect records with each way of selecting topics, beside each other.
func TestSelect(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	g.start("goplay", demoBag(t), "--loop", "--quiet", "__name:=player")
	first := g.record("/odom", "/imu/data", "-O", "first", "__name:=first")
	all := g.record("-a", "-x", "/rosout.*", "-O", "all")
	g.eventually("every topic flows", func() bool { return size(g, "all.bag.active") > 200_000 })
	tests := map[string]struct {
		args []string
		want []string // nil: as -a
		code int
	}{
		"glob":         {[]string{"/imu/*"}, []string{"/imu/data"}, 0},
		"type":         {[]string{"--type", "sensor_msgs/Imu", "--type", "nav_msgs/Odom*"}, []string{"/imu/data", "/odom"}, 0},
		"node":         {[]string{"--node", "/first"}, []string{"/imu/data", "/odom"}, 0},
		"node but":     {[]string{"--node", "/first", "-x", "/o.*"}, []string{"/imu/data"}, 0},
		"publications": {[]string{"--node-publications", "/player"}, nil, 0},
		"together":     {[]string{"/odom", "/im?/*", "--type", "x/Y"}, []string{"/imu/data", "/odom"}, 0},
		"required":     {[]string{"--require", "/odom", "/never", "/gone/*", "--type", "x/Y"}, []string{"/odom"}, 3},
	}
	t.Run("", func(t *testing.T) {
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				file := strings.ReplaceAll(name, " ", "_")
				p := g.record(append(tc.args, "-O", file, "--duration", "4")...)
				if code := p.wait(); code != tc.code {
					t.Errorf("exit code %d:\n%s", code, p.out.String())
				}
				got := slices.Sorted(maps.Keys(read(t, filepath.Join(g.dir, file+".bag"))))
				want := tc.want
				if name == "publications" {
					want = got
					if len(got) < 5 {
						t.Errorf("recorded %v", got)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("recorded %v, want %v", got, want)
				}
				if missing := "never appeared: /never, /gone/*, x/Y\n"; name == "required" && !strings.Contains(p.out.String(), missing) {
					t.Errorf("no %q in:\n%s", missing, p.out.String())
				}
			})
		}
	})
	first.stop()
	all.stop()
}

// TestNodeDies: what a node subscribed to is recorded also when the node is gone.
func TestNodeDies(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	const messages = 150
	f := g.flood("/t", messages) // to one subscriber: the recorder
	first := g.record("/t", "-O", "first", "--overflow=block", "__name:=first")
	f.waitSent(10)
	rec := g.record("--node", "/first", "-O", "out")
	rec.printed("Subscribing to")
	first.stop()
	second := g.flood("/t", 50)
	second.waitDone()
	rec.stop()
	if topic := read(t, filepath.Join(g.dir, "out.bag"))["/t"]; topic == nil || len(topic.Messages) < 50 {
		t.Errorf("not recorded after the node's end:\n%s", rec.out.String())
	}
}

// TestTopicLimits: single topics can be thinned out; that is no loss.
func TestTopicLimits(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	third, few := g.flood("/third", 200), g.flood("/few", 200)
	rec := g.record("/third", "few", "-O", "out", "--every", "/third=4", "--count", "/few=7")
	third.waitDone()
	few.waitSent(7)
	rec.stop()
	topics := read(t, filepath.Join(g.dir, "out.bag"))
	if n := len(topics["/third"].Messages); n != 50 {
		t.Errorf("%d messages of 200 with --every 4", n)
	}
	if n := len(topics["few"].Messages); n != 7 {
		t.Errorf("%d messages with --count 7", n)
	}
	if !strings.Contains(rec.out.String(), "(150 more left out, as asked)") || !strings.Contains(rec.out.String(), "lost: none") {
		t.Errorf("summary:\n%s", rec.out.String())
	}
}

// TestRecordOverUDP: a roscpp publisher is received over UDPROS, and a rospy one,
// which has none and which stock does not record, over TCPROS.
func TestRecordOverUDP(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	g.startPython("publish.py", "one", "/chatter,std_msgs/String,50,0,20").printed("ready")
	args := []string{"--udp", "/imu/data", "/chatter"}
	rec := g.record(append(args, "-O", "ours")...)
	stock := g.start("/usr/lib/rosbag/record", append(args, "-O", "stock", "__name:=stock_record")...)
	g.start("/usr/lib/rosbag/play", demoBag(t), "--loop", "--quiet", "__name:=roscpp_player")
	g.eventually("both are recorded", func() bool {
		return size(g, "ours.bag.active") > 150_000 && size(g, "stock.bag.active") > 100_000
	})
	rec.stop()
	stock.stop()
	ours, theirs := read(t, filepath.Join(g.dir, "ours.bag")), read(t, filepath.Join(g.dir, "stock.bag"))
	for _, topic := range []string{"/imu/data", "/chatter"} {
		if ours[topic] == nil || len(ours[topic].Messages) < 50 {
			t.Errorf("%s is not recorded", topic)
		}
	}
	if theirs["/imu/data"] == nil || theirs["/chatter"] != nil {
		t.Errorf("stock has recorded %v", slices.Sorted(maps.Keys(theirs)))
	}
}

// TestOrphanIsReported: what a killed recorder left is named at the next start.
func TestOrphanIsReported(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	dead, alive := g.record("/t", "-O", "dead"), g.record("/t", "-O", "alive")
	dead.cmd.Process.Kill()
	dead.wait()
	rec := g.record("/t", "-O", "out")
	rec.stop()
	alive.stop()
	if out := rec.out.String(); !strings.Contains(out, `"file": "dead.bag.active"`) || strings.Contains(out, "alive.bag") {
		t.Errorf("printed:\n%s", out)
	}
}

// TestLateTopics: topics that appear during a recording are linked to within a
// quarter of a second, and the summary says so.
func TestLateTopics(t *testing.T) {
	eachMaster(t, func(t *testing.T, g *graph) {
		rec := g.record("-a", "-x", "/rosout.*", "-O", "out")
		g.flood("/early", 5).waitDone()
		for i := range 40 {
			f := g.flood("/late"+strconv.Itoa(i), 3)
			f.waitDone()
		}
		rec.stop()
		found := regexp.MustCompile(`(\d+) new topics, linked to within (\d+) ms of their registration \(p99 (\d+) ms\)`).FindStringSubmatch(rec.out.String())
		if found == nil {
			t.Fatalf("summary:\n%s", rec.out.String())
		}
		t.Log(found[0])
		if n, err := strconv.Atoi(found[1]); err != nil || n < 40 {
			t.Errorf("%s new topics", found[1])
		}
		if p99, err := strconv.Atoi(found[3]); err != nil || p99 > 500 { // twice the target: a busy machine
			t.Errorf("p99 %s ms", found[3])
		}
	})
}
