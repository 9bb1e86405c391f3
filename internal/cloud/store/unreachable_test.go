package store_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/cloud/store"
)

// newListener calls respond with each connection, after the first bytes of the request.
func newListener(t *testing.T, respond func(net.Conn)) (addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := c.Read(make([]byte, 1<<16)); err == nil {
				respond(c)
			}
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// TestNoResponse: of a server that does not respond, or not as a store does, people are told what
// happened and what to do, and no text of Go's. Only what may pass by itself is ErrUnreachable.
func TestNoResponse(t *testing.T) {
	t.Parallel()
	reset := newListener(t, func(c net.Conn) {
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			t.Error(err)
		}
	})
	nobody := newListener(t, func(net.Conn) {})
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	ssh := newListener(t, func(c net.Conn) { c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n")) })
	alert := newListener(t, func(c net.Conn) { c.Write([]byte("\x15\x03\x01\x00\x02\x02\x46")) })
	for name, test := range map[string]struct {
		server, want, advice string
		is                   error
	}{
		"unknown":     {"http://no-such-host.invalid", `host "no-such-host.invalid" is not known here: neither DNS nor /etc/hosts has it`, "check the network", store.ErrUnreachable},
		"refused":     {"http://" + closed.Addr().String(), "cannot connect to " + closed.Addr().String() + ": connection refused", "check the network", store.ErrUnreachable},
		"reset":       {"http://" + reset, "the connection to " + reset + " broke off: connection reset by peer", "check the network", store.ErrUnreachable},
		"no response": {"http://" + nobody, "the server closes the connection without a response", "check the network", store.ErrUnreachable},
		"without TLS": {"https://" + strings.TrimPrefix(plain.URL, "http://"), "the server speaks HTTP without TLS", "write http:// in place of https://", store.ErrBadResponse},
		"with TLS":    {"http://" + alert, "the server wants TLS", "write https:// in place of http://", store.ErrBadResponse},
		"not HTTP":    {"http://" + ssh, "the server does not speak HTTP", "check the host and the port", store.ErrBadResponse},
		"not TLS":     {"https://" + ssh, "the server does not speak TLS", "check the host and the port", store.ErrBadResponse},
	} {
		for scheme, url := range urlsAt(test.server, "a.bag") {
			advice := test.advice
			if scheme == "s3" && advice == "check the network" {
				advice += " and the endpoint of the URL"
			}
			t.Run(name+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				_, err := store.Open(t.Context(), url)
				if text := test.want + ": " + advice; err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want %q", err, text)
				}
				if !errors.Is(err, test.is) || errors.Is(err, store.ErrUnreachable) && errors.Is(err, store.ErrBadResponse) {
					t.Errorf("%v is not %v", err, test.is)
				}
			})
		}
	}
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		for scheme, url := range urlsAt(plain.URL, "a.bag") {
			if _, err := store.Open(ctx, url); !errors.Is(err, store.ErrUnreachable) || !strings.Contains(err.Error(), "does not respond in time: check the network") {
				t.Errorf("%s: %v", scheme, err)
			}
		}
	})
}
