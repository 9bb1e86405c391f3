package recorder

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/subscribe"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// otherType is the header of a node that has changed its mind about a topic.
func otherType(info tcpros.LinkInfo) tcpros.LinkInfo {
	info.Header = slices.Clone(info.Header)
	for i, f := range info.Header {
		switch f.Key {
		case "type":
			info.Header[i].Value = "test/Other"
		case "md5sum":
			info.Header[i].Value = "fedcba9876543210fedcba9876543210"
		}
	}
	return info
}

// TestTopicComesAndGoes (N16): a node that comes and goes, each time with another type,
// costs two connections, however often, and no memory.
func TestTopicComesAndGoes(t *testing.T) {
	p := testPipeline(t, Options{}, nil)
	topic := p.AddTopic("/t", "/t", time.Time{})
	both := []tcpros.LinkInfo{testlink.Info("/t", "/p"), otherType(testlink.Info("/t", "/p"))}
	cycle := func(i int) {
		l, err := p.OpenLink(topic, both[i%2])
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Frame(uint32(i%2), uint32(i/2), 12), 1, time.Now())
		l.Closed(nil)
		p.tick(time.Now())
	}
	const warm, cycles = 1000, 10_000
	for i := range warm {
		cycle(i)
	}
	before := heapInUse()
	for i := warm; i < cycles; i++ {
		cycle(i)
	}
	if after := heapInUse(); after > before+2<<20 {
		t.Errorf("%d cycles take %d bytes", cycles-warm, after-before)
	}
	if n := p.Usage().Connections; n != 2 || len(topic.Publishers()) != 1 || topic.IsLinked() {
		t.Errorf("%d connections, %d publishers, linked: %v", n, len(topic.Publishers()), topic.IsLinked())
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "two types", byTime, 2, cycles/2)
	for _, c := range testlink.OpenBag(t, p.Current().Target()).Connections() {
		if c.Topic != "/t" {
			continue // the account of losses
		}
		if i := slices.IndexFunc(both, func(info tcpros.LinkInfo) bool { return slices.Equal(info.Header, tcpros.Header(c.Header)) }); i < 0 {
			t.Errorf("connection with the header %v", c.Header)
		}
	}
}

