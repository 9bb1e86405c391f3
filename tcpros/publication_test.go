package tcpros_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
)

// publisher starts a node with one publication and returns its TCPROS address.
func publisher(t *testing.T, queue int) (*tcpros.Node, *tcpros.Publication, string) {
	t.Helper()
	return publisherWith(t, tcpros.Timing{}, queue)
}

// publisherWith is publisher with another timing.
func publisherWith(t *testing.T, timing tcpros.Timing, queue int) (*tcpros.Node, *tcpros.Publication, string) {
	t.Helper()
	n := newNode(t, nodeOptions("pub", newMaster(t).URI()).With(timing))
	p := advertise(t, n, "/t", queue)
	return n, p, tcprosAddress(t, n, "/t")
}

// readFrames reads n frames of a link.
func readFrames(t *testing.T, c net.Conn, n int) []string {
	t.Helper()
	var out []string
	for range n {
		var length [4]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			t.Fatalf("after %d frames: %v", len(out), err)
		}
		b := make([]byte, int(length[0])|int(length[1])<<8|int(length[2])<<16)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func TestSubscriberValidation(t *testing.T) {
	_, p, address := publisher(t, 0)
	good := subscriberHeader("/s", "/t")
	missing := "Header from subscriber did not have the required elements: md5sum, topic, callerid"
	tests := map[string]struct {
		header tcpros.Header
		want   string // start of the error
	}{
		"no md5sum":      {without(good, "md5sum"), missing},
		"no topic":       {without(good, "topic"), missing},
		"no callerid":    {without(good, "callerid"), missing},
		"nothing":        {nil, missing},
		"unknown topic":  {with(good, "topic", "/x"), "received a connection for a nonexistent topic [/x] from [TCPROS connection on port "},
		"service":        {with(good, "service", "/s"), "received a tcpros connection for a nonexistent service [/s] from ["},
		"another md5sum": {with(good, "md5sum", "0123"), "Client [/s] wants topic /t to have datatype/md5sum [std_msgs/String/0123], but our version has [std_msgs/String/" + stringMD5 + "]. Dropping connection."},
		"good":           {good, ""},
		"any md5sum":     {with(good, "md5sum", "*"), ""},
		"upper case":     {with(good, "md5sum", strings.ToUpper(stringMD5)), ""},
		"another type":   {with(good, "type", "a/B"), ""},
		"no type":        {without(good, "type"), ""},
		"unknown field":  {with(good, "zfoo", "bar"), ""},
		"odd topic":      {with(good, "topic", "//t/"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, reply := dial(t, address, tt.header)
			text, refused := reply.Get("error")
			if refused != (tt.want != "") || !strings.HasPrefix(text, tt.want) {
				t.Fatalf("got %q, want %q", text, tt.want)
			}
			if refused {
				if len(reply) != 1 {
					t.Errorf("more than the error: %v", reply)
				}
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("the link stays open")
				}
				return
			}
			want := tcpros.Header{
				{Key: "callerid", Value: "/pub"},
				{Key: "latching", Value: "0"},
				{Key: "md5sum", Value: stringMD5},
				{Key: "message_definition", Value: stringDef},
				{Key: "topic", Value: "/t"},
				{Key: "type", Value: stringType},
			}
			if diff := cmp.Diff(want, reply); diff != "" {
				t.Error(diff)
			}
			_ = c.Close()
			waitFor(t, "the end of the link", func() bool { return p.Subscribers() == 0 })
		})
	}
}

func TestSameCallerTwice(t *testing.T) {
	_, p, address := publisher(t, 0)
	old, _ := dial(t, address, subscriberHeader("/s", "/t"))
	waitFor(t, "the first link", func() bool { return p.Subscribers() == 1 })
	young, _ := dial(t, address, subscriberHeader("/s", "/t"))
	if _, err := old.Read(make([]byte, 1)); err == nil {
		t.Error("the old link got something")
	}
	waitFor(t, "one link", func() bool { return p.Subscribers() == 1 })
	p.Source(false).Publish(frame("x"))
	if got := readFrames(t, young, 1); got[0] != "x" {
		t.Errorf("got %q", got)
	}
}

