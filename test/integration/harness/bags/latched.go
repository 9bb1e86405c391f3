package bags

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// LatchedBag has the messages of the latching publishers of a bag.
type LatchedBag struct {
	Start, End rosbag.Time // of all messages
	Messages   []rosbag.Message
}

// ReadLatched reads a bag.
func ReadLatched(t *testing.T, path string) LatchedBag {
	t.Helper()
	r := openBag(t, path)
	l := LatchedBag{Start: r.Info().Start, End: r.Info().End}
	for m, err := range rosbag.Messages(r, rosbag.Query{Keep: func(c *rosbag.Connection) bool { return c.Header.Latching() }}) {
		if err != nil {
			t.Fatal(err)
		}
		l.Messages = append(l.Messages, *m)
	}
	return l
}

// Topics returns the topics of latching publishers.
func (l LatchedBag) Topics() []string {
	topics := map[string]bool{}
	for _, m := range l.Messages {
		topics[m.Conn.Topic] = true
	}
	return slices.Sorted(maps.Keys(topics))
}

// At returns the latest message of each latching publisher, with its topic.
func (l LatchedBag) At(at rosbag.Time) []string {
	last := map[string]string{}
	for _, m := range l.Messages {
		if !at.Before(m.Time) {
			last[m.Conn.Topic+" "+m.Conn.Header.CallerID()] = fmt.Sprintf("%s %x", m.Conn.Topic, m.Data())
		}
	}
	return slices.Sorted(maps.Values(last))
}

// WaitForLatched plays a bag from a position, where play pauses, and waits until a subscriber that
// comes then has received the latched messages.
func WaitForLatched(g *harness.Graph, bag string, from time.Duration, topics, want []string) {
	g.T.Helper()
	play := g.Start("goplay", bag, "-k", "--pause", "--start", fmt.Sprintf("%.3f", from.Seconds()), "__name:=player")
	defer play.Stop()
	listener := peers.Listen(g, "late", topics...)
	defer func() { _ = listener.Node.Close(g.T.Context()) }()
	var got []string
	g.Eventually("what is latched in "+filepath.Base(bag), func() bool {
		got = nil
		for _, c := range listener.Received() {
			got = append(got, fmt.Sprintf("%s %x", c.Topic, c.Data))
		}
		slices.Sort(got)
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("got %.2000q\nwant %.2000q", got, want) })
}
