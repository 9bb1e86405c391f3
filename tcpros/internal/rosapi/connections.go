package rosapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// connections are the connections to the master, which stays, and to other nodes, which come and go.
type connections struct {
	hostport string // of the master
	master   *http.Transport
	nodes    *xmlrpc.Transport
}

// newTransport returns an http.Transport without a proxy: the graph is local, and a proxy would see every
// parameter.
func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:        dial,
		DisableCompression: true,
		// with fewer, most calls of unregisterAll would need a new connection
		MaxIdleConnsPerHost: UnregisterCalls,
		MaxIdleConns:        64,
		IdleConnTimeout:     10 * time.Second,
		// Below 64 kB: headers of XML-RPC servers are some 200 bytes.
		MaxResponseHeaderBytes: 32 << 10,
	}
}

// RoundTrip implements http.RoundTripper.
func (c *connections) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == c.hostport {
		return c.master.RoundTrip(r)
	}
	return c.nodes.RoundTrip(r)
}

// closeIdle closes the connections that no call uses.
func (c *connections) closeIdle() {
	c.master.CloseIdleConnections()
	c.nodes.CloseIdleConnections()
}
