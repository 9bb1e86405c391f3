package publink

import (
	"net"
	"syscall"
	"unsafe"
)

// quickWriter writes to a socket from the calling goroutine, without waiting. Copying a few
// KiB takes less time than waking a writer goroutine, which on an idle machine means waking
// a core.
type quickWriter struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // made once: a closure for each write would be an allocation

	// Arguments and result of the write in progress.
	p []byte
	n int
}

// newQuickWriter returns nil if c gives no access to its file descriptor.
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

// write returns how many bytes of p the kernel has accepted. If that is not all, the next
// ordinary write returns the error, if any.
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