// Each latched source's last frame comes first, and no frame is lost or doubled
// for a subscriber that comes while the sources publish.
func TestLatchedSources(t *testing.T) {
	_, p, address := publisher(t, 0)
	a, b, plain := p.Source(true), p.Source(true), p.Source(false)
	empty := p.Source(true)
	_ = empty
	a.Publish(frame("a0"))
	a.Publish(frame("a1"))
	b.Publish(frame("b0"))
	plain.Publish(frame("gone"))
	c, reply := dial(t, address, subscriberHeader("/s", "/t"))
	if v, _ := reply.Get("latching"); v != "1" {
		t.Errorf("latching=%q", v)
	}
	if diff := cmp.Diff([]string{"a1", "b0"}, readFrames(t, c, 2)); diff != "" {
		t.Error(diff)
	}

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 2; ; i++ {
			select {
			case <-stop:
				return
			default:
				a.Publish(frame(fmt.Sprint("a", i)))
			}
		}
	})
	for s := range 20 {
		c, _ := dial(t, address, subscriberHeader(fmt.Sprint("/s", s), "/t"))
		last := -1
		for i, text := range readFrames(t, c, 50) {
			var n int
			if _, err := fmt.Sscanf(text, "a%d", &n); err != nil {
				if i > 1 || text != "b0" {
					t.Fatalf("frame %d is %q", i, text)
				}
				continue
			}
			if last >= 0 && n != last+1 {
				t.Fatalf("%d after %d", n, last)
			}
			last = n
		}
		_ = c.Close()
	}
	close(stop)
	wg.Wait()
}

// A late subscriber ends with the value that was published last, whatever the order
// of the sources.
func TestLatchedOrder(t *testing.T) {
	_, p, address := publisher(t, 0)
	a, b := p.Source(true), p.Source(true)
	p.Source(true)
	b.Publish(frame("b0"))
	a.Publish(frame("a0"))
	for i, tt := range []struct {
		source *tcpros.Source
		text   string
		want   []string
	}{
		{a, "a1", []string{"b0", "a1"}},
		{b, "b1", []string{"a1", "b1"}},
		{b, "b2", []string{"a1", "b2"}},
		{a, "a2", []string{"b2", "a2"}},
	} {
		tt.source.Publish(frame(tt.text))
		c, _ := dial(t, address, subscriberHeader(fmt.Sprint("/s", i), "/t"))
		if diff := cmp.Diff(tt.want, readFrames(t, c, 2)); diff != "" {
			t.Error(diff)
		}
	}
}

// A subscriber that does not read loses its own frames, and delays no other subscriber. It reads
// after everything is published.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	_, p, address := publisher(t, 10)
	slow, _ := dial(t, address, subscriberHeader("/slow", "/t"))
	fast, _ := dial(t, address, subscriberHeader("/fast", "/t"))
	waitFor(t, "both links", func() bool { return p.Subscribers() == 2 })
	src := p.Source(false)
	big := strings.Repeat("x", 100_000)
	const n = 300
	var wg sync.WaitGroup
	sent := make(chan int, n)
	most := 0 // frames queued for the slow subscriber; at the end there may be fewer, if its writer was delayed
	wg.Go(func() {
		for i := range n {
			src.Publish(frame(fmt.Sprint(i, " ", big)))
			most = max(most, queued(p.Stats(), "/slow"))
			sent <- i
			waitFor(t, "room for the fast one", func() bool { return queued(p.Stats(), "/fast") == 0 })
		}
	})
	for i := range n {
		<-sent
		if got := readFrames(t, fast, 1)[0]; !strings.HasPrefix(got, fmt.Sprint(i, " ")) {
			t.Fatalf("frame %d is %.10q", i, got)
		}
	}
	wg.Wait()
	waitFor(t, "the count of the last frame, which follows its write", func() bool {
		return slices.ContainsFunc(p.Stats(), func(s tcpros.SubscriberStats) bool { return s.CallerID == "/fast" && s.Frames >= n })
	})
	var dropped uint64
	for _, s := range p.Stats() {
		switch s.CallerID {
		case "/fast":
			if s.Dropped != 0 || s.Frames != n {
				t.Errorf("fast: %+v", s)
			}
		case "/slow":
			dropped = s.Dropped
			if s.Dropped == 0 || most != 10 {
				t.Errorf("slow: %+v, at most %d queued", s, most)
			}
		}
	}
	if p.Dropped() != dropped {
		t.Errorf("%d dropped in all, %d by the slow one", p.Dropped(), dropped)
	}
	// The remaining frames are the newest, in order.
	last := -1
	for i := range n - int(dropped) {
		var k int
		got := readFrames(t, slow, 1)[0]
		if _, err := fmt.Sscan(got[:8], &k); err != nil || k <= last {
			t.Fatalf("frame %d is %.10q after %d", i, got, last)
		}
		last = k
	}
	if last != n-1 {
		t.Errorf("the last frame is %d", last)
	}
	_ = slow.Close()
	waitFor(t, "the end of the link", func() bool { return p.Subscribers() == 1 })
	if p.Dropped() != dropped {
		t.Errorf("%d dropped in all after it left, %d before", p.Dropped(), dropped)
	}
}

