package tcpros

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// probeOften makes the kernel ask the peer once a second how much room it has: a
// peer that reads does not say so by itself until half its buffer is free, and
// after our end of stream never. The answers move the window in socketProgress.
func probeOften(c net.Conn) {
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: true, Idle: time.Second, Interval: time.Second, Count: 5,
		})
	}
}

// socketProgress returns the bytes that the peer's kernel has not acknowledged and
// the room that it last reported.
func socketProgress(c net.Conn) (unsent int, window uint32) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return 0, 0
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return 0, 0
	}
	// Errors leave zeros: no sign of progress, which patience then ends.
	_ = raw.Control(func(fd uintptr) {
		unsent, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			window = info.Snd_wnd
		}
	})
	return unsent, window
}
