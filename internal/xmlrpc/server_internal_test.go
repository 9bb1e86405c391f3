package xmlrpc

import (
	"context"
	"fmt"
	"net"
	"strings"
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
	s.stall = 200 * time.Millisecond
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
	for deadline := time.Now().Add(5 * time.Second); len(s.big) < bigBodies; { // they are stuck
		if time.Now().After(deadline) {
			t.Fatal("no large body was begun")
		}
		<-time.After(time.Millisecond)
	}
	hc := NewHTTPClient(5 * time.Second)
	defer hc.CloseIdleConnections()
	for range 2 { // the connection is as good as new after a large body
		if _, err := Call(t.Context(), hc, "http://"+l.Addr().String(), "m", spaces); err != nil {
			t.Error(err)
		}
	}
}
