package recorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/memory"
	"github.com/gorosbag/gorosbag/recorder/internal/testlink"
)

// rotate begins the next file and waits until the one before is closed.
func rotate(t *testing.T, p *pipeline) {
	t.Helper()
	c, err := p.RequestSplit(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ClosedFile(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestHeadersAreBounded: publishers whose headers differ at each connection are refused
// when those hold too much, which is counted. Other topics find room for theirs. When the
// bag is closed, all is given back.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true}, nil)
	bad := p.AddTopic("/bad", "/bad", time.Time{})
	big := strings.Repeat("x", 1<<20)
	refused := 0
	attack := func(n int) {
		l, err := p.OpenLink(bad, testlink.DefinitionInfo("/bad", fmt.Sprintf("/bad%d", n), fmt.Sprint(n, big)))
		if full := (*account.HeadersFullError)(nil); errors.As(err, &full) {
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
	if bytes := p.Usage().Headers; bytes > account.HeaderBytes*memory.FairnessFactor/(memory.FairnessFactor+1)+1<<20 || taken < 10 {
		t.Errorf("%d of 30 headers of 1 MiB were taken, %d bytes", taken, bytes)
	}
	if _, err := p.OpenLink(p.AddTopic("/good", "/good", time.Time{}), testlink.DefinitionInfo("/good", "/good", big[:100_000])); err != nil {
		t.Errorf("a publisher of another topic: %v", err)
	}
	s := control.Summary{Topics: accountsNow(p)}
	if s.Refused() != refused || !strings.Contains(s.Losses(), "refused") {
		t.Errorf("%d counted as refused, want %d: %s", s.Refused(), refused, s.Losses())
	}
	rotate(t, p)
	p.tick(time.Now().Add(time.Hour))
	if u := p.Usage(); u.Connections != 1 || u.Headers > 200_000 {
		t.Errorf("%d connections, %d bytes after the bag is closed", u.Connections, u.Headers)
	}
	closePipeline(t, p)
	if got := len(testlink.OpenBag(t, p.Bags.Finished.List()[0].Name).Connections()); got != taken {
		t.Errorf("%d connections in the bag, want %d", got, taken)
	}
}

// TestGoneConnectionsStayWhileNeeded: by the bag that has them, by a latched message, by
// the ring.
func TestGoneConnectionsStayWhileNeeded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := now
	sweep := func(p *pipeline) int {
		at = at.Add(time.Minute) // in which flushOpen may have looked, too
		p.tick(at)
		return p.Usage().Connections
	}
	p := testPipeline(t, Options{Split: true}, nil)
	idle, sent, remembered := open(t, p, "/idle", "/p"), open(t, p, "/sent", "/p"), latching(t, p, "/map", "/p")
	sent.Frames(testlink.Frame(1, 0, 100), 1, now)
	remembered.Frames(testlink.Frame(1, 0, 100), 1, now)
	if n := sweep(p); n != 3 {
		t.Errorf("%d connections with links", n)
	}
	for _, l := range []*intake.Link{idle, sent, remembered} {
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
	for _, b := range p.Bags.Finished.List()[1:] {
		if c := testlink.OpenBag(t, b.Name).Connections(); len(c) != 1 || c[0].Topic != "/map" {
			t.Errorf("%s has %v", b.Name, c)
		}
	}

	withRing := ringPipeline(t, Options{BufferBytes: 2 << 20, ChunkBytes: 50 << 10})
	l := open(t, withRing, "/t", "/p")
	l.Frames(testlink.Frame(1, 0, 100), 1, now)
	l.Closed(nil)
	flushOpen(withRing)
	testlink.WaitFor(t, func() bool { return withRing.Stats(time.Now()).Snapshots.Bytes > 0 })
	if n := sweep(withRing); n != 1 {
		t.Error("the ring has a message without its connection")
	}
	sn, err := withRing.Snapshotter.Trigger(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-sn.Out.Finished
	if n := sweep(withRing); n != 0 {
		t.Errorf("%d connections after the snapshot", n)
	}
	closePipeline(t, withRing)
	if got := numbersOf(t, sn.Out.Target()); len(got) != 1 {
		t.Errorf("%d messages in the snapshot", len(got))
	}
}

// TestGoneLatchedPublishers: of many that came and went the latest are repeated in the
// next bag.
func TestGoneLatchedPublishers(t *testing.T) {
	t.Parallel()
	p := testPipeline(t, Options{Split: true}, nil)
	topic := p.AddTopic("/goal", "/goal", time.Time{})
	for n := range uint32(100) {
		info := testlink.LatchedInfo("/goal", fmt.Sprintf("/rostopic_%d", n))
		l, err := p.OpenLink(topic, info)
		if err != nil {
			t.Fatal(err)
		}
		l.Frames(testlink.Frame(1, n, 100), 1, time.Now())
		l.Closed(nil)
	}
	p.tick(time.Now().Add(time.Hour))
	rotate(t, p)
	closePipeline(t, p)
	got, _ := testlink.Numbers(t, p.Current().Target())
	if want := sequence(100-account.KeptLatched, 100); fmt.Sprint(got[1]) != fmt.Sprint(want) {
		t.Errorf("the next bag begins with %v, want %v", got[1], want)
	}
}

// TestPublishersComeAndGo: what 10,000 publishers leave behind fits into little memory, and
// the account has them all.
func TestPublishersComeAndGo(t *testing.T) {
	const publishers = 10_000
	p := testPipeline(t, Options{Split: true}, nil)
	topic := p.AddTopic("/t", "/t", time.Time{})
	definition := strings.Repeat("float64 x\n", 1000)
	now := time.Now()
	come := func(from, to int) {
		for n := from; n < to; n++ {
			l, err := p.OpenLink(topic, testlink.DefinitionInfo("/t", fmt.Sprintf("/p%d", n), definition))
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
	s := accountsNow(p)[0]
	if n := len(s.Publishers) + s.Former.Count; n != publishers || len(s.Publishers) > account.KeptPublishers {
		t.Errorf("%d publishers in the account, %d by name", n, len(s.Publishers))
	}
	if u := p.Usage(); u.Connections != 0 || u.Headers > account.KeptPublishers*2*account.ConnectionOverhead {
		t.Errorf("%d connections, %d bytes are left", u.Connections, u.Headers)
	}
	closePipeline(t, p)
}

// TestFormerPublishersCount: what former publishers have lost is in the sums.
func TestFormerPublishersCount(t *testing.T) {
	t.Parallel()
	former := control.FormerPublishers{Count: 3, Missed: 3, LinksLost: 6, Reconnected: 9, Without: 3 * time.Second}
	s := control.Summary{Topics: []control.TopicSummary{{Former: former, Publishers: []control.PublisherSummary{{Missed: 1, LinksLost: 2}}}}}
	if s.Missed() != 4 || s.LinksLost() != 8 {
		t.Errorf("missed %d, lost %d", s.Missed(), s.LinksLost())
	}
}
