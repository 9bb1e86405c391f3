package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
)

const token = webtest.Token

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveInBubble is webtest.Serve for a bubble of synctest: the network is pipes, which hold
// nothing, so that who does not read is noticed at once.
func serveInBubble(t *testing.T, backend web.Backend, change ...func(*web.Options)) (*webtest.Client, *pipes) {
	t.Helper()
	p := &pipes{come: make(chan net.Conn), closed: make(chan struct{})}
	o := webtest.Options()
	for _, c := range change {
		c(&o)
	}
	s := web.ServeOn(t.Context(), p, o, backend)
	return webtest.NewClient(t, s, &http.Transport{DisableKeepAlives: true, DialContext: p.dial}), p
}

// pipes is a network in memory. It implements net.Listener.
type pipes struct {
	come   chan net.Conn
	once   sync.Once
	closed chan struct{}
	open   atomic.Int32 // connections that the server has not closed
}

// pipe is the server's side of a connection.
type pipe struct {
	net.Conn
	from  net.Addr
	close func()
}

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return p.from }

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.close()
	return p.Conn.Close()
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.come:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return p.dialFrom(ctx, "127.0.0.1")
}

// dialFrom connects from an address.
func (p *pipes) dialFrom(ctx context.Context, address string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.come <- &pipe{theirs, &net.TCPAddr{IP: net.ParseIP(address), Port: 1024}, sync.OnceFunc(func() { p.open.Add(-1) })}:
		p.open.Add(1)
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begin connects, sends the beginning of a request, and reads nothing.
func (p *pipes) begin(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}
