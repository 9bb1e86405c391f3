package tcpros_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/tcpros"
)

// subscriber starts a node that logs and one subscription of it.
func subscriber(t *testing.T, o tcpros.NodeOptions, topic string) (*inbox, *tcpros.Subscription, func(text string) int) {
	t.Helper()
	log, logs := observedLog()
	o.Log = log
	b := &inbox{}
	s := subscribe(t, newNode(t, o), topic, b)
	return b, s, func(text string) int { return logs.FilterMessageSnippet(text).Len() }
}

func TestSubscriberHeader(t *testing.T) {
	m := newMaster(t)
	p := newFakePublisher(t, "/t", sends("/t"))
	p.register(m.URI(), "/fake")
	_, s, _ := subscriber(t, nodeOptions("sub", m.URI()), "/t")
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	want := tcpros.Header{
		{Key: "callerid", Value: "/sub"},
		{Key: "md5sum", Value: "*"},
		{Key: "tcp_nodelay", Value: "0"},
		{Key: "topic", Value: "/t"},
		{Key: "type", Value: "*"},
	}
	if diff := cmp.Diff(want, p.hello[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{[]any{"/t", "*"}}, call(t, s2uri(t, m.URI()), "getSubscriptions", "/x")); diff != "" {
		t.Error(diff)
	}
}

// s2uri looks up the slave API of the node /sub.
func s2uri(t *testing.T, masterURI string) string {
	t.Helper()
	return call(t, masterURI, "lookupNode", "/x", "/sub").(string)
}

// A header is passed on unchanged: order, unknown and repeated fields.
func TestPublisherHeaderIsKept(t *testing.T) {
	m := newMaster(t)
	odd := tcpros.Header{
		{Key: "zfoo", Value: "bar=x"}, {Key: "type", Value: stringType}, {Key: "md5sum", Value: "0123"}, {Key: "type", Value: "again"},
	}
	p := newFakePublisher(t, "/t", func(c net.Conn) {
		_, _ = c.Write(tcpros.AppendHeader(nil, odd))
		waitClosed(c)
	})
	p.register(m.URI(), "/fake")
	b, s, _ := subscriber(t, nodeOptions("sub", m.URI()), "/t")
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	if diff := cmp.Diff(odd, b.links()[0].Header); diff != "" {
		t.Error(diff)
	}
}

// Every kind of hostile publisher causes one warning, and a sound publisher beside it loses
// nothing.
func TestHostilePublishers(t *testing.T) {
	length := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	header := func(h tcpros.Header) []byte { return tcpros.AppendHeader(nil, h) }
	tests := map[string]struct {
		send   []byte
		want   string
		opened int
	}{
		"error header":         {header(tcpros.Header{{Key: "error", Value: "no \x1b[31m"}}), "refuses the link", 0},
		"no md5sum":            {header(without(goodHeader("/t"), "md5sum")), "no proper connection header", 0},
		"no type":              {header(without(goodHeader("/t"), "type")), "no proper connection header", 0},
		"header of 4 GiB":      {length(1<<32 - 1), "no proper connection header", 0},
		"header without =":     {append(length(7), "\x03\x00\x00\x00abc"...), "no proper connection header", 0},
		"message of 4 GiB":     {append(header(goodHeader("/t")), length(1<<32-1)...), "message too large", 1},
		"message of 1 GiB":     {append(header(goodHeader("/t")), length(1<<30)...), "message too large", 1},
		"message over default": {append(header(goodHeader("/t")), length(256<<20+1)...), "message too large", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			m := newMaster(t)
			bad := newFakePublisher(t, "/t", func(c net.Conn) {
				_, _ = c.Write(tt.send)
				waitClosed(c)
			})
			good := newFakePublisher(t, "/t", sends("/t", frame("one"), frame("two")))
			bad.register(m.URI(), "/fake")
			good.register(m.URI(), "/good")
			b, s, logged := subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: 10 * time.Millisecond}), "/t")
			waitFor(t, "several attempts", func() bool { return bad.attempts() >= 3 })
			waitFor(t, "the sound publisher's messages", func() bool { return b.count() == 2 })
			if s.Publishers() == 0 {
				t.Error("the sound publisher's link is down")
			}
			saidOnce(t, tt.want, logged(tt.want), start)
		})
	}
}

