package tcpros_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// call makes one call of the master's or a slave API and returns the value.
func call(t testing.TB, uri, method string, args ...any) any {
	t.Helper()
	hc := xmlrpc.NewHTTPClient(patience)
	defer hc.CloseIdleConnections()
	v, err := xmlrpc.Call(t.Context(), hc, uri, method, args...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	reply := v.([]any)
	if reply[0] != 1 {
		t.Fatalf("%s: %v", method, reply)
	}
	return reply[2]
}

// fakePublisher is a node that answers RequestTopic with the address of a listener whose
// connections the test handles.
type fakePublisher struct {
	t     testing.TB
	uri   string
	topic string
	api   *xmlrpc.Server
	ln    net.Listener
	wg    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	at    []time.Time     // when each connection was accepted
	hello []tcpros.Header // headers that the subscribers sent
	host  string          // answered instead of 127.0.0.1 when set
	reply func() any      // answered to RequestTopic when set

	answer func(method string, args []any) any // answered to any call when set and not nil
}

// goodHeader is the reply of a sound publisher.
func goodHeader(topic string) tcpros.Header {
	return tcpros.Header{
		{Key: "callerid", Value: "/fake"},
		{Key: "latching", Value: "0"},
		{Key: "md5sum", Value: stringMD5},
		{Key: "message_definition", Value: stringDef},
		{Key: "topic", Value: topic},
		{Key: "type", Value: stringType},
	}
}

// newFakePublisher reads the subscriber's header of each connection, calls handle, and closes the
// connection.
func newFakePublisher(t testing.TB, topic string, handle func(net.Conn)) *fakePublisher {
	t.Helper()
	p := &fakePublisher{t: t, topic: topic}
	var err error
	if p.ln, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	api, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.uri = "http://" + api.Addr().String() + "/"
	p.api = xmlrpc.NewServer(p.slave, xmlrpc.ServerOptions{})
	p.wg.Go(func() { _ = p.api.Serve(api) })
	p.wg.Go(func() { p.accept(handle) })
	t.Cleanup(p.close)
	return p
}

func (p *fakePublisher) slave(_ context.Context, _, method string, args []any) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer != nil {
		if v := p.answer(method, args); v != nil {
			return v, nil
		}
	}
	if method == "requestTopic" {
		if p.reply != nil {
			return p.reply(), nil
		}
		host := p.host
		if host == "" {
			host = "127.0.0.1"
		}
		return []any{1, "", []any{"TCPROS", host, p.ln.Addr().(*net.TCPAddr).Port}}, nil
	}
	return []any{1, "", 0}, nil
}

func (p *fakePublisher) accept(handle func(net.Conn)) {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, c)
		p.at = append(p.at, time.Now())
		p.mu.Unlock()
		p.wg.Go(func() {
			defer c.Close()
			h, err := tcpros.ReadHeader(c)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.hello = append(p.hello, h)
			p.mu.Unlock()
			handle(c)
		})
	}
}

// close ends the publisher without unregistering.
func (p *fakePublisher) close() {
	_ = p.ln.Close()
	_ = p.api.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// forget clears the records of ended connections.
func (p *fakePublisher) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns, p.at, p.hello = nil, nil, nil
}

func (p *fakePublisher) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.at)
}

// register registers the publisher with the master. The master sees one node for each name.
func (p *fakePublisher) register(master, name string) {
	p.t.Helper()
	call(p.t, master, "registerPublisher", name, p.topic, stringType, p.uri)
}

// sends writes a good header, then frames, then waits for the other side to close.
func sends(topic string, frames ...[]byte) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = c.Write(tcpros.AppendHeader(nil, goodHeader(topic)))
		for _, f := range frames {
			_, _ = c.Write(f)
		}
		waitClosed(c)
	}
}

func waitClosed(c net.Conn) {
	var b [1]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			return
		}
	}
}

// subscriberHeader is the header of a typical subscriber.
func subscriberHeader(caller, topic string) tcpros.Header {
	return tcpros.Header{
		{Key: "callerid", Value: caller},
		{Key: "md5sum", Value: stringMD5},
		{Key: "tcp_nodelay", Value: "1"},
		{Key: "topic", Value: topic},
		{Key: "type", Value: stringType},
	}
}

func without(h tcpros.Header, key string) tcpros.Header {
	var out tcpros.Header
	for _, f := range h {
		if f.Key != key {
			out = append(out, f)
		}
	}
	return out
}

func with(h tcpros.Header, key, value string) tcpros.Header {
	return append(without(h, key), fields.Field{Key: key, Value: value})
}

// TCPROSAddress asks a node where it serves a topic.
func tcprosAddress(t *testing.T, n *tcpros.Node, topic string) string {
	t.Helper()
	v := call(t, n.URI(), "requestTopic", "/test", topic, []any{[]any{"UDPROS", "x"}, []any{"TCPROS"}}).([]any)
	if v[0] != "TCPROS" {
		t.Fatalf("answered %v", v)
	}
	return net.JoinHostPort(v[1].(string), itoa(v[2].(int)))
}

// dial connects to a publication with a header and returns the reply.
func dial(t *testing.T, address string, h tcpros.Header) (net.Conn, tcpros.Header) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(tcpros.AppendHeader(nil, h)); err != nil {
		t.Fatal(err)
	}
	reply, err := tcpros.ReadHeader(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, reply
}
