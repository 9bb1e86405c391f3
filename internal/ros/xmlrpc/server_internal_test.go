package xmlrpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Callers that stall in the middle of a large body do not keep others from sending
// theirs.
func TestStalledBodiesGiveWay(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(func(_ context.Context, _, _ string, args []any) (any, error) { return len(args), nil },
		ServerOptions{Limits: Limits{BodyBytes: 4 << 20}, Timeout: time.Minute})
	s.stall = 5 * time.Second // also applies to good callers: the scheduler may delay them for a while
	ended := make(chan error, 1)
	// owner: the test; ends when the server is closed.
	go func() { ended <- s.Serve(l) }()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	spaces := strings.Repeat(" ", smallBody+1)
	for range bigBodies {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", 2*smallBody, spaces)
	}
	for deadline := time.Now().Add(time.Minute); len(s.big) < bigBodies; { // until the stalled bodies are in memory
		if time.Now().After(deadline) {
			t.Fatal("no large body was begun")
		}
		<-time.After(time.Millisecond)
	}
	hc := NewHTTPClient(time.Minute)
	defer hc.CloseIdleConnections()
	for range 2 { // the connection is as good as new after a large body
		if _, err := Call(t.Context(), hc, "http://"+l.Addr().String(), "m", spaces); err != nil {
			t.Error(err)
		}
	}
}

// countedListener counts the bytes that are read from its connections.
type countedListener struct {
	net.Listener
	read atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &countedConn{c, &l.read}, err
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// The most callers that the server permits, each with half a request of 1 MiB, occupy little
// memory: unread bytes stay in the kernel, which soon stops the callers.
func TestHalfBodiesAreNotRead(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &countedListener{Listener: tcp}
	s := NewServer(func(context.Context, string, string, []any) (any, error) { return 0, nil },
		ServerOptions{Limits: Limits{BodyBytes: 4 << 20}, Timeout: 5 * time.Minute})
	s.stall = 5 * time.Minute
	ended := make(chan error, 1)
	// owner: the test; ends when the server is closed.
	go func() { ended <- s.Serve(l) }()
	defer func() {
		_ = s.Close() // also closes connections in the middle of a request
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	const announced = 1 << 20
	head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", announced)
	half := head + strings.Repeat(" ", announced-1)
	for range defaultConns {
		c, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() { _, _ = c.Write([]byte(half)) }() // owner: the test; ends when c is closed
	}
	all := int64(defaultConns*len(head) + (defaultConns-bigBodies)*smallBody + bigBodies*(announced-1))
	const readAhead = defaultConns * 4 << 10 // by net/http
	deadline := time.Now().Add(time.Minute)
	for l.read.Load() < all && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	if got := l.read.Load(); got < all || got > all+readAhead {
		t.Errorf("%d bytes were read, want %d to %d", got, all, all+readAhead)
	}
}
