package recorder

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
	"github.com/gorosbag/gorosbag/tcpros"
)

// withDefinition is linkInfo of a publisher with another definition.
func withDefinition(topic, publisher, definition string) tcpros.LinkInfo {
	info := testlink.Info(topic, publisher)
	for i := range info.Header {
		if info.Header[i].Key == "message_definition" {
			info.Header[i].Value = definition
		}
	}
	info.PublisherURI = "http://" + publisher + ":1/"
	return info
}

// heldByConnections returns what the connections count, and how many there are.
func heldByConnections(p *pipeline) (bytes int64, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections.held, len(p.connections.all)
}

// rotate begins the next file and waits until the one before is closed.
func rotate(t *testing.T, p *pipeline) {
	t.Helper()
	c, err := p.requestSplit(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.closedFile(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestDefinitionsAreShared: all connections with one definition hold it once, whosever
// topic they are of, and the last of them gives it back.
func TestDefinitionsAreShared(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{}, nil)
	text := strings.Repeat("float64 x\n", 10_000)
	var links []*link
	for i := range 20 {
		topic := p.addTopic(fmt.Sprintf("/t%d", i%3))
		l, err := p.openLink(topic, withDefinition(topic.name, fmt.Sprintf("/p%d", i), text))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, l)
	}
	if bytes, n := heldByConnections(p); n != 20 || bytes > int64(len(text))+20*3000 {
		t.Errorf("%d connections with one definition of %d bytes count %d", n, len(text), bytes)
	}
	for _, l := range links {
		l.Closed(nil)
	}
	flushOpen(p)
	for _, topic := range p.topics {
		p.foldPublishers(topic, 0, func(*loss.Publisher) bool { return true })
	}
	if bytes, n := heldByConnections(p); n != 0 || bytes != 0 || len(p.connections.definitions) != 0 {
		t.Errorf("%d connections, %d bytes, %d definitions are left", n, bytes, len(p.connections.definitions))
	}
	for _, topic := range p.topics {
		if topic.headers != 0 {
			t.Errorf("%s: %d bytes are left", topic.name, topic.headers)
		}
	}
	closePipeline(t, p)
}

// TestHeadersAreBounded: publishers whose headers differ at each connection are refused
// when those hold too much, which is counted. Other topics find room for theirs. When the
// bag is closed, all is given back.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true}, nil)
	bad := p.addTopic("/bad")
	big := strings.Repeat("x", 1<<20)
	refused := 0
	attack := func(n int) {
		l, err := p.openLink(bad, withDefinition("/bad", fmt.Sprintf("/bad%d", n), fmt.Sprint(n, big)))
		if full := (*headersFullError)(nil); errors.As(err, &full) {
			refused++
			return
		} else if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Frame(1, uint32(n), 100), 1, time.Now())
		l.Closed(nil)
		p.tick(time.Now().Add(time.Duration(n+1) * time.Minute))
	}
	for n := range 30 {
		attack(n)
	}
	taken := 30 - refused
	if bytes, _ := heldByConnections(p); bytes > headerBytes*memory.FairnessFactor/(memory.FairnessFactor+1)+1<<20 || taken < 10 {
		t.Errorf("%d of 30 headers of 1 MiB were taken, %d bytes", taken, bytes)
	}
	if _, err := p.openLink(p.addTopic("/good"), withDefinition("/good", "/good", big[:100_000])); err != nil {
		t.Errorf("a publisher of another topic: %v", err)
	}
	p.mu.Lock()
	s := Summary{Topics: p.accounts(time.Now())}
	p.mu.Unlock()
	if s.Refused() != refused || !strings.Contains(s.Losses(), "refused") {
		t.Errorf("%d counted as refused, want %d: %s", s.Refused(), refused, s.Losses())
	}
	rotate(t, p)
	p.tick(time.Now().Add(time.Hour))
	if bytes, n := heldByConnections(p); n != 1 || bytes > 200_000 {
		t.Errorf("%d connections, %d bytes after the bag is closed", n, bytes)
	}
	closePipeline(t, p)
	if got := len(testlink.OpenBag(t, p.finished.list()[0].Name).Connections()); got != taken {
		t.Errorf("%d connections in the bag, want %d", got, taken)
	}
}

