package sublink

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// bareTopic is a subscription to /t of a node without network or master.
func bareTopic(o Options) *Subscription {
	env := &Env{CallerID: "/n", Log: zap.NewNop(), Pending: wire.NewPending(zap.NewNop()), KeepAlive: func() bool { return true }}
	return New(NewConnector(env), "/t", o)
}

// The header for a publisher names the node, the topic and the requested type.
func TestHello(t *testing.T) {
	for _, noDelay := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			s := bareTopic(Options{MD5Sum: wire.AnyMD5, Type: names.AnyType, TCPNoDelay: noDelay})
			heard := make(chan wire.Header, 1)
			go func() {
				h, _ := wire.ReadHeader(there)
				heard <- h
				_ = there.Close()
			}()
			_, err := (&link{sub: s}).handshake(here)
			if !errors.Is(err, wire.ErrHeader) || !errors.Is(err, io.EOF) {
				t.Errorf("a publisher that closes the link: %v", err)
			}
			want := map[bool]string{false: "0", true: "1"}[noDelay]
			if h := <-heard; fmt.Sprint(h) != fmt.Sprint(wire.Header{
				{Key: "callerid", Value: "/n"},
				{Key: "md5sum", Value: "*"},
				{Key: "tcp_nodelay", Value: want},
				{Key: "topic", Value: "/t"},
				{Key: "type", Value: "*"},
			}) {
				t.Errorf("%v", h)
			}
		})
	}
}

// While a link carries messages it is up and has a name, and attempts before it are forgotten.
func TestCarry(t *testing.T) {
	s := bareTopic(Options{})
	l := &link{sub: s, failures: warnAfterFailures}
	sink := &ends{}
	lived, err := l.receive(t.Context(), linkTitle{"TCPROS", "name"}, "peer", sink, func() error {
		if title := l.title.Load(); !l.isUp.Load() || s.up.Load() != 1 || l.failures != 0 || title == nil || title.text != "name" {
			t.Errorf("up %v, %d links up, %d refused, %v", l.isUp.Load(), s.up.Load(), l.failures, title)
		}
		return errLink
	})
	if l.isUp.Load() || s.up.Load() != 0 || lived < 1 || !errors.Is(err, errLink) || !errors.Is(sink.err, errLink) || sink.n != 1 {
		t.Errorf("up %v, %d links up, lived %v, %v; the sink was closed %d times, with %v", l.isUp.Load(), s.up.Load(), lived, err, sink.n, sink.err)
	}
}

var errLink = errors.New("link ended")

// ends records how a link ended.
type ends struct {
	tape
	n   int
	err error
}

func (e *ends) Closed(err error) { e.n, e.err = e.n+1, err }
