package live_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/viewer"
)

// recordWithViewers starts gorecord with a page and returns where viewers connect to.
func recordWithViewers(g *harness.Graph, args ...string) (rec *harness.Process, host string) {
	g.T.Helper()
	host = "127.0.0.1:" + harness.FreePort(g.T)
	rec = g.Start("gorecord", append([]string{"-O", "out", "--http=" + host}, args...)...)
	rec.Printed("Recording to")
	return rec, host
}

// A type with a type in it, as a connection header has it.
const nestedDefinition = "std_msgs/Header header\nfloat64 value\n" +
	"================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

// TestEveryTopic: a viewer is offered every recorded topic, with the definition of its publisher, in
// batches of 100 at most, and gets what is in the bag with the times in the bag.
func TestEveryTopic(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "talker")
	const many = 250
	publications := make([]*tcpros.Source, 0, many)
	for i := range many {
		publications = append(publications, peers.Advertise(g, n, fmt.Sprintf("/many%03d", i), false).Source(false))
	}
	advertise := func(topic, typ, md5, definition string) *tcpros.Source {
		p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: topic, Type: typ, MD5Sum: md5, MessageDefinition: definition})
		if err != nil {
			t.Fatal(err)
		}
		return p.Source(false)
	}
	empty := advertise("/empty", "std_msgs/Empty", "d41d8cd98f00b204e9800998ecf8427e", "")
	nested := advertise("/nested", "demo/Stamped", "1234567890abcdef1234567890abcdef", nestedDefinition)
	rec, host := recordWithViewers(g, "-a")
	v := connect(t, host, viewer.Options{})
	offered(t, v, "/many000", fmt.Sprintf("/many%03d", many-1), "/empty", "/nested")
	for _, e := range v.Events() {
		if len(e.Channels) > 100 {
			t.Errorf("%d channels in one message", len(e.Channels))
		}
	}
	if e := v.Events(); len(e) == 0 || e[0].Kind != viewer.Greeting {
		t.Errorf("the first message is not serverInfo: %s", told(e))
	}
	c, _ := v.Channel("/nested")
	if c.Encoding != "ros1" || c.SchemaEncoding != "" && c.SchemaEncoding != "ros1msg" || c.SchemaName != "demo/Stamped" || c.Schema != nestedDefinition {
		t.Errorf("/nested is offered as %+v", c)
	}
	subscribe(t, v, "/many007", "/empty", "/nested")
	large := make([]byte, 300_000) // read past the buffer of the link
	binary.LittleEndian.PutUint32(large, uint32(len(large)-4))
	binary.LittleEndian.PutUint32(large[4:], uint32(len(large)-8))
	stamped := append(binary.LittleEndian.AppendUint32(nil, 28), make([]byte, 28)...)
	sent := false
	harness.Eventually(t, "messages of each topic arrive", func() bool {
		empty.PublishNow([]byte{0, 0, 0, 0})
		nested.PublishNow(stamped)
		publications[7].PublishNow(peers.StringFrame("text"))
		if !sent && len(v.Messages("/many007")) > 0 { // the subscription is there
			publications[7].PublishNow(large)
			sent = true
		}
		return len(v.Messages("/empty")) > 3 && len(v.Messages("/nested")) > 3 && len(v.Messages("/many007")) > 3 &&
			slices.ContainsFunc(v.Messages("/many007"), func(e viewer.Event) bool { return len(e.Payload) == len(large)-4 })
	})
	rec.Stop()
	bag := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
	for _, topic := range []string{"/empty", "/nested", "/many007"} {
		seen := v.Messages(topic)
		recorded := map[uint64][]byte{}
		for _, m := range bag[topic].Messages {
			recorded[uint64(m.Time.Std().UnixNano())] = m.Data
		}
		for _, e := range seen {
			if data, ok := recorded[e.At]; !ok || !bytes.Equal(data, e.Payload) {
				t.Fatalf("%s: the bag has no message at %d with these %d bytes (recorded: %v)", topic, e.At, len(e.Payload), ok)
			}
		}
	}
}

