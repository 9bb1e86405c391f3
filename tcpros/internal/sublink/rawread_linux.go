package sublink

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// rawReadMost is the most bytes of a read that bypasses the scheduler: such a read occupies the
// core for a few microseconds.
const rawReadMost = minReadBuffer

// rawConn reads from a socket without notifying the Go scheduler. An ordinary read notifies the
// scheduler, since a system call might block, and so wakes the runtime's monitor thread if the
// thread sleeps. With many quiet links the monitor falls asleep after each message and is woken by
// the next one, which takes a fifth of all processor time. Our sockets never block. Only goroutines
// that compute for long need the monitor, and calls that do block wake it.
type rawConn struct {
	conn net.Conn
	raw  syscall.RawConn
	try  func(fd uintptr) bool // made once: a closure for each read would be an allocation

	// Arguments and results of the read in progress.
	p     []byte
	n     int
	errno syscall.Errno
}

// quickReads returns the cheapest reader for c. Only one goroutine at a time may use the reader.
func quickReads(c net.Conn) frameConn {
	socket, ok := c.(syscall.Conn)
	if !ok || runtime.GOMAXPROCS(0) == 1 { // on a single core, only the monitor can preempt a compressor
		return c
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return c // c is closed already: its Read returns the error
	}
	r := &rawConn{conn: c, raw: raw}
	r.try = r.once
	return r
}

// Read implements io.Reader.
func (r *rawConn) Read(p []byte) (int, error) {
	if len(p) == 0 || len(p) > rawReadMost {
		return r.conn.Read(p)
	}
	r.p = p
	err := r.raw.Read(r.try)
	r.p = nil
	switch {
	case err != nil:
		return 0, err
	case r.errno != 0:
		return 0, &net.OpError{
			Op: "read", Net: r.conn.LocalAddr().Network(), Source: r.conn.LocalAddr(),
			Addr: r.conn.RemoteAddr(),
			Err:  os.NewSyscallError("read", r.errno),
		}
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// once reads once and reports whether the read is complete. If not, the poller calls once again
// when the socket is readable. once has to try a read even after a short read: the end of the
// stream may have arrived with the data, and the poller signals the end only once.
func (r *rawConn) once(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(r.p))), uintptr(len(r.p))) //nolint:gosec // the array stays where it is, and alive by r.p
		if errno != syscall.EINTR {
			r.n, r.errno = int(n), errno
			return errno != syscall.EAGAIN
		}
	}
}

// SetReadDeadline implements net.Conn.
func (r *rawConn) SetReadDeadline(t time.Time) error { return r.conn.SetReadDeadline(t) }
