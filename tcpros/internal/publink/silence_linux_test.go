package publink

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAckState(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tt := range map[string]struct {
		info unix.TCPInfo
		want ackState
	}{
		"idle":              {unix.TCPInfo{Last_data_sent: 1000, Last_ack_recv: 3000}, ackState{false, 3 * s, 0}},
		"sent just now":     {unix.TCPInfo{Unacked: 1, Last_data_sent: 1000, Last_ack_recv: 3000}, ackState{true, 3 * s, 0}},
		"heard afterwards":  {unix.TCPInfo{Unacked: 1, Last_data_sent: 3000, Last_ack_recv: 1000}, ackState{false, s, 0}},
		"heard at once":     {unix.TCPInfo{Unacked: 1, Last_data_sent: 3000, Last_ack_recv: 3000}, ackState{false, 3 * s, 0}},
		"window is probed":  {unix.TCPInfo{Probes: 1, Last_data_sent: 3000, Last_ack_recv: 3000}, ackState{true, 3 * s, 1}},
		"all counters grow": {unix.TCPInfo{Retransmits: 1, Probes: 2, Total_retrans: 4, Last_ack_recv: 3000}, ackState{true, 3 * s, 7}},
	} {
		if got := ackStateIn(&tt.info); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// A connection that is no socket, or is closed, has no state.
func TestAckStateOfConnection(t *testing.T) {
	t.Parallel()
	pipe, _ := net.Pipe()
	closed, _ := tcpPair(t)
	_ = closed.Close()
	for _, c := range []net.Conn{pipe, closed} {
		if got := ackStateOf(c); got != (ackState{}) {
			t.Errorf("%T: %+v", c, got)
		}
	}
	open, _ := tcpPair(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Second); ackStateOf(open).sinceAck == 0; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the time since the last acknowledgment stays zero")
		}
	}
}

// The kernel of a subscriber that does not read still acknowledges. Data beyond its window is sent
// again at growing intervals, without an outstanding acknowledgment in between: after 0.2 s, 0.4 s,
// 0.8 s and so on.
func TestDeafIsNotSilent(t *testing.T) {
	t.Parallel()
	// Longer than the kernel may let one segment wait for its acknowledgment, and shorter than
	// the intervals of 0.8 and 1.6 s.
	const sign = 600 * time.Millisecond
	// Data that was just sent is unacknowledged for a moment, longer on a busy machine. A link that
	// is really silent stays silent for the rest of an interval.
	const moment = 100 * time.Millisecond
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	deaf, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := deaf.(*net.TCPConn).SetReadBuffer(4096); err != nil { // smaller than the receive window that it has announced
		t.Fatal(err)
	}
	if err := c.SetWriteDeadline(time.Now().Add(3 * time.Second)); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		for err := error(nil); err == nil; {
			_, err = c.Write(make([]byte, 1<<20))
		}
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	var since time.Time // when there was a sign first
	for looks := 0; ; looks++ {
		select {
		case <-look.C:
			switch d := ackStateOf(c); {
			case !d.pending || d.sinceAck < sign:
				since = time.Time{}
			case since.IsZero():
				since = time.Now()
			case time.Since(since) >= moment:
				t.Fatalf("look %d: heard %v ago", looks, d.sinceAck)
			}
		case <-wrote:
			return
		}
	}
}