// TestOneSubscription: viewers cost publishers nothing. The master lists the recorder once for each
// topic, and the publisher has one link, whatever the number of viewers.
func TestOneSubscription(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	n := peers.Node(g, "talker")
	p := peers.Advertise(g, n, "/t", false)
	source := p.Source(false)
	_, host := recordWithViewers(g, "-a", "-x", "/rosout.*", "--no-services") // services are registered later, and would change the graph, too
	harness.Eventually(t, "the recorder is linked", func() bool { return p.Subscribers() == 1 })
	before := subscribers(t, n)
	for _, viewers := range []int{1, 5} {
		var all []*viewer.Viewer
		for range viewers {
			all = append(all, watch(t, host, "/t"))
		}
		harness.Eventually(t, "each viewer gets messages", func() bool {
			source.PublishNow(peers.StringFrame("x"))
			return !slices.ContainsFunc(all, func(v *viewer.Viewer) bool { return len(v.Messages("/t")) == 0 })
		})
		if now := subscribers(t, n); now != before {
			t.Errorf("%d viewers change the graph:\n%s\nbefore:\n%s", viewers, now, before)
		}
		if links := p.Subscribers(); links != 1 {
			t.Errorf("with %d viewers the publisher has %d links", viewers, links)
		}
	}
}

