package integration_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
)

// What TestPlayOptionsBesideStock does not cover of what is known of rosbag play, and
// where goplay differs on purpose.

// ended checks how a player ended.
func (p *process) ended(code int, texts ...string) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Errorf("exit code %d, want %d:\n%s", got, code, p.out.String())
	}
	contains(p.t, p.out.String(), texts...)
}

func TestPlayBagThatIsNotThere(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.start(player, "missing.bag").ended(1, "missing.bag")
	})
}

func TestPlayNothingSelected(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		g.start(player, "--topics", "/nope", "--bags", "walk.bag").ended(0, "No messages to play on specified topics.  Exiting.")
	})
}

// TestPlayUnindexed: stock wants a reindex first; ours plays what there is.
func TestPlayUnindexed(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		bag, err := os.ReadFile(filepath.Join(g.dir, "walk.bag"))
		if err != nil {
			g.t.Fatal(err)
		}
		bag = bag[:len(bag)-100] // as after a crash: a part of the index is missing
		for i := strings.Index(string(bag), "index_pos=") + len("index_pos="); bag[i] != 0; i++ {
			bag[i] = 0
		}
		if err := os.WriteFile(filepath.Join(g.dir, "crashed.bag"), bag, 0o600); err != nil {
			g.t.Fatal(err)
		}
		e := g.listen("ear", "/chatter")
		p := g.start(player, "crashed.bag", "-d", "0.6", "-r", "4")
		if !ours(player) {
			p.ended(0, "is unindexed.  Run rosbag reindex.")
			return
		}
		p.wait()
		if diff := cmp.Diff(count("c", 0, 12), e.texts("/chatter")); diff != "" {
			g.t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestPlayNames: the node is anonymous, and a relative topic such as clock is in the
// namespace; recorded names that begin with a slash are not.
func TestPlayNames(t *testing.T) {
	t.Parallel()
	needROS(t)
	anonymous := regexp.MustCompile(`^/play_[0-9]{19}$`)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/chatter", "/space/clock")
		cmd := g.command(player, "walk.bag", "-d", "0.6", "-u", "0.3", "--clock", "__name:=named")
		cmd.Env = append(cmd.Env, "ROS_NAMESPACE=/space")
		g.launch(player, cmd).ended(0)
		heard := map[string]bool{}
		for _, c := range e.caught() {
			heard[c.topic+" of "+c.caller] = true
		}
		if want := map[string]bool{"/chatter of /space/named": true, "/space/clock of /space/named": true}; !cmp.Equal(heard, want) {
			g.t.Errorf("heard %v, want %v", heard, want)
		}
		before := len(e.caught())
		g.start(player, "walk.bag", "-d", "0.6", "-u", "0.1").ended(0)
		if got := e.caught()[before:]; len(got) != 2 || !anonymous.MatchString(got[0].caller) {
			g.t.Errorf("without a name: %+v", got)
		}
	})
}

// TestPlayClock: the clock is told by the wall, also at another rate, never goes back, and
// ends with the bag.
func TestPlayClock(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/clock")
		g.start(player, "walk.bag", "-d", "0.6", "--clock", "--hz", "10", "-r", "0.5").ended(0)
		clocks := e.caught()
		if len(clocks) < 15 { // 2.4 s
			g.t.Fatalf("%d clocks", len(clocks))
		}
		last := bagfmt.Time{}
		for i, c := range clocks {
			now := bagfmt.Time{Sec: le32(c.data), Nsec: le32(c.data[4:])}
			if now.Before(last) {
				g.t.Errorf("clock %d goes back from %v to %v", i, last, now)
			}
			last = now
		}
		if end := spokenSince.Add(1200 * time.Millisecond); end.Before(last) {
			g.t.Errorf("the last clock is %v, the last message %v", last, end)
		}
		if took := clocks[len(clocks)-1].at.Sub(clocks[0].at); ours(player) && took < 2*time.Second {
			g.t.Errorf("%d clocks in %v", len(clocks), took)
		}
	})
}

func le32(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// TestPlayKeys: of the keys, which may come through a pipe, s plays one message while
// paused, and space goes on.
func TestPlayKeys(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/chatter", "/state", "/other")
		cmd := g.command(player, "walk.bag", "--pause", "-d", "0.6", "__name:=player")
		stdin, keys, err := os.Pipe()
		if err != nil {
			g.t.Fatal(err)
		}
		defer stdin.Close()
		defer keys.Close()
		cmd.Stdin = stdin
		p := g.launch(player, cmd)
		g.served(e.node, "/player")
		g.setPaused(e.node, "/player", true) // it is in its loop when it answers
		press := func(key string) {
			if _, err := keys.WriteString(key); err != nil {
				g.t.Fatal(err)
			}
		}
		for n := 1; n <= 3; n++ {
			press("s")
			g.eventually("one message", func() bool { return len(e.caught()) >= n })
			if got := len(e.caught()); got != n {
				g.t.Errorf("%d messages after s was hit %d times", got, n)
			}
		}
		press(" ")
		p.ended(0)
		g.allOfWalk(player, e)
	})
}

