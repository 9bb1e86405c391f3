package integration_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// walk is a bag of 1.2 s: two talkers, and a state that two nodes latch. Stock has times
// as floats of 32 bits: only of such as 0.5 it is clear what is at the edge of a window.
func walk() []spoken {
	all := []spoken{
		{"/state", "/s1", true, 20 * time.Millisecond, "A0"},
		{"/state", "/s2", true, 30 * time.Millisecond, "B0"},
		{"/state", "/s1", true, 520 * time.Millisecond, "A1"},
	}
	for i := range 13 {
		all = append(all, spoken{"/chatter", "/talker", false, time.Duration(i) * 100 * time.Millisecond, fmt.Sprint("c", i)})
	}
	for i := range 12 {
		all = append(all, spoken{"/other", "/b", false, time.Duration(i)*100*time.Millisecond + 50*time.Millisecond, fmt.Sprint("o", i)})
	}
	return all
}

// count returns prefix with the numbers from a to b behind.
func count(prefix string, a, b int) []string {
	var all []string
	for i := a; i <= b; i++ {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}

// playRow is one set of options, and what a subscriber gets.
type playRow struct {
	args   string              // behind the bag and a delay in which subscribers connect, unless it names bags itself
	hears  map[string][]string // by topic, of which there is nothing else
	lasts  time.Duration       // from the first message to the last; zero means any time
	on     bool                // and goes on from there
	during func(g *graph, e *ear, p *process)
}

// playRows are all options of rosbag play that change what it publishes.
func playRows() map[string]playRow {
	state, chatter, other := []string{"A0", "B0", "A1"}, count("c", 0, 12), count("o", 0, 11)
	all := map[string][]string{"/state": state, "/chatter": chatter, "/other": other}
	const length = 1200 * time.Millisecond
	return map[string]playRow{
		"plain":              {hears: all, lasts: length},
		"quiet":              {args: "-q", hears: all, lasts: length},
		"rate":               {args: "-r 2", hears: all, lasts: length / 2},
		"slow rate":          {args: "--rate 0.7", hears: all, lasts: length * 10 / 7},
		"delay":              {args: "walk.bag --delay 0.9", hears: all, lasts: length},
		"immediate":          {args: "-i --queue 0", hears: all},
		"queue":              {args: "--queue 1", hears: all, lasts: length},
		"try-future-version": {args: "--try-future-version", hears: all, lasts: length},
		"wait":               {args: "walk.bag --wait-for-subscribers", hears: all, lasts: length},
		"start":              {args: "--start 0.5", hears: map[string][]string{"/state": {"A0", "B0", "A1"}, "/chatter": count("c", 5, 12), "/other": count("o", 5, 11)}, lasts: 700 * time.Millisecond},
		"duration":           {args: "-u 0.5", hears: map[string][]string{"/state": {"A0", "B0"}, "/chatter": count("c", 0, 5), "/other": count("o", 0, 4)}, lasts: 500 * time.Millisecond},
		"window":             {args: "-s 0.25 -u 0.5", hears: map[string][]string{"/state": {"A0", "B0", "A1"}, "/chatter": count("c", 3, 7), "/other": count("o", 2, 7)}, lasts: 500 * time.Millisecond},
		"prefix":             {args: "-p /old", hears: map[string][]string{"/old/state": state, "/old/chatter": chatter, "/old/other": other}, lasts: length},
		"prefix and remap":   {args: "-p /old /old/chatter:=/new /old/state:=/new_state", hears: map[string][]string{"/new_state": state, "/new": chatter, "/old/other": other}, lasts: length},
		"remap":              {args: "/chatter:=/new", hears: map[string][]string{"/state": state, "/new": chatter, "/other": other}, lasts: length},
		"order over topics":  {args: "/chatter:=/one /other:=/one", hears: map[string][]string{"/state": state, "/one": mix(chatter, other)}, lasts: length},
		"topics":             {args: "-d 0.6 --topics /chatter /state --bags walk.bag", hears: map[string][]string{"/state": state, "/chatter": chatter}, lasts: length},
		"two bags":           {args: "walk.bag more.bag -d 0.6", hears: map[string][]string{"/state": state, "/chatter": append(chatter, "m0", "m1"), "/other": other}, lasts: 1300 * time.Millisecond},
		"bags":               {args: "--bags walk.bag more.bag -d 0.6", hears: map[string][]string{"/state": state, "/chatter": append(chatter, "m0", "m1"), "/other": other}, lasts: 1300 * time.Millisecond},
		"skip-empty":         {args: "gap.bag -d 0.6 --skip-empty 2", hears: map[string][]string{"/chatter": {"g0", "g1", "g2", "g3"}}, lasts: 200 * time.Millisecond},
		"clock":              {args: "--clock --hz 20", hears: all, lasts: length},
		"pause": {args: "--pause", hears: all, lasts: length, during: func(g *graph, e *ear, _ *process) {
			if o := g.setPaused(e.node, "/player", true); o.Success || o.Message != "Bag is already paused." {
				g.t.Errorf("paused while paused: %+v", o)
			}
			if got := e.caught(); len(got) > 0 {
				g.t.Errorf("%d messages while paused", len(got))
			}
			if o := g.setPaused(e.node, "/player", false); !o.Success || o.Message != "Playback is now resumed" {
				g.t.Errorf("resumed: %+v", o)
			}
		}},
		"paused on the way": {hears: all, during: func(g *graph, e *ear, _ *process) {
			e.hears("/chatter", 4)
			if o := g.setPaused(e.node, "/player", true); !o.Success || o.Message != "Playback is now paused" {
				g.t.Errorf("paused: %+v", o)
			}
			if o := g.setPaused(e.node, "/player", true); o.Success || o.Message != "Bag is already paused." {
				g.t.Errorf("paused again: %+v", o)
			}
			if o := g.setPaused(e.node, "/player", false); !o.Success || o.Message != "Playback is now resumed" {
				g.t.Errorf("resumed: %+v", o)
			}
			if o := g.setPaused(e.node, "/player", false); o.Success || o.Message != "Bag is already running." {
				g.t.Errorf("resumed again: %+v", o)
			}
		}},
		"loop":       {args: "-l", hears: map[string][]string{"/state": twice(state), "/chatter": twice(chatter), "/other": twice(other)}, lasts: 2 * length, on: true, during: untilTwice},
		"keep-alive": {args: "-k", hears: all, lasts: length, during: lateToState},
	}
}

// mix takes one of each in turn.
func mix(a, b []string) []string {
	var all []string
	for i := range a {
		all = append(all, a[i])
		if i < len(b) {
			all = append(all, b[i])
		}
	}
	return all
}

func twice(all []string) []string { return slices.Concat(all, all) }

// untilTwice ends play when all was heard twice.
func untilTwice(_ *graph, e *ear, p *process) {
	for topic, n := range map[string]int{"/state": 6, "/chatter": 26, "/other": 24} {
		e.hears(topic, n)
	}
	p.signal(syscall.SIGINT)
}

// lateToState has a subscriber come after the end, and ends play.
func lateToState(g *graph, e *ear, p *process) {
	e.hears("/chatter", 13)
	late := g.listen("late", "/state")
	late.hears("/state", 2)
	got := late.texts("/state")
	slices.Sort(got)
	if want := []string{"A1", "B0"}; !slices.Equal(got, want) {
		g.t.Errorf("after the end a subscriber gets %q, want %q", got, want)
	}
	p.signal(syscall.SIGINT)
}

// slack is how much earlier or later than meant play may be: the machine is busy, and
// stock tells its time in tenths of a second.
const (
	slackEarly = 60 * time.Millisecond
	slackLate  = 700 * time.Millisecond
)

// TestPlayOptionsBesideStock plays the same bag with stock and with ours, with each
// option that stock has: subscribers get the same messages, in the same order, with the
// same latching, and not later.
func TestPlayOptionsBesideStock(t *testing.T) {
	t.Parallel()
	needROS(t)
	for name, row := range playRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			latching := map[string]map[string]bool{}
			eachPlayer(t, func(g *graph, player string) {
				got := g.playRow(player, row)
				mu.Lock()
				defer mu.Unlock()
				latching[player] = got
			})
			if diff := cmp.Diff(latching[stockPlay], latching["goplay"]); diff != "" {
				t.Errorf("latching (-stock +ours):\n%s", diff)
			}
		})
	}
}

