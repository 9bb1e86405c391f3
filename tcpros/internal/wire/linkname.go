package wire

import (
	"net"
	"strconv"
)

// LinkName describes c in the form that rosnode parses.
func LinkName(c net.Conn) string {
	port, fd := "0", uintptr(0)
	if a, ok := c.LocalAddr().(*net.TCPAddr); ok {
		port = strconv.Itoa(a.Port)
	}
	if tc, ok := c.(*net.TCPConn); ok {
		if raw, err := tc.SyscallConn(); err == nil {
			_ = raw.Control(func(f uintptr) { fd = f }) // c is closed already: socket 0
		}
	}
	return "TCPROS connection on port " + port + " to [" + c.RemoteAddr().String() +
		" on socket " + strconv.FormatUint(uint64(fd), 10) + "]"
}
