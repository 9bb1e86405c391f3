package tcpros

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// debtOf says whether something was sent behind the last word of the peer's kernel.
// Unacknowledged data alone says nothing: one that has no room for it says so each time it
// is sent, which is ever more rarely.
func debtOf(c net.Conn) (d debt) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return d
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return d // closed already
	}
	// An error leaves it owing nothing: then the kernel's patience is all there is.
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			d.owed = info.Unacked > 0 && info.Last_data_sent < info.Last_ack_recv || info.Probes > 0
			d.heard = time.Duration(info.Last_ack_recv) * time.Millisecond
			// Each of them grows without the others: Retransmits where nothing can be sent for
			// want of a route, Probes where the peer has no room.
			d.asked = uint32(info.Retransmits) + uint32(info.Probes) + info.Total_retrans
		}
	})
	return d
}
