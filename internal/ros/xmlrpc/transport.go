package xmlrpc

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// renewAfter is how many connections a Transport makes before it starts with a new http.Transport.
const renewAfter = 512

// Transport is an http.RoundTripper for calls to the nodes of a graph. It reuses connections, as
// http.Transport does, and has a bound: http.Transport remembers each host:port for as long as no
// connection to it has become idle, for example for ever if the node there is gone. Nodes come and
// go for months, each with another port, so Transport replaces its http.Transport after renewAfter
// connections. It is for concurrent use.
type Transport struct {
	create func() *http.Transport

	mu      sync.Mutex
	current *http.Transport
	dials   int // connections that current has begun to make
}

// NewTransport returns a Transport that makes calls with what create returns, which has a DialContext.
func NewTransport(create func() *http.Transport) *Transport {
	t := &Transport{create: create}
	t.renew()
	return t
}

// renew replaces the http.Transport. The caller has mu, or the only reference.
func (t *Transport) renew() {
	made := t.create()
	dial := made.DialContext
	made.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		t.count(made)
		return dial(ctx, network, address)
	}
	t.current, t.dials = made, 0
}

// count counts a connection of an http.Transport, unless another one has replaced it.
func (t *Transport) count(of *http.Transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of == t.current {
		t.dials++
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	var former *http.Transport
	if t.dials >= renewAfter {
		former = t.current
		t.renew()
	}
	current := t.current
	t.mu.Unlock()
	if former != nil {
		former.CloseIdleConnections() // calls that go on end as they would have
	}
	return current.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no call uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	current := t.current
	t.mu.Unlock()
	current.CloseIdleConnections()
}
