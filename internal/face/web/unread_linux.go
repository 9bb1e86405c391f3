package web

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread reports whether the peer has sent bytes that are not read yet.
func unread(c net.Conn) bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	return err == nil && n > 0
}
