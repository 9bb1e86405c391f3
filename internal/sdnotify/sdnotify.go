// Package sdnotify tells systemd how a service is doing: that it is ready, what it does,
// that it is alive, and that its end takes a while. Where systemd did not start the
// program it does nothing.
//
// The protocol is one datagram, see sd_notify(3). The socket is ours, and not that of a
// library, because each write has a deadline: a system manager that does not read must
// not hold up the end of a recording.
package sdnotify

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	usually   = time.Second            // between two reports
	writeTime = 200 * time.Millisecond // for a report
	extension = 30 * time.Second       // that a start or an end asks for, again with each report
)

// State is how the service is doing.
type State struct {
	Ready  bool   // it does its work; once is enough
	Status string // one line for systemctl status
}

// Watch reports to systemd what probe returns, once a second and more often if the
// watchdog wants, until end is called. When ctx is done the service ends. A probe that
// does not return is a program that hangs: systemd hears nothing more of it, and kills it.
func Watch(ctx context.Context, probe func() State) (end func(), err error) {
	return watchWithin(ctx, writeTime, probe)
}

// watchWithin is Watch with a time for each report.
func watchWithin(ctx context.Context, within time.Duration, probe func() State) (end func(), err error) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return func() {}, nil
	}
	every, err := interval(os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"))
	if err != nil {
		return func() {}, err
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return func() {}, fmt.Errorf("sdnotify: %w", err)
	}
	w := &watch{conn: conn, probe: probe, within: within}
	ended, cancel := context.WithCancel(context.Background()) // the end is reported, too
	var job sync.WaitGroup
	// owner: end.
	job.Go(func() { w.run(ctx, ended, every) })
	return func() {
		cancel()
		job.Wait()
		_ = conn.Close() // nothing is in it
	}, nil
}

// interval returns how often to report, at least thrice in the time after which the
// watchdog kills.
func interval(micros, pid string) (time.Duration, error) {
	if micros == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return usually, nil
	}
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || n <= 0 {
		return usually, fmt.Errorf("sdnotify: WATCHDOG_USEC is %q, want a number of microseconds", micros)
	}
	return max(min(usually, time.Duration(min(n, int64(time.Minute/time.Microsecond)))*time.Microsecond/3), time.Millisecond), nil
}

type watch struct {
	conn     *net.UnixConn
	probe    func() State
	within   time.Duration // a report has to be written
	ready    bool          // systemd has heard it, as the next
	stopping bool
}

func (w *watch) run(ctx, ended context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	stop := ctx.Done()
	for {
		w.report(ctx.Err() != nil)
		select {
		case <-tick.C:
		case <-stop:
			stop = nil // once
		case <-ended.Done():
			return
		}
	}
}

// report sends one datagram.
func (w *watch) report(stopping bool) {
	s := w.probe()
	lines := []string{"STATUS=" + strings.Map(onOneLine, s.Status), "WATCHDOG=1"}
	ready := s.Ready && !w.ready && !stopping
	if ready {
		lines = append(lines, "READY=1")
	}
	if stopping && !w.stopping {
		lines = append(lines, "STOPPING=1")
	}
	if stopping || !w.ready && !ready {
		lines = append(lines, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", extension.Microseconds()))
	}
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.within)); err != nil {
		return
	}
	if _, err := w.conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return // the next report says it all again: a lost READY would be the end of a healthy service
	}
	w.ready, w.stopping = w.ready || ready, stopping
}

func onOneLine(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}