func TestRetryIntervals(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakePublisher(t, "/t", func(c net.Conn) { _, _ = c.Write(tcpros.AppendHeader(nil, goodHeader("/t"))) })
	p.register(m.URI(), "/fake")
	_, _, _ = subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: 20 * time.Millisecond}), "/t")
	waitFor(t, "five attempts", func() bool { return p.attempts() >= 5 })
	p.mu.Lock() // there may be more
	defer p.mu.Unlock()
	for i, ms := range []int{20, 40, 80, 160} {
		want := time.Duration(ms) * time.Millisecond
		if got := p.at[i+1].Sub(p.at[i]); got < want*8/10 || got > want*12/10+10*time.Second { // the most is 20 s
			t.Errorf("attempt %d after %v, want about %v", i+2, got, want)
		}
	}
}

// A new publisher is reached at once, although the node asks the master first.
func TestNewPublisherIsFast(t *testing.T) {
	m := newMaster(t)
	b, _, _ := subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{Reconcile: never, RetryFirst: never}), "/t")
	waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
	p := newFakePublisher(t, "/t", sends("/t", frame("x")))
	start := time.Now()
	p.register(m.URI(), "/fake")
	waitFor(t, "the message", func() bool { return b.count() == 1 })
	t.Log("first message after", time.Since(start)) // a few ms when the machine is idle
}

// registered reports whether the master knows a subscriber of the topic.
func registered(t *testing.T, masterURI, topic string) bool {
	t.Helper()
	state := call(t, masterURI, "getSystemState", "/x").([]any)
	for _, row := range state[1].([]any) {
		if row.([]any)[0] == topic {
			return true
		}
	}
	return false
}

// The node dials only publishers that the master lists.
func TestForeignUpdateIsNotDialed(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	good := newFakePublisher(t, "/t", sends("/t"))
	good.register(m.URI(), "/fake")
	foreign := newFakePublisher(t, "/t", sends("/t"))
	_, s, _ := subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{Hint: 10 * time.Millisecond}), "/t")
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	uri := s2uri(t, m.URI())
	for range 30 {
		call(t, uri, "publisherUpdate", "/evil", "/t", []any{foreign.uri})
		call(t, uri, "publisherUpdate", "/evil", "/t", []any{})
	}
	call(t, uri, "publisherUpdate", "/evil", "/other", []any{foreign.uri})
	// The confirmation of a last, true update arrives after the confirmations of the false updates.
	late := newFakePublisher(t, "/t", sends("/t"))
	late.register(m.URI(), "/late")
	waitFor(t, "the second link", func() bool { return s.Publishers() == 2 })
	if foreign.attempts() != 0 || good.attempts() != 1 {
		t.Errorf("%d attempts to the foreign publisher, %d to the good one", foreign.attempts(), good.attempts())
	}
}

