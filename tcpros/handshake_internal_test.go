package tcpros

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// drip sends a byte each second until the other side closes.
func drip(c net.Conn, b []byte) {
	for _, x := range b {
		if _, err := c.Write([]byte{x}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// A subscriber that sends its header slowly gains no time by it.
func TestHandshakeDeadline(t *testing.T) {
	slow := wire.AppendHeader(nil, wire.Header{{Key: "callerid", Value: "/slow and long"}, {Key: "md5sum", Value: "*"}})
	bare := func() *Node {
		n := &Node{name: "/n", log: zap.NewNop(), pending: wire.NewPending(zap.NewNop())}
		n.keepAlive.Store(true)
		return n
	}
	for name, run := range map[string]func(c net.Conn) error{
		"publisher": func(c net.Conn) error {
			n := bare()
			(&tcprosServer{node: n}).handle(c, n.pending.Accept(c))
			return c.SetDeadline(time.Time{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var wg sync.WaitGroup
				defer wg.Wait()
				defer here.Close()
				wg.Go(func() { _, _ = io.Copy(io.Discard, there) })
				wg.Go(func() { drip(there, slow) })
				start := time.Now()
				if err := run(here); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				if took := time.Since(start); took != wire.HandshakeTimeout {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}