// TestGoneConnectionsStayWhileNeeded: by the bag that has them, by a latched message, by
// the ring.
func TestGoneConnectionsStayWhileNeeded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	sweep := func(p *pipeline) int {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.releaseGone(now)
		return len(p.connections.all)
	}
	p := testPipeline(t, Options{Split: true}, nil)
	idle, sent, remembered := open(t, p, "/idle", "/p"), open(t, p, "/sent", "/p"), latching(t, p, "/map", "/p")
	sent.Frames(testlink.Frame(1, 0, 100), 1, now)
	remembered.Frames(testlink.Frame(1, 0, 100), 1, now)
	if n := sweep(p); n != 3 {
		t.Errorf("%d connections with links", n)
	}
	for _, l := range []*link{idle, sent, remembered} {
		l.Closed(nil)
	}
	if n := sweep(p); n != 2 {
		t.Errorf("%d connections, want the two with messages", n)
	}
	rotate(t, p)
	if n := sweep(p); n != 1 {
		t.Errorf("%d connections after the bag is closed, want the one of the latched message", n)
	}
	rotate(t, p)
	closePipeline(t, p)
	for _, b := range p.finished.list()[1:] {
		if c := testlink.OpenBag(t, b.Name).Connections(); len(c) != 1 || c[0].Topic != "/map" {
			t.Errorf("%s has %v", b.Name, c)
		}
	}

	ring := ringPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10})
	l := open(t, ring, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 100), 1, now)
	l.Closed(nil)
	flushOpen(ring)
	testlink.WaitFor(t, func() bool {
		ring.mu.Lock()
		defer ring.mu.Unlock()
		return len(ring.ring.chunks) == 1
	})
	if n := sweep(ring); n != 1 {
		t.Error("the ring has a message without its connection")
	}
	sn, err := ring.snapshots.trigger(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-sn.out.finished
	if n := sweep(ring); n != 0 {
		t.Errorf("%d connections after the snapshot", n)
	}
	closePipeline(t, ring)
	if got := numbersOf(t, sn.out.Target()); len(got) != 1 {
		t.Errorf("%d messages in the snapshot", len(got))
	}
}

// TestGoneLatchedPublishers: of many that came and went the latest are repeated in the
// next bag.
func TestGoneLatchedPublishers(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true}, nil)
	topic := p.addTopic("/goal")
	for n := range uint32(100) {
		info := testlink.LatchedInfo("/goal", fmt.Sprintf("/rostopic_%d", n))
		l, err := p.openLink(topic, info)
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Frame(1, n, 100), 1, time.Now())
		l.Closed(nil)
	}
	p.tick(time.Now().Add(time.Hour))
	rotate(t, p)
	closePipeline(t, p)
	got, _ := testlink.Numbers(t, p.out.Target())
	if want := sequence(100-keptLatched, 100); fmt.Sprint(got[1]) != fmt.Sprint(want) {
		t.Errorf("the next bag begins with %v, want %v", got[1], want)
	}
}

