package tcpros

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// owesAnswer reports whether something was sent behind the last word of the peer's kernel,
// and how long ago that was. Unacknowledged data alone says nothing: one that has no room
// for it says so each time it is sent, which is ever more rarely.
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
			owes = info.Unacked > 0 && info.Last_data_sent < info.Last_ack_recv || info.Probes > 0
			heard = time.Duration(info.Last_ack_recv) * time.Millisecond
		}
	})
	return owes, heard
}
