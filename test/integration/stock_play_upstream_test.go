package integration_test

import (
	"crypto/md5"
	"encoding/hex"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/bagdiff"
)

// What rosbag's own tests of playing make sure of, with goplay among ROS's own programs.

// heardSince returns what came after a number of messages, by topic.
func (p *process) heardSince(n int) map[string][]string {
	p.t.Helper()
	all := map[string][]string{}
	for _, h := range p.heard()[n:] {
		all[h.Topic] = append(all[h.Topic], h.Data)
	}
	return all
}

// md5s returns what subscribe.py prints about std_msgs/Strings.
func md5s(texts ...string) []string {
	var all []string
	for _, text := range texts {
		sum := md5.Sum(stringData(text))
		all = append(all, hex.EncodeToString(sum[:]))
	}
	return all
}

// TestPlayAmongROS: a rospy subscriber on a graph of roscore gets a window of a bag, a
// loop, what comes after pauses on topics, and what rate control lets through.
func TestPlayAmongROS(t *testing.T) {
	t.Parallel()
	needROS(t)
	g := newGraph(t, "roscore")
	g.stdSrvs()
	g.makeBag("walk.bag", walk()...)
	listener := g.subscribe("listener", "/chatter", "/other", "/state")
	state, chatter, other := []string{"A0", "B0", "A1"}, count("c", 0, 12), count("o", 0, 11)
	for _, tc := range []struct {
		name   string
		args   string
		want   map[string][]string
		during func(p *process, heard int)
	}{
		{
			"window", "walk.bag -s 0.25 -u 0.5",
			map[string][]string{"/state": state, "/chatter": count("c", 3, 7), "/other": count("o", 2, 7)},
			nil,
		},
		{
			"loop", "walk.bag -l -r 4",
			map[string][]string{"/state": twice(state), "/chatter": twice(chatter), "/other": twice(other)},
			func(p *process, heard int) {
				g.eventually("two passes", func() bool { return len(listener.heard()) >= heard+2*len(walk()) })
				p.signal(syscall.SIGINT)
			},
		},
		{
			"pause topics", "-r 4 --pause-topics /state --bags walk.bag",
			map[string][]string{"/state": state, "/chatter": chatter, "/other": other},
			func(p *process, _ int) {
				for range state {
					g.eventually("a pause", func() bool { return strings.Contains(g.call("/player/is_paused"), "success: True") })
					contains(t, g.call("/player/pause_playback", "data: false"), "Playback is now resumed")
				}
				p.wait()
			},
		},
		{
			"rate control", "walk.bag -r 4 --rate-control-topic /done --rate-control-max-delay 0.3",
			map[string][]string{"/state": state, "/chatter": chatter, "/other": other},
			func(p *process, heard int) {
				g.eventually("what is within the delay", func() bool { return len(listener.heard()) >= heard+8 })
				done := g.start("rostopic", "pub", "-r", "20", "/done", "geometry_msgs/PointStamped", "{header: {stamp: {secs: 1500000100}}}")
				p.wait()
				done.signal(syscall.SIGINT)
				done.wait()
			},
		},
	} {
		before := len(listener.heard())
		p := g.start("goplay", append(strings.Fields(tc.args), "--wait-for-subscribers", "--delay", "0.5", "__name:=player")...)
		if tc.during != nil {
			tc.during(p, before)
		}
		p.ended(0)
		got := map[string][]string{}
		g.eventually(tc.name+": all is heard", func() bool {
			got = listener.heardSince(before)
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
	needROS(t)
	g := newGraph(t, "roscore")
	g.makeBag("first.bag", walk()...)
	next := func(from, recorder, to string) {
		t.Helper()
		rec := g.start(recorder, "-O", to, "/chatter", "/other", "/state")
		g.eventually(to+" is open", func() bool { return size(g, to+".bag.active") >= 0 })
		g.start("goplay", from+".bag", "--wait-for-subscribers").ended(0)
		rec.stop()
	}
	next("first", "/usr/lib/rosbag/record", "second")
	next("second", "gorecord", "third")
	next("third", "/usr/lib/rosbag/record", "fourth")
	want := asOffered(read(t, filepath.Join(g.dir, "first.bag")))
	for _, name := range []string{"second", "third", "fourth"} {
		r := bagdiff.Compare(want, read(t, filepath.Join(g.dir, name+".bag")))
		if err := r.Err(); err != nil || r.Messages != len(walk()) {
			t.Errorf("%s.bag: %d messages are the same of %d: %v", name, r.Messages, len(walk()), err)
		}
	}
	for key, conn := range g.dump("fourth.bag") {
		if latching := conn.Header["latching"]; (latching == "1") != (conn.Topic == "/state") {
			t.Errorf("%s: latching=%s", key, latching)
		}
	}
}