// TestPublishersComeAndGo: what 10,000 publishers leave behind fits into little memory, and
// the account has them all.
func TestPublishersComeAndGo(t *testing.T) {
	const publishers = 10_000
	p := testPipeline(t, Options{Split: true}, nil)
	topic := p.addTopic("/t")
	definition := strings.Repeat("float64 x\n", 1000)
	now := time.Now()
	come := func(from, to int) {
		for n := from; n < to; n++ {
			l, err := p.openLink(topic, withDefinition("/t", fmt.Sprintf("/p%d", n), definition))
			if err != nil {
				t.Fatal(err)
			}
			l.Frames(testlink.Frame(1, uint32(n), 100), 1, now)
			l.Closed(nil)
			if n%500 == 0 {
				now = now.Add(time.Minute)
				rotate(t, p)
				p.tick(now)
			}
		}
		rotate(t, p)
		p.tick(now.Add(time.Minute))
	}
	come(0, 1000)
	before := heapBesideBuffer(p)
	come(1000, publishers)
	if grown := heapBesideBuffer(p) - before; grown > 512<<10 {
		t.Errorf("%d more publishers left %d bytes", publishers-1000, grown)
	}
	p.mu.Lock()
	s := p.accounts(now)[0]
	p.mu.Unlock()
	if n := len(s.Publishers) + s.Former.Count; n != publishers || len(s.Publishers) > keptPublishers {
		t.Errorf("%d publishers in the account, %d by name", n, len(s.Publishers))
	}
	if bytes, n := heldByConnections(p); n != 0 || bytes > keptPublishers*2*connectionOverhead {
		t.Errorf("%d connections, %d bytes are left", n, bytes)
	}
	closePipeline(t, p)
}

// TestFormerPublishers adds accounts up.
func TestFormerPublishers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := bareIntake(10_000, 100)
	topic := &topic{name: "/t"}
	for n := range 5 {
		u := &loss.Publisher{ID: fmt.Sprint(n)}
		u.AddMissed(1, true)
		u.Open(false, true, now)
		for i := range 5 {
			u.End(io.EOF, now.Add(-200*time.Millisecond))
			if i < 2 {
				u.Explain(true)
			}
			u.Open(false, true, now)
		}
		if n < 4 {
			u.End(nil, now)
		}
		topic.publishers = append(topic.publishers, u)
	}
	p.foldPublishers(topic, 1, func(u *loss.Publisher) bool { return u.ID != "0" })
	want := FormerPublishers{Count: 3, Missed: 3, LinksLost: 6, Reconnected: 9, Without: 3 * time.Second}
	if topic.former != want || len(topic.publishers) != 2 {
		t.Errorf("%+v, %d left", topic.former, len(topic.publishers))
	}
	s := Summary{Topics: []TopicSummary{{Former: topic.former, Publishers: []PublisherSummary{{Missed: 1, LinksLost: 2}}}}}
	if s.Missed() != 4 || s.LinksLost() != 8 {
		t.Errorf("missed %d, lost %d", s.Missed(), s.LinksLost())
	}
}

// TestConnectionAccount: what a header is said to take beforehand is what it then counts.
func TestConnectionAccount(t *testing.T) {
	t.Parallel()
	var s connections
	topic := &topic{name: "/t"}
	for i, definition := range []string{"a", "a", strings.Repeat("b", 1000), "", "a"} {
		h := bagfmt.ConnectionHeader(withDefinition("/t", fmt.Sprint("/p", i), definition).Header)
		before, said := s.held, s.sizeOf(h)
		c := s.add(topic, h)
		if got := s.held - before; got != said || topic.headers != s.held {
			t.Errorf("header %d counts %d, %d was said; topic %d, all %d", i, got, said, topic.headers, s.held)
		}
		if c.conn.ID != bagfmt.ConnID(i) || topic.find(h) != c {
			t.Errorf("header %d is connection %d, or not found", i, c.conn.ID)
		}
	}
	s.release(func(c *connection) bool { return c.conn.ID != 4 })
	if len(s.definitions) != 1 || len(topic.conns) != 1 || s.all[0].conn.ID != 4 {
		t.Errorf("%d definitions, %d connections", len(s.definitions), len(topic.conns))
	}
	s.release(func(*connection) bool { return true })
	if s.held != 0 || topic.headers != 0 || len(s.definitions) != 0 {
		t.Errorf("%d bytes are left", s.held)
	}
	if c := s.add(topic, nil); c.conn.ID != 5 {
		t.Errorf("id %d is used again", c.conn.ID)
	}
}
