package play_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// TestPlaySelects plays parts of a bag, chosen in all ways that stock does not have.
func TestPlaySelects(t *testing.T) {
	t.Parallel()
	state, chatter, other := []string{"A0", "B0", "A1"}, bags.Count("c", 0, 12), bags.Count("o", 0, 11)
	all := map[string][]string{"/state": state, "/chatter": chatter, "/other": other}
	tests := map[string]struct {
		args  string
		hears map[string][]string // and nothing else of all topics
		says  string
	}{
		"until":           {"--until 0.5", map[string][]string{"/state": {"A0", "B0"}, "/chatter": bags.Count("c", 0, 5), "/other": bags.Count("o", 0, 4)}, ""},
		"until, end":      {"-s 0.85 --until -100ms", map[string][]string{"/state": {"B0", "A1"}, "/chatter": bags.Count("c", 9, 11), "/other": bags.Count("o", 8, 10)}, ""},
		"from the end":    {"-s -0.25s --topics /chatter --bags walk.bag", map[string][]string{"/chatter": bags.Count("c", 10, 12)}, ""},
		"stamps":          {"-s @1500000000.25 --until @1500000000.35 -x /state", map[string][]string{"/chatter": {"c3"}, "/other": bags.Count("o", 2, 3)}, ""},
		"dates":           {"-s 2017-07-14T02:40:00.25Z -u 100ms -x /state", map[string][]string{"/chatter": {"c3"}, "/other": bags.Count("o", 2, 3)}, ""},
		"exclude":         {"-x /o* --exclude state", map[string][]string{"/chatter": chatter}, ""},
		"glob":            {"--topics *at* /o?her --bags walk.bag", all, ""},
		"expression":      {"-e --topics /(chatter|none) --bags walk.bag", map[string][]string{"/chatter": chatter}, ""},
		"type":            {"--type std_msgs/*", all, ""},
		"misspelled":      {"-d 0 --topics /chatter /oter --bags walk.bag", map[string][]string{"/chatter": chatter}, `"values": ["/oter"]`},
		"rename":          {"--rename /chatter=/a/b --rename s*=/a/s*", map[string][]string{"/a/b": chatter, "/a/state": state, "/other": other}, ""},
		"rename to one":   {"--rename /chatter=/one --rename other=/one -x /state", map[string][]string{"/one": bags.Mix(chatter, other)}, ""},
		"rename and more": {"--rename /chatter=/x -p /old /old/x:=/y -x /state -x /other", map[string][]string{"/y": chatter}, ""},
		"groups":          {"-e --rename /(.).*=/$1 -x /other", map[string][]string{"/s": state, "/c": chatter}, ""},
	}
	topics := map[string]bool{"/state": true, "/chatter": true, "/other": true}
	for _, tc := range tests {
		for topic := range tc.hears {
			topics[topic] = true
		}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			bags.Make(g, "walk.bag", bags.Walk()...)
			e := peers.Listen(g, "listener", slices.Sorted(maps.Keys(topics))...)
			args := strings.Fields(tc.args)
			if !strings.Contains(tc.args, ".bag") {
				args = append(args, "--bags", "walk.bag")
			}
			p := g.Start("goplay", append(args, "--wait-for-subscribers")...)
			if code := p.Wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			for topic := range topics {
				if d := cmp.Diff(tc.hears[topic], e.Texts(topic)); d != "" {
					t.Errorf("%s (-want +got):\n%s", topic, d)
				}
			}
			harness.Contains(t, p.Out.String(), tc.says)
		})
	}
}

