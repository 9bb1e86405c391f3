package web

import (
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/zap"
)

// TestUnreadIsSpared: a connection is not evicted for a request that has arrived, and that
// the server has not read because it is late.
func TestUnreadIsSpared(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(tcp, zap.NewNop())
	defer l.Close()
	var peers []net.Conn
	for range addressConnections {
		peer, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer peer.Close()
		peers = append(peers, peer)
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	next := &conn{owner: l, address: l.conns[0].address}
	check := func(when string, at time.Time, want *conn, wantWait time.Duration) {
		t.Helper()
		if victim, wait := l.oldest(next.address, at); victim != want || wait != wantWait {
			t.Errorf("%s: evicts %p in %v, want %p in %v", when, victim, wait, want, wantWait)
		}
	}
	now := time.Now()
	check("no goroutine has run", now, nil, behindTime)
	for _, c := range l.conns {
		c.phase, c.evictableAt = waiting, now
	}
	check("too early", now.Add(-time.Millisecond), nil, time.Millisecond)
	check("nothing has arrived", now, l.conns[0], 0)
	if _, err := peers[0].Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for deadline := now.Add(time.Minute); !unread(l.conns[0].Conn); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a byte that was sent does not arrive")
		}
	}
	check("the oldest has sent something", now, l.conns[1], 0)
	if _, err := io.ReadFull(l.conns[0], make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(evictableAfter)
	check("it was read", later, l.conns[0], 0)
	if _, err := peers[0].Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !unread(l.conns[0].Conn); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a second byte does not arrive")
		}
	}
	check("it has begun, and is slow", later, l.conns[0], 0)
}