// The messages that a publisher sent before it left are read to the end, and the publisher is not
// dialed again.
func TestUnregisteredPublisherIsReadToTheEnd(t *testing.T) {
	m := newMaster(t)
	more := make(chan struct{})
	p := newFakePublisher(t, "/t", func(c net.Conn) {
		_, _ = c.Write(tcpros.AppendHeader(nil, goodHeader("/t")))
		_, _ = c.Write(frame("early"))
		<-more
		_, _ = c.Write(frame("late"))
	})
	p.register(m.URI(), "/fake")
	// The link is neither tried again before the node gets the master's list, nor closed for being
	// quiet, however late the list arrives.
	b, s, _ := subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: never, LingerCheck: never}), "/t")
	waitFor(t, "the first message", func() bool { return b.count() == 1 })
	call(t, m.URI(), "unregisterPublisher", "/fake", "/t", p.uri)
	waitFor(t, "the master's list", func() bool { n, ok := s.Registered(); return ok && n == 0 })
	if n := listed(t, s2uri(t, m.URI())); n != 1 {
		t.Errorf("%d links", n)
	}
	close(more)
	waitFor(t, "the last message", func() bool { return b.count() == 2 })
	waitFor(t, "the end of the link", func() bool { return s.Publishers() == 0 && len(b.ends()) == 1 })
	waitFor(t, "the end of the attempts", func() bool { return listed(t, s2uri(t, m.URI())) == 0 })
	if p.attempts() != 1 {
		t.Errorf("%d attempts", p.attempts())
	}
}

// listed counts the links that a node reports in getBusStats.
func listed(t *testing.T, uri string) int {
	t.Helper()
	stats := call(t, uri, "getBusStats", "/x").([]any)
	n := 0
	for _, row := range stats[1].([]any) {
		n += len(row.([]any)[1].([]any))
	}
	return n
}

// A link to a publisher that is no longer listed, and quiet, is closed.
func TestQuietUnlistedLinkIsClosed(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakePublisher(t, "/t", sends("/t", frame("x")))
	p.register(m.URI(), "/fake")
	b, s, _ := subscriber(t, nodeOptions("sub", m.URI()).With(brisk), "/t")
	waitFor(t, "the message", func() bool { return b.count() == 1 })
	call(t, m.URI(), "unregisterPublisher", "/fake", "/t", p.uri)
	waitFor(t, "the end of the link", func() bool { return s.Publishers() == 0 && len(b.ends()) == 1 })
	if diff := cmp.Diff([]error{nil}, b.ends()); diff != "" {
		t.Error(diff)
	}
}

// A sink that blocks, for example on a full disk queue, does not make its publisher look quiet: the
// data in the socket is read once the sink continues.
func TestHeldUpLinkIsNotQuiet(t *testing.T) {
	t.Parallel()
	const frames = 100 // as many as the buffers of the sockets hold
	m := newMaster(t)
	written := make(chan struct{})
	done := sync.OnceFunc(func() { close(written) })
	p := newFakePublisher(t, "/t", func(c net.Conn) {
		_, _ = c.Write(tcpros.AppendHeader(nil, goodHeader("/t")))
		for range frames {
			_, _ = c.Write(frame(strings.Repeat("x", 1000)))
		}
		done()
	})
	p.register(m.URI(), "/fake")
	b := &inbox{block: make(chan struct{})}
	// Not brisk: a link whose goroutine does not run for two checks is quiet, too.
	s := subscribe(t, newNode(t, nodeOptions("sub", m.URI())), "/t", b)
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	<-written
	call(t, m.URI(), "unregisterPublisher", "/fake", "/t", p.uri)
	closeQuietLink(t, m.URI(), s)
	waitFor(t, "the word of that to its sink", func() bool { return len(b.ends()) == 1 })
	close(b.block)
	waitFor(t, "the end of the link", func() bool { return len(b.ends()) == 2 })
	if b.count() != frames || !errors.Is(b.ends()[1], io.EOF) {
		t.Errorf("%d of %d messages, then %v", b.count(), frames, b.ends())
	}
}

func TestStalledPublisherHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	silent := newFakePublisher(t, "/t", waitClosed) // never answers the header
	half := newFakePublisher(t, "/t", func(c net.Conn) {
		_, _ = c.Write(append(tcpros.AppendHeader(nil, goodHeader("/t")), 10, 0, 0, 0, 'x'))
		waitClosed(c)
	})
	mute := newFakePublisher(t, "/t", sends("/t"))
	hang := make(chan struct{})
	defer close(hang)
	mute.reply = func() any { <-hang; return 0 } // RequestTopic is never answered
	good := newFakePublisher(t, "/t", sends("/t", frame("x")))
	silent.register(m.URI(), "/silent")
	half.register(m.URI(), "/half")
	mute.register(m.URI(), "/mute")
	good.register(m.URI(), "/good")
	b, s, _ := subscriber(t, nodeOptions("sub", m.URI()), "/t")
	waitFor(t, "the sound publisher", func() bool { return b.count() == 1 && s.Publishers() == 2 })
	if n := silent.attempts(); n > 1 {
		t.Errorf("the silent publisher was given up before: %d attempts", n)
	}
	start := time.Now()
	s.Close()
	if took := time.Since(start); took > 4*time.Second { // the silent publisher has 10 s, the mute publisher 5 s
		t.Errorf("Close took %v", took)
	}
	if diff := cmp.Diff([]error{nil, nil}, b.ends()); diff != "" {
		t.Error(diff)
	}
}

func TestUnresolvableHost(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakePublisher(t, "/t", sends("/t"))
	p.host = "3f2a9c1b"
	p.register(m.URI(), "/fake")
	slow := newFakePublisher(t, "/t", sends("/t"))
	slow.host = "slow"
	slow.register(m.URI(), "/slow")
	good := newFakePublisher(t, "/t", sends("/t", frame("x")))
	good.register(m.URI(), "/good")
	log, logs := observedLog()
	o := nodeOptions("sub", m.URI()).With(tcpros.Timing{Resolve: 50 * time.Millisecond})
	o.Log = log
	o.LookupHost = func(ctx context.Context, host string) ([]netip.Addr, error) {
		if host == "slow" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("no such host")
	}
	b := &inbox{}
	subscribe(t, newNode(t, o), "/t", b)
	waitFor(t, "the sound publisher", func() bool { return b.count() == 1 })
	about := func(host string) *observer.ObservedLogs {
		return logs.FilterMessageSnippet("cannot resolve the host").FilterField(zap.String("host", host))
	}
	waitFor(t, "the warning", func() bool { return about("3f2a9c1b").Len() > 0 })
	e := about("3f2a9c1b").All()[0]
	if e.Level != zap.WarnLevel || !strings.Contains(e.Message, "ROS_HOSTNAME or ROS_IP") {
		t.Errorf("logged %v %q", e.Level, e.Message)
	}
	if f := e.ContextMap(); f["topic"] != "/t" || f["publisher"] != p.uri {
		t.Errorf("logged fields %v", f)
	}
	waitFor(t, "the slow name", func() bool { return about("slow").Len() > 0 })
}

// A publisher that restarts is reached again, on its old port or on a new one.
func TestPublisherRestart(t *testing.T) {
	m := newMaster(t)
	b, _, _ := subscriber(t, nodeOptions("sub", m.URI()), "/t")
	for i := range 4 {
		n, err := tcpros.NewNode(t.Context(), nodeOptions("pub", m.URI()).With(calm))
		if err != nil {
			t.Fatal(err)
		}
		p := advertise(t, n, "/t", 0)
		waitFor(t, fmt.Sprint("link ", i), func() bool { return p.Subscribers() == 1 })
		p.Source(false).Publish(frame(fmt.Sprint("m", i)))
		if err := n.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"m0", "m1", "m2", "m3"}, b.messages()); diff != "" {
		t.Error(diff)
	}
}

// The link is dialed again at once when its publisher registers again.
func TestUpdateEndsTheWait(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakePublisher(t, "/t", func(c net.Conn) { _, _ = c.Write(tcpros.AppendHeader(nil, goodHeader("/t"))) })
	p.register(m.URI(), "/fake")
	_, _, _ = subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: never}), "/t")
	waitFor(t, "the attempt before a long wait", func() bool { return p.attempts() == 1 })
	waitFor(t, "the next attempt", func() bool {
		p.register(m.URI(), "/fake") // the first may come before the wait
		return p.attempts() >= 2
	})
}

