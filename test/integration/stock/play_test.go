package stock_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// playRow is one set of options, and what a subscriber gets.
type playRow struct {
	args   string              // after the bag and a delay, unless it names bags itself; each player waits for subscribers
	hears  map[string][]string // by topic, of which there is nothing else
	drops  bool                // of which some may be missing
	lasts  time.Duration       // from the first message to the last; zero means any time
	on     bool                // and goes on from there
	during func(g *harness.Graph, e *peers.Listener, p *harness.Process)
}

// playRows are all options of rosbag play that change what it publishes.
func playRows() map[string]playRow {
	state, chatter, other := []string{"A0", "B0", "A1"}, bags.Count("c", 0, 12), bags.Count("o", 0, 11)
	all := map[string][]string{"/state": state, "/chatter": chatter, "/other": other}
	const length = 1200 * time.Millisecond
	return map[string]playRow{
		"plain":              {hears: all, lasts: length},
		"quiet":              {args: "-q", hears: all, lasts: length},
		"rate":               {args: "-r 2", hears: all, lasts: length / 2},
		"slow rate":          {args: "--rate 0.7", hears: all, lasts: length * 10 / 7},
		"delay":              {args: "walk.bag --delay 0.9", hears: all, lasts: length},
		"immediate":          {args: "-i --queue 0 -k", hears: all, during: untilOnce}, // without -k stock ends before it has sent all
		"queue":              {args: "--queue 1", hears: all, drops: true, lasts: length},
		"try-future-version": {args: "--try-future-version", hears: all, lasts: length},
		"wait, no delay":     {args: "walk.bag", hears: all, lasts: length},
		"start":              {args: "--start 0.5", hears: map[string][]string{"/state": {"A0", "B0", "A1"}, "/chatter": bags.Count("c", 5, 12), "/other": bags.Count("o", 5, 11)}, lasts: 700 * time.Millisecond},
		"duration":           {args: "-u 0.5", hears: map[string][]string{"/state": {"A0", "B0"}, "/chatter": bags.Count("c", 0, 5), "/other": bags.Count("o", 0, 4)}, lasts: 500 * time.Millisecond},
		"window":             {args: "-s 0.25 -u 0.5", hears: map[string][]string{"/state": {"A0", "B0", "A1"}, "/chatter": bags.Count("c", 3, 7), "/other": bags.Count("o", 2, 7)}, lasts: 500 * time.Millisecond},
		"prefix":             {args: "-p /old", hears: map[string][]string{"/old/state": state, "/old/chatter": chatter, "/old/other": other}, lasts: length},
		"prefix and remap":   {args: "-p /old /old/chatter:=/new /old/state:=/new_state", hears: map[string][]string{"/new_state": state, "/new": chatter, "/old/other": other}, lasts: length},
		"remap":              {args: "/chatter:=/new", hears: map[string][]string{"/state": state, "/new": chatter, "/other": other}, lasts: length},
		"order over topics":  {args: "/chatter:=/one /other:=/one", hears: map[string][]string{"/state": state, "/one": bags.Mix(chatter, other)}, lasts: length},
		"topics":             {args: "-d 0.6 --topics /chatter /state --bags walk.bag", hears: map[string][]string{"/state": state, "/chatter": chatter}, lasts: length},
		"two bags":           {args: "walk.bag more.bag -d 0.6", hears: map[string][]string{"/state": state, "/chatter": append(chatter, "m0", "m1"), "/other": other}, lasts: 1300 * time.Millisecond},
		"bags":               {args: "--bags walk.bag more.bag -d 0.6", hears: map[string][]string{"/state": state, "/chatter": append(chatter, "m0", "m1"), "/other": other}, lasts: 1300 * time.Millisecond},
		"skip-empty":         {args: "gap.bag -d 0.6 --skip-empty 2", hears: map[string][]string{"/chatter": {"g0", "g1", "g2", "g3"}}, lasts: 200 * time.Millisecond},
		"clock":              {args: "--clock --hz 20", hears: all, lasts: length},
		"pause": {args: "--pause", hears: all, lasts: length, during: func(g *harness.Graph, e *peers.Listener, _ *harness.Process) {
			if o := peers.SetPaused(g, e.Node, "/player", true); o.Success || o.Message != "Bag is already paused." {
				g.T.Errorf("paused while paused: %+v", o)
			}
			if got := e.Received(); len(got) > 0 {
				g.T.Errorf("%d messages while paused", len(got))
			}
			if o := peers.SetPaused(g, e.Node, "/player", false); !o.Success || o.Message != "Playback is now resumed" {
				g.T.Errorf("resumed: %+v", o)
			}
		}},
		"paused on the way": {args: "-r 0.2", hears: all, during: func(g *harness.Graph, e *peers.Listener, _ *harness.Process) {
			e.WaitFor("/chatter", 4)
			if o := peers.SetPaused(g, e.Node, "/player", true); !o.Success || o.Message != "Playback is now paused" {
				g.T.Errorf("paused: %+v", o)
			}
			answers(g, e, true, "Bag is already paused.")
			if o := peers.SetPaused(g, e.Node, "/player", false); !o.Success || o.Message != "Playback is now resumed" {
				g.T.Errorf("resumed: %+v", o)
			}
			answers(g, e, false, "Bag is already running.")
		}},
		"loop":       {args: "-l", hears: map[string][]string{"/state": bags.Twice(state), "/chatter": bags.Twice(chatter), "/other": bags.Twice(other)}, lasts: 2 * length, on: true, during: untilTwice},
		"keep-alive": {args: "-k", hears: all, lasts: length, during: lateToState},
	}
}

