package integration_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/bagdiff"
)

func read(t *testing.T, path string) map[string]*bagdiff.Topic {
	t.Helper()
	topics, err := bagdiff.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

// record starts gorecord and waits until it has its file.
func (g *graph) record(args ...string) *process {
	g.t.Helper()
	p := g.start("gorecord", args...)
	p.printed("Recording to")
	return p
}

// TestPlayAndRecord is the main job: what goplay publishes, gorecord gets.
func TestPlayAndRecord(t *testing.T) {
	t.Parallel()
	eachMaster(t, func(t *testing.T, g *graph) {
		rec := g.record("-a", "-x", "/rosout.*", "-O", "out")
		g.run("goplay", demoBag(t), "--wait-for-subscribers", "--rate", "2")
		rec.stop()
		r := bagdiff.Compare(read(t, demoBag(t)), read(t, filepath.Join(g.dir, "out.bag")))
		// Rate 2 halves the spacing, so times are compared elsewhere.
		if err := r.Err(); err != nil {
			t.Error(err)
		}
		if r.Messages != 2163 {
			t.Errorf("%d messages compared, the demo bag holds 2163", r.Messages)
		}
	})
}

// TestRecordEndsCleanly checks every way of ending a recording.
func TestRecordEndsCleanly(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	g.start("goplay", demoBag(t), "--loop", "--quiet")
	ends := map[string]struct {
		args []string
		end  func(p *process)
	}{
		"SIGINT":   {nil, func(p *process) { p.signal(syscall.SIGINT) }},
		"SIGTERM":  {nil, func(p *process) { p.signal(syscall.SIGTERM) }},
		"SIGHUP":   {nil, func(p *process) { p.signal(syscall.SIGHUP) }},
		"duration": {[]string{"--duration=0.5"}, func(*process) {}},
		"limit":    {[]string{"-l", "20"}, func(*process) {}},
	}
	for name, tc := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := g.record(append([]string{"-O", name, "/odom", "/imu/data"}, tc.args...)...)
			if name != "duration" {
				eventually(t, "something is recorded", func() bool { return size(g, name+".bag.active") > 10_000 || size(g, name+".bag") > 0 })
			}
			tc.end(p)
			if code := p.wait(); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, p.out.String())
			}
			topics := read(t, filepath.Join(g.dir, name+".bag"))
			for _, topic := range []string{"/odom", "/imu/data"} {
				if topics[topic] == nil || len(topics[topic].Messages) == 0 {
					t.Fatalf("no messages of %s", topic)
				}
				if n := len(topics[topic].Messages); name == "limit" && n != 20 {
					t.Errorf("%s: %d messages with -l 20", topic, n)
				}
			}
			if size(g, name+".bag.active") >= 0 {
				t.Error("the .active file is still there")
			}
			if !strings.Contains(p.out.String(), "lost: none") {
				t.Errorf("no word about losses:\n%s", p.out.String())
			}
		})
	}
}

// TestCompressions records with each codec under load and reads it back.
func TestCompressions(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--chunksize=768", "--lz4", "--bz2"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t, "gomaster")
			rec := g.record("-a", "-O", "out", flag)
			g.run("goplay", demoBag(t), "--wait-for-subscribers", "--rate", "5")
			rec.stop()
			r := bagdiff.Compare(read(t, demoBag(t)), read(t, filepath.Join(g.dir, "out.bag")))
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			g.run("gobag", "info", "out.bag")
		})
	}
}

// TestMasterRestart kills the master during a recording: nothing is lost on the
// links that are up, and a publisher that starts afterwards is recorded too.
func TestMasterRestart(t *testing.T) {
	t.Parallel()
	eachMaster(t, func(t *testing.T, g *graph) {
		const running = 300
		first := g.flood("/before", running)
		rec := g.record("-a", "-x", "/rosout.*", "-O", "out")
		first.waitSent(20)
		g.killMaster()
		first.waitSent(100)
		g.startMaster()
		second := g.flood("/after", running)
		second.waitDone()
		first.waitDone()
		rec.stop()
		topics := read(t, filepath.Join(g.dir, "out.bag"))
		for _, topic := range []string{"/before", "/after"} {
			if topics[topic] == nil {
				t.Fatalf("%s was not recorded:\n%s", topic, rec.out.String())
			}
			if n := len(topics[topic].Messages); n != running {
				t.Errorf("%s: %d of %d messages", topic, n, running)
			}
		}
	})
}

// size returns a file's size, -1 if it is not there.
func size(g *graph, name string) int64 {
	st, err := statIn(g, name)
	if err != nil {
		return -1
	}
	return st
}

// TestRateTwoTakesHalfTheTime compares the length of recordings.
func TestRateTwoTakesHalfTheTime(t *testing.T) {
	// Not in parallel: it measures time.
	g := newGraph(t, "gomaster")
	length := func(rate string) time.Duration {
		rec := g.record("/imu/data", "-O", "rate"+rate)
		g.run("goplay", "--wait-for-subscribers", "--topics", "/imu/data", "--bags", demoBag(t), "--duration", "3", "--rate", rate)
		rec.stop()
		m := read(t, filepath.Join(g.dir, "rate"+rate+".bag"))["/imu/data"].Messages
		if len(m) < 300 {
			t.Fatalf("rate %s: %d messages", rate, len(m))
		}
		return m[299].Time.Sub(m[0].Time)
	}
	one, two := length("1"), length("2")
	if ratio := float64(one) / float64(two); ratio < 1.9 || ratio > 2.1 {
		t.Errorf("rate 2 takes %v, rate 1 %v: ratio %.3f", two, one, ratio)
	}
}
