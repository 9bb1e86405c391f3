package account

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
)

// TestTopicsThatEnded: of the topics that were left the latest ones keep an account of their own. The counts of the
// others are in the sums, and their losses are not reported again.
func TestTopicsThatEnded(t *testing.T) {
	t.Parallel()
	const ended = 3
	now := time.Now()
	a := New(nil, false)
	stays := a.AddTopic("/stays", "/stays", time.Time{})
	stays.recorded.Add(Tally{Messages: 5, Bytes: 50})
	for n := range KeptTopics + ended {
		topic := a.AddTopic(topicname.InBag(fmt.Sprint("/", n)), topicname.InGraph(fmt.Sprint("/", n)), time.Time{})
		topic.recorded.Add(Tally{Messages: 7, Bytes: 70})
		topic.written.Add(Tally{Messages: 6, Bytes: 60})
		topic.repeated, topic.passed, topic.sampler.leftOut = 1, 2, 3
		topic.last = now.Add(time.Duration(n) * time.Second)
		topic.Drop(control.DropDisk, 4)
		a.Publisher(topic, "/p").AddMissed(1, true)
		wait := topic.BeginWait(now)
		topic.EndWait(wait, now.Add(ReportedWait))
		a.Leave(topic, now)
	}
	of := func(written bool) map[string]control.TopicSummary {
		all := map[string]control.TopicSummary{}
		a.onlySnapshots = written
		for _, s := range a.Summaries(now) {
			all[s.Topic] = s
		}
		return all
	}
	release := func() { a.ReleaseGone(new(latch.Store), func(*Connection) bool { return false }, now) }
	if release(); len(a.topics) != 1+KeptTopics+ended {
		t.Fatalf("%d accounts before the losses are reported", len(a.topics))
	}
	if n := len(a.NewDrops(now)); n != KeptTopics+ended {
		t.Errorf("%d losses reported", n)
	}
	release()
	release() // there are no more to fold
	if n := len(a.topics); n != 1+KeptTopics+1 {
		t.Errorf("%d accounts are left", n)
	}
	want := control.TopicSummary{
		Topic: control.EndedTopics, Former: control.FormerPublishers{Count: ended, Missed: ended}, Messages: 7 * ended, Bytes: 70 * ended,
		Repeated: ended, Passed: 2 * ended, LeftOut: 3 * ended, HeldUp: ended * ReportedWait, Dropped: map[string]uint64{"disk": 4 * ended},
	}
	all := of(false)
	if d := cmp.Diff(want, all[control.EndedTopics]); d != "" {
		t.Errorf("together (-want +got):\n%s", d)
	}
	if n := of(true)[control.EndedTopics].Messages; n != 6*ended {
		t.Errorf("%d messages written, want %d", n, 6*ended)
	}
	if all["/2"].Topic != "" || all["/3"].Messages != 7 || all["/stays"].Messages != 5 {
		t.Error("the accounts of the wrong topics are left")
	}
	if s := a.Stats(now); s[len(s)-1].Topic != control.EndedTopics || !s[len(s)-1].Last.Equal(now.Add(2*time.Second)) {
		t.Errorf("the last of the live accounts is %+v", s[len(s)-1])
	}
	if told := a.NewDrops(now.Add(time.Hour)); len(told) != 0 {
		t.Errorf("reported again: %+v", told)
	}
	a.onlySnapshots = true
	a.Deleted(map[string]Tally{"/0": {Messages: 6, Bytes: 60}})
	if got := of(true)[control.EndedTopics]; got.Messages != 6*(ended-1) || got.Dropped["deleted"] != 6 {
		t.Errorf("after a file of an ended topic was deleted: %+v", got)
	}
	if back := a.AddTopic("/3", "/3", now); back.recorded.Messages != 7 {
		t.Errorf("a topic that comes back has %d messages", back.recorded.Messages)
	}
	if back := a.AddTopic("/2", "/2", now); back.recorded.Messages != 0 {
		t.Errorf("a topic that comes back after its account ended has %d messages", back.recorded.Messages)
	}
}

// TestTopicsThatStay: the account of a topic that was left stays while it is needed.
func TestTopicsThatStay(t *testing.T) {
	t.Parallel()
	now := time.Now()
	a := New([]Limit{{Topics: "/limited", Count: 3}}, false)
	var all []*Topic
	for _, name := range []string{"/limited", "/own", "/connected", "/linked", "/waited", "/over"} {
		all = append(all, a.AddTopic(topicname.InBag(name), topicname.InGraph(name), time.Time{}))
	}
	own, connected, linked, waited := all[1], all[2], all[3], all[4]
	a.OwnTopic(own.resolved)
	a.connections.Add(connected, rosbag.Header(testlink.Info("/connected", "/p").Header))
	a.Publisher(linked, "/p").Open("http://p", true, now)
	wait := waited.BeginWait(now)
	a.WaitNews(now.Add(ReportedWait)) // which says that it waits, and not yet that it goes on
	waited.EndWait(wait, now.Add(ReportedWait))
	for _, topic := range all {
		a.Leave(topic, now)
	}
	for n := range KeptTopics {
		a.Leave(a.AddTopic(topicname.InBag(fmt.Sprint("/", n)), "", time.Time{}), now)
	}
	a.ReleaseGone(new(latch.Store), func(*Connection) bool { return true }, now)
	for _, topic := range all {
		if stays := slices.Contains(a.topics, topic); stays != (topic.name != "/over") {
			t.Errorf("%s: the account stays: %t", topic.name, stays)
		}
	}
}

// TestLatchedMessagesThatAreGone: of publishers that are gone the latest messages are kept, so many of each topic, and
// so many of all; those of the recorder itself stay.
func TestLatchedMessagesThatAreGone(t *testing.T) {
	t.Parallel()
	a := New(nil, false)
	latched := latch.New(memory.New(memory.Options{Limit: -1}), false, nil)
	publish := func(topic *Topic, n int) *Connection {
		c := a.connections.Add(topic, rosbag.Header(testlink.LatchedInfo(string(topic.name), fmt.Sprint("/p", n)).Header))
		latched.Remember(c.Source(), testlink.Frame(1, 1, 10))
		return c
	}
	lives := publish(a.AddTopic("/lives", "/lives", time.Time{}), 0)
	lives.links = 1
	own := publish(a.OwnTopic("/parameters"), 0)
	const topics = KeptLatchedOfAll + 10
	for n := range topics {
		topic := a.AddTopic(topicname.InBag(fmt.Sprint("/", n)), "", time.Time{})
		publish(topic, n)
	}
	last := a.topics[1+topics]
	for n := range 2 * KeptLatched {
		publish(last, n)
	}
	a.ReleaseGone(&latched, latchedOnly(&latched), time.Now())
	first := slices.IndexFunc(a.topics[2:], func(t *Topic) bool { return len(t.conns) > 0 })
	if n := len(a.connections.all); n != 2+KeptLatchedOfAll || !lives.source.Remembered() || !own.source.Remembered() || len(last.conns) != KeptLatched || first != 10+KeptLatched-1 {
		t.Errorf("%d connections, %d of the last topic; the first with one is %d", n, len(last.conns), first)
	}
}

// latchedOnly says that connections are needed for latched messages.
func latchedOnly(latched *latch.Store) func(*Connection) bool {
	return func(c *Connection) bool { return latched.Holds(c.Source()) }
}
