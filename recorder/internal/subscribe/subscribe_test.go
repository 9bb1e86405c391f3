package subscribe

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testgraph"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newNode starts a node, which ends with the test.
func newNode(t *testing.T, masterURI, name string) *tcpros.Node {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: name, MasterURI: masterURI, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	return n
}

// newIntake is an intake that ends each topic after so many messages; zero means never.
func newIntake(limit int) *intake.Intake {
	return intake.New(intake.Config{
		Log: zap.NewNop(), Node: "/rec", Flush: time.Hour, Encoder: encode.New(encode.Options{}), OnChange: func() {},
		Limits: []account.Limit{{Topics: "**", Count: limit}}, Memory: memory.Options{Limit: 8 << 20, ChunkBytes: 64 << 10},
	})
}

// newSet is a set of a node in an empty graph, whose frames go to an intake.
func newSet(t *testing.T, c Config) (*Set, *intake.Intake) {
	t.Helper()
	c.Node = newNode(t, testgraph.New(t).URI, "rec")
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.IsNamed == nil {
		c.IsNamed = func(topicname.InGraph) bool { return false }
	}
	s, in := New(c), newIntake(2)
	s.Record(in, in.Accounts)
	s.LetIn()
	return s, in
}

// topics returns the names of all accounts.
func topics(in *intake.Intake) (names []string) {
	all := in.Accounts.Summary(time.Now()).Topics
	for _, f := range all {
		names = append(names, f.Topic)
	}
	slices.Sort(names)
	return names
}

