package publink

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// probeOften makes the kernel probe the peer once a second: a peer that reads reports its new
// receive window only when half of its buffer is free, and never after our end of stream. The
// peer's answers to probes update the window that socketProgress returns.
func probeOften(c net.Conn) {
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: true, Idle: time.Second, Interval: time.Second, Count: 5,
		})
	}
}

// socketProgress returns the bytes that the peer's kernel has not acknowledged and its last
// receive window.
func socketProgress(c net.Conn) (unsent int, window uint32) {
	tc, ok := c.(*net.TCPConn)
	if !ok {
		return 0, 0
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return 0, 0
	}
	// On an error the values stay zero: without progress the timeout applies.
	_ = raw.Control(func(fd uintptr) {
		unsent, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			window = info.Snd_wnd
		}
	})
	return unsent, window
}
