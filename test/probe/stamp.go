//go:build linux

package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// Arrival is one message. Of one that is too short for Payload only the time is known.
type Arrival struct {
	Link int           // index in the links of Stamp
	Seq  int           // of its topic
	Due  time.Duration // since the first message
	At   time.Duration // when the kernel had all of it, by CLOCK_MONOTONIC
}

// arrivalOf reads a message.
func arrivalOf(b []byte) (a Arrival) {
	if len(b) >= leastLen {
		a.Seq = int(binary.LittleEndian.Uint32(b[seqAt:]))
		a.Due = time.Duration(binary.LittleEndian.Uint64(b[dueAt:]))
	}
	return a
}

// Now is the time of Arrival.At.
func Now() time.Duration { return clock(unix.CLOCK_MONOTONIC) }

// Next waits for one message of size bytes. Its time is when it was read.
func (l *Link) Next(size int) (a Arrival, err error) {
	buf := make([]byte, 4+size)
	for got := 0; got < len(buf); {
		n, err := read(int(l.file.Fd()), buf[got:])
		if err != nil {
			return a, err
		}
		got += n
	}
	a = arrivalOf(buf[4:])
	a.At = Now()
	return a, nil
}

// stampNice is the priority of the thread that reads, if we have the right: a message
// that is read late may get the stamp of the next one.
const stampNice = -15

// Stamp reads messages of size bytes from all links, until each has ended or most
// have come. The time of an arrival is the kernel's: how long this process needs to
// wake up is not in it.
func Stamp(links []*Link, size, most int) ([]Arrival, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing of any size is allocated
	runtime.LockOSThread()                           // until the goroutine ends, with its priority
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), stampNice)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(epoll) //nolint:errcheck // holds no data
	s := &stamper{links: make([]stampLink, len(links)), all: make([]Arrival, 0, most), wall: wallOffset()}
	for i, l := range links {
		fd := int(l.file.Fd())
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
			return nil, err
		}
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return nil, err
		}
		s.links[i] = stampLink{fd: fd, buf: make([]byte, 4+size)}
	}
	events := make([]unix.EpollEvent, len(links))
	for open := len(links); open > 0 && len(s.all) < most; {
		n, err := unix.EpollWait(epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return s.all, err
		}
		for _, e := range events[:max(n, 0)] {
			switch err := s.read(int(e.Fd)); {
			case errors.Is(err, io.EOF):
				open--
				if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_DEL, s.links[e.Fd].fd, nil); err != nil {
					return s.all, err
				}
			case err != nil:
				return s.all, fmt.Errorf("probe: %s: %w", links[e.Fd].Topic, err)
			}
		}
	}
	return s.all, nil
}

type stamper struct {
	links []stampLink
	all   []Arrival
	oob   [64]byte
	wall  time.Duration // the wall clock, by which the kernel stamps, less CLOCK_MONOTONIC
}

// stampLink reads one frame at a time, so that the stamp is that of its last byte.
type stampLink struct {
	fd  int
	buf []byte
	got int
}

func (s *stamper) read(i int) error {
	l := &s.links[i]
	n, oobn, _, _, err := unix.Recvmsg(l.fd, l.buf[l.got:], s.oob[:], unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	}
	if l.got += n; l.got < len(l.buf) {
		return nil
	}
	l.got = 0
	if size := int(binary.LittleEndian.Uint32(l.buf)); size != len(l.buf)-4 {
		return fmt.Errorf("a message of %d bytes, expected %d", size, len(l.buf)-4)
	}
	a := arrivalOf(l.buf[4:])
	a.Link, a.At = i, s.stamp(s.oob[:oobn])
	s.all = append(s.all, a)
	return nil
}

// stamp returns the time in a control message, or now if there is none.
func (s *stamper) stamp(oob []byte) time.Duration {
	const header = unix.SizeofCmsghdr
	var ts unix.Timespec
	if len(oob) < header {
		return clock(unix.CLOCK_MONOTONIC)
	}
	if _, err := binary.Decode(oob[header:], binary.NativeEndian, &ts); err != nil { // its size is the machine's
		return clock(unix.CLOCK_MONOTONIC)
	}
	return time.Duration(ts.Nano()) - s.wall
}

// wallOffset compares the clocks. It is asked once: a try that is interrupted is wrong
// by as much as that takes.
func wallOffset() (offset time.Duration) {
	shortest := time.Hour
	for range 20 {
		before := clock(unix.CLOCK_MONOTONIC)
		wall := clock(unix.CLOCK_REALTIME)
		if took := clock(unix.CLOCK_MONOTONIC) - before; took < shortest {
			shortest, offset = took, wall-before-took/2
		}
	}
	return offset
}

func clock(id int32) time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(id, &ts) // both clocks exist everywhere
	return time.Duration(ts.Nano())
}

func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}
