package stock_test

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

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// What TestPlayOptionsBesideStock does not cover of what is known of rosbag play, and
// where goplay differs on purpose.

func TestPlayBagThatIsNotThere(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		g.Start(player, "missing.bag").Ended(1, "missing.bag")
	})
}

func TestPlayNothingSelected(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		code := 0
		if harness.IsOurs(player) {
			code = 1 // a script should notice that nothing it asked for was played
		}
		g.Start(player, "--topics", "/nope", "--bags", "walk.bag").Ended(code, "No messages to play on specified topics.  Exiting.")
	})
}

// TestPlayUnindexed: stock wants a reindex first; ours plays what there is.
func TestPlayUnindexed(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		bag, err := os.ReadFile(filepath.Join(g.Dir, "walk.bag"))
		if err != nil {
			g.T.Fatal(err)
		}
		bag = bag[:len(bag)-100] // as after a crash: a part of the index is missing
		for i := strings.Index(string(bag), "index_pos=") + len("index_pos="); bag[i] != 0; i++ {
			bag[i] = 0
		}
		if err := os.WriteFile(filepath.Join(g.Dir, "crashed.bag"), bag, 0o600); err != nil {
			g.T.Fatal(err)
		}
		e := peers.Listen(g, "listener", "/chatter")
		p := play(g, player, "crashed.bag", "-r", "4")
		if !harness.IsOurs(player) {
			p.Ended(0, "is unindexed.  Run rosbag reindex.")
			return
		}
		p.Wait()
		if diff := cmp.Diff(bags.Count("c", 0, 12), e.Texts("/chatter")); diff != "" {
			g.T.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestPlayNames: the node is anonymous, and a relative topic such as clock is in the
// namespace; recorded names that begin with a slash are not.
func TestPlayNames(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	anonymous := regexp.MustCompile(`^/play_[0-9]{19}$`)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/chatter", "/space/clock")
		cmd := g.Command(player, append(linked(player), "walk.bag", "--loop", "--clock", "__name:=named")...)
		cmd.Env = append(cmd.Env, "ROS_NAMESPACE=/space")
		p := g.Launch(player, cmd)
		e.WaitFor("/chatter", 1)
		e.WaitFor("/space/clock", 1)
		p.Stop()
		heard := map[string]bool{}
		for _, c := range e.Received() {
			heard[c.Topic+" of "+c.Caller] = true
		}
		if want := map[string]bool{"/chatter of /space/named": true, "/space/clock of /space/named": true}; !cmp.Equal(heard, want) {
			g.T.Errorf("heard %v, want %v", heard, want)
		}
		before := len(e.Received())
		play(g, player, "walk.bag", "-u", "0.1").Ended(0)
		if got := e.Received()[before:]; len(got) != 2 && (harness.IsOurs(player) || len(got) != 1) || !anonymous.MatchString(got[0].Caller) {
			g.T.Errorf("without a name: %+v", got)
		}
	})
}

// TestPlayClock: /clock is published at a steady rate of the system clock, also at another rate of play.
// It never goes back, and ends with the bag.
func TestPlayClock(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/clock")
		p := play(g, player, "walk.bag", "--clock", "--hz", "10", "-r", "0.5")
		stalls := g.Stalls(p)
		p.Ended(0)
		clocks, still := e.Received(), stalls()
		if least := 15 - int(still/(100*time.Millisecond)); len(clocks) < max(least, 2) { // 2.4 s
			g.T.Fatalf("%d clocks; the machine stood still for %v", len(clocks), still)
		}
		last := rosbag.Time{}
		for i, c := range clocks {
			now := rosbag.Time{Sec: le32(c.Data), Nsec: le32(c.Data[4:])}
			if now.Before(last) {
				g.T.Errorf("clock %d goes back from %v to %v", i, last, now)
			}
			last = now
		}
		if end := bags.Start().Add(1200 * time.Millisecond); end.Before(last) {
			g.T.Errorf("the last clock is %v, the last message %v", last, end)
		}
		if took := clocks[len(clocks)-1].At.Sub(clocks[0].At); harness.IsOurs(player) && took < 2*time.Second-still {
			g.T.Errorf("%d clocks in %v", len(clocks), took)
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
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/chatter", "/state", "/other")
		cmd := g.Command(player, "walk.bag", "--pause", "--wait-for-subscribers", "-d", linkTime(player), "__name:=player")
		stdin, keys, err := os.Pipe()
		if err != nil {
			g.T.Fatal(err)
		}
		defer stdin.Close()
		defer keys.Close()
		cmd.Stdin = stdin
		p := g.Launch(player, cmd)
		peers.Served(g, e.Node, "/player")
		peers.SetPaused(g, e.Node, "/player", true) // it is in its loop when it answers
		press := func(key string) {
			if _, err := keys.WriteString(key); err != nil {
				g.T.Fatal(err)
			}
		}
		for n := 1; n <= 3; n++ {
			press("s")
			g.Eventually("one message", func() bool { return len(e.Received()) >= n })
			if got := len(e.Received()); got != n {
				g.T.Errorf("%d messages after s was hit %d times", got, n)
			}
		}
		press(" ")
		p.Ended(0)
		allOfWalk(g, player, e)
	})
}