// TestPlayStateBeforeStart: of a topic without messages in the window subscribers get the
// latched messages that were valid when it begins, before all else. Stock sends them
// twice to some.
func TestPlayStateBeforeStart(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/state", "/chatter")
		g.start(player, "walk.bag", "-d", "0.6", "-s", "0.75").ended(0)
		got := e.texts("/state")
		if !ours(player) && len(got) > 2 {
			got = got[:2]
		}
		slices.Sort(got)
		if want := []string{"A1", "B0"}; !slices.Equal(got, want) {
			g.t.Errorf("/state: %q, want %q", got, want)
		}
		if all := e.caught(); len(all) == 0 || ours(player) && all[0].topic != "/state" || !all[0].latching && all[0].topic == "/state" {
			g.t.Errorf("what was heard begins with %+v", all[:min(1, len(all))])
		}
	})
}

// TestPlayTopicsBySlash: stock compares with the recorded name as it is. Ours forgives a
// slash that is missing.
func TestPlayTopicsBySlash(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		if !ours(player) {
			g.start(player, "-d", "0.6", "--topics", "chatter", "--bags", "walk.bag").ended(0, "No messages to play on specified topics.  Exiting.")
			return
		}
		e := g.listen("ear", "/chatter")
		g.start(player, "-d", "0.6", "-r", "4", "--topics", "chatter", "--bags", "walk.bag").ended(0)
		e.hears("/chatter", 13)
	})
}

// TestPlayInterrupted: SIGINT ends play with 0 at any time, and nothing is left of it at
// the master. Stock does not end while it waits for subscribers, nor does it tell the
// master after a SIGTERM.
func TestPlayInterrupted(t *testing.T) {
	t.Parallel()
	needROS(t)
	eachPlayer(t, func(g *graph, player string) {
		g.makeBag("walk.bag", walk()...)
		e := g.listen("ear", "/chatter")
		interrupt := func(s syscall.Signal, args ...string) {
			g.t.Helper()
			heard := len(e.caught())
			p := g.start(player, append([]string{"walk.bag", "-d", "0.3", "__name:=player"}, args...)...)
			g.served(e.node, "/player")
			if !slices.Contains(args, "--wait-for-subscribers") {
				g.eventually("it plays", func() bool { return len(e.caught()) > heard })
			}
			p.signal(s)
			p.ended(0)
			g.gone(e, "/player")
		}
		interrupt(syscall.SIGINT, "-l")
		interrupt(syscall.SIGINT, "-k", "-r", "10")
		if ours(player) {
			interrupt(syscall.SIGTERM, "-l")
			interrupt(syscall.SIGHUP, "-l")
			interrupt(syscall.SIGINT, "--wait-for-subscribers")
		}
	})
}

// gone checks that the master has forgotten a node.
func (g *graph) gone(e *ear, node string) {
	g.t.Helper()
	state, err := e.node.Master().SystemState(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, kind := range []map[string][]string{state.Publishers, state.Subscribers, state.Services} {
		for name, nodes := range kind {
			if slices.Contains(nodes, node) {
				g.t.Errorf("%s is still listed for %s", node, name)
			}
		}
	}
}

// TestPlayConflictingTypes: where stock dies of a topic with two types, ours plays one of
// them, and says so.
func TestPlayConflictingTypes(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	g.makeBag("walk.bag", walk()...)
	e := g.listen("ear", "/chatter")
	bag, err := os.ReadFile(filepath.Join(g.dir, "walk.bag"))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(bag), "992ce8a1687cec8c8bd883ec73ca41d1", "882ce8a1687cec8c8bd883ec73ca41d2")
	if err := os.WriteFile(filepath.Join(g.dir, "other.bag"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start("goplay", "walk.bag", "other.bag", "-d", "0.6", "-r", "4").ended(3, "connection cannot be played", "882ce8a1687cec8c8bd883ec73ca41d2")
	if diff := cmp.Diff(count("c", 0, 12), e.texts("/chatter")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlayQuiet: no status line, no table, but what matters.
func TestPlayQuiet(t *testing.T) {
	t.Parallel()
	g := newGraph(t, "gomaster")
	g.makeBag("walk.bag", walk()...)
	p := g.start("goplay", "walk.bag", "-q", "-r", "10")
	p.ended(0)
	if out := p.out.String(); strings.Contains(out, "RUNNING") || strings.Contains(out, "lost:") || strings.Contains(out, "\r") {
		t.Errorf("with -q:\n%s", out)
	}
}
