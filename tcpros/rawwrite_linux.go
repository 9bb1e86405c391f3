package tcpros

import (
	"net"
	"syscall"
	"unsafe"
)

// quickWriter writes to a socket from the goroutine that has the data, without
// waiting. A copy of some KiB to the peer takes less time than to wake a goroutine
// that would make it, which on an idle machine means to wake a core.
type quickWriter struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once: a closure for each write would be an allocation

	// Of the write under way.
	p []byte
	n int
}

// newQuickWriter returns nil if c cannot be written to like that.
func newQuickWriter(c net.Conn) *quickWriter {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	w := &quickWriter{raw: raw}
	w.try = w.once
	return w
}

// write returns how much of p the kernel has taken. Why it has not taken more the
// next ordinary write will say.
func (w *quickWriter) write(p []byte) int {
	if w == nil || len(p) == 0 {
		return 0
	}
	w.p, w.n = p, 0
	_ = w.raw.Write(w.try) // as above
	w.p = nil
	return w.n
}

func (w *quickWriter) once(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(w.p))), uintptr(len(w.p))) //nolint:gosec // the array stays where it is, and alive by w.p
		if errno == syscall.EINTR {
			continue
		}
		if errno == 0 {
			w.n = int(n)
		}
		return true
	}
}
