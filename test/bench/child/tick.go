//go:build linux

package child

import (
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/test/load"
	"github.com/gorosbag/gorosbag/test/probe"
)

// tick connects and sends messages at a period.
func tick(address string, args []string) error {
	messages, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	period, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	defer conn.Close()                      //nolint:errcheck // every write was checked
	link, err := conn.(*net.TCPConn).File() // a TCP connection was dialed
	if err != nil {
		return err
	}
	defer link.Close() //nolint:errcheck // as above
	fd := int(link.Fd())
	frame := make([]byte, 4+size)
	load.Fill(frame)
	binary.LittleEndian.PutUint32(frame, uint32(size))
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return err
	}
	as := &unix.SchedAttr{Policy: unix.SCHED_NORMAL, Nice: tickNice, Runtime: uint64(tickSlice)}
	if unix.SchedSetAttr(unix.Gettid(), as, 0) != nil { // as goplay: without the right, only the slice
		as.Nice = 0
		_ = unix.SchedSetAttr(unix.Gettid(), as, 0)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	for n := range messages {
		due := time.Duration(n) * period
		at := unix.NsecToTimespec(now.Nano() + int64(due))
		for {
			err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINTR) {
				return err
			}
		}
		probe.Payload(frame[4:], n, due)
		if _, err := unix.Write(fd, frame); err != nil {
			return err
		}
	}
	return nil
}

const (
	tickNice  = -10
	tickSlice = 100 * time.Microsecond
)
