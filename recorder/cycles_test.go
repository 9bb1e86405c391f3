package recorder

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
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
	topic := p.addTopic("/t")
	both := []tcpros.LinkInfo{linkInfo("/t", "/p"), otherType(linkInfo("/t", "/p"))}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	cycle := func(i int) {
		l, err := p.openLink(topic, both[i%2])
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(frame(uint32(i%2), uint32(i/2), 12), 1, time.Now())
		l.Closed(nil)
		p.tick(time.Now())
	}
	const warm, cycles = 1000, 10_000
	for i := range warm {
		cycle(i)
	}
	before := heap()
	for i := warm; i < cycles; i++ {
		cycle(i)
	}
	if after := heap(); after > before+2<<20 {
		t.Errorf("%d cycles take %d bytes", cycles-warm, after-before)
	}
	if len(p.conns) != 2 || len(topic.publishers) != 1 || topic.linked != 0 {
		t.Errorf("%d connections, %d publishers, %d links", len(p.conns), len(topic.publishers), topic.linked)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := numbers(t, p.out.target)
	checkCount(t, "two types", byTime, 2, cycles/2)
	for _, c := range openBag(t, p.out.target).Connections() {
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
	start := func(name string) *tcpros.Node {
		n, err := tcpros.NewNode(t.Context(), tcpros.NodeOptions{BaseName: name, MasterURI: m.URI(), Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close(t.Context()) })
		return n
	}
	rec, robot := start("record"), start("robot")
	p := testPipeline(t, Options{}, nil)
	const topics, cycles = 12, 4 // of each topic: the master is asked at once about so many changes, then each second
	for i := range topics {
		name := topicName(i)
		topic := p.addTopic(name)
		sub, err := rec.Subscribe(tcpros.SubscribeOptions{Topic: name, Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			return p.openLink(topic, info)
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
	}
	count := func(of func(*topic) int) (n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, topic := range p.topics {
			n += of(topic)
		}
		return n
	}
	recorded := func() int { return count(func(t *topic) int { return int(t.messages) }) }
	goroutines, files := 0, 0
	for i := range topics * cycles {
		name, odd := topicName(i%topics), i/topics%2
		info := linkInfo(name, "/robot")
		if odd == 1 {
			info = otherType(info)
		}
		h := bagfmt.ConnectionHeader(info.Header)
		pub, err := robot.Advertise(tcpros.AdvertiseOptions{Topic: name, Type: h.Type(), MD5Sum: h.MD5Sum(), MessageDefinition: h.MessageDefinition()})
		if err != nil {
			t.Fatal(err)
		}
		pub.Source(true).Publish(frame(uint32(i%topics*2+odd), uint32(i/topics/2), 12))
		waitFor(t, func() bool { return recorded() == i+1 })
		pub.Close()
		if i == topics {
			goroutines, files = runtime.NumGoroutine(), openFiles()
		}
	}
	waitFor(t, func() bool { return count(func(t *topic) int { return t.linked }) == 0 })
	waitFor(t, func() bool { return runtime.NumGoroutine() <= goroutines+4 && openFiles() <= files+4 })
	if err := rec.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	byTime, _ := numbers(t, p.out.target)
	checkCount(t, "two types of each topic", byTime, 2*topics, cycles/2)
	if len(p.conns) != 2*topics {
		t.Errorf("%d connections", len(p.conns))
	}
}

func topicName(i int) string { return "/t" + strconv.Itoa(i) }

// openFiles counts those of this process, where there is a /proc.
func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}