// answers waits until a player refuses what it does already: stock does so only when its
// loop has come to the request before.
func answers(g *harness.Graph, e *peers.Listener, paused bool, refusal string) {
	g.Eventually(refusal, func() bool {
		o := peers.SetPaused(g, e.Node, "/player", paused)
		return !o.Success && o.Message == refusal
	})
}

// untilOnce ends play when all was heard.
func untilOnce(_ *harness.Graph, e *peers.Listener, p *harness.Process) {
	for topic, n := range map[string]int{"/state": 3, "/chatter": 13, "/other": 12} {
		e.WaitFor(topic, n)
	}
	p.Signal(syscall.SIGINT)
}

// untilTwice ends play when all was heard twice.
func untilTwice(_ *harness.Graph, e *peers.Listener, p *harness.Process) {
	for topic, n := range map[string]int{"/state": 6, "/chatter": 26, "/other": 24} {
		e.WaitFor(topic, n)
	}
	p.Signal(syscall.SIGINT)
}

// lateToState has a subscriber come after the end, and ends play.
func lateToState(g *harness.Graph, e *peers.Listener, p *harness.Process) {
	e.WaitFor("/chatter", 13)
	late := peers.Listen(g, "late", "/state")
	late.WaitFor("/state", 2)
	got := late.Texts("/state")
	slices.Sort(got)
	if want := []string{"A1", "B0"}; !slices.Equal(got, want) {
		g.T.Errorf("after the end a subscriber gets %q, want %q", got, want)
	}
	p.Signal(syscall.SIGINT)
}

// TestPlayOptionsBesideStock plays the same bag with stock and with ours, with each
// option that stock has: subscribers get the same messages, in the same order, with the
// same latching, and not later. Only how long it takes may be measured again, where the
// machine has stood still for longer than the player may be off.
func TestPlayOptionsBesideStock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "plays with stock as well, row by row")
	harness.NeedROS(t)
	for name, row := range playRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			latching := map[string]map[string]bool{}
			eachPlayer(t, func(g *harness.Graph, player string) {
				for try := 0; ; try++ {
					got, took, still := runPlayRow(g.In(g.T, fmt.Sprint("try", try)), player, row)
					if g.T.Failed() {
						return
					}
					early, late := row.lasts-took, took-row.lasts
					excuse := early > 0 && still > harness.SlackEarly || late > 0 && still > harness.SlackLate
					if row.lasts != 0 && (harness.IsOurs(player) && early > harness.SlackEarly || late > harness.SlackLate) {
						g.T.Logf("from the first to the last message %v, want %v, of which the machine stood still for %v", took, row.lasts, still)
						if excuse && try < 20 {
							continue // that says nothing about the player
						}
						g.T.Error("it is not in time")
					}
					mu.Lock()
					defer mu.Unlock()
					latching[player] = got
					return
				}
			})
			if diff := cmp.Diff(latching[harness.StockPlay], latching["goplay"]); diff != "" {
				t.Errorf("latching (-stock +ours):\n%s", diff)
			}
		})
	}
}

// runPlayRow plays a row and checks what comes. It returns which topics latch, how long it
// was from the first message to the last, and how long the machine stood still.
func runPlayRow(g *harness.Graph, player string, row playRow) (latching map[string]bool, took, still time.Duration) {
	t := g.T
	t.Helper()
	bags.Make(g, "walk.bag", bags.Walk()...)
	bags.Make(g, "more.bag", bags.StringMessage{Topic: "/chatter", Node: "/talker2", Latching: false, At: 1210 * time.Millisecond, Text: "m0"}, bags.StringMessage{Topic: "/chatter", Node: "/talker2", Latching: false, At: 1300 * time.Millisecond, Text: "m1"})
	bags.Make(g, "gap.bag",
		bags.StringMessage{Topic: "/chatter", Node: "/talker", Latching: false, At: 0, Text: "g0"}, bags.StringMessage{Topic: "/chatter", Node: "/talker", Latching: false, At: 100 * time.Millisecond, Text: "g1"},
		bags.StringMessage{Topic: "/chatter", Node: "/talker", Latching: false, At: 20 * time.Second, Text: "g2"}, bags.StringMessage{Topic: "/chatter", Node: "/talker", Latching: false, At: 20*time.Second + 100*time.Millisecond, Text: "g3"})
	e := peers.Listen(g, "ear_of_"+filepath.Base(g.Dir), slices.Sorted(maps.Keys(row.hears))...)
	args := strings.Fields(row.args)
	if !strings.Contains(row.args, ".bag") {
		args = append([]string{"walk.bag", "-d", "0.6"}, args...)
	}
	p := g.Start(player, append(args, "--wait-for-subscribers", "__name:=player")...)
	stalls := g.Stalls(p)
	if row.during != nil {
		peers.Served(g, e.Node, "/player")
		row.during(g, e, p)
	}
	p.Ended(0)
	still = stalls()
	latching = map[string]bool{}
	var first, last time.Time
	for _, c := range e.Received() {
		latching[c.Topic] = c.Latching
		if first.IsZero() || c.At.Before(first) {
			first = c.At
		}
		if c.At.After(last) {
			last = c.At
		}
	}
	for topic, want := range row.hears {
		got := e.Texts(topic)
		if row.on && len(got) > len(want) {
			got = got[:len(want)]
		}
		if row.drops {
			want = slices.DeleteFunc(slices.Clone(want), func(m string) bool { return !slices.Contains(got, m) })
		}
		if len(got) == 0 {
			t.Errorf("%s: nothing came", topic)
		}
		complete(g, player, topic, want, got)
	}
	// The listener of the next try is the only subscriber: play waits for one on each topic.
	if err := e.Node.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return latching, last.Sub(first), still
}
