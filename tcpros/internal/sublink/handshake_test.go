package sublink

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// trickle sends a byte each second until the other side closes.
func trickle(c net.Conn, b []byte) {
	for _, x := range b {
		if _, err := c.Write([]byte{x}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// TestHandshakeOfSlowPublisher: a publisher that sends its header slowly gains no time by it.
func TestHandshakeOfSlowPublisher(t *testing.T) {
	slow := wire.AppendHeader(nil, wire.Header{{Key: "callerid", Value: "/slow and long"}, {Key: "md5sum", Value: "*"}})
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		var wg sync.WaitGroup
		defer wg.Wait()
		defer here.Close()
		wg.Go(func() { _, _ = io.Copy(io.Discard, there) })
		wg.Go(func() { trickle(there, slow) })
		start := time.Now()
		if _, err := (&link{sub: bareTopic(Options{})}).handshake(here); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(start); took != wire.HandshakeTimeout {
			t.Errorf("took %v", took)
		}
	})
}
