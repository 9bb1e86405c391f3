package rosout_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/program/rosout"
	"github.com/gorosbag/gorosbag/rosmsg"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// TestDefinition: the definition matches the md5sum, and equals the definition of ROS where ROS is
// installed.
func TestDefinition(t *testing.T) {
	t.Parallel()
	typ, err := rosmsg.Parse(rosout.Type, rosout.Definition)
	if err != nil {
		t.Fatal(err)
	}
	if typ.MD5Sum() != rosout.MD5Sum {
		t.Errorf("md5sum %s", typ.MD5Sum())
	}
	source, err := os.ReadFile("/usr/lib/python3/dist-packages/rosgraph_msgs/msg/_Log.py")
	if err != nil {
		t.Skip("rosgraph_msgs of ROS is not installed")
	}
	_, text, _ := strings.Cut(string(source), `_full_text = """`)
	text, _, _ = strings.Cut(text, `"""`)
	if d := cmp.Diff(text, rosout.Definition); d != "" {
		t.Error(d)
	}
}

// graph is a master for the length of a test, and its nodes.
type graph struct {
	t *testing.T
	m *master.Master
}

func newGraph(t *testing.T) graph {
	t.Helper()
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return graph{t, m}
}

func (g graph) node(name string) *tcpros.Node {
	g.t.Helper()
	n, err := tcpros.NewNode(g.t.Context(), tcpros.NodeOptions{BaseName: name, MasterURI: g.m.URI(), Getenv: func(string) string { return "" }})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { n.Close(context.Background()) })
	return n
}

// listener collects the messages of a topic. It implements tcpros.LinkSink.
type listener struct {
	t    *testing.T
	hold chan struct{} // frames are received once hold is closed

	mu   sync.Mutex
	got  []map[string]any
	from map[string]string // the header of the publisher
}

func (g graph) listen(n *tcpros.Node, topic string, hold chan struct{}) *listener {
	g.t.Helper()
	l := &listener{t: g.t, hold: hold}
	_, err := n.Subscribe(tcpros.SubscribeOptions{Topic: topic, Type: rosout.Type, MD5Sum: rosout.MD5Sum, Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.from = map[string]string{}
		for _, f := range i.Header {
			l.from[f.Key] = f.Value
		}
		return l, nil
	}})
	if err != nil {
		g.t.Fatal(err)
	}
	return l
}

// Frames implements tcpros.LinkSink.
func (l *listener) Frames(run []byte, _ int, _ time.Time) {
	<-l.hold
	typ, err := rosmsg.Parse(rosout.Type, rosout.Definition)
	if err != nil {
		l.t.Error(err)
		return
	}
	for len(run) > 0 {
		size := 4 + int(run[0]) + int(run[1])<<8
		text, err := typ.Message(run[4:size]).AppendJSON(nil)
		m := map[string]any{}
		if err != nil || json.Unmarshal(text, &m) != nil {
			l.t.Errorf("%v: %s", err, text)
		}
		run = run[size:]
		l.mu.Lock()
		l.got = append(l.got, m)
		l.mu.Unlock()
	}
}

func (l *listener) Closed(error) {}

func (l *listener) texts() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.got {
		all = append(all, fmt.Sprint(m["msg"]))
	}
	return all
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
		<-time.After(time.Millisecond)
	}
}

func open() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func line(text string) rosout.Line {
	return rosout.Line{Time: time.Unix(1_700_000_000, 5), Level: rosout.Warn, Text: text, File: "a/b.go", Function: "a.b", Line: 7}
}

// TestLines: subscribers get each line once, with the fields of roscpp, and the last one before
// the topic ends.
func TestLines(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	n := g.node("talker")
	if _, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/other", Type: "*", MD5Sum: "*"}); err != nil {
		t.Fatal(err)
	}
	p := rosout.New()
	p.Attach(n)
	l := g.listen(g.node("listener"), "/rosout", open())
	own := g.listen(n, "/rosout", open())
	eventually(t, "both subscribers", func() bool { return n.Publication("/rosout").Subscribers() == 2 })
	p.Send(line("first"))
	p.Send(line("second"))
	eventually(t, "two lines", func() bool { return len(own.texts()) == 2 })
	p.Send(line("last"))
	p.Close()
	p.Send(line("too late"))
	eventually(t, "the last line", func() bool { return len(l.texts()) == 3 })
	if d := cmp.Diff([]string{"first", "second", "last"}, own.texts()); d != "" {
		t.Error(d)
	}
	want := map[string]any{
		"header": map[string]any{"seq": 1.0, "stamp": map[string]any{"secs": 1.7e9, "nsecs": 5.0}, "frame_id": ""},
		"level":  4.0, "name": "/talker", "msg": "second", "file": "a/b.go", "function": "a.b", "line": 7.0,
		"topics": []any{"/other", "/rosout"},
	}
	if d := cmp.Diff(want, l.got[1]); d != "" {
		t.Error(d)
	}
	if l.from["latching"] != "0" || l.from["message_definition"] != rosout.Definition {
		t.Errorf("header %v", l.from)
	}
}

