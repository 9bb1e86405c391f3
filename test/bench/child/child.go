//go:build linux

// Package child is what the benchmarks run as processes of their own, whose processor time is then
// known: the least that a recorder, a player or a server has to do. Each is the program once more,
// with a command and its arguments.
package child

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/tcpros"
)

const (
	// CopyBuffer is how many bytes a copy reads before it writes.
	CopyBuffer = 1 << 20
	// SyncBytes is how much a copy writes before it makes that durable, as gorecord --sync interval.
	SyncBytes = 32 << 20
)

// The commands, and their arguments.
const (
	CopyCommand = "copy" // FILE SYNC ADDRESS...
	FeedCommand = "feed" // ADDRESS MESSAGES BYTES-OF-EACH
	SendCommand = "send" // ADDRESS FILE
	TickCommand = "tick" // ADDRESS MESSAGES PERIOD BYTES-OF-EACH
)

// What SYNC may be.
const (
	CopySynced   = "interval"
	CopyUnsynced = "none"
)

// Run runs the command in the arguments of the program. It reports whether there is one.
func Run(args []string) (is bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	command, args := args[0], args[1:]
	switch {
	case command == CopyCommand && len(args) >= 3:
		return true, copyLinks(args[0], args[1] == CopySynced, args[2:])
	case command == FeedCommand && len(args) == 3:
		return true, feed(args[0], args[1], args[2])
	case command == SendCommand && len(args) == 2:
		return true, sendFile(args[0], args[1])
	case command == TickCommand && len(args) == 4:
		return true, tick(args[0], args[1:])
	}
	return false, nil
}

// copyLinks subscribes to publishers at addresses and copies what the sockets give
// into one file. It is the least that any recorder has to do: wait for the sockets, read what is
// there, and write each MiB. With sync it also makes the file durable as gorecord does, on
// another thread each 32 MiB, and lets the kernel forget the pages.
func copyLinks(path string, sync bool, addresses []string) (err error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		link, err := subscribeRaw(address)
		if err != nil {
			return err
		}
		defer link.Close() //nolint:errcheck // only read from
		fd := int(link.Fd())
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return err
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	due, synced := make(chan struct{}, 1), make(chan error, 1)
	// owner: copyLinks; ends when due is closed.
	go func() {
		var err error
		for range due {
			err = errors.Join(err, Durable(f))
		}
		synced <- err
	}()
	err = copyBytes(f, poll, len(addresses), func() {
		if !sync {
			return
		}
		select {
		case due <- struct{}{}:
		default: // one is about to begin
		}
	})
	close(due)
	err = errors.Join(err, <-synced)
	if sync {
		err = errors.Join(err, Durable(f))
	}
	return errors.Join(err, f.Close())
}

// subscribeRaw connects to a publisher and returns the socket, which blocks.
func subscribeRaw(address string) (*os.File, error) {
	conn, err := net.Dial("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // the file is another descriptor
	if _, err := conn.Write(tcpros.AppendHeader(nil, tcpros.Header{{Key: "callerid", Value: "/copy"}})); err != nil {
		return nil, err
	}
	if _, err := tcpros.ReadHeader(conn); err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn).File() // a TCP connection was dialed
}

// copyBytes copies to the end of all links and tells of each SyncBytes. It fills its
// buffer before it writes: a recorder writes chunks, not what a socket happens to hold.
func copyBytes(f *os.File, poll, open int, due func()) error {
	buf, events := make([]byte, 0, CopyBuffer), make([]unix.EpollEvent, 128)
	written := 0
	flush := func() error {
		_, err := f.Write(buf)
		if written += len(buf); written >= SyncBytes {
			written = 0
			due()
		}
		buf = buf[:0]
		return err
	}
	for open > 0 {
		n, err := unix.EpollWait(poll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			n, err := unix.Read(int(e.Fd), buf[len(buf):cap(buf)])
			switch {
			case err != nil:
				return err
			case n == 0:
				open--
				err = unix.EpollCtl(poll, unix.EPOLL_CTL_DEL, int(e.Fd), nil)
			default:
				if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
					err = flush()
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return flush()
}

// Durable makes a file durable and lets the kernel forget its pages.
func Durable(f *os.File) error {
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// feed writes messages to a socket, which is the least that a server has to do for a viewer.
func feed(address, messages, size string) error {
	count, err := strconv.Atoi(messages)
	if err != nil {
		return err
	}
	bytes, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // all is written
	message := make([]byte, bytes)
	for i := range count {
		binary.LittleEndian.PutUint64(message, uint64(i))
		if _, err := c.Write(message); err != nil {
			return err
		}
	}
	return nil
}