func TestSubscribeTwice(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("sub", m.URI()))
	b := &inbox{}
	s := subscribe(t, n, "t", b)
	_, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "/t", Open: b.open})
	if c := (*tcpros.ConflictError)(nil); !errors.As(err, &c) || c.Topic != "/t" || !errors.Is(err, tcpros.ErrConflict) {
		t.Errorf("got %v", err)
	}
	waitFor(t, "the registration", func() bool { return registered(t, m.URI(), "/t") })
	s.Close()
	s.Close()
	waitFor(t, "the end of the registration", func() bool { return !registered(t, m.URI(), "/t") })
	subscribe(t, n, "/t", b)
	waitFor(t, "the second registration", func() bool { return registered(t, m.URI(), "/t") })
	for _, o := range []tcpros.SubscribeOptions{
		{Topic: "a b", Open: b.open}, {Topic: "/x", Type: "<a>", Open: b.open}, {Topic: "/x", MaxMessageBytes: 1 << 30, Open: b.open}, {Topic: "/x", MaxMessageBytes: -1, Open: b.open}, {Topic: "/x"},
	} {
		if _, err := n.Subscribe(o); err == nil {
			t.Errorf("%+v accepted", o)
		}
	}
}

// An Open that refuses or fails closes the link, and the link is tried again.
func TestOpenRefuses(t *testing.T) {
	m := newMaster(t)
	p := newFakePublisher(t, "/t", sends("/t", frame("x")))
	p.register(m.URI(), "/fake")
	b := &inbox{}
	tries := 0
	n := newNode(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: 10 * time.Millisecond}))
	_, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "/t", Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		if tries++; tries < 3 {
			return nil, errors.New("not now")
		}
		return b.open(i)
	}})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the message", func() bool { return b.count() == 1 })
}

// The log distinguishes the reasons why there is no link.
func TestNoLinkTexts(t *testing.T) {
	t.Parallel()
	refused := func() any { return []any{0, "not a publisher", 0} }
	tests := map[string]struct {
		open  error
		reply func() any // answer of the slave API
		uri   string     // registered instead of the publisher's
		want  string
		alone bool // the node is on loopback, too: there is one machine
	}{
		"refused by Open":    {errors.New("no space"), nil, "", "not taken by this node", false},
		"topic refused":      {nil, refused, "", "does not offer the topic", false},
		"no address":         {nil, func() any { return []any{1, "", []any{}} }, "", "no usable TCPROS address", false},
		"nothing there":      {nil, nil, "http://127.0.0.1:1/", "listed but not reached; it advertises a loopback address: if it runs on another machine, set ROS_HOSTNAME or ROS_IP", false},
		"one machine":        {nil, nil, "http://127.0.0.1:1/", "publisher is listed but not reached: its node may have died, rosnode cleanup removes the nodes that have", true},
		"a name of loopback": {nil, refused, "localhost", "offer the topic; it advertises a loopback address", false},
		"no host":            {nil, nil, "http://:1234/", "set ROS_HOSTNAME or ROS_IP", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaster(t)
			p := newFakePublisher(t, "/t", sends("/t"))
			p.reply = tt.reply
			uri := p.uri
			switch tt.uri {
			case "":
			case "localhost":
				uri = strings.Replace(uri, "127.0.0.1", "localhost", 1)
			default:
				uri = tt.uri
			}
			call(t, m.URI(), "registerPublisher", "/fake", "/t", stringType, uri)
			log, logs := observedLog()
			o := nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: 10 * time.Millisecond})
			o.Log = log
			if !tt.alone {
				o.Bind, o.Args.IP = "127.0.0.1", "192.0.2.7"
			}
			b := &inbox{}
			_, err := newNode(t, o).Subscribe(tcpros.SubscribeOptions{Topic: "/t", Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
				if tt.open != nil {
					return nil, tt.open
				}
				return b.open(i)
			}})
			if err != nil {
				t.Fatal(err)
			}
			var warnings *observer.ObservedLogs
			waitFor(t, "the warning", func() bool {
				warnings = logs.Filter(func(e observer.LoggedEntry) bool {
					return e.Level == zap.WarnLevel && !strings.Contains(e.Message, "is none of this machine") // 192.0.2.7, told once at the start
				})
				return warnings.Len() > 0
			})
			if got := warnings.All()[0].Message; !strings.Contains(got, tt.want) || tt.alone && got != tt.want || warnings.Len() != 1 {
				t.Errorf("logged %q, want %q", got, tt.want)
			}
			if host, told := warnings.All()[0].ContextMap()["host"]; tt.uri == "localhost" && host != "localhost" || strings.Contains(warnings.All()[0].Message, "loopback") != told {
				t.Errorf("logged the host %v", host)
			}
		})
	}
}

