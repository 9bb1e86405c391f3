package live_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// playForViewers starts goplay with a page and returns where viewers connect to.
func playForViewers(g *harness.Graph, args ...string) (play *harness.Process, host string) {
	g.T.Helper()
	host = "127.0.0.1:" + harness.FreePort(g.T)
	play = g.Start("goplay", append([]string{"--http=" + host}, args...)...)
	play.Printed("web page")
	return play, host
}

// at returns the time of the bag of a test that is so many seconds after its start, in ns.
func at(seconds float64) uint64 {
	return uint64(bags.Start().Add(time.Duration(seconds * float64(time.Second))).Std().UnixNano())
}

// near reports whether two times of a bag are the same, but for d.
func near(a, b uint64, d time.Duration) bool {
	return (time.Duration(a) - time.Duration(b)).Abs() <= d
}

// numbered makes a bag of 100 numbered messages of /chat, one in 100 ms, and latched ones on /map.
func numbered(g *harness.Graph, name string) string {
	g.T.Helper()
	path := filepath.Join(g.Dir, name)
	w := bags.New(g.T, path)
	conn := func(topic, caller, latching string) *rosbag.Connection {
		c, err := w.AddConnection(topic, rosbag.Header{
			{Key: "callerid", Value: caller},
			{Key: "latching", Value: latching},
			{Key: "md5sum", Value: peers.StringMD5},
			{Key: "message_definition", Value: "string data\n"},
			{Key: "topic", Value: topic},
			{Key: "type", Value: "std_msgs/String"},
		})
		if err != nil {
			g.T.Fatal(err)
		}
		return c
	}
	chat, a, b := conn("/chat", "/talker", "0"), conn("/map", "/a", "1"), conn("/map", "/b", "1")
	write := func(c *rosbag.Connection, after time.Duration, text string) {
		if err := w.Write(c, bags.Start().Add(after), bags.StringData(text)); err != nil {
			g.T.Fatal(err)
		}
	}
	for i := range 100 {
		after := time.Duration(i) * 100 * time.Millisecond
		write(chat, after, fmt.Sprint(i))
		switch i {
		case 5:
			write(a, after+time.Millisecond, "a1")
		case 6:
			write(b, after+time.Millisecond, "b1")
		case 60:
			write(a, after+time.Millisecond, "a2")
		}
	}
	if err := w.Close(); err != nil {
		g.T.Fatal(err)
	}
	return path
}

// TestPlayed: viewers see what is played, with the bytes and times of the bag, and the time before
// the messages.
func TestPlayed(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bag := bags.Demo(t)
	player, host := playForViewers(g, "--pause", "--keep-alive", bag)
	v := connect(t, host, viewer.Options{})
	recorded := bags.Read(t, bag)
	topics := slices.Sorted(func(yield func(string) bool) {
		for name := range recorded {
			if !yield(name) {
				return
			}
		}
	})
	subscribe(t, v, topics...)
	i := last(v.Info())
	if !contains(i.Capabilities, "time") || !contains(i.Capabilities, "playbackControl") || i.DataStartTime == nil || i.DataEndTime == nil {
		t.Fatalf("serverInfo: %+v", i)
	}
	const rate = 5
	stalls := g.Stalls(player)
	if err := v.Control(viewer.Play, rate, nil, "go"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "play has ended", func() bool { return last(v.States()).Status == 3 }, func() string { return fmt.Sprintf("%+v", last(v.States())) })
	// The time comes 60 times a second, which is each 83 ms in the bag, before the message that
	// crosses it; a busy machine sends many messages at once.
	slack := uint64(100*time.Millisecond + rate*stalls())
	now := uint64(0)
	seen := map[string]int{}
	for _, e := range v.Events() {
		if e.Kind == viewer.Clock {
			if e.At < now {
				t.Errorf("time goes back from %d to %d", now, e.At)
			}
			now = e.At
		}
		if e.Kind == viewer.Data {
			seen[e.Topic]++
			if now != 0 && e.At > now+slack { // what a viewer gets when it subscribes comes without a time
				t.Errorf("%s: a message is %d ms ahead of the time", e.Topic, (e.At-now)/1e6)
			}
			if !slices.ContainsFunc(recorded[e.Topic].Messages, func(m bags.Message) bool {
				return uint64(m.Time.Std().UnixNano()) == e.At && bytes.Equal(m.Data, e.Payload)
			}) {
				t.Fatalf("%s: the bag has no such message at %d", e.Topic, e.At)
			}
		}
	}
	if now == 0 {
		t.Error("the time never came")
	}
	for _, name := range topics {
		if want := len(recorded[name].Messages); seen[name] != want {
			t.Errorf("%s: %d of %d messages", name, seen[name], want)
		}
	}
}