// TestPlayRefuses: options that contradict each other, or that are forbidden, are errors.
func TestPlayRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args string
		code int
		says string
	}{
		"until before start":  {"-s 1 --until 0.5", 1, "goplay: --until is 500ms before --start"},
		"until before bag":    {"--until @1499999999", 1, "goplay: --until is 1s before the earliest message of the bags"},
		"start after the end": {"-s 5", 0, "No messages to play on specified topics.  Exiting."},
		"says how long it is": {"-s 5", 0, `the bags end before the time at which play begins: choose an earlier --start {"start": "5s", "length": "1.2s"}`},
		"nothing selected":    {"--topics /typo --bags walk.bag", 1, `"values": ["/typo"]`},
		"bad expression":      {"-e -x (", 1, `goplay: --exclude: "(": missing closing ) at "("`},
		"denied":              {"--deny /ch*", 1, "goplay: not to be played: /chatter."},
		"denied new name":     {"--rename /other=/cmd_vel --deny /cmd_vel", 1, "goplay: not to be played: /cmd_vel (recorded as /other)."},
		"nobody can come":     {"--wait-for /typo", 1, "goplay: --wait-for names what is not played: /typo"},
		"nobody comes":        {"--wait-for /chatter --wait-for o* --wait-timeout 0.2", 1, "goplay: no subscriber within 200ms: /chatter, /other"},
		"nobody comes to all": {"--wait-for-subscribers --wait-timeout 100ms -x /state", 1, "goplay: no subscriber within 100ms: /chatter, /other"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := harness.NewGraph(t, "gomaster")
			bags.Make(g, "walk.bag", bags.Walk()...)
			args := strings.Fields(tc.args)
			if !strings.Contains(tc.args, ".bag") {
				args = append(args, "--bags", "walk.bag")
			}
			p := g.Start("goplay", args...)
			if code := p.Wait(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			harness.Contains(t, p.Out.String(), tc.says)
		})
	}
}

// TestPlayWaits: goplay waits for a subscriber, prints for which topic, and ends when it is told to.
func TestPlayWaits(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	p := g.Start("goplay", "walk.bag", "--wait-for", "/chatter", "--wait-timeout", "1m")
	p.Printed(`still waiting for subscribers {"topics": ["/chatter"]}`)
	e := peers.Listen(g, "listener", "/chatter")
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if d := cmp.Diff(bags.Count("c", 0, 12), e.Texts("/chatter")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	p = g.Start("goplay", "walk.bag", "--wait-for-subscribers")
	p.Printed("Waiting for subscribers.")
	p.Signal(syscall.SIGINT)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d after SIGINT", code)
	}
}

// TestPlayDryRun tells what would be played and who is there, and does nothing.
func TestPlayDryRun(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	e := peers.Listen(g, "listener", "/chatter")
	g.Eventually("the listener is known", func() bool {
		_, err := e.Node.Master().LookupNode(t.Context(), "/listener")
		return err == nil
	})
	out := g.Run("goplay", "--dry-run", "walk.bag", "--rename", "/other=/new", "-u", "0.5")
	var lines []string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"messages hz latched topic type in the bag recorded from heard by",
		"6 12.0 /chatter std_msgs/String /talker /listener",
		"2 4.0 yes /state std_msgs/String /s1 /s2",
		"5 10.0 /new std_msgs/String /other /b",
		"at present 1 of these topics have subscribers, and 0 have other publishers",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	state, err := e.Node.Master().SystemState(t.Context())
	if err != nil || len(state.Publishers) > 0 || len(e.Received()) > 0 {
		t.Errorf("published: %v, heard: %v, %v", state.Publishers, e.Received(), err)
	}
	p := g.Start("goplay", "--dry-run", "walk.bag", "--deny", "/chatter")
	if code := p.Wait(); code != 1 {
		t.Errorf("what is denied: exit code %d", code)
	}
	harness.Contains(t, p.Out.String(), "not to be played: /chatter", "std_msgs/String")
	g.KillMaster()
	harness.Contains(t, g.Run("goplay", "--dry-run", "walk.bag"), "/chatter", "is not known", "connection refused")
}

