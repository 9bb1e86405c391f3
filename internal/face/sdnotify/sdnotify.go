// Package sdnotify notifies systemd of the state of a service: readiness, status, watchdog
// keep-alives and extended timeouts. It does nothing if the program was not started by systemd.
//
// The protocol is one datagram, see sd_notify(3). This package implements the protocol because
// libraries set no write deadline: a service manager that does not read must not delay the end of a
// recording.
//
// Decisions: ADR 0037.
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
	// between two notifications.
	defaultInterval = time.Second
	// most time to write a notification.
	writeTimeout = 200 * time.Millisecond
	// time that each notification requests while the service starts or stops.
	extension = 30 * time.Second
)

// State is the state of the service.
type State struct {
	Ready  bool   // the service is ready; later values are ignored
	Status string // one line for systemctl status
}

// Watch notifies systemd of the state that probe returns, once a second and more often if the
// watchdog requires it, until end is called. Once ctx is done, it reports that the service is
// stopping. If probe does not return, notifications stop, and the watchdog kills the program.
func Watch(ctx context.Context, probe func() State) (end func(), err error) {
	return watchWithTimeout(ctx, writeTimeout, probe)
}

// watchWithTimeout is Watch with a timeout for each notification.
func watchWithTimeout(
	ctx context.Context, timeout time.Duration, probe func() State,
) (end func(), err error) {
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
		return func() {}, err
	}
	w := &watch{conn: conn, probe: probe, timeout: timeout}
	// not derived from ctx: stopping is reported, too
	ended, cancel := context.WithCancel(context.Background())
	var job sync.WaitGroup
	// owner: end.
	job.Go(func() { w.run(ctx, ended, every) })
	return func() {
		cancel()
		job.Wait()
		_ = conn.Close() // datagrams are not buffered
	}, nil
}

// interval returns the interval of notifications: at most a third of the timeout of the watchdog.
func interval(micros, pid string) (time.Duration, error) {
	if micros == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return defaultInterval, nil
	}
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || n <= 0 {
		return defaultInterval, fmt.Errorf("WATCHDOG_USEC is %q, want a number of microseconds", micros)
	}
	return max(min(defaultInterval,
		time.Duration(min(n, int64(time.Minute/time.Microsecond)))*time.Microsecond/3), time.Millisecond), nil
}

type watch struct {
	conn     *net.UnixConn
	probe    func() State
	timeout  time.Duration // for each notification
	ready    bool          // READY=1 was sent
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
	lines := []string{"STATUS=" + strings.Map(replaceControls, s.Status), "WATCHDOG=1"}
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
	if err := w.conn.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return
	}
	if _, err := w.conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return // the next notification contains READY again: without READY systemd would kill the service
	}
	w.ready, w.stopping = w.ready || ready, stopping
}

func replaceControls(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}