// closeQuietLink lets a publisher come and go, and returns when s has closed the link to that
// publisher for being quiet: by then, the other links have been checked as often.
func closeQuietLink(t *testing.T, masterURI string, s *tcpros.Subscription) {
	t.Helper()
	before := s.Publishers()
	p := newFakePublisher(t, s.Topic(), sends(s.Topic()))
	p.register(masterURI, "/quiet")
	waitFor(t, "the quiet publisher's link", func() bool { return s.Publishers() == before+1 })
	call(t, masterURI, "unregisterPublisher", "/quiet", s.Topic(), p.uri)
	waitFor(t, "the end of the quiet publisher's link", func() bool { return s.Publishers() == before })
}

// The log does not call a publisher listed that the new master does not know.
func TestOrphanIsNotCalledListed(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	f := newFront(t, m.URI())
	hangUp := make(chan struct{})
	p := newFakePublisher(t, "/t", func(c net.Conn) {
		_, _ = c.Write(tcpros.AppendHeader(nil, goodHeader("/t")))
		<-hangUp
	})
	p.register(m.URI(), "/fake")
	_, s, logged := subscriber(t, nodeOptions("sub", f.URL).With(tcpros.Timing{Identify: brisk.Identify}), "/t")
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	next := newMaster(t)
	call(t, next.URI(), "setParam", "/x", "/run_id", "another")
	f.restart(next.URI(), nil)
	waitFor(t, "the registration", func() bool { return registered(t, next.URI(), "/t") })
	// The next master lists another publisher: when that link is up, the node knows that the master
	// does not list the first publisher.
	newFakePublisher(t, "/t", sends("/t")).register(next.URI(), "/other")
	waitFor(t, "the other link", func() bool { return s.Publishers() == 2 })
	p.mu.Lock()
	p.reply = func() any { panic(http.ErrAbortHandler) }
	p.mu.Unlock()
	close(hangUp)
	waitFor(t, "the warning", func() bool { return logged("publisher of an earlier master") == 1 })
	if logged("listed") != 0 {
		t.Error("an orphan was called listed")
	}
}

func TestSystemState(t *testing.T) {
	m := newMaster(t)
	p := newFakePublisher(t, "/t", sends("/t"))
	p.register(m.URI(), "/fake")
	n := newNode(t, nodeOptions("sub", m.URI()))
	subscribe(t, n, "/t", &inbox{})
	waitFor(t, "both registrations", func() bool {
		s, err := n.Master().SystemState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return cmp.Equal(s.Publishers["/t"], []string{"/fake"}) && cmp.Equal(s.Subscribers["/t"], []string{"/sub"}) && len(s.Services) == 0
	})
	types, err := n.Master().TopicTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []tcpros.TopicInfo{{Name: "/t", Type: stringType}}; !cmp.Equal(types, want) {
		t.Errorf("types %v, want %v", types, want)
	}
}
