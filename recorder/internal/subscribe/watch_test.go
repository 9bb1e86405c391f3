package subscribe

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// watching notes what it is shown of one topic.
type watching struct {
	topics  []topicname.InGraph
	sink    *testlink.Sink
	shown   int
	skipped int
	before  int // messages that the sink had when the last one was shown
	bagTime time.Time
}

func (w *watching) Topics() []topicname.InGraph                               { return w.topics }
func (w *watching) Open(topicname.InGraph, rosbag.Header) control.LinkWatcher { return w }
func (w *watching) Triggers() []control.TriggerStats                          { return nil }
func (w *watching) Skipped(messages int)                                      { w.skipped += messages }

func (w *watching) Frames(_ []byte, count int, bagTime, _ time.Time) {
	w.shown += count
	w.bagTime = bagTime
	w.before = w.sink.Messages
}

// watchedBy is a link of a topic that w may watch.
func watchedBy(w control.Watcher, sim *simtime.Sim, topic topicname.InGraph, sink tcpros.LinkSink) tcpros.LinkSink {
	s := New(Config{Watch: w})
	return watched(sink, sim, s.watchersOf(topic, testlink.Info(string(topic), "/p"))...)
}

// TestWatchedLink: a watcher is shown messages when the recording has them, with the time of the recording;
// links of other topics are as without a watcher.
func TestWatchedLink(t *testing.T) {
	t.Parallel()
	sink := &testlink.Sink{}
	w := &watching{topics: []topicname.InGraph{"/t"}, sink: sink}
	if got := watchedBy(w, nil, "/other", sink); got != tcpros.LinkSink(sink) {
		t.Errorf("a link that is not watched is %T", got)
	}
	if got := watchedBy(nil, nil, "/t", sink); got != tcpros.LinkSink(sink) {
		t.Errorf("without a watcher the link is %T", got)
	}
	at := time.Now()
	sim := simtime.New()
	sim.Set(5e9)
	for clock, want := range map[*simtime.Sim]time.Time{nil: at, sim: time.Unix(5, 0)} {
		l := watchedBy(w, clock, "/t", sink)
		before := w.shown
		l.Frames(append(testlink.Frame(0, 1, 8), testlink.Frame(0, 2, 8)...), 2, at)
		if w.shown != before+2 || w.before != sink.Messages || !w.bagTime.Equal(want) {
			t.Errorf("shown %d, when the recording had %d, at %v", w.shown, w.before, w.bagTime)
		}
	}
	l := watchedBy(w, nil, "/t", sink)
	if tcpros.LargeOf(l, 1<<20) != nil || w.skipped != 1 || sink.Larges != 1 {
		t.Errorf("a large message: %d skipped", w.skipped)
	}
	if l.Closed(nil); sink.Ended != 1 {
		t.Error("the sink is not closed with the link")
	}
}

// TestWatchedClock: the clock of the graph is watched as any other topic, although its links are those of the clock.
func TestWatchedClock(t *testing.T) {
	t.Parallel()
	w := &watching{topics: []topicname.InGraph{"/clock"}, sink: &testlink.Sink{}}
	g := testgraph.New(t)
	g.Params = map[string]any{"/use_sim_time": true}
	s := New(Config{Node: newNode(t, g.URI, "rec"), Log: zap.NewNop(), Watch: w})
	defer s.Close()
	sim, _, err := simtime.Find(t.Context(), s.Node)
	if err != nil {
		t.Fatal(err)
	}
	s.UseClock(sim)
	in := newIntake(0)
	s.Record(in, in.Accounts)
	s.LetIn()
	if err := s.Add("/clock", Named, time.Time{}); err != nil {
		t.Fatal(err)
	}
	sim.Release()
	l, err := sim.Link(testlink.Info("/clock", "/sim"))
	if err != nil {
		t.Fatal(err)
	}
	l.Frames([]byte{8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}, 1, time.Now())
	if w.shown != 1 || !w.bagTime.Equal(time.Unix(7, 0)) {
		t.Errorf("shown %d messages, the last at %v", w.shown, w.bagTime)
	}
}

// TestLossesAreHandedOn: the recording counts what UDPROS has lost on a link that is watched or the trigger.
func TestLossesAreHandedOn(t *testing.T) {
	t.Parallel()
	s, in := newSet(t, Config{Watch: &watching{topics: []topicname.InGraph{"/t"}}})
	s.trigger = &trigger{topic: "/t"}
	topic := in.Accounts.AddTopic("/t", "/t", time.Time{})
	info := testlink.Info("/t", "/p")
	for i, f := range info.Header {
		if f.Key == "type" {
			info.Header[i].Value = triggerType
		}
	}
	l, err := in.OpenLink(topic, info)
	if err != nil {
		t.Fatal(err)
	}
	watched(l, nil, s.watchersOf("/t", info)...).(tcpros.LostSink).Lost(3)
	if n := topic.Lost(); n != 2 { // of the two messages that this intake wants of a topic
		t.Errorf("%d messages lost, want 2", n)
	}
}

// TestWatchedLinkAllocations: the recorder's part of a watched message allocates nothing.
// It is not parallel: what others allocate would count.
func TestWatchedLinkAllocations(t *testing.T) { // not parallel: it counts allocations
	sink := &testlink.Sink{}
	w := &watching{topics: []topicname.InGraph{"/t"}, sink: sink}
	run, now := testlink.Frame(0, 1, 100), time.Now()
	for _, topic := range []string{"/t", "/other"} {
		l := watchedBy(w, nil, topicname.InGraph(topic), sink)
		if n := testing.AllocsPerRun(300, func() { l.Frames(run, 1, now) }); n != 0 {
			t.Errorf("%s: %v allocations", topic, n)
		}
	}
}