// TestAdd: one topic under two names is recorded once, under the first; a name that is none is an error.
func TestAdd(t *testing.T) {
	t.Parallel()
	s, in := newSet(t, Config{})
	defer s.Close()
	for _, name := range []topicname.InBag{"chat", "/chat", "/other"} {
		if err := s.Add(name, Named, time.Time{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Add("not a name", Named, time.Time{}); err == nil {
		t.Error("no error")
	}
	if d := cmp.Diff([]string{"/other", "chat"}, topics(in)); d != "" {
		t.Error(d)
	}
}

// TestUpdate: what a round of discovery finds is subscribed to, but for topics of the recorder itself. Other
// topics below its name are those of a robot. A topic that is refused is named once.
func TestUpdate(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	s, in := newSet(t, Config{Log: zap.New(core)})
	defer s.Close()
	for _, found := range []graph.Found{
		{Names: []string{"/a", "/rec/status", "/rec/mark", "/not a name"}, Live: 4},
		{Names: []string{"/a", "/rec/status", "/not a name", "/rec/imu"}},
		{Names: []string{"/unseen"}, Same: true}, // as the result before, so nobody looks
	} {
		s.Update(found)
	}
	if d := cmp.Diff([]string{"/a", "/rec/imu"}, topics(in)); d != "" {
		t.Error(d)
	}
	if all := logs.All(); len(all) != 1 || all[0].ContextMap()["topic"] != "/not a name" {
		t.Errorf("logged: %v", all)
	}
	if got, want := s.NotRecorded(), `topics that are not recorded because ROS does not allow their names: 1, such as "/not a name"`; got != want {
		t.Errorf("not recorded: %s, want %s", got, want)
	}
}

// TestDeserted: of the topics that nobody publishes any more MostDeserted stay, and those that the user named.
// A topic that comes back has the account that it had.
func TestDeserted(t *testing.T) {
	t.Parallel()
	const named, linked, ended, left = "/t000", "/t001", "/t002", 3
	s, in := newSet(t, Config{IsNamed: func(topic topicname.InGraph) bool { return topic == named }})
	defer s.Close()
	var names []string
	for i := range MostDeserted + left + 3 {
		names = append(names, fmt.Sprintf("/t%03d", i))
	}
	s.Update(graph.Found{Names: names, All: true})
	l, err := in.OpenLink(s.subs[linked].topic, testlink.Info(linked, "/p"))
	if err != nil {
		t.Fatal(err)
	}
	s.subs[ended].close()
	s.subs[ended].ended = true
	all := map[string]*account.Topic{}
	for _, name := range names {
		all[name] = s.subs[topicname.InGraph(name)].topic
	}
	s.Update(graph.Found{Names: []string{"/new"}, All: false}) // of one node: says nothing about others
	if n := len(s.subs); n != len(names)+1 {
		t.Fatalf("%d topics", n)
	}
	s.Update(graph.Found{Names: []string{"/new"}, All: true})
	if n := len(s.subs); n != len(names)+1-left || s.subs[named] == nil || s.subs[linked] == nil || s.subs[ended] == nil {
		t.Errorf("%d topics stay, want %d", n, len(names)+1-left)
	}
	l.Closed(nil)
	s.Update(graph.Found{Names: []string{"/new"}, All: true, Same: true})
	if n := len(s.subs); n != len(names)-left || s.subs[linked] == nil {
		t.Errorf("%d topics stay when one more is deserted, want %d", n, len(names)-left)
	}
	s.Update(graph.Found{Names: names, All: true})
	for _, name := range names {
		if sub := s.subs[topicname.InGraph(name)]; sub == nil || sub.topic != all[name] {
			t.Errorf("%s does not have the account that it had", name)
		}
	}
	if n := len(topics(in)); n != len(names)+1 {
		t.Errorf("%d accounts of %d topics", n, len(names)+1)
	}
}

// TestDesertedRemapped: a topic that is found under one name and subscribed to under another is left, too, and found again,
// and stays while one of its names is listed. The trigger of snapshots stays.
func TestDesertedRemapped(t *testing.T) {
	t.Parallel()
	_, args, err := tcpros.ParseArgs([]string{"/a:=/remapped", "/b:=/twice"})
	if err != nil {
		t.Fatal(err)
	}
	node, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "rec", MasterURI: testgraph.New(t).URI, Getenv: func(string) string { return "" }, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close(context.Background()) })
	s, in := New(Config{Node: node, Log: zap.NewNop(), IsNamed: func(topicname.InGraph) bool { return false }}), newIntake(2)
	s.Record(in, in.Accounts)
	if err := s.Listen("/snapshot_trigger", func(string, string) bool { return true }, func(string, int, time.Time) {}); err != nil {
		t.Fatal(err)
	}
	s.LetIn()
	defer s.Close()
	s.Update(graph.Found{Names: []string{"/a", "/b", "/twice", "/not a name"}, All: true})
	first := s.subs["/remapped"]
	if first == nil || len(s.subs) != 3 {
		t.Fatalf("%d topics", len(s.subs))
	}
	names := []string{"/b", "/not a name"}
	for i := range MostDeserted {
		names = append(names, fmt.Sprintf("/t%03d", i))
	}
	s.Update(graph.Found{Names: names, All: true}) // /a is deserted first
	if s.subs["/remapped"] != first {
		t.Fatal("left although few topics are deserted")
	}
	s.Update(graph.Found{Names: []string{"/b", "/not a name"}, All: true})
	if s.subs["/remapped"] != nil {
		t.Error("a topic that was remapped is not left")
	}
	if s.subs["/twice"] == nil || s.subs["/snapshot_trigger"] == nil || len(s.subs) != MostDeserted+2 {
		t.Errorf("%d topics stay; listed under another name: %v, the trigger: %v", len(s.subs), s.subs["/twice"] != nil, s.subs["/snapshot_trigger"] != nil)
	}
	s.Update(graph.Found{Names: []string{"/a", "/b", "/not a name"}, All: true})
	if again := s.subs["/remapped"]; again == nil || again.topic != first.topic {
		t.Error("a topic that is back is not found again, or has another account")
	}
}

// TestEndLimited: a topic is left when it has its messages; the last one ends the recording.
func TestEndLimited(t *testing.T) {
	t.Parallel()
	s, in := newSet(t, Config{})
	defer s.Close()
	for i, name := range []string{"/a", "/b"} {
		if err := s.Add(topicname.InBag(name), Named, time.Time{}); err != nil {
			t.Fatal(err)
		}
		l, err := in.OpenLink(s.subs[topicname.InGraph(name)].topic, testlink.Info(name, "/p"))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && s.EndLimited() {
			t.Error("ended before its last topic")
		}
		l.Frames(testlink.Numbered(1, 2), 2, time.Now())
	}
	if !s.subs["/a"].ended || s.subs["/b"].ended {
		t.Error("the wrong topic is left")
	}
	if !s.EndLimited() {
		t.Error("not ended, although all topics have their messages")
	}
}

// TestNoteWaiting: a topic that the master never heard of waits for the master.
func TestNoteWaiting(t *testing.T) {
	t.Parallel()
	s := New(Config{Node: newNode(t, "http://127.0.0.1:1/", "rec"), Log: zap.NewNop(), IsNamed: func(topicname.InGraph) bool { return true }})
	in := newIntake(0)
	s.Record(in, in.Accounts)
	s.LetIn()
	defer s.Close()
	if err := s.Add("/a", Named, time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.subs["/clock"] = &subscription{topic: in.Accounts.NewTopic("/clock"), close: func() {}} // has no subscription of its own
	s.subs["/early"] = &subscription{sub: s.subs["/a"].sub, close: func() {}}                 // has no account yet
	s.NoteWaiting()
	if all := in.Accounts.Summary(time.Now()).Topics; len(all) != 1 || all[0].Waiting != control.WaitingMaster {
		t.Errorf("%+v", all)
	}
}

// TestLinksWait: links that open before the recording is there wait for it, or end with it.
func TestLinksWait(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]bool{"begins": true, "does not begin": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			robot := newNode(t, m.URI(), "robot")
			pub, err := robot.Advertise(tcpros.AdvertiseOptions{
				Topic: "/t", Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1", MessageDefinition: "string data\n", Latching: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			pub.Source(true).Publish(testlink.Frame(1, 1, 12))
			s := New(Config{Node: newNode(t, m.URI(), "rec"), Log: zap.NewNop(), IsNamed: func(topicname.InGraph) bool { return true }})
			if err := s.Add("/t", Named, time.Time{}); err != nil {
				t.Fatal(err)
			}
			testlink.WaitFor(t, func() bool { return pub.Subscribers() == 1 }) // the link opens
			if !begins {
				s.Close()
				return
			}
			in := newIntake(0)
			s.Record(in, in.Accounts)
			s.LetIn()
			testlink.WaitFor(t, func() bool {
				all := in.Accounts.Summary(time.Now()).Topics
				return len(all) == 1 && all[0].Messages == 1
			})
			s.Close()
		})
	}
}

// TestLogSubscribed: what was subscribed to since the last line is one line, and none if
// nothing was.
func TestLogSubscribed(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	s := New(Config{Log: zap.New(core), CountTopics: true})
	for _, names := range [][]string{{"/a", "/b", "/c"}, nil, {"/d"}} {
		s.fresh = append(s.fresh, names...)
		s.LogNew()
	}
	var got []string
	for _, e := range logs.All() {
		topic, _ := e.ContextMap()["topic"].(string)
		got = append(got, e.Message+topic)
	}
	if d := cmp.Diff([]string{"Subscribing to 3 topics", "Subscribing to/d"}, got); d != "" {
		t.Error(d)
	}
}
