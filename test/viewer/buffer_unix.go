//go:build unix

package viewer

import "syscall"

// receiveBuffer sets the size of the kernel's receive buffer, before the connection begins: the
// window of TCP follows it.
func receiveBuffer(bytes int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		if err := c.Control(func(fd uintptr) {
			set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, bytes)
		}); err != nil {
			return err
		}
		return set
	}
}
