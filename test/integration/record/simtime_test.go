package record_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestSimTime: under /use_sim_time nothing begins before the clock, stamps are those
// of the clock and durations go by it, all beside stock.
func TestSimTime(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes in Python for seconds")
	harness.EachMasterForROS(t, func(t *testing.T, g *harness.Graph) {
		g.Run("rosparam", "set", "/use_sim_time", "true")
		const record = "/usr/lib/rosbag/record"
		ours := g.Start("gorecord", "/chatter", "/clock", "-O", "ours")
		theirs := g.Start(record, "/chatter", "/clock", "-O", "theirs", "__name:=stock_record")
		oursEnds := g.Start("gorecord", "/chatter", "-O", "ours_ends", "--duration=5")
		theirsEnds := g.Start(record, "/chatter", "-O", "theirs_ends", "--duration=5", "__name:=stock_ends")
		all := []*harness.Process{ours, theirs, oursEnds, theirsEnds}
		for _, p := range all {
			p.Printed("/use_sim_time set to true and no clock published.  Still waiting for valid time...")
		}
		if files, err := filepath.Glob(filepath.Join(g.Dir, "*.bag*")); err != nil || len(files) > 0 {
			t.Errorf("before the clock: %v, %v", files, err)
		}
		stalls := g.Stalls(all...)
		clock := g.StartPython("clock.py", "clock", "4")
		clock.Printed("done")
		g.Eventually("ours has all that the clock has published", func() bool {
			so := soFar(g, "ours.bag")
			return len(so["/chatter"]) >= 420 && len(so["/clock"]) >= 135
		}, func() string { return fmt.Sprint(len(soFar(g, "ours.bag")["/chatter"])) })
		theirs.WaitIdle() // with SIGINT it forgets what it has not written
		still := stalls()
		for _, p := range all {
			switch p {
			case ours, theirs:
				p.Stop()
			default:
				p.Wait()
			}
		}
		for _, bag := range []string{"", "_ends"} {
			want, got := bags.Dump(g, "theirs"+bag+".bag")["/chatter /clock"], bags.Dump(g, "ours"+bag+".bag")["/chatter /clock"]
			if d := cmp.Diff(want.Header, got.Header); d != "" {
				t.Errorf("connection header (-stock +ours):\n%s", d)
			}
			// On a busy machine a message overtakes the clock now and then: one of three for
			// each step of 40 ms. So does the end of a recording.
			odd := 3 * int(still/(40*time.Millisecond))
			same, n := sameStamps(want, got), len(got.Messages)
			if same < n*3/4-odd || bag == "" && n != len(want.Messages) || max(n, len(want.Messages)) > min(n, len(want.Messages))+odd {
				t.Errorf("%s: %d of %d messages have stock's stamp; stock has %d; the machine stood still for %v", bag, same, n, len(want.Messages), still)
			}
			if bag != "" && n >= 300 { // of 10 s
				t.Errorf("%d messages of /chatter in 5 s", n)
			}
			if n := len(got.Messages); n < 100 {
				t.Errorf("%d messages of /chatter", n)
			}
		}
		times := bags.Dump(g, "ours.bag")["/clock /clock"].Messages
		if len(times) < 135 { // of 140
			t.Errorf("%d messages of /clock", len(times))
		}
	})
}

// sameStamps counts the messages that both have with the same stamp.
func sameStamps(a, b bags.Dumped) (n int) {
	stamps := map[string]int64{}
	for _, m := range a.Messages {
		stamps[m.Data] = m.T
	}
	for _, m := range b.Messages {
		if t, ok := stamps[m.Data]; ok && t == m.T {
			n++
		}
	}
	return n
}

// TestNoClock: a recording that waits for the clock ends at once when it is told to. It says that it has not
// begun, and why.
func TestNoClock(t *testing.T) {
	t.Parallel()
	for name, zero := range map[string]bool{"no clock": false, "a clock that stays at zero": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, sim := simulator(t)
			if zero {
				sim.clock.Source(true).Publish(tick(0))
			}
			rec := g.Start("gorecord", "-a", "-O", "out")
			rec.Printed("Still waiting for valid time...")
			rec.Signal(syscall.SIGINT)
			rec.Ended(3, "the recording has not begun, and there is no bag: the parameter /use_sim_time is true, and no time but zero came on /clock")
			if harness.Size(g, "out.bag") >= 0 || harness.Size(g, "out.bag.active") >= 0 {
				t.Error("there is a bag")
			}
		})
	}
}

