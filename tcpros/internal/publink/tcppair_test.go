package publink

import (
	"net"
	"testing"
)

// tcpPair returns both ends of a TCP connection.
func tcpPair(tb testing.TB) (here, there *net.TCPConn) {
	tb.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	var d net.Dialer
	c, err := d.DialContext(tb.Context(), "tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	peer, err := ln.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = peer.Close() })
	return c.(*net.TCPConn), peer.(*net.TCPConn)
}
