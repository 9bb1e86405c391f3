package record_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestSelect records with each way of selecting topics, beside each other.
func TestSelect(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	g.Start("goplay", bags.Demo(t), "--loop", "--quiet", "__name:=player")
	first := g.Record("/odom", "/imu/data", "-O", "first", "__name:=first")
	all := g.Record("-a", "-x", "/rosout.*", "-O", "all")
	g.Eventually("every topic flows", func() bool { return harness.Size(g, "all.bag.active") > 200_000 })
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
				cmd := g.Command("gorecord", append(tc.args, "-O", file)...)
				cmd.Env = append(cmd.Env, "GORECORD_FLUSH_INTERVAL=50ms") // the test waits for what it sees in the file
				p := g.Launch(name, cmd)
				harness.Eventually(t, name+" records all that it should", func() bool {
					topics := map[string][]string{}
					bags.AddMessages(topics, filepath.Join(g.Dir, file+".bag.active")) // an error: it has no header yet
					return len(topics) >= max(len(tc.want), 1) && (tc.want != nil || len(topics) >= 5) &&
						!slices.ContainsFunc(tc.want, func(topic string) bool { return len(topics[topic]) < 10 })
				})
				p.Signal(syscall.SIGINT)
				if code := p.Wait(); code != tc.code {
					t.Errorf("exit code %d:\n%s", code, p.Out.String())
				}
				got := slices.Sorted(maps.Keys(bags.Read(t, filepath.Join(g.Dir, file+".bag"))))
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
				if missing := "never appeared: /never, /gone/*, x/Y\n"; name == "required" && !strings.Contains(p.Out.String(), missing) {
					t.Errorf("no %q in:\n%s", missing, p.Out.String())
				}
			})
		}
	})
	first.Stop()
	all.Stop()
}

// TestNodeDies: --node records the topics of a node also after the node has ended.
func TestNodeDies(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	const messages = 150
	f := peers.NewFlood(g, "/t", messages) // to one subscriber: the recorder
	first := g.Record("/t", "-O", "first", "--overflow=block", "__name:=first")
	f.WaitSent(10)
	rec := g.Record("--node", "/first", "-O", "out")
	rec.Printed("Subscribing to")
	first.Stop()
	second := peers.NewFlood(g, "/t", 50)
	second.WaitDone()
	rec.Stop()
	if topic := bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/t"]; topic == nil || len(topic.Messages) < 50 {
		t.Errorf("not recorded after the node's end:\n%s", rec.Out.String())
	}
}

// TestTopicLimits: messages left out by --every and --count do not count as lost.
func TestTopicLimits(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	third, few := peers.NewFlood(g, "/third", 200), peers.NewFlood(g, "/few", 200)
	rec := g.Record("/third", "few", "-O", "out", "--every", "/third=4", "--count", "/few=7")
	third.WaitDone()
	<-few.Done // all is read, or the recorder has what it wants and has closed the link
	rec.Stop()
	topics := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
	if n := len(topics["/third"].Messages); n != 50 {
		t.Errorf("%d messages of 200 with --every 4", n)
	}
	if n := len(topics["few"].Messages); n != 7 {
		t.Errorf("%d messages with --count 7", n)
	}
	if !strings.Contains(rec.Out.String(), "(150 more left out, as asked)") || !strings.Contains(rec.Out.String(), "lost: none") {
		t.Errorf("summary:\n%s", rec.Out.String())
	}
}

