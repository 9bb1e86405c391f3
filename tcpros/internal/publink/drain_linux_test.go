package publink

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// option returns a socket option of TCP.
func option(t *testing.T, c *net.TCPConn, name int) (value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, name) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	return value
}

// Progress is a change in the bytes that the subscriber's kernel has acknowledged, or the
// subscriber has read. While a link drains, its kernel is probed once a second.
func TestDrainSeesProgress(t *testing.T) {
	t.Parallel()
	here, there := tcpPair(t)
	l := link(here, 0, &room{})
	if p := l.progress(); p.unsent != 0 || p.window == 0 {
		t.Errorf("nothing is sent yet: %+v", p)
	}
	total := 0
	for full := false; !full; {
		// Set the deadline for each write anew: the test may be delayed beyond a deadline before
		// the write begins.
		if err := here.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := here.Write(make([]byte, 1<<20))
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		total += n
		full = err != nil && total > 0
	}
	full := l.progress()
	if full.unsent == 0 {
		t.Errorf("nobody reads: %+v", full)
	}
	if _, err := io.ReadFull(there, make([]byte, total)); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for p := l.progress(); p.unsent > 0 || p.window <= full.window; p = l.progress() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("all is read: %+v", p)
		}
	}
	close(l.done)
	if got := l.drain(t.Context(), time.Hour); got != "left early" {
		t.Errorf("a link that has ended: %q", got)
	}
	if idle := option(t, here, unix.TCP_KEEPIDLE); idle != 1 {
		t.Errorf("asked each %d s", idle)
	}
}

// A connection that is no socket, or is closed, shows no progress.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	pipe, _ := net.Pipe()
	here, _ := tcpPair(t)
	_ = here.Close()
	for _, c := range []net.Conn{pipe, here} {
		if unsent, window := socketProgress(c); unsent != 0 || window != 0 {
			t.Errorf("%T: %d bytes, window %d", c, unsent, window)
		}
	}
}
