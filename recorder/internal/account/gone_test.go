package account

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestReleaseGone: of each topic the latest latched messages of publishers that are gone stay. The messages of
// publishers with a link stay, too, and do not count. A connection stays until nothing needs it.
func TestReleaseGone(t *testing.T) {
	t.Parallel()
	var a Accounts
	latched := latch.New(memory.New(memory.Options{Limit: -1}), false, nil)
	topics := []*Topic{a.AddTopic("/a", "/a", time.Time{}), a.AddTopic("/b", "/b", time.Time{})}
	add := func(of *Topic, links int, message bool) *Connection {
		c := a.connections.Add(of, rosbag.Header{{Key: "callerid", Value: fmt.Sprint("/p", len(a.connections.all))}})
		if c.links = links; message {
			latched.Remember(c.Source(), []byte("message"))
		}
		return c
	}
	linked := add(topics[0], 1, true)
	oldest := add(topics[0], 0, true)
	other := add(topics[1], 0, true)
	for range KeptLatched {
		add(topics[0], 0, true)
	}
	empty := add(topics[0], 0, false) // is looked at first
	now := time.Now()
	a.ReleaseGone(&latched, func(*Connection) bool { return true }, now)
	for _, c := range a.connections.all {
		if want := c != oldest && c != empty; latched.Holds(c.Source()) != want {
			t.Errorf("the message of %s is kept: %v, want %v", c.Conn().Header.CallerID(), !want, want)
		}
	}
	if n := len(a.connections.all); n != KeptLatched+4 {
		t.Errorf("%d connections are left", n)
	}
	a.ReleaseGone(&latched, func(c *Connection) bool { return c == other }, now)
	if !slices.Equal(a.connections.all, []*Connection{linked, other}) {
		t.Errorf("%d connections are left", len(a.connections.all))
	}
}

// TestLatchingOf: the latching connections of a chunk, without those that were released.
func TestLatchingOf(t *testing.T) {
	t.Parallel()
	var a Accounts
	of := a.AddTopic("/t", "/t", time.Time{})
	c := new(chunk.Sealed)
	for i := range 4 {
		conn := a.connections.Add(of, nil)
		if i > 0 {
			conn.source.RepeatInEachFile()
		}
		c.Counts = append(c.Counts, rosbag.ConnCount{Conn: conn.Conn()})
	}
	released := a.connections.all[1]
	a.connections.Release(func(c *Connection) bool { return c == released })
	got := a.LatchingOf(c)
	for _, conn := range a.connections.all {
		if (got[conn.Conn().ID] == conn.Source()) != conn.Latching() {
			t.Errorf("connection %d is latching: %v", conn.Conn().ID, !conn.Latching())
		}
	}
	if len(got) != 2 {
		t.Errorf("%d connections, want 2", len(got))
	}
	c.Counts = c.Counts[:1]
	if got := a.LatchingOf(c); got != nil {
		t.Errorf("%v without a latching connection", got)
	}
}
