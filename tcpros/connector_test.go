package tcpros_test

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TestCrashedNodeIsTriedOnce: the topics of a crashed node are not each tried again and again, and
// all are linked when the node is back.
func TestCrashedNodeIsTriedOnce(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	p := newFakePublisher(t, "/t0", sends("/t0", frame("x")))
	address := freePort(t)
	_, port, _ := net.SplitHostPort(address)
	var tries atomic.Int64
	o := nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: time.Millisecond})
	o.LookupHost = func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "crashed" {
			tries.Add(1)
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	n := newNode(t, o)
	const topics = 40
	var subs []*tcpros.Subscription
	for i := range topics {
		name := "/t" + itoa(i)
		call(t, m.URI(), "registerPublisher", "/crashed", name, stringType, "http://crashed:"+port+"/")
		subs = append(subs, subscribe(t, n, name, &inbox{}))
	}
	registered := func() bool {
		for _, s := range subs {
			if listed, ok := s.Registered(); !ok || listed != 1 {
				return false
			}
		}
		return true
	}
	waitFor(t, "the registrations", registered)
	waitFor(t, "ten attempts", func() bool { return tries.Load() >= 10 })
	// Each link may have tried once before the first link failed. Then one link tries alone, and
	// waits longer each time: its 20 attempts need ten minutes.
	if got := tries.Load(); got > topics+20 {
		t.Errorf("%d attempts", got)
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	back := xmlrpc.NewServer(p.slave, xmlrpc.ServerOptions{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = back.Serve(l)
	}()
	t.Cleanup(func() {
		_ = back.Close()
		<-served
	})
	waitFor(t, "all links", func() bool {
		for _, s := range subs {
			if s.Publishers() != 1 {
				return false
			}
		}
		return true
	})
}

// TestLivePublisherAmongDead: crashed nodes stay listed, and the one live publisher is linked
// beside any number of them.
func TestLivePublisherAmongDead(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	const dead = 1100
	register := func(i int) {
		call(t, m.URI(), "registerPublisher", "/dead"+itoa(i), "/t", stringType, "http://127.0.0."+itoa(2+i%200)+":"+itoa(1+i/200)+"/")
	}
	for i := range dead / 2 {
		register(i)
	}
	newFakePublisher(t, "/t", sends("/t", frame("x"))).register(m.URI(), "/live")
	for i := dead / 2; i < dead; i++ {
		register(i)
	}
	b := &inbox{}
	s := subscribe(t, newNode(t, nodeOptions("sub", m.URI())), "/t", b)
	waitFor(t, "the list", func() bool { n, ok := s.Registered(); return ok && n == dead+1 })
	start := time.Now()
	waitFor(t, "the message", func() bool { return b.count() == 1 })
	t.Log("linked after", time.Since(start))
}

// TestWaitingSinksShutOutNobody: links whose owner does not accept them yet, as before the first
// message of /clock, are connected all the same, for any number of links to one node.
func TestWaitingSinksShutOutNobody(t *testing.T) {
	t.Parallel()
	const topics = 20
	m := newMaster(t)
	pub, sub := newNode(t, nodeOptions("pub", m.URI())), newNode(t, nodeOptions("sub", m.URI()))
	ready := make(chan struct{})
	b := &inbox{}
	var waiting atomic.Int64
	for i := range topics {
		advertise(t, pub, "/t"+itoa(i), 10)
		_, err := sub.Subscribe(tcpros.SubscribeOptions{Topic: "/t" + itoa(i), Open: func(l tcpros.LinkInfo) (tcpros.LinkSink, error) {
			waiting.Add(1)
			<-ready
			return b.open(l)
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	defer close(ready)
	waitFor(t, "all links", func() bool { return waiting.Load() == topics })
}