// TestSimTimeBeginsAtZero: the clock of many simulators begins at zero. The recording begins with the first time after
// it, and has each message from then on.
func TestSimTimeBeginsAtZero(t *testing.T) {
	t.Parallel()
	for name, what := range map[string][]string{"named": {"/chatter", "/clock"}, "all": {"-a"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, sim := simulator(t)
			chatter := peers.Advertise(g, sim.node, "/chatter", false)
			rec := g.Start("gorecord", append(what, "-O", "out")...)
			linked := func(p *tcpros.Publication) {
				g.Eventually("the recorder is linked", func() bool { return p.Subscribers() > 0 })
			}
			linked(sim.clock)
			ticks := sim.clock.Source(false)
			for range 3 {
				ticks.Publish(tick(0))
			}
			ticks.Publish(tick(time.Second))
			linked(chatter)
			g.Eventually("the recording has begun", func() bool { return harness.Size(g, "out.bag.active") > 0 })
			for i := range 10 {
				ticks.Publish(tick(2*time.Second + time.Duration(i)*time.Millisecond))
				chatter.Source(false).Publish(peers.StringFrame(fmt.Sprint(i)))
			}
			rec.WaitIdle()
			rec.Stop()
			got := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
			if n := len(got["/chatter"].Messages); n != 10 {
				t.Errorf("%d messages of /chatter, want 10", n)
			}
			if n := len(got["/clock"].Messages); n < 10 || n > 11 { // with -a the first one may come before the topic is found
				t.Errorf("%d messages of /clock, want 10 or 11", n)
			}
		})
	}
}

// simulated is the node of a simulator.
type simulated struct {
	node  *tcpros.Node
	clock *tcpros.Publication
}

// simulator is a graph with /use_sim_time and a node that advertises /clock.
func simulator(t *testing.T) (*harness.Graph, simulated) {
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "simulator")
	if err := n.Master().SetParam(t.Context(), "/use_sim_time", true); err != nil {
		t.Fatal(err)
	}
	clock, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: "a9c97c1d230cfc112e270351a944ee47", MessageDefinition: "time clock\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, simulated{n, clock}
}

// tick is a frame of rosgraph_msgs/Clock.
func tick(now time.Duration) []byte {
	frame := binary.LittleEndian.AppendUint32([]byte{8, 0, 0, 0}, uint32(now/time.Second))
	return binary.LittleEndian.AppendUint32(frame, uint32(now%time.Second))
}

// TestSimTimeStartsAgain: a simulator that plays in a loop goes back at the end of each pass. Limits of
// topics hold in every pass as in the first one, and files end as time passes on the clock.
func TestSimTimeStartsAgain(t *testing.T) {
	t.Parallel()
	g, sim := simulator(t)
	n, clock := sim.node, sim.clock
	topics := []string{"/rate", "/every", "/both"}
	publications := []*tcpros.Publication{clock}
	var sources []*tcpros.Source
	for _, topic := range topics {
		p := peers.Advertise(g, n, topic, false)
		publications, sources = append(publications, p), append(sources, p.Source(false))
	}
	rec := g.Start("gorecord", "/rate", "/every", "/both", "-O", "out", "--split", "--duration", "4",
		"--max-rate", "/rate=10", "--every", "/every=2", "--max-rate", "/both=10", "--every", "/both=2")
	g.Eventually("the recorder is linked", func() bool {
		return !slices.ContainsFunc(publications, func(p *tcpros.Publication) bool { return p.Subscribers() == 0 })
	})
	const passes, steps = 3, 100 // of 50 ms
	ticks := clock.Source(false)
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for pass := range passes {
		for step := range steps {
			<-pace.C
			now := 100*time.Second + time.Duration(step)*50*time.Millisecond
			ticks.Publish(tick(now))
			for _, s := range sources {
				s.Publish(peers.StringFrame(fmt.Sprint(pass)))
			}
		}
	}
	rec.WaitIdle()
	rec.Stop()
	kept := map[string]int{}
	names := bags.Names(g, "out")
	for _, bag := range names {
		for name, topic := range bags.Read(t, filepath.Join(g.Dir, "out"+bag)) {
			for _, m := range topic.Messages {
				kept[name+" "+string(m.Data[4:])]++
			}
		}
	}
	for pass := range passes {
		for _, topic := range topics { // 50 of each topic, unless messages and clock arrive in bursts
			if n := kept[fmt.Sprint(topic, " ", pass)]; n < 15 || n > 60 || topic == "/every" && n != steps/2 {
				t.Errorf("pass %d: %d of %d messages of %s", pass, n, steps, topic)
			}
		}
	}
	if len(names) != 4 { // 15 s have passed
		t.Errorf("files %v, want 4", names)
	}
}