// TestPlayAnnounces says before the first message who will hear it.
func TestPlayAnnounces(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	e := peers.Listen(g, "listener", "/chatter")
	first := g.Start("goplay", "walk.bag", "--topics", "/chatter", "--keep-alive", "--wait-for-subscribers", "__name:=first")
	e.WaitFor("/chatter", 13)
	second := g.Start("goplay", "walk.bag", "--pause", "--delay", "3") // it waits a second longer for the master's answer
	second.Printed(`others publish these topics, too {"topics": ["/chatter: /first"]}`)
	harness.Contains(t, second.Out.String(), `these topics have subscribers already {"topics": ["/chatter: /listener"]}`)
	second.Stop()
	first.Stop()
}

// TestPlayRespectsPublishers: each publisher of the bag becomes a node of its own.
func TestPlayRespectsPublishers(t *testing.T) {
	t.Parallel()
	harness.EachMaster(t, func(t *testing.T, g *harness.Graph) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		live := peers.Listen(g, "talker", "/nothing") // has a name of the bag
		g.Eventually("the live node is known", func() bool {
			_, err := live.Node.Master().LookupNode(t.Context(), "/talker")
			return err == nil
		})
		e := peers.Listen(g, "listener", "/state", "/chatter", "/other")
		p := g.Start("goplay", "walk.bag", "--respect-publishers", "--wait-for-subscribers", "--clock", "--keep-alive", "__name:=player")
		e.WaitFor("/chatter", 13)
		e.WaitFor("/other", 12)
		e.WaitFor("/state", 3)
		callers := map[string]bool{}
		for _, c := range e.Received() {
			callers[fmt.Sprintf("%s %s %v", c.Topic, c.Caller, c.Latching)] = true
		}
		want := []string{"/chatter /talker_play false", "/other /b false", "/state /s1 true", "/state /s2 true"}
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(callers))); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		state, err := e.Node.Master().SystemState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"/player"}, state.Publishers["/clock"]); d != "" {
			t.Errorf("clock (-want +got):\n%s", d)
		}
		late := peers.Listen(g, "late", "/state")
		late.WaitFor("/state", 2)
		harness.Contains(t, p.Out.String(), `{"name": "/talker", "instead": "/talker_play"}`)
		p.Stop()
		if state, err = e.Node.Master().SystemState(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, topic := range []string{"/state", "/chatter", "/other", "/clock"} {
			if left := state.Publishers[topic]; len(left) > 0 {
				t.Errorf("%s: left behind at the master: %v", topic, left)
			}
		}
		if _, err := e.Node.Master().LookupNode(t.Context(), "/talker"); err != nil {
			t.Errorf("the live node is gone: %v", err)
		}
	})
}

// TestPlayByHeader plays a message that was received late in its turn.
func TestPlayByHeader(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	w := bags.New(t, filepath.Join(g.Dir, "late.bag"))
	conn, err := w.AddConnection("/chatter", rosbag.Header{
		{Key: "callerid", Value: "/talker"},
		{Key: "md5sum", Value: "992ce8a1687cec8c8bd883ec73ca41d1"},
		{Key: "message_definition", Value: "Header header\nstring data\n"},
		{Key: "type", Value: "test_msgs/Stamped"},
	})
	for i, stamp := range []int{0, 100, 300, 200, -1, 9000} { // in milliseconds; received each 100 ms
		at := bags.Start().Add(time.Duration(stamp) * time.Millisecond)
		if stamp < 0 {
			at = rosbag.Time{}
		}
		data := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(make([]byte, 4), at.Sec), at.Nsec)
		data = append(binary.LittleEndian.AppendUint32(data, 0), bags.StringData(fmt.Sprint(i))...)
		err = errors.Join(err, w.Write(conn, bags.Start().Add(time.Duration(i)*100*time.Millisecond), data))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	e := peers.Listen(g, "listener", "/chatter")
	p := g.Start("goplay", "late.bag", "--order", "header", "--wait-for-subscribers")
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var got []string
	for _, c := range e.Received() {
		got = append(got, c.Data[len(c.Data)-1:])
	}
	if d := cmp.Diff([]string{"0", "1", "3", "2", "4", "5"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	harness.Contains(t, p.Out.String(), "stamps are too far from the time of receipt")
}
