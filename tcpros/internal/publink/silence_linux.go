package publink

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// ackStateOf returns the state of acknowledgments on a connection.
func ackStateOf(c net.Conn) (d ackState) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return d
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return d // closed already
	}
	// After an error nothing is outstanding: then only the kernel's own timeout applies.
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			d = ackStateIn(info)
		}
	})
	return d
}

// ackStateIn returns the state of acknowledgments in what the kernel says of a connection. An
// acknowledgment is outstanding if data was sent after the last one. Unacknowledged data alone is no
// sign: a peer with a full receive window answers each probe, and the intervals between probes grow.
func ackStateIn(info *unix.TCPInfo) ackState {
	return ackState{
		pending:  info.Unacked > 0 && info.Last_data_sent < info.Last_ack_recv || info.Probes > 0,
		sinceAck: time.Duration(info.Last_ack_recv) * time.Millisecond,
		// Each counter can grow alone: Retransmits without a route to the peer, Probes with a full
		// receive window.
		probes: uint32(info.Retransmits) + uint32(info.Probes) + info.Total_retrans,
	}
}
