package integration_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// What holds play up, beside stock: rate control, topics to pause on, simulated time.

// reporter is a node that says how far it is.
type reporter struct {
	g   *graph
	pub *tcpros.Publication
	to  *tcpros.Source
}

func (g *graph) reports(n *tcpros.Node, topic, typ, md5, definition string) *reporter {
	g.t.Helper()
	pub, err := n.Advertise(tcpros.AdvertiseOptions{Topic: topic, Type: typ, MD5Sum: md5, MessageDefinition: definition})
	if err != nil {
		g.t.Fatal(err)
	}
	return &reporter{g, pub, pub.Source(false)}
}

// heard waits until somebody listens.
func (r *reporter) heard() {
	r.g.t.Helper()
	r.g.eventually("somebody listens to "+r.pub.Topic(), func() bool { return r.pub.Subscribers() > 0 })
}

// report publishes a geometry_msgs/PointStamped.
func (r *reporter) report(stamp bagfmt.Time) {
	b := binary.LittleEndian.AppendUint32(nil, 3*4+4+3*8)
	for _, v := range []uint32{1, stamp.Sec, stamp.Nsec} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	r.to.Publish(append(b, make([]byte, 4+3*8)...))
}

// standsStill waits for a while in which no message comes, and checks how many have come
// before: so many, or at most as many more.
func (e *ear) standsStill(want map[string]int, more int) {
	e.g.t.Helper()
	const still = 400 * time.Millisecond
	since, before := time.Now(), 0
	e.g.eventually("play stands still", func() bool {
		if n := len(e.caught()); n > before {
			since, before = time.Now(), n
		}
		return before > 0 && time.Since(since) > still
	})
	for topic, n := range want {
		if got := len(e.texts(topic)); got < n || got > n+more {
			e.g.t.Errorf("where play stands still: %d messages of %s, want %d", got, topic, n)
		}
	}
}

// TestPlayRateControl: play runs ahead of the topic by the delay, and no further.
func TestPlayRateControl(t *testing.T) {
	t.Parallel()
	needROS(t)
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
			eachPlayer(t, func(g *graph, player string) {
				g.makeBag("walk.bag", walk()...)
				late := 0
				if !ours(player) {
					late = 1 // its time may still be that of the message before
				}
				e := g.listen("ear", "/chatter", "/other", "/state")
				r := g.reports(e.node, "/done", point, md5, "# comment\n\nHeader header\nPoint point\n")
				p := g.start(player, "walk.bag", "-d", "0.6", "--rate-control-topic", "/done", "--rate-control-max-delay", tc.delay)
				e.standsStill(tc.first, late)
				r.heard()
				r.report(spokenSince.Add(500 * time.Millisecond))
				e.standsStill(tc.then, late)
				r.report(spokenSince.Add(time.Hour))
				p.ended(0, "Creating rate control topic subscriber... done.")
				g.allOfWalk(player, e)
			})
		})
	}
}

// TestPlayRateControlByTheWrongType: a type whose first field is no header says nothing,
// and the player tells why it waits.
func TestPlayRateControlByTheWrongType(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/chatter")
		r := g.reports(e.node, "/done", "std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1", "string data\n")
		p := g.start(player, "walk.bag", "-d", "0.6", "--rate-control-topic", "/done", "--rate-control-max-delay", "0.3")
		r.heard()
		late := 1
		if ours(player) {
			late = 0
		}
		e.standsStill(map[string]int{"/chatter": 4}, late)
		text := stringData(strings.Repeat("later", 10))
		r.to.Publish(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
		if ours(player) { // stock prints it when its buffer is full
			p.printed("Rate control topic is bad, header is not first. MSG may be malformed.")
		}
		e.standsStill(map[string]int{"/chatter": 4}, late)
		p.stop()
		contains(g.t, p.out.String(), "Rate control topic is bad, header is not first. MSG may be malformed.")
	})
}

// TestPlayPauseTopics: play pauses before each message of these topics.
func TestPlayPauseTopics(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/chatter", "/other", "/state")
		p := g.start(player, "-d", "0.6", "__name:=player", "--pause-topics", "/state", "--bags", "walk.bag")
		g.served(e.node, "/player")
		for i, want := range []map[string]int{
			{"/chatter": 1, "/state": 0, "/other": 0},
			{"/chatter": 1, "/state": 1, "/other": 0},
			{"/chatter": 6, "/state": 2, "/other": 5},
		} {
			e.standsStill(want, 0)
			if o := g.setPaused(e.node, "/player", false); !o.Success {
				g.t.Errorf("pause %d: %+v", i, o)
			}
		}
		p.ended(0)
		g.allOfWalk(player, e)
	})
}

// TestPlayUnderSimTime: on a graph with /use_sim_time a player lives by the wall, with and
// without being the clock.
func TestPlayUnderSimTime(t *testing.T) {
	t.Parallel()
	needROS(t)
	for _, clock := range []string{"--clock", "-q"} {
		t.Run(clock, func(t *testing.T) {
			t.Parallel()
			eachPlayer(t, func(g *graph, player string) {
				g.makeBag("walk.bag", walk()...)
				e := g.listen("ear", "/chatter")
				if err := e.node.Master().SetParam(g.t.Context(), "/use_sim_time", true); err != nil {
					g.t.Fatal(err)
				}
				g.start(player, "walk.bag", "-d", "0.6", clock).ended(0)
				got := e.caught()
				g.complete(player, "/chatter", count("c", 0, 12), e.texts("/chatter"))
				if len(got) < 11 {
					return
				}
				if took := got[10].at.Sub(got[0].at); took < time.Second-slackEarly || took > time.Second+slackLate {
					g.t.Errorf("a second of the bag takes %v", took)
				}
			})
		})
	}
}

// TestPlaySeveralLatched: a late subscriber gets the last message of each of many
// publishers of a topic, whatever node publishes it now.
func TestPlaySeveralLatched(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		var bag []spoken
		want := map[string]bool{}
		for i := range 10 {
			node := fmt.Sprint("/frames", i)
			bag = append(bag, spoken{"/tf_static", node, true, time.Duration(i) * time.Millisecond, "old " + node})
			bag = append(bag, spoken{"/tf_static", node, true, time.Duration(20+i) * time.Millisecond, "new " + node})
			want["new "+node] = true
		}
		g.makeBag("static.bag", bag...)
		e := g.listen("ear", "/tf_static")
		p := g.start(player, "static.bag", "-k", "-d", "0.6")
		e.hears("/tf_static", len(bag))
		late := g.listen("late", "/tf_static")
		late.hears("/tf_static", len(want))
		got := map[string]bool{}
		for _, text := range late.texts("/tf_static") {
			got[text] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			g.t.Errorf("a late subscriber (-want +got):\n%s", diff)
		}
		p.stop()
	})
}