// TestControl: what viewers ask for is done, and every viewer that controls playback is told, with
// the ID of the request.
func TestControl(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	_, host := playForViewers(g, "--pause", "--keep-alive", numbered(g, "n.bag"))
	v, other := watch(t, host, "/chat", "/map"), connect(t, host, viewer.Options{})
	classic := connect(t, host, viewer.Options{Offers: []string{viewer.Classic}})
	offered(t, classic, "/chat")
	i := last(v.Info())
	if i.DataStartTime == nil || i.DataStartTime.Nanoseconds() != at(0) || i.DataEndTime.Nanoseconds() != at(9.9) {
		t.Fatalf("serverInfo: %+v %+v", i.DataStartTime, i.DataEndTime)
	}
	if c := last(classic.Info()).Capabilities; contains(c, "playbackControl") || !contains(c, "time") {
		t.Errorf("a viewer of %s is offered %q", viewer.Classic, c)
	}
	state(t, v, "the state is told on connect", func(s viewer.Playback) bool { return s.Status == 1 && s.Speed == 1 && s.Request == "" })
	number := 0
	ask := func(command byte, speed float32, seek *uint64, what string, is func(s viewer.Playback) bool) {
		t.Helper()
		number++
		id := fmt.Sprint("request ", number)
		if err := v.Control(command, speed, seek, id); err != nil {
			t.Fatal(err)
		}
		for _, one := range []*viewer.Viewer{v, other} {
			state(t, one, what, func(s viewer.Playback) bool { return s.Request == id })
			for _, s := range one.States() {
				if s.Request == id && !is(s) {
					t.Errorf("%s: answer %+v", what, s)
				}
			}
		}
	}
	to := func(ns uint64) *uint64 { return &ns }
	ask(viewer.Pause, 1, to(at(7)), "a seek while paused", func(s viewer.Playback) bool { return s.Status == 1 && s.DidSeek && s.At == at(7) })
	for _, want := range []struct {
		topic, text string
		at          float64
	}{{"/chat", "69", 6.9}, {"/map", "a2", 6.001}, {"/map", "b1", 0.601}} {
		harness.Eventually(t, "what is latched and last there comes: "+want.text+" on "+want.topic, func() bool {
			return slices.ContainsFunc(v.Messages(want.topic), func(e viewer.Event) bool {
				return string(e.Payload[4:]) == want.text && e.At == at(want.at)
			})
		}, func() string { return told(v.Events()) })
	}
	ask(viewer.Pause, 1, to(0), "a seek before the start", func(s viewer.Playback) bool { return s.DidSeek && s.At == at(0) })
	ask(viewer.Pause, 1, to(math.MaxUint64), "a seek after the end", func(s viewer.Playback) bool { return s.DidSeek && s.At == at(9.9) })
	ask(viewer.Play, 2, to(at(1)), "seek, speed and play at once", func(s viewer.Playback) bool { return s.Status == 0 && s.Speed == 2 && s.DidSeek && s.At == at(1) })
	ask(viewer.Pause, 2, nil, "pause", func(s viewer.Playback) bool { return s.Status == 1 && !s.DidSeek && s.At >= at(1) })
	for _, speed := range []float32{0, -1, float32(math.NaN()), float32(math.Inf(-1)), float32(math.Inf(1)), 1e30} {
		ask(viewer.Pause, speed, nil, fmt.Sprint("speed ", speed), func(s viewer.Playback) bool { return s.Speed >= 0.009 && s.Speed <= 100 })
	}
	ask(viewer.Play, 1, to(at(9.8)), "to the end", func(s viewer.Playback) bool { return s.DidSeek })
	state(t, v, "play ends", func(s viewer.Playback) bool { return s.Status == 3 && s.Request == "" })
	ask(viewer.Play, 1, nil, "play at the end does nothing", func(s viewer.Playback) bool { return s.Status == 3 && !s.DidSeek })
	ask(viewer.Play, 1, to(at(5)), "a seek after the end", func(s viewer.Playback) bool { return s.Status == 0 && s.DidSeek && s.At == at(5) })

	// The bytes of a request as Foxglove's own tests have them.
	golden, err := hex.DecodeString("03010000803f00000000000000000007000000736f6d652d6964")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Conn.WriteFrame(true, viewer.OpBinary, golden); err != nil {
		t.Fatal(err)
	}
	state(t, v, "the golden request pauses", func(s viewer.Playback) bool { return s.Request == "some-id" && s.Status == 1 })
	if s := classic.States(); len(s) > 0 {
		t.Errorf("a viewer of %s is sent states: %+v", viewer.Classic, s)
	}
}

