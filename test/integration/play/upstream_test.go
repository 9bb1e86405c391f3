package play_test

import (
	"crypto/md5"
	"encoding/hex"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// What rosbag's own tests of playing make sure of, with goplay among ROS's own programs.

// heardSince returns what came after a number of messages, by topic.
func heardSince(p *harness.Process, n int) map[string][]string {
	p.T.Helper()
	all := map[string][]string{}
	for _, h := range heardBy(p)[n:] {
		all[h.Topic] = append(all[h.Topic], h.Data)
	}
	return all
}

// md5s returns what subscribe.py prints about std_msgs/Strings.
func md5s(texts ...string) []string {
	var all []string
	for _, text := range texts {
		sum := md5.Sum(bags.StringData(text))
		all = append(all, hex.EncodeToString(sum[:]))
	}
	return all
}

// TestPlayAmongROS: a rospy subscriber on a graph of roscore gets a window of a bag, a
// loop, what comes after pauses on topics, and what rate control lets through.
func TestPlayAmongROS(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	g.StdSrvs()
	bags.Make(g, "walk.bag", bags.Walk()...)
	listener := subscribe(g, "listener", "/chatter", "/other", "/state")
	state, chatter, other := []string{"A0", "B0", "A1"}, bags.Count("c", 0, 12), bags.Count("o", 0, 11)
	for _, tc := range []struct {
		name   string
		args   string
		want   map[string][]string
		during func(p *harness.Process, heard int)
	}{
		{
			"window", "walk.bag -s 0.25 -u 0.5",
			map[string][]string{"/state": state, "/chatter": bags.Count("c", 3, 7), "/other": bags.Count("o", 2, 7)},
			nil,
		},
		{
			"pause topics", "-r 4 --pause-topics /state --bags walk.bag",
			map[string][]string{"/state": state, "/chatter": chatter, "/other": other},
			func(p *harness.Process, _ int) {
				for range state {
					g.Eventually("a pause", func() bool { return strings.Contains(g.Call("/player/is_paused"), "success: True") })
					harness.Contains(t, g.Call("/player/pause_playback", "data: false"), "Playback is now resumed")
				}
				p.Wait()
			},
		},
		{
			"rate control", "walk.bag -r 4 --rate-control-topic /done --rate-control-max-delay 0.3",
			map[string][]string{"/state": state, "/chatter": chatter, "/other": other},
			func(p *harness.Process, heard int) {
				g.Eventually("what is within the delay", func() bool { return len(heardBy(listener)) >= heard+8 })
				done := g.Start("rostopic", "pub", "-r", "20", "/done", "geometry_msgs/PointStamped", "{header: {stamp: {secs: 1500000100}}}")
				p.Wait()
				done.Signal(syscall.SIGINT)
				done.Wait()
			},
		},
		{
			// The last one: nobody knows how much is on its way when it is interrupted.
			"loop", "walk.bag -l -r 4 --queue 0",
			map[string][]string{"/state": bags.Twice(state), "/chatter": bags.Twice(chatter), "/other": bags.Twice(other)},
			func(p *harness.Process, heard int) {
				g.Eventually("two passes", func() bool { return len(heardBy(listener)) >= heard+2*len(bags.Walk()) })
				p.Signal(syscall.SIGINT)
			},
		},
	} {
		before := len(heardBy(listener))
		p := g.Start("goplay", append(strings.Fields(tc.args), "--wait-for-subscribers", "--delay", "0.5", "__name:=player")...)
		if tc.during != nil {
			tc.during(p, before)
		}
		p.Ended(0)
		got := map[string][]string{}
		g.Eventually(tc.name+": all is heard", func() bool {
			got = heardSince(listener, before)
			for topic, want := range tc.want {
				if len(got[topic]) < len(want) {
					return false
				}
			}
			return true
		})
		for topic, want := range tc.want {
			if tc.name == "loop" { // which goes on until the signal
				got[topic] = got[topic][:len(want)]
			}
			if diff := cmp.Diff(md5s(want...), got[topic]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", tc.name, topic, diff)
			}
		}
	}
}

// TestPlayOfRecordingOfPlay: a bag that was played and recorded again and again is still
// that bag, whoever recorded it.
func TestPlayOfRecordingOfPlay(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs nodes and tools in Python for seconds")
	harness.NeedROS(t)
	g := harness.NewGraph(t, "roscore")
	bags.Make(g, "first.bag", bags.Walk()...)
	next := func(from, recorder, to string) {
		t.Helper()
		rec := g.Start(recorder, "-O", to, "/chatter", "/other", "/state")
		g.Eventually(to+" is open", func() bool { return harness.Size(g, to+".bag.active") >= 0 })
		g.Start("goplay", from+".bag", "--wait-for-subscribers").Ended(0)
		if recorder != "gorecord" {
			rec.WaitIdle() // with SIGINT it forgets what it has not written
		}
		rec.Stop()
	}
	next("first", "/usr/lib/rosbag/record", "second")
	next("second", "gorecord", "third")
	next("third", "/usr/lib/rosbag/record", "fourth")
	want := asOffered(t, filepath.Join(g.Dir, "first.bag"))
	for _, name := range []string{"second", "third", "fourth"} {
		if r := bags.Same(t, want, filepath.Join(g.Dir, name+".bag")); r.Compared != uint64(len(bags.Walk())) {
			t.Errorf("%s.bag: %d messages are compared of %d", name, r.Compared, len(bags.Walk()))
		}
	}
	for key, conn := range bags.Dump(g, "fourth.bag") {
		if latching := conn.Header["latching"]; (latching == "1") != (conn.Topic == "/state") {
			t.Errorf("%s: latching=%s", key, latching)
		}
	}
}
