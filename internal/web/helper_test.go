package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/recorder"
)

const token = "0123456789abcdef"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a backend until the test ends, and returns how to talk to it.
func serve(t *testing.T, backend web.Backend, change ...func(*web.Options)) *client {
	t.Helper()
	o := options()
	for _, c := range change {
		c(&o)
	}
	s, err := web.Serve(t.Context(), o, backend)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, s, &http.Transport{DisableKeepAlives: true})
}

func options() web.Options {
	return web.Options{
		Listen: "127.0.0.1:0", Node: "/node", Version: "1.2.3", MasterUp: func() bool { return true }, Unread: func() (now, ever string) { return "", "" }, Log: zap.NewNop(),
	}
}

// newClient talks to a server, and closes it when the test ends.
func newClient(t *testing.T, s *web.Server, transport *http.Transport) *client {
	t.Helper()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return &client{t: t, server: s, address: "http://" + s.Addr().String(), http: &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// serveInBubble is serve for a bubble of synctest: the network is pipes, which hold
// nothing, so that who does not read is noticed at once.
func serveInBubble(t *testing.T, backend web.Backend, change ...func(*web.Options)) (*client, *pipes) {
	t.Helper()
	p := &pipes{come: make(chan net.Conn), closed: make(chan struct{})}
	o := options()
	for _, c := range change {
		c(&o)
	}
	s := web.ServeOn(t.Context(), p, o, backend)
	return newClient(t, s, &http.Transport{DisableKeepAlives: true, DialContext: p.dial}), p
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

// idle is a recording that has not begun.
func idle() web.Backend { return web.NewRecorder(new(recorder.Control), time.Minute) }

// playing is a backend with a player that remembers what it is told.
func playing(topics ...string) (*web.Player, *fakePlayer) {
	f, backend := newFakePlayer(topics...), web.NewPlayer()
	backend.Attach(f)
	return backend, f
}

type client struct {
	t       *testing.T
	server  *web.Server
	address string
	http    *http.Client
}

type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request that the last argument may change. Words of the form "Name: value"
// are headers.
func (c *client) do(method, path, body string, headers ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.address+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			continue
		}
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

func (c *client) get(path string, headers ...string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, path, "", headers...)
}

func (c *client) post(path, body string, headers ...string) answer {
	c.t.Helper()
	return c.do(http.MethodPost, path, body, headers...)
}

// decode reads the JSON of an answer.
func decode[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return v
}
