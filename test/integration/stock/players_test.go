package stock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// eachPlayer runs a test with stock's player and with ours, at the same time, each on a
// graph of its own. It returns when both have ended.
func eachPlayer(t *testing.T, test func(g *harness.Graph, player string)) {
	t.Helper()
	t.Run("players", func(t *testing.T) {
		for name, program := range map[string]string{"stock": harness.StockPlay, "ours": "goplay"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(harness.NewGraph(t, "gomaster"), program)
			})
		}
	})
}

// linkTime is the -d for subscribers that are there before a player: the time in which they
// find it, on a machine that is busy with other tests. Stock does not look whether they have.
// Ours does, for two seconds; see linked.
func linkTime(player string) string {
	if harness.IsOurs(player) {
		return "0.6"
	}
	return "5"
}

// linked are the options that have a player wait for subscribers that are there before it.
func linked(player string) []string {
	if harness.IsOurs(player) {
		return []string{"-d", linkTime(player), "--link-timeout", "60"}
	}
	return []string{"-d", linkTime(player)}
}

// play starts a player with the options linked, and more.
func play(g *harness.Graph, player string, args ...string) *harness.Process {
	g.T.Helper()
	return g.Start(player, append(linked(player), args...)...)
}

// stockLoses is how many of its last messages stock may take with it: it ends without
// waiting for subscribers, and on a busy machine publishes what is late all at once.
const stockLoses = 8

// complete checks what a subscriber has got from a player.
func complete(g *harness.Graph, player, topic string, want, got []string) {
	g.T.Helper()
	if n := len(want) - len(got); !harness.IsOurs(player) && n > 0 && n <= stockLoses {
		want = want[:len(got)]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.T.Errorf("%s (-want +got):\n%s", topic, diff)
	}
}

// allOfWalk checks that a player has published all of walk.
func allOfWalk(g *harness.Graph, player string, e *peers.Listener) {
	g.T.Helper()
	least, all := len(bags.Walk()), len(bags.Walk())
	if !harness.IsOurs(player) {
		least -= stockLoses
	}
	if got := len(e.Received()); got < least || got > all {
		g.T.Errorf("%d messages of %d", got, all)
	}
}