// TestTopicsAreLeftOut: as with roscpp, a parameter switches the field topics off.
func TestTopicsAreLeftOut(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	n := g.node("talker")
	if err := n.Master().SetParam(t.Context(), "/rosout_disable_topics_generation", true); err != nil {
		t.Fatal(err)
	}
	p := rosout.New()
	p.Attach(n)
	defer p.Close()
	l := g.listen(n, "/rosout", open())
	eventually(t, "the subscriber", func() bool { return n.Publication("/rosout").Subscribers() == 1 })
	p.Send(line("x"))
	eventually(t, "the line", func() bool { return len(l.texts()) == 1 })
	if topics, _ := l.got[0]["topics"].([]any); len(topics) > 0 {
		t.Errorf("topics %v", topics)
	}
}

// TestDeafSubscriber: a subscriber that does not read costs neither time nor memory.
func TestDeafSubscriber(t *testing.T) {
	t.Parallel()
	g := newGraph(t)
	n := g.node("talker")
	p := rosout.New()
	p.Attach(n)
	hold := make(chan struct{})
	g.listen(g.node("deaf"), "/rosout", hold)
	defer close(hold)
	eventually(t, "the subscriber", func() bool { return n.Publication("/rosout").Subscribers() == 1 })
	pub := n.Publication("/rosout")
	text := strings.Repeat("x", 4000)
	eventually(t, "a full queue", func() bool {
		for range 100 {
			p.Send(line(text))
		}
		return pub.Dropped() > 0
	})
	if s := pub.Stats(); s[0].Queued > 200 {
		t.Errorf("%d lines wait", s[0].Queued)
	}
	began := time.Now()
	p.Close()
	if took := time.Since(began); took > 5*time.Second { // 0.3 s when the machine is idle
		t.Errorf("closing took %v", took)
	}
}

// TestSharedTopic: if the node plays a recorded /rosout, the lines are published on the same topic,
// until that publication ends.
func TestSharedTopic(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		md5  string
		want int
	}{"same type": {rosout.MD5Sum, 1}, "another type": {"992ce8a1687cec8c8bd883ec73ca41d1", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGraph(t)
			n := g.node("player")
			pub, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/rosout", Type: "a/B", MD5Sum: tc.md5})
			if err != nil {
				t.Fatal(err)
			}
			p := rosout.New()
			p.Attach(n)
			got := make(chan struct{}, 10)
			_, err = g.node("listener").Subscribe(tcpros.SubscribeOptions{Topic: "/rosout", Type: "*", MD5Sum: "*", Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) {
				return counter(got), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the subscriber", func() bool { return pub.Subscribers() == 1 })
			p.Send(line("x"))
			p.Close()
			if err := n.Drain(t.Context()); err != nil { // the subscriber has all published messages
				t.Error(err)
			}
			if len(got) != tc.want {
				t.Errorf("%d lines", len(got))
			}
		})
	}
}

// counter counts frames. It implements tcpros.LinkSink.
type counter chan struct{}

func (c counter) Frames(_ []byte, n int, _ time.Time) {
	for range n {
		c <- struct{}{}
	}
}
func (c counter) Closed(error) {}

// TestNobodyToTell: without a node, without a master, and when disabled, no call waits.
func TestNobodyToTell(t *testing.T) {
	t.Parallel()
	p := rosout.New()
	for range 5000 {
		p.Send(line("x"))
	}
	p.Close()
	var none *rosout.Publisher
	none.Attach(nil)
	none.Send(line("x"))
	none.Close()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: "alone", MasterURI: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close(context.Background())
	p = rosout.New()
	p.Attach(n)
	p.Send(line("x"))
	p.Close()
}
