package foxglove

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/view/live"
)

func TestReason(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{Port: 8765}, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, err := range map[string]error{
		errStalled.Error(): errStalled,
		"the connection broke: connection reset by peer":                         fmt.Errorf("failed to get reader: %w", reset),
		"the viewer has ended the connection without a close frame":              fmt.Errorf("failed to get reader: %w", io.EOF),
		"the viewer has read nothing for 3m0s: it hangs, or its network is down": fmt.Errorf("failed to write msg: %w", &net.OpError{Op: "write", Net: "tcp", Err: os.ErrDeadlineExceeded}),
		"failed to read: read limited at 1048577 bytes":                          errors.New("failed to read: read limited at 1048577 bytes"),
	} {
		if got := reason(err, 3*time.Minute); got != want {
			t.Errorf("%q is logged as %q, want %q", err, got, want)
		}
	}
}

// TestDisconnectedIsLogged: the log says why a viewer has left, without the terms of the libraries.
func TestDisconnectedIsLogged(t *testing.T) {
	t.Parallel()
	s, url := serve(t, newSource(nil, live.Limits{}))
	core, lines := observer.New(zap.InfoLevel)
	s.log = zap.New(core)
	v := connect(t, url)
	v.expect("serverInfo")
	v.ws.CloseNow()
	wait(t, func() bool { return lines.FilterMessage("viewer disconnected").Len() == 1 })
	line := lines.FilterMessage("viewer disconnected").All()[0]
	switch why := line.ContextMap()["why"]; why {
	case "the viewer has ended the connection without a close frame", "the connection broke: connection reset by peer", "the connection broke: broken pipe":
	default:
		t.Errorf("why: %q", why)
	}
}
