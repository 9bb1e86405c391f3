package stock_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// standsStill waits until so many messages have come, and then for a while in which none
// comes. It checks that there are no more of a topic than that, or at most as many more.
func standsStill(e *peers.Listener, want map[string]int, more func() int) {
	e.G.T.Helper()
	const still = 400 * time.Millisecond
	since, before := time.Now(), 0
	e.G.Eventually("play stands still", func() bool {
		if n := len(e.Received()); n > before {
			since, before = time.Now(), n
		}
		for topic, n := range want {
			if len(e.Texts(topic)) < n {
				return false
			}
		}
		return before > 0 && time.Since(since) > still
	}, func() string { return fmt.Sprintf("%d messages came", before) })
	for topic, n := range want {
		if got := len(e.Texts(topic)); got > n+more() {
			e.G.T.Errorf("where play stands still: %d messages of %s, want %d", got, topic, n)
		}
	}
}

// lateStock is how many more messages of a topic stock may play than rate control allows: it
// compares with the time of the message before, and plays all that has become due while a busy
// machine has kept it from looking. The rest of the bag must still wait.
const lateStock = 3

// late returns for standsStill how many more messages a player may play.
func late(player string, p *harness.Process) func() int {
	return func() int {
		if harness.IsOurs(player) {
			return 0
		}
		return lateStock + int(p.Waited()/(100*time.Millisecond)) // the messages of a topic are 100 ms apart
	}
}

func none() int { return 0 }

// TestPlayRateControl: play runs ahead of the topic by the delay, and no further.
func TestPlayRateControl(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	const point, md5 = "geometry_msgs/PointStamped", "c63aecb41bfdfd6b7e1fac37c7cbe7bf"
	for _, tc := range []struct {
		delay       string
		first, then map[string]int // messages before the first report, and after one of 0.5 s
	}{
		{"0.32", map[string]int{"/chatter": 4, "/other": 4, "/state": 2}, map[string]int{"/chatter": 9, "/other": 9, "/state": 3}},
		{"0", map[string]int{"/chatter": 1, "/other": 0, "/state": 1}, map[string]int{"/chatter": 6, "/other": 5, "/state": 3}},
	} {
		t.Run(tc.delay, func(t *testing.T) {
			t.Parallel()
			eachPlayer(t, func(g *harness.Graph, player string) {
				bags.Make(g, "walk.bag", bags.Walk()...)
				e := peers.Listen(g, "listener", "/chatter", "/other", "/state")
				r := peers.Reports(g, e.Node, "/done", point, md5, "# comment\n\nHeader header\nPoint point\n")
				p := play(g, player, "walk.bag", "--wait-for-subscribers", "--rate-control-topic", "/done", "--rate-control-max-delay", tc.delay)
				more := late(player, p)
				standsStill(e, tc.first, more)
				r.WaitForSubscriber()
				r.Report(bags.Start().Add(500 * time.Millisecond))
				standsStill(e, tc.then, more)
				r.Report(bags.Start().Add(time.Hour))
				p.Ended(0, "Creating rate control topic subscriber... done.")
				allOfWalk(g, player, e)
			})
		})
	}
}

// TestPlayRateControlByTheWrongType: messages whose first field is no header do not steer the rate, and
// the player prints why it waits.
func TestPlayRateControlByTheWrongType(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/chatter")
		r := peers.Reports(g, e.Node, "/done", "std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1", "string data\n")
		p := play(g, player, "walk.bag", "--rate-control-topic", "/done", "--rate-control-max-delay", "0.3")
		r.WaitForSubscriber()
		more := late(player, p)
		standsStill(e, map[string]int{"/chatter": 4}, more)
		text := bags.StringData(strings.Repeat("later", 10))
		r.To.Publish(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
		if harness.IsOurs(player) { // stock prints it when its buffer is full
			p.Printed("Rate control topic is bad, header is not first. MSG may be malformed.")
		}
		standsStill(e, map[string]int{"/chatter": 4}, more)
		p.Stop()
		harness.Contains(g.T, p.Out.String(), "Rate control topic is bad, header is not first. MSG may be malformed.")
	})
}

// TestPlayPauseTopics: play pauses before each message of these topics.
func TestPlayPauseTopics(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/chatter", "/other", "/state")
		p := play(g, player, "--wait-for-subscribers", "__name:=player", "--pause-topics", "/state", "--bags", "walk.bag")
		peers.Served(g, e.Node, "/player")
		for i, want := range []map[string]int{
			{"/chatter": 1, "/state": 0, "/other": 0},
			{"/chatter": 1, "/state": 1, "/other": 0},
			{"/chatter": 6, "/state": 2, "/other": 5},
		} {
			standsStill(e, want, none)
			if o := peers.SetPaused(g, e.Node, "/player", false); !o.Success {
				g.T.Errorf("pause %d: %+v", i, o)
			}
		}
		p.Ended(0)
		allOfWalk(g, player, e)
	})
}

// TestPlayUnderSimTime: on a graph with /use_sim_time a player goes by the system clock, with and
// without --clock.
func TestPlayUnderSimTime(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	for _, clock := range []string{"--clock", "-q"} {
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			eachPlayer(t, func(g *harness.Graph, player string) {
				bags.Make(g, "walk.bag", bags.Walk()...)
				e := peers.Listen(g, "listener", "/chatter")
				if err := e.Node.Master().SetParam(g.T.Context(), "/use_sim_time", true); err != nil {
					g.T.Fatal(err)
				}
				p := play(g, player, "walk.bag", clock)
				stalls := g.Stalls(p)
				p.Ended(0)
				got, still := e.Received(), stalls()
				complete(g, player, "/chatter", bags.Count("c", 0, 12), e.Texts("/chatter"))
				if len(got) < 11 {
					return
				}
				if took := got[10].At.Sub(got[0].At); took < time.Second-harness.SlackEarly-still || took > time.Second+harness.SlackLate+still {
					g.T.Errorf("a second of the bag takes %v, of which the machine stood still for %v", took, still)
				}
			})
		})
	}
}

// TestPlaySeveralLatched: a late subscriber gets the last message of each of many
// publishers of a topic, whatever node publishes it now.
func TestPlaySeveralLatched(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		var bag []bags.StringMessage
		want := map[string]bool{}
		for i := range 10 {
			node := fmt.Sprint("/frames", i)
			bag = append(bag, bags.StringMessage{Topic: "/tf_static", Node: node, Latching: true, At: time.Duration(i) * time.Millisecond, Text: "old " + node})
			bag = append(bag, bags.StringMessage{Topic: "/tf_static", Node: node, Latching: true, At: time.Duration(20+i) * time.Millisecond, Text: "new " + node})
			want["new "+node] = true
		}
		bags.Make(g, "static.bag", bag...)
		e := peers.Listen(g, "listener", "/tf_static")
		p := play(g, player, "static.bag", "-k", "--wait-for-subscribers")
		e.WaitFor("/tf_static", len(bag))
		late := peers.Listen(g, "late", "/tf_static")
		late.WaitFor("/tf_static", len(want))
		got := map[string]bool{}
		for _, text := range late.Texts("/tf_static") {
			got[text] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			g.T.Errorf("a late subscriber (-want +got):\n%s", diff)
		}
		p.Stop()
	})
}