// playRow plays a row and checks what comes. It returns which topics latch.
func (g *graph) playRow(player string, row playRow) map[string]bool {
	t := g.t
	t.Helper()
	g.makeBag("walk.bag", walk()...)
	g.makeBag("more.bag", spoken{"/chatter", "/talker2", false, 1210 * time.Millisecond, "m0"}, spoken{"/chatter", "/talker2", false, 1300 * time.Millisecond, "m1"})
	g.makeBag("gap.bag",
		spoken{"/chatter", "/talker", false, 0, "g0"}, spoken{"/chatter", "/talker", false, 100 * time.Millisecond, "g1"},
		spoken{"/chatter", "/talker", false, 20 * time.Second, "g2"}, spoken{"/chatter", "/talker", false, 20*time.Second + 100*time.Millisecond, "g3"})
	e := g.listen("ear", slices.Sorted(maps.Keys(row.hears))...)
	args := strings.Fields(row.args)
	if !strings.Contains(row.args, ".bag") {
		args = append([]string{"walk.bag", "-d", "0.6"}, args...)
	}
	p := g.start(player, append(args, "__name:=player")...)
	if row.during != nil {
		g.served(e.node, "/player")
		row.during(g, e, p)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.out.String())
	}
	latching := map[string]bool{}
	var first, last time.Time
	for _, c := range e.caught() {
		latching[c.topic] = c.latching
		if first.IsZero() || c.at.Before(first) {
			first = c.at
		}
		if c.at.After(last) {
			last = c.at
		}
	}
	for topic, want := range row.hears {
		got := e.texts(topic)
		if row.on && len(got) > len(want) {
			got = got[:len(want)]
		}
		g.complete(player, topic, want, got)
	}
	took := last.Sub(first)
	t.Logf("from the first to the last message %v, in the bag %v", took, row.lasts)
	if row.lasts != 0 && (ours(player) && took < row.lasts-slackEarly || took > row.lasts+slackLate) {
		t.Errorf("from the first to the last message %v, want %v", took, row.lasts)
	}
	return latching
}
