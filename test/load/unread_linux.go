package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Lengths and places of struct inet_diag_req_v2 and struct inet_diag_msg after their
// netlink header, linux/inet_diag.h.
const (
	diagHeader  = unix.SizeofNlMsghdr
	diagRequest = diagHeader + 56
	diagID      = diagHeader + 8  // of the request: which socket
	diagRqueue  = diagHeader + 56 // of the answer: bytes not read yet
	diagAnswer  = diagHeader + 72

	tcpClose = 7 // TCP_CLOSE of tcp_states.h
)

// Unread returns how many bytes were sent that the subscriber has not read from its
// socket. The subscriber must be on this machine: the kernel is asked about its
// socket, because what our own tells ends where the other one's buffer begins.
func (l *Link) Unread() (int, error) {
	onTheWay, err := l.unacknowledged()
	if err != nil || onTheWay > 0 {
		return onTheWay, err
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, fmt.Errorf("load: socket diagnosis: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written to a file
	if err := unix.Sendto(fd, l.diagnosis(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("load: socket diagnosis: %w", err)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	switch {
	case err != nil:
		return 0, fmt.Errorf("load: socket diagnosis: %w", err)
	case n < diagAnswer || binary.NativeEndian.Uint16(answer[4:]) != unix.SOCK_DIAG_BY_FAMILY:
		return 0, errors.New("load: the kernel tells nothing of the subscriber's socket")
	}
	return int(binary.NativeEndian.Uint32(answer[diagRqueue:])), nil
}

// unacknowledged returns how many bytes the other side's kernel has not taken.
func (l *Link) unacknowledged() (n int, err error) {
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	if control := raw.Control(func(fd uintptr) {
		var info *unix.TCPInfo
		if info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err != nil {
			return
		}
		if info.State == tcpClose { // by a reset: what was on the way then counts forever
			err = errors.New("load: the subscriber has reset the link")
			return
		}
		n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	}); control != nil {
		return 0, control
	}
	return n, err
}

// diagnosis asks for the one socket at the other end.
func (l *Link) diagnosis() []byte {
	b := make([]byte, diagRequest)
	binary.NativeEndian.PutUint32(b, diagRequest)
	binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[diagHeader], b[diagHeader+1] = unix.AF_INET, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(b[diagHeader+4:], ^uint32(0))                // in any state
	for i, addr := range []net.Addr{l.conn.RemoteAddr(), l.conn.LocalAddr()} { // as the other side sees them
		tcp, _ := addr.(*net.TCPAddr)
		binary.BigEndian.PutUint16(b[diagID+2*i:], uint16(tcp.Port))
		copy(b[diagID+4+16*i:], tcp.IP.To4())
	}
	binary.NativeEndian.PutUint64(b[diagID+40:], ^uint64(0)) // no cookie
	return b
}
