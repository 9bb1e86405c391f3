//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/test/load"
	"github.com/gorosbag/gorosbag/test/probe"
)

// The plain ticker is this program once more: bench tick <address> <messages> <period> <size>.
// It is the least that a player has to do to keep to a schedule: one thread that sleeps until
// a message is due, and one write.
const tickCommand = "tick"

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
	link, err := conn.(*net.TCPConn).File() //nolint:forcetypeassert // a TCP connection was dialed
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

// tick measures the plain ticker at the schedule of the tape, on one link.
func (p pace) tick(ctx context.Context) (k keeping, err error) {
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return k, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return k, err
	}
	defer l.Close() //nolint:errcheck // only listened on
	messages := p.topics * p.count
	period := time.Duration(float64(p.period) / float64(p.topics) / p.rate())
	cmd := exec.CommandContext(ctx, self, tickCommand, l.Addr().String(), strconv.Itoa(messages), period.String(), strconv.Itoa(p.size))
	if err := cmd.Start(); err != nil {
		return k, err
	}
	conn, err := l.Accept()
	if err != nil {
		return k, err
	}
	link, err := probe.NewLink(conn)
	if err != nil {
		return k, err
	}
	defer probe.Close([]*probe.Link{link})
	all, err := stamp([]*probe.Link{link}, p.size, messages)
	k.Timing = probe.TimingOf(all, 1, settled)
	err = errors.Join(err, cmd.Wait())
	k.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err == nil && k.Missed+k.Disordered > 0 {
		err = fmt.Errorf("the plain ticker sent %d messages, %d were missed", messages, k.Missed)
	}
	return k, err
}
