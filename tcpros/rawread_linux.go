package tcpros

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// rawReadMost is the longest read that the scheduler is not told of: it copies for
// some microseconds, in which nothing else can have this core.
const rawReadMost = minReadBuffer

// rawConn reads from a socket without telling the Go scheduler. An ordinary read tells
// it, since a call might block, and wakes the runtime's monitor thread if that sleeps.
// With many quiet links it falls asleep behind each message and is woken by the next
// one, for a fifth of all processor time. A socket of ours never blocks: who needs the
// monitor are goroutines that compute for long, and calls that do block wake it.
type rawConn struct {
	conn net.Conn
	raw  syscall.RawConn
	try  func(fd uintptr) bool // made once: a closure for each read would be an allocation

	// Of the read under way.
	p     []byte
	n     int
	errno syscall.Errno
}

// quickReads returns what reads from c at the least cost. It has one reader at a time.
func quickReads(c net.Conn) frameConn {
	socket, ok := c.(syscall.Conn)
	if !ok || runtime.GOMAXPROCS(0) == 1 { // only the monitor takes a single core from a compressor
		return c
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return c // closed already, as its Read will say
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
			Op: "read", Net: r.conn.LocalAddr().Network(), Source: r.conn.LocalAddr(), Addr: r.conn.RemoteAddr(),
			Err: os.NewSyscallError("read", r.errno),
		}
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// once reads once and reports whether that is all: the poller calls it again when the
// socket has something. The call that finds nothing cannot be left out after a short
// read: the end of the stream may have come along with the data, and is told only once.
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
