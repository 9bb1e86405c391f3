package account

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
)

// TestNewDrops: each loss is told once, by topic and cause; of messages that were too large also the buffer that
// they need.
func TestNewDrops(t *testing.T) {
	t.Parallel()
	var a Accounts
	a.AddTopic("/none", "/none", time.Time{})
	one, two := a.AddTopic("/one", "/one", time.Time{}), a.AddTopic("/two", "/two", time.Time{})
	now := time.Now()
	one.DropOversize(500)
	one.DropOversize(300)
	two.Drop(control.DropBufferFull, 4)
	two.Drop(control.DropDisk, 3)
	want := []Drops{
		{Topic: "/one", Cause: control.DropOversize, Messages: 2, BufferNeeded: 500},
		{Topic: "/two", Cause: control.DropBufferFull, Messages: 4},
		{Topic: "/two", Cause: control.DropDisk, Messages: 3},
	}
	if diff := cmp.Diff(want, a.NewDrops(now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now = now.Add(time.Minute)
	if news := a.NewDrops(now); news != nil {
		t.Errorf("again: %+v", news)
	}
	one.Drop(control.DropDisk, 1)
	if diff := cmp.Diff([]Drops{{Topic: "/one", Cause: control.DropDisk, Messages: 1}}, a.NewDrops(now)); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}

// TestOverdueAndUnverified: the graph is asked about the publishers that are overdue, on topics that are recorded. Its answer holds
// for the process that was asked about, as long as that is overdue.
func TestOverdueAndUnverified(t *testing.T) {
	t.Parallel()
	var a Accounts
	now := time.Now()
	gone := func(of *Topic, id string) *loss.Publisher {
		u := a.Publisher(of, id)
		u.Open("http://a", true, now)
		u.End(io.EOF, now.Add(-2*loss.Grace))
		return u
	}
	paused, recorded := a.AddTopic("/paused", "/paused", time.Time{}), a.AddTopic("/recorded", "/recorded", time.Time{})
	gone(paused, "/a")
	killed, silent, back := gone(recorded, "/killed"), gone(recorded, "/silent"), gone(recorded, "/back")
	linked := a.Publisher(recorded, "/linked")
	linked.Open("http://a", true, now)
	overdue := func() []loss.PublisherKey { return a.Overdue(func(t *Topic) bool { return t == recorded }, now) }
	if diff := cmp.Diff([]loss.PublisherKey{killed.Key(), silent.Key(), back.Key()}, overdue()); diff != "" {
		t.Errorf("overdue (-want +got):\n%s", diff)
	}
	back.Open("http://b", true, now)
	a.SetListed(map[loss.PublisherKey]bool{killed.Key(): true, back.Key(): true}, now)
	if diff := cmp.Diff([]loss.PublisherKey{silent.Key()}, overdue()); diff != "" {
		t.Errorf("overdue after the answer (-want +got):\n%s", diff)
	}
	silent.AddMissed(2, true)
	linked.AddMissed(3, true)
	if diff := cmp.Diff([]loss.PublisherKey{silent.Key(), linked.Key()}, a.Unverified()); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	a.SetForeign(linked.Key(), true)
	if diff := cmp.Diff([]loss.PublisherKey{silent.Key()}, a.Unverified()); diff != "" {
		t.Errorf("gaps after the answer (-want +got):\n%s", diff)
	}
	s := a.Stats(now)[1]
	if s.LinksLost != 1 || s.Missed != 2 {
		t.Errorf("%d links lost, %d messages missed; want 1 and 2", s.LinksLost, s.Missed)
	}
}

// TestStats: the figures of a topic are sums over its causes, and over its publishers of now and before.
func TestStats(t *testing.T) {
	t.Parallel()
	var a Accounts
	of := a.AddTopic("/t", "/t", time.Time{})
	of.publishers.former = control.FormerPublishers{Missed: 10, LinksLost: 20}
	now := time.Now()
	for _, id := range []string{"/a", "/b"} {
		u := a.Publisher(of, id)
		u.AddMissed(3, true)
		u.SetListed(true)
		of.noteLinked("test/"+id[1:], false)
	}
	of.Drop(control.DropDisk, 1)
	of.Drop(control.DropUDP, 2)
	want := control.TopicStats{
		Topic: "/t", Type: "test/a", Publishers: 2, Missed: 16, LinksLost: 22,
		Dropped: 3, Causes: map[string]uint64{control.DropDisk.String(): 1, control.DropUDP.String(): 2},
	}
	if diff := cmp.Diff([]control.TopicStats{want}, a.Stats(now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPickup: the first link ends the time that a new topic waited for a publisher. A topic that was there
// before does not wait.
func TestPickup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a Accounts
		before, fresh := a.AddTopic("/before", "/before", time.Time{}), a.AddTopic("/fresh", "/fresh", time.Now())
		for range 2 {
			time.Sleep(time.Second)
			for _, of := range []*Topic{before, fresh} {
				of.NotePickup()
				of.noteLinked("test/T", false)
			}
		}
		for i, want := range []time.Duration{0, time.Second} {
			if s := a.Summaries(time.Now())[i]; s.Pickup != want {
				t.Errorf("%s: linked after %v, want %v", s.Topic, s.Pickup, want)
			}
		}
	})
}