// TestPublisherComesAndGoes is the same from the socket on: nothing that is sent is lost,
// and nothing is left of the links.
func TestPublisherComesAndGoes(t *testing.T) {
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rec, robot := startNode(t, m, "record"), startNode(t, m, "robot")
	p := testPipeline(t, Options{}, nil)
	const topics, cycles = 12, 4 // of each topic: the master is asked at once about so many changes, then each second
	for i := range topics {
		name := topicName(i)
		topic := p.AddTopic(topicname.InBag(name), topicname.InGraph(name), time.Time{})
		sub, err := rec.Subscribe(tcpros.SubscribeOptions{Topic: name, Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			return p.OpenLink(topic, info)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
	}
	counts := func() (recorded, links int) {
		for _, s := range p.Stats(time.Now()).Topics {
			recorded += int(s.Messages)
			links += s.Publishers
		}
		return recorded, links
	}
	goroutines, files := 0, 0
	for i := range topics * cycles {
		name, odd := topicName(i%topics), i/topics%2
		info := testlink.Info(name, "/robot")
		if odd == 1 {
			info = otherType(info)
		}
		h := rosbag.Header(info.Header)
		pub, err := robot.Advertise(tcpros.AdvertiseOptions{Topic: name, Latching: true, Type: h.Type(), MD5Sum: h.MD5Sum(), MessageDefinition: h.MessageDefinition()})
		if err != nil {
			t.Fatal(err)
		}
		pub.Source(true).Publish(testlink.Frame(uint32(i%topics*2+odd), uint32(i/topics/2), 12))
		testlink.WaitFor(t, func() bool { recorded, _ := counts(); return recorded == i+1 })
		pub.Close()
		if i == topics {
			goroutines, files = runtime.NumGoroutine(), openFiles()
		}
	}
	testlink.WaitFor(t, func() bool { _, links := counts(); return links == 0 })
	testlink.WaitFor(t, func() bool { return runtime.NumGoroutine() <= goroutines+4 && openFiles() <= files+4 })
	if err := rec.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := testlink.Numbers(t, p.Current().Target())
	checkCount(t, "two types of each topic", byTime, 2*topics, cycles/2)
	if losses := (&control.Summary{Topics: accountsNow(p)}).Losses(); losses != "" {
		t.Errorf("%s, although nothing was lost", losses)
	}
	if all := testlink.OpenBag(t, p.Current().Target()).Connections(); len(all) != 2*topics {
		for _, c := range all {
			t.Logf("%d %s %q", c.ID, c.Topic, c.Header)
		}
		t.Errorf("%d connections", len(all))
	}
}

// startNode starts a node, which ends with the test.
func startNode(t *testing.T, m *master.Master, name string) *tcpros.Node {
	t.Helper()
	n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: name, MasterURI: m.URI(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close(context.Background()) })
	return n
}

func topicName(i int) string { return "/t" + strconv.Itoa(i) }

// openFiles counts those of this process, where there is a /proc.
func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// TestTopicsComeAndGo: of many topics that came and went only the accounts are left, and
// one that comes back goes on in its own.
func TestTopicsComeAndGo(t *testing.T) {
	m, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	rec, robot := startNode(t, m, "record"), startNode(t, m, "robot")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	steer := new(Control)
	o := Options{
		Node: rec, Control: steer, PollInterval: 50 * time.Millisecond, Output: Output{Name: filepath.Join(t.TempDir(), "out")},
		Select: Selection{Regex: true, Topics: []string{"/t[0-9]+"}},
	}
	ended := make(chan control.Summary, 1)
	go func() {
		s, err := Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		ended <- s
	}()
	messages := func() (n uint64) {
		s, err := steer.Stats()
		if err != nil {
			return 0 // not yet
		}
		for _, topic := range s.Topics {
			if strings.HasPrefix(topic.Topic, "/t") { // not the recorder's own summary
				n += topic.Messages
			}
		}
		return n
	}
	advertise := func(name string) *tcpros.Publication {
		pub, err := robot.Advertise(tcpros.AdvertiseOptions{Topic: name, Type: "std_msgs/String", MD5Sum: "992ce8a1687cec8c8bd883ec73ca41d1", MessageDefinition: "string data\n", Latching: true})
		if err != nil {
			t.Fatal(err)
		}
		return pub
	}
	sent := uint64(0)
	send := func(topics ...string) {
		var pubs []*tcpros.Publication
		for _, name := range topics {
			pub := advertise(name)
			pub.Source(true).Publish(testlink.Frame(1, 0, 12))
			pubs = append(pubs, pub)
		}
		sent += uint64(len(topics))
		testlink.WaitFor(t, func() bool { return messages() == sent })
		// A publisher that the master still lists five seconds after its link has ended
		// counts as lost. Unregistering takes a call for each, and on a busy machine many
		// calls take longer than that.
		for i, pub := range pubs {
			pub.Close()
			testlink.WaitFor(t, func() bool {
				state, err := robot.Master().SystemState(t.Context())
				return err == nil && len(state.Publishers[topics[i]]) == 0
			})
		}
	}
	const rounds, each = 6, 40
	for round := range rounds {
		var names []string
		for i := range each {
			names = append(names, topicName(round*each+i))
		}
		send(names...)
	}
	defer advertise("/t99999").Close() // what is left is found out by comparison with what is listed
	testlink.WaitFor(t, func() bool {
		state, err := robot.Master().SystemState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		subscribed := 0
		for _, nodes := range state.Subscribers {
			subscribed += len(nodes)
		}
		return subscribed <= subscribe.MostDeserted+1 && len(state.Subscribers["/t99999"]) > 0
	})
	send(topicName(0)) // it was left first
	stop()
	s := <-ended
	if err := rec.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if len(s.Topics) != rounds*each+1 || s.Messages() != sent || s.Losses() != "" {
		t.Errorf("%d topics, %d messages of %d, lost: %s", len(s.Topics), s.Messages(), sent, s.Losses())
	}
	for _, topic := range s.Topics {
		if topic.Topic == topicName(0) && topic.Messages != 2 {
			t.Errorf("the topic that came back: %+v", topic)
		}
	}
}