func queued(stats []tcpros.SubscriberStats, caller string) int {
	for _, s := range stats {
		if s.CallerID == caller {
			return s.Queued
		}
	}
	return 0
}

func TestPublishAllocatesNothing(t *testing.T) {
	_, p, address := publisher(t, 100)
	for i := range 3 {
		c, _ := dial(t, address, subscriberHeader(fmt.Sprint("/s", i), "/t"))
		_ = c.SetDeadline(time.Time{})
		go func() { _, _ = io.Copy(io.Discard, c) }()
	}
	waitFor(t, "the links", func() bool { return p.Subscribers() == 3 })
	src := p.Source(true)
	f := frame("some text")
	for range 1000 {
		src.Publish(f)
		src.PublishNow(f)
	}
	if n := testing.AllocsPerRun(5000, func() { src.Publish(f) }); n != 0 {
		t.Errorf("%v allocations for each Publish to 3 subscribers", n)
	}
	if n := testing.AllocsPerRun(5000, func() { src.PublishNow(f) }); n != 0 {
		t.Errorf("%v allocations for each PublishNow to 3 subscribers", n)
	}
}

// A type or md5sum that an old bag lacks is the one that the subscriber requests.
func TestAdvertiseWildcards(t *testing.T) {
	n := newNode(t, nodeOptions("pub", newMaster(t).URI()))
	p, err := n.Advertise(tcpros.AdvertiseOptions{Topic: "/t", Type: "*", MD5Sum: "*"})
	if err != nil {
		t.Fatal(err)
	}
	address := tcprosAddress(t, n, "/t")
	for name, tt := range map[string]struct{ md5, typ string }{
		"typed": {stringMD5, stringType},
		"any":   {"*", "*"},
	} {
		asked := subscriberHeader("/"+name, "/t")
		_, reply := dial(t, address, with(with(asked, "md5sum", tt.md5), "type", tt.typ))
		md5, _ := reply.Get("md5sum")
		if typ, _ := reply.Get("type"); md5 != tt.md5 || typ != tt.typ {
			t.Errorf("%s: told %s [%s]", name, typ, md5)
		}
	}
	waitFor(t, "the links", func() bool { return p.Subscribers() == 2 })
}

func TestAdvertiseRefuses(t *testing.T) {
	n := newNode(t, nodeOptions("pub", newMaster(t).URI()))
	good := tcpros.AdvertiseOptions{Topic: "/t", Type: stringType, MD5Sum: stringMD5}
	for name, change := range map[string]func(*tcpros.AdvertiseOptions){
		"no md5sum":     func(o *tcpros.AdvertiseOptions) { o.MD5Sum = "" },
		"no type":       func(o *tcpros.AdvertiseOptions) { o.Type = "" },
		"XML as type":   func(o *tcpros.AdvertiseOptions) { o.Type = "a</value>" },
		"invalid topic": func(o *tcpros.AdvertiseOptions) { o.Topic = "a b" },
		"queue":         func(o *tcpros.AdvertiseOptions) { o.QueueFrames = -1 },
		"overflow":      func(o *tcpros.AdvertiseOptions) { o.Overflow = 7 },
	} {
		o := good
		change(&o)
		if _, err := n.Advertise(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	p, err := n.Advertise(good)
	if err != nil {
		t.Fatal(err)
	}
	other := good
	other.Type, other.MD5Sum = "a/B", "0123"
	c := (*tcpros.ConflictError)(nil)
	if _, err := n.Advertise(other); !errors.As(err, &c) || !errors.Is(err, tcpros.ErrConflict) {
		t.Errorf("got %v", err)
	} else if c.Have != stringType+"/"+stringMD5 || c.Want != "a/B/0123" {
		t.Errorf("got %+v", c)
	}
	p.Close()
	p.Close()
	if _, err := n.Advertise(other); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestPublicationClose(t *testing.T) {
	_, p, address := publisher(t, 0)
	c, _ := dial(t, address, subscriberHeader("/s", "/t"))
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
	src := p.Source(false)
	p.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the link stays open")
	}
	if p.Subscribers() != 0 {
		t.Errorf("%d subscribers", p.Subscribers())
	}
	src.Publish(frame("x"))
	if p.Dropped() != 1 {
		t.Errorf("%d dropped", p.Dropped())
	}
}

// Connections that send nothing do not shut others out.
func TestSilentConnections(t *testing.T) {
	_, p, address := publisher(t, 0)
	for range 300 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	_, _ = dial(t, address, subscriberHeader("/s", "/t"))
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
}
