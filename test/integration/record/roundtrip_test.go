package record_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestPlayAndRecord is the main job: what goplay publishes, gorecord gets.
func TestPlayAndRecord(t *testing.T) {
	t.Parallel()
	harness.EachMaster(t, func(t *testing.T, g *harness.Graph) {
		rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
		g.Run("goplay", bags.Demo(t), "--wait-for-subscribers", "--overflow", "block", "--rate", "2")
		rec.Stop()
		// Rate 2 halves the spacing, so times are compared elsewhere.
		if r := bags.Same(t, bags.Demo(t), filepath.Join(g.Dir, "out.bag")); r.Compared != 2163 {
			t.Errorf("%d messages compared, the demo bag holds 2163", r.Compared)
		}
	})
}

// TestRecordEndsCleanly checks every way of ending a recording.
func TestRecordEndsCleanly(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	g.Start("goplay", bags.Demo(t), "--loop", "--quiet")
	ends := map[string]struct {
		args []string
		end  func(p *harness.Process)
	}{
		"SIGINT":   {nil, func(p *harness.Process) { p.Signal(syscall.SIGINT) }},
		"SIGTERM":  {nil, func(p *harness.Process) { p.Signal(syscall.SIGTERM) }},
		"SIGHUP":   {nil, func(p *harness.Process) { p.Signal(syscall.SIGHUP) }},
		"duration": {[]string{"--duration=5"}, func(*harness.Process) {}},
		"limit":    {[]string{"-l", "20"}, func(*harness.Process) {}},
	}
	for name, tc := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := g.Record(append([]string{"-O", name, "/odom", "/imu/data"}, tc.args...)...)
			if tc.args == nil {
				recorded(g, name+".bag", 1, "/odom", "/imu/data")
			}
			tc.end(p)
			if code := p.Wait(); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, p.Out.String())
			}
			topics := bags.Read(t, filepath.Join(g.Dir, name+".bag"))
			for _, topic := range []string{"/odom", "/imu/data"} {
				if topics[topic] == nil || len(topics[topic].Messages) == 0 {
					t.Fatalf("no messages of %s", topic)
				}
				if n := len(topics[topic].Messages); name == "limit" && n != 20 {
					t.Errorf("%s: %d messages with -l 20", topic, n)
				}
			}
			if harness.Size(g, name+".bag.active") >= 0 {
				t.Error("the .active file is still there")
			}
			if !strings.Contains(p.Out.String(), "lost: none") {
				t.Errorf("no word about losses:\n%s", p.Out.String())
			}
		})
	}
}

// soFar returns the messages of a bag that is being written, or was, by topic.
func soFar(g *harness.Graph, bag string) map[string][]string {
	topics := map[string][]string{}
	for _, name := range []string{bag + ".active", bag} {
		if bags.AddMessages(topics, filepath.Join(g.Dir, name)) == nil { // else it has no header yet, or another name
			break
		}
		clear(topics)
	}
	return topics
}

// recorded waits until so many messages of each of these topics are in a bag.
func recorded(g *harness.Graph, bag string, least int, topics ...string) {
	g.T.Helper()
	for _, topic := range topics {
		g.Eventually(bag+" has "+topic, func() bool { return len(soFar(g, bag)[topic]) >= least })
	}
}

// TestCompressions records with each codec under load and reads it back.
func TestCompressions(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--chunksize=768", "--lz4", "--bz2"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			rec := g.Record("-a", "-x", "/rosout", "-O", "out", flag)
			g.Run("goplay", bags.Demo(t), "--wait-for-subscribers", "--overflow", "block", "--rate", "5")
			rec.Stop()
			bags.Same(t, bags.Demo(t), filepath.Join(g.Dir, "out.bag"))
			g.Run("gobag", "info", "out.bag")
		})
	}
}

// TestMasterRestart kills the master during a recording: nothing is lost on the
// links that are up, and a publisher that starts afterwards is recorded too.
func TestMasterRestart(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: the master restarts, with either master")
	harness.EachMaster(t, func(t *testing.T, g *harness.Graph) {
		const running = 300
		first := peers.NewFlood(g, "/before", running)
		rec := g.Record("-a", "-x", "/rosout.*", "-O", "out")
		first.WaitSent(20)
		g.KillMaster()
		first.WaitSent(100)
		g.StartMaster()
		second := peers.NewFlood(g, "/after", running)
		second.WaitDone()
		first.WaitDone()
		rec.Stop()
		topics := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
		for _, topic := range []string{"/before", "/after"} {
			if topics[topic] == nil {
				t.Fatalf("%s was not recorded:\n%s", topic, rec.Out.String())
			}
			if n := len(topics[topic].Messages); n != running {
				t.Errorf("%s: %d of %d messages", topic, n, running)
			}
		}
	})
}

// TestRateTwoTakesHalfTheTime compares the lengths of two recordings that are made at the
// same time. It does so again only where the machine has stood still for longer than a
// recording may be off.
func TestRateTwoTakesHalfTheTime(t *testing.T) {
	t.Parallel()
	const slack = 25 * time.Millisecond
	for try := 0; ; try++ {
		one, two := playAt(t, "1"), playAt(t, "2")
		lengthOfOne, stillInOne := one()
		lengthOfTwo, stillInTwo := two()
		ratio, still := float64(lengthOfOne)/float64(lengthOfTwo), max(stillInOne, stillInTwo)
		if ratio >= 1.9 && ratio <= 2.1 {
			return
		}
		t.Logf("rate 1 takes %.3f times as long as rate 2; the machine stood still for %v", ratio, still)
		if still <= slack || try == 20 {
			t.Fatal("it does not take twice as long")
		}
	}
}

// playAt plays and records. What it returns waits for the end and returns how long 200
// messages took, and how long the machine stood still.
func playAt(t *testing.T, rate string) (end func() (length, still time.Duration)) {
	t.Helper()
	g := harness.NewGraph(t, "gomaster")
	rec := g.Record("/imu/data", "-O", "out")
	play := g.Start("goplay", "--wait-for-subscribers", "--overflow", "block", "--topics", "/imu/data", "--bags", bags.Demo(t), "--duration", "2", "--rate", rate)
	stalls := g.Stalls(rec, play)
	return func() (length, still time.Duration) {
		play.Ended(0)
		still = stalls()
		rec.Stop()
		m := bags.Read(t, filepath.Join(g.Dir, "out.bag"))["/imu/data"].Messages
		if len(m) < 200 {
			t.Fatalf("rate %s: %d messages", rate, len(m))
		}
		return m[199].Time.Sub(m[0].Time), still
	}
}
