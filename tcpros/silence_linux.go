package tcpros

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// owesAnswer reports whether the peer's kernel has not yet acknowledged data, or a probe
// of the window that it had closed, and how long ago it said something.
func owesAnswer(c net.Conn) (owes bool, heard time.Duration) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return false, 0
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return false, 0 // closed already
	}
	// An error leaves it owing nothing: then the kernel's patience is all there is.
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			owes = info.Unacked > 0 || info.Probes > 0
			heard = time.Duration(info.Last_ack_recv) * time.Millisecond
		}
	})
	return owes, heard
}