// TestControlledElsewhere: viewers are told what the page and the loop do, without an ID, and of a
// jump only if there was one.
func TestControlledElsewhere(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	play, host := playForViewers(g, "--pause", numbered(g, "n.bag"))
	v := connect(t, host, viewer.Options{})
	classic := connect(t, host, viewer.Options{Offers: []string{viewer.Classic}})
	offered(t, classic, "/chat")
	state(t, v, "paused", func(s viewer.Playback) bool { return s.Status == 1 })
	post := func(action, body string) {
		t.Helper()
		resp, err := http.Post("http://"+host+"/api/v1/"+action, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", action, resp.StatusCode, b)
		}
	}
	post("rate", `{"rate": 3}`)
	state(t, v, "the speed", func(s viewer.Playback) bool { return s.Speed == 3 && !s.DidSeek && s.Request == "" })
	post("seek", `{"to": 5}`)
	state(t, v, "a jump", func(s viewer.Playback) bool { return s.DidSeek && s.At == at(5) && s.Request == "" })
	post("loop_range", `{"from": 5, "to": 5.5}`)
	post("loop", `{"on": true}`)
	before := len(v.States())
	post("play", "")
	harness.Eventually(t, "a pass of the loop is a jump back", func() bool {
		return slices.ContainsFunc(v.States()[before:], func(s viewer.Playback) bool { return s.DidSeek && s.At == at(5) })
	}, func() string { return fmt.Sprintf("%+v", v.States()[before:]) })
	// A viewer that knows no states sees the time go back.
	harness.Eventually(t, "time goes back", func() bool {
		all := times(classic)
		for i := range all[:max(0, len(all)-1)] {
			if all[i+1] < all[i] && all[i+1] == at(5) {
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprint(times(classic)) })
	post("stop", "")
	if code := play.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	<-v.Done()
	state(t, v, "the end is told", func(s viewer.Playback) bool { return s.Status == 3 })
	var closed *viewer.ClosedError
	if !errors.As(v.End(), &closed) || closed.Code != 1001 {
		t.Errorf("the connection ends with %v", v.End())
	}
}

// TestPlayWaits: while play waits for subscribers, viewers are told that it does.
func TestPlayWaits(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	_, host := playForViewers(g, "--wait-for-subscribers", "--keep-alive", numbered(g, "n.bag"))
	v := connect(t, host, viewer.Options{})
	state(t, v, "play waits", func(s viewer.Playback) bool { return s.Status == 2 })
	peers.Listen(g, "listener", "/chat", "/map")
	state(t, v, "play goes on", func(s viewer.Playback) bool { return s.Status == 0 && s.At >= at(0) })
}

// TestPlayWithoutGraph: with a master of its own, goplay needs nothing but a bag. A recording of MCAP
// is seen like a bag.
func TestPlayWithoutGraph(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bag := numbered(g, "n.bag")
	g.Run("gobag", "convert", bag, filepath.Join(g.Dir, "n.mcap"))
	_, host := playForViewers(g, "--embedded-master=127.0.0.1:"+harness.FreePort(t), "--pause", filepath.Join(g.Dir, "n.mcap"))
	v := watch(t, host, "/chat")
	if err := v.Control(viewer.Play, 10, nil, ""); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "messages come", func() bool { return len(texts(v, "/chat")) > 5 })
	c, _ := v.Channel("/chat")
	if c.SchemaName != "std_msgs/String" || !strings.Contains(c.Schema, "string data") {
		t.Errorf("channel %+v", c)
	}
}

// TestJoinsWhilePaused: a viewer that comes while play is paused sees the place where play is.
func TestJoinsWhilePaused(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	_, host := playForViewers(g, "--pause", numbered(g, "n.bag"))
	first := connect(t, host, viewer.Options{})
	state(t, first, "play is paused", func(s viewer.Playback) bool { return s.Status == 1 }) // before that nothing can be controlled
	seek := at(3.05)
	if err := first.Control(viewer.Pause, 1, &seek, "there"); err != nil {
		t.Fatal(err)
	}
	state(t, first, "play is there", func(s viewer.Playback) bool { return s.Request == "there" })
	v := watch(t, host, "/chat", "/map")
	harness.Eventually(t, "the viewer sees the place", func() bool {
		return slices.Equal(texts(v, "/chat"), []string{"30"}) && slices.Equal(texts(v, "/map"), []string{"a1", "b1"})
	}, func() string { return fmt.Sprint(texts(v, "/chat"), texts(v, "/map")) })
	if all := times(v); len(all) == 0 || !near(all[0], seek, time.Millisecond) {
		t.Errorf("the viewer is told the times %d, want %d", all, seek)
	}
}