// TestRecordOverUDP: a roscpp publisher is received over UDPROS, and a rospy one,
// which has none and which stock does not record, over TCPROS.
func TestRecordOverUDP(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	g.StartPython("publish.py", "one", "/chatter,std_msgs/String,50,0,20").Printed("ready")
	args := []string{"--udp", "/imu/data", "/chatter"}
	rec := g.Record(append(args, "-O", "ours")...)
	stock := g.Start("/usr/lib/rosbag/record", append(args, "-O", "stock", "__name:=stock_record")...)
	g.Start("/usr/lib/rosbag/play", bags.Demo(t), "--loop", "--quiet", "__name:=roscpp_player")
	g.Eventually("both are recorded", func() bool {
		ours, stock := soFar(g, "ours.bag"), soFar(g, "stock.bag")
		return len(ours["/imu/data"]) >= 50 && len(ours["/chatter"]) >= 50 && len(stock["/imu/data"]) > 0
	})
	rec.Stop()
	stock.Stop()
	ours, theirs := bags.Read(t, filepath.Join(g.Dir, "ours.bag")), bags.Read(t, filepath.Join(g.Dir, "stock.bag"))
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
	g := harness.NewGraph(t, "gomaster")
	dead, alive := g.Record("/t", "-O", "dead"), g.Record("/t", "-O", "alive")
	dead.Cmd.Process.Kill()
	dead.Wait()
	rec := g.Record("/t", "-O", "out")
	rec.Stop()
	alive.Stop()
	if out := rec.Out.String(); !strings.Contains(out, `"file": "dead.bag.active"`) || strings.Contains(out, "alive.bag") {
		t.Errorf("printed:\n%s", out)
	}
}

// TestLateTopics: topics that appear during a recording are linked to within a
// quarter of a second, and the time that the machine stood still, and the summary says so.
func TestLateTopics(t *testing.T) {
	t.Parallel()
	harness.EachMaster(t, func(t *testing.T, g *harness.Graph) {
		rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
		stalls := g.Stalls(rec, g.Core)
		peers.NewFlood(g, "/early", 5).WaitDone()
		for i := range 40 {
			f := peers.NewFlood(g, "/late"+strconv.Itoa(i), 3)
			f.WaitDone()
		}
		bound := 250*time.Millisecond + stalls()
		rec.Stop()
		found := regexp.MustCompile(`(\d+) new topics, linked to within (\d+) ms of the registration \(p99 (\d+) ms\)`).FindStringSubmatch(rec.Out.String())
		if found == nil {
			t.Fatalf("summary:\n%s", rec.Out.String())
		}
		t.Log(found[0])
		if n, err := strconv.Atoi(found[1]); err != nil || n < 40 {
			t.Errorf("%s new topics", found[1])
		}
		if p99, err := strconv.Atoi(found[3]); err != nil || time.Duration(p99)*time.Millisecond > bound {
			t.Errorf("p99 %s ms, want at most %v", found[3], bound)
		}
	})
}

// TestMisspelled: while the recording runs, the log names a topic that nobody publishes, and the
// published topic with the most similar name. An expression that looks like a glob is reported at the
// start.
func TestMisspelled(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "camera_driver")
	for _, topic := range []string{"/camera/image", "/camera/image_raw", "/state"} {
		peers.Advertise(g, n, topic, false)
	}
	rec := g.Record("/camera/imgae", "/camera/image_raw", "/unlike", "-O", "literal", "--mark-on", `topic == "/camera/imgae" && m.data == "x"`)
	rec.Printed(`nobody publishes this topic; did you mean another? {"topic": "/camera/imgae", "nearest": ["/camera/image"]}`)
	rec.Stop()
	if text := rec.Out.String(); strings.Count(text, "did you mean") != 1 {
		t.Errorf("not one suggestion:\n%s", text)
	}
	all := g.Record("-a", "-x", "/camera/*", "-O", "all", "--mark-on", `topic == "/stat" && m.data == "x"`)
	all.Printed("-x /camera/* is a regular expression, in which * repeats the character before it: it matches /camera, /camera/ and /camera//, but nothing below /camera; for any text write .*, as in /camera/.*")
	all.Printed(`{"topic": "/stat", "nearest": ["/state"]}`)
	all.Stop()
	some := g.Record("-e", "/camera/*", "-O", "some")
	some.Printed("-e /camera/* is a regular expression")
	some.Stop()
	none := g.Record("-e", "/camrea/.*", "-O", "none")
	none.Printed(`this pattern selects no topic yet; did you mean another? {"pattern": "/camrea/.*", "nearest": ["/camera/image", "/camera/image_raw"]}`)
	none.Stop()
}