// subscribers returns who subscribes to what, and what services there are, as a text.
func subscribers(t *testing.T, n *tcpros.Node) string {
	t.Helper()
	s, err := n.Master().SystemState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for topic, nodes := range s.Subscribers {
		slices.Sort(nodes)
		lines = append(lines, fmt.Sprint(topic, nodes))
	}
	for service, nodes := range s.Services {
		lines = append(lines, fmt.Sprint(service, nodes))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestLatchedTopics: each viewer gets the latched message of each publisher once, before newer ones.
func TestLatchedTopics(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	one, two := peers.Node(g, "one"), peers.Node(g, "two")
	a, b := peers.Advertise(g, one, "/map", true).Source(true), peers.Advertise(g, two, "/map", true).Source(true)
	a.PublishNow(peers.StringFrame("a1"))
	b.PublishNow(peers.StringFrame("b1"))
	_, host := recordWithViewers(g, "-a")
	g.Eventually("both are recorded", func() bool {
		return webMessages(t, host, "/map") == 2
	})
	first := watch(t, host, "/map")
	same := func(v *viewer.Viewer, want ...string) {
		t.Helper()
		harness.Eventually(t, fmt.Sprintf("the viewer gets %q", want), func() bool { return len(texts(v, "/map")) >= len(want) }, func() string { return fmt.Sprint(texts(v, "/map")) })
		got := texts(v, "/map")
		slices.Sort(got[:min(2, len(got))])
		if !slices.Equal(got, want) {
			t.Errorf("a viewer gets %q, want %q", got, want)
		}
	}
	same(first, "a1", "b1")
	a.PublishNow(peers.StringFrame("a2"))
	same(first, "a1", "b1", "a2")
	second := watch(t, host, "/map")
	same(second, "a2", "b1")
	b.PublishNow(peers.StringFrame("b2"))
	same(second, "a2", "b1", "b2")
	same(first, "a1", "b1", "a2", "b2")

	// A viewer that subscribes once more gets them once more.
	if err := second.Unsubscribe("/map"); err != nil {
		t.Fatal(err)
	}
	if err := second.Subscribe("/map"); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the messages come again", func() bool { return len(texts(second, "/map")) >= 5 })
	got := texts(second, "/map")[3:]
	slices.Sort(got)
	if !slices.Equal(got, []string{"a2", "b2"}) {
		t.Errorf("a second subscription gets %q", got)
	}
}

// TestTopicChanges: channels come and go with their publishers, and a second type of a topic is told,
// not mixed in.
func TestTopicChanges(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	n, other := peers.Node(g, "talker"), peers.Node(g, "other")
	_, host := recordWithViewers(g, "-a")
	v := connect(t, host, viewer.Options{})
	offer := func(n *tcpros.Node, typ, md5, definition string) *tcpros.Publication {
		p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/t", Type: typ, MD5Sum: md5, MessageDefinition: definition})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := offer(n, "std_msgs/String", peers.StringMD5, "string data\n")
	offered(t, v, "/t")
	was, _ := v.Channel("/t")
	subscribe(t, v, "/t")
	harness.Eventually(t, "messages arrive", func() bool {
		p.Source(false).PublishNow(peers.StringFrame("x"))
		return len(v.Messages("/t")) > 0
	})
	q := offer(other, "std_msgs/UInt32", "304a39449588c7f8ce2df6e8001c5fce", "uint32 data\n")
	hasStatus(t, v, 1, func(text string) bool {
		return strings.Contains(text, "/t") && strings.Contains(text, "std_msgs/UInt32")
	})
	if c, _ := v.Channel("/t"); c != was {
		t.Errorf("the channel changes to %+v", c)
	}
	for range 10 { // of the second type: not for this subscription
		q.Source(false).PublishNow([]byte{4, 0, 0, 0, 1, 2, 3, 4})
	}
	p.Source(false).PublishNow(peers.StringFrame("last"))
	harness.Eventually(t, "the last message arrives", func() bool { return slices.Contains(texts(v, "/t"), "last") })
	if slices.ContainsFunc(v.Messages("/t"), func(e viewer.Event) bool { return bytes.Equal(e.Payload, []byte{1, 2, 3, 4}) }) {
		t.Error("messages of another type are mixed in")
	}

	p.Close()
	harness.Eventually(t, "the other type takes over", func() bool {
		c, ok := v.Channel("/t")
		return ok && c.SchemaName == "std_msgs/UInt32" && c.ID != was.ID
	})
	q.Close()
	harness.Eventually(t, "the topic is withdrawn", func() bool { return !slices.Contains(v.Topics(), "/t") })
	offer(n, "std_msgs/String", peers.StringMD5, "string data\n")
	offered(t, v, "/t")
	if c, _ := v.Channel("/t"); c.SchemaName != "std_msgs/String" {
		t.Errorf("the publisher that is back is offered as %+v", c)
	}
	// An ID means one channel forever.
	of := map[uint32]viewer.Channel{}
	for _, e := range v.Events() {
		for _, c := range e.Channels {
			if before, known := of[c.ID]; known && before != c {
				t.Errorf("channel %d is %+v and was %+v", c.ID, c, before)
			}
			of[c.ID] = c
		}
	}
}

// TestSlowViewer: a viewer that reads 1 kB/s beside 100 MB/s costs the recording nothing, and others
// nothing; it still gets the small topic, and newer images instead of all.
func TestSlowViewer(t *testing.T) {
	t.Parallel()
	harness.Long(t, "records 100 MB/s for seconds")
	g := harness.NewGraph(t, "gomaster")
	ctx, cancel := context.WithTimeout(t.Context(), 10*harness.Timeout)
	defer cancel()
	images := peers.Offer(ctx, g, "/images")
	n := peers.Node(g, "talker")
	small := peers.Advertise(g, n, "/small", false).Source(false)
	rec, host := recordWithViewers(g, "/images", "/small")
	const count, size = 800, 1_000_000
	sent := make(chan error, 1)
	release := make(chan struct{})
	go func() {
		select {
		case <-release:
		case <-ctx.Done():
		}
		sent <- images.Pace(ctx, size, count, 10*time.Millisecond, func(int) {})
	}()
	offeredBoth := connect(t, host, viewer.Options{})
	close(release)
	offered(t, offeredBoth, "/images", "/small")
	offeredBoth.Close()
	var mu sync.Mutex
	limit := 1000 // bytes a second
	slow := connect(t, host, viewer.Options{ReadBuffer: 16 << 10, Wrap: slowly(&mu, &limit)})
	fast := watch(t, host, "/small")
	// The slow viewer reads the offers at its own pace: ask by what the other one knows.
	subscribeAs(t, slow, fast, "/images", "/small")
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
				small.PublishNow(peers.StringFrame(fmt.Sprintf("%06d", i)))
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	skipped := webState(t, host).Live.Skipped
	mu.Lock()
	limit = 1 << 30 // now it reads what is queued for it
	mu.Unlock()
	harness.Eventually(t, "the small topic and an image arrive", func() bool {
		return len(slow.Messages("/small")) > 0 && len(slow.Messages("/images")) > 0
	}, func() string { return told(slow.Events()) })
	last := len(texts(fast, "/small"))
	harness.Eventually(t, "the other viewer got every message", func() bool { return len(texts(fast, "/small")) > last })
	cancel()
	<-done
	if all := texts(fast, "/small"); len(all) > 1 {
		var a, b int
		fmt.Sscanf(all[0], "%d", &a)
		fmt.Sscanf(all[len(all)-1], "%d", &b)
		if missing := b - a + 1 - len(all); missing > 0 {
			t.Errorf("the fast viewer misses %d of %d messages", missing, b-a+1)
		}
	}
	if skipped == 0 {
		t.Error("no skipped messages are counted")
	}
	warnings := 0
	for _, s := range slow.Statuses() {
		if s.Level == 1 {
			warnings++
		}
	}
	if warnings < 1 || warnings > 3 {
		t.Errorf("%d warnings: %+v", warnings, slow.Statuses())
	}
	rec.Stop() // exit code 0: nothing was lost
	bag := bags.Read(t, filepath.Join(g.Dir, "out.bag"))
	if got := len(bag["/images"].Messages); got != count {
		t.Errorf("%d of %d images are recorded", got, count)
	}
}

// TestSimTime: with /use_sim_time viewers follow the clock, also back, and otherwise no time is sent.
func TestSimTime(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	if _, err := xmlrpc.Call(t.Context(), xmlrpc.NewHTTPClient(harness.Timeout), g.URI(), "setParam", "/test", "/use_sim_time", true); err != nil {
		t.Fatal(err)
	}
	n := peers.Node(g, "simulator")
	clock, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/clock", Type: "rosgraph_msgs/Clock", MD5Sum: "a9c97c1d230cfc112e270351a944ee47", MessageDefinition: "time clock\n"})
	if err != nil {
		t.Fatal(err)
	}
	set := func(sec uint32) {
		clock.Source(false).PublishNow(append(binary.LittleEndian.AppendUint32([]byte{8, 0, 0, 0}, sec), 0, 0, 0, 0))
	}
	chat := peers.Advertise(g, n, "/chat", false).Source(false)
	host := "127.0.0.1:" + harness.FreePort(t)
	rec := g.Start("gorecord", "-a", "-O", "out", "--http="+host)
	harness.Eventually(t, "the recording begins with the clock", func() bool {
		set(1000)
		return strings.Contains(rec.Out.String(), "Recording to")
	})
	v := connect(t, host, viewer.Options{})
	subscribe(t, v, "/clock", "/chat")
	if i := last(v.Info()); !contains(i.Capabilities, "time") {
		t.Errorf("capabilities %q", i.Capabilities)
	}
	told := func(sec uint64) bool {
		times := times(v)
		return len(times) > 0 && times[len(times)-1] == sec*1e9
	}
	for _, sec := range []uint32{2000, 500} { // the second one is a reset of the simulator
		harness.Eventually(t, fmt.Sprintf("the viewer is told %d s", sec), func() bool { set(sec); return told(uint64(sec)) }, func() string { return fmt.Sprint(times(v)) })
		chat.PublishNow(peers.StringFrame(fmt.Sprint(sec)))
		harness.Eventually(t, "a message comes with the stamp of the clock", func() bool {
			return slices.ContainsFunc(v.Messages("/chat"), func(e viewer.Event) bool {
				return string(e.Payload[4:]) == fmt.Sprint(sec) && e.At == uint64(sec)*1e9
			})
		})
	}
	if len(v.Messages("/clock")) == 0 {
		t.Error("/clock is not forwarded")
	}
}

// times returns the times that a viewer was told.
func times(v *viewer.Viewer) (all []uint64) {
	for _, e := range v.Events() {
		if e.Kind == viewer.Clock {
			all = append(all, e.At)
		}
	}
	return all
}