// TestPlayStateBeforeStart: of a topic without messages in the window subscribers get the
// latched messages that were valid when it begins, before all else. Stock advertises the
// topic only then: what a subscriber gets depends on when its link is there, some messages
// come twice, and one of the two may not come.
func TestPlayStateBeforeStart(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/state", "/chatter")
		if harness.IsOurs(player) {
			p := play(g, player, "walk.bag", "-s", "0.75", "--pause", "__name:=player")
			e.WaitFor("/state", 2) // before all else: that comes on other links, which may be read before
			peers.SetPaused(g, e.Node, "/player", false)
			p.Ended(0)
		} else {
			play(g, player, "walk.bag", "-s", "0.75").Ended(0)
		}
		got, want := e.Texts("/state"), []string{"A1", "B0"}
		slices.Sort(got)
		if !harness.IsOurs(player) {
			got = slices.Compact(got)
			want = slices.DeleteFunc(want, func(m string) bool { return len(got) == 1 && m != got[0] })
		}
		if !slices.Equal(got, want) {
			g.T.Errorf("/state: %q, want %q", got, want)
		}
		if all := e.Received(); len(all) == 0 || harness.IsOurs(player) && all[0].Topic != "/state" || !all[0].Latching && all[0].Topic == "/state" {
			g.T.Errorf("what was heard begins with %+v", all[:min(1, len(all))])
		}
	})
}

// TestPlayTopicsBySlash: stock compares with the recorded name as it is. Ours forgives a
// slash that is missing.
func TestPlayTopicsBySlash(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		if !harness.IsOurs(player) {
			play(g, player, "--topics", "chatter", "--bags", "walk.bag").Ended(0, "No messages to play on specified topics.  Exiting.")
			return
		}
		e := peers.Listen(g, "listener", "/chatter")
		play(g, player, "-r", "4", "--topics", "chatter", "--bags", "walk.bag").Ended(0)
		e.WaitFor("/chatter", 13)
	})
}

// TestPlayInterrupted: SIGINT ends play with 0 at any time, and nothing is left of it at
// the master. Stock does not end while it waits for subscribers, nor does it tell the
// master after a SIGTERM.
func TestPlayInterrupted(t *testing.T) {
	t.Parallel()
	harness.Long(t, "runs stock as well")
	harness.NeedROS(t)
	eachPlayer(t, func(g *harness.Graph, player string) {
		bags.Make(g, "walk.bag", bags.Walk()...)
		e := peers.Listen(g, "listener", "/chatter")
		interrupt := func(s syscall.Signal, args ...string) {
			g.T.Helper()
			heard := len(e.Received())
			p := g.Start(player, append(append(linked(player), "walk.bag", "__name:=player"), args...)...)
			peers.Served(g, e.Node, "/player")
			if !slices.Contains(args, "--wait-for-subscribers") {
				g.Eventually("it plays", func() bool { return len(e.Received()) > heard })
			}
			p.Signal(s)
			p.Ended(0)
			gone(g, e, "/player")
		}
		interrupt(syscall.SIGINT, "-l")
		interrupt(syscall.SIGINT, "-k", "-r", "10")
		if harness.IsOurs(player) {
			interrupt(syscall.SIGTERM, "-l")
			interrupt(syscall.SIGHUP, "-l")
			interrupt(syscall.SIGINT, "--wait-for-subscribers")
		}
	})
}

// gone checks that the master has forgotten a node.
func gone(g *harness.Graph, e *peers.Listener, node string) {
	g.T.Helper()
	state, err := e.Node.Master().SystemState(g.T.Context())
	if err != nil {
		g.T.Fatal(err)
	}
	for _, kind := range []map[string][]string{state.Publishers, state.Subscribers, state.Services} {
		for name, nodes := range kind {
			if slices.Contains(nodes, node) {
				g.T.Errorf("%s is still listed for %s", node, name)
			}
		}
	}
}

// TestPlayConflictingTypes: where stock dies of a topic with two types, ours plays one of
// them, and says so.
func TestPlayConflictingTypes(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	e := peers.Listen(g, "listener", "/chatter")
	bag, err := os.ReadFile(filepath.Join(g.Dir, "walk.bag"))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(bag), "992ce8a1687cec8c8bd883ec73ca41d1", "882ce8a1687cec8c8bd883ec73ca41d2")
	if err := os.WriteFile(filepath.Join(g.Dir, "other.bag"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Start("goplay", "walk.bag", "other.bag", "-d", "0.6", "--link-timeout", "60", "-r", "4").Ended(3, "connection cannot be played", "882ce8a1687cec8c8bd883ec73ca41d2")
	if diff := cmp.Diff(bags.Count("c", 0, 12), e.Texts("/chatter")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlayQuiet: no status line, no table, but what matters.
func TestPlayQuiet(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	bags.Make(g, "walk.bag", bags.Walk()...)
	p := g.Start("goplay", "walk.bag", "-q", "-r", "10")
	p.Ended(0)
	if out := p.Out.String(); strings.Contains(out, "RUNNING") || strings.Contains(out, "lost:") || strings.Contains(out, "\r") {
		t.Errorf("with -q:\n%s", out)
	}
}
