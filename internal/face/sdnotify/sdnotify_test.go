package sdnotify_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/face/sdnotify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manager is the socket on which systemd listens.
func manager(t *testing.T) *net.UnixConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return conn
}

// next returns the lines of the next datagram.
func next(t *testing.T, conn *net.UnixConn, within time.Duration) (map[string]string, bool) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, err := conn.Read(b)
	if err != nil {
		return nil, false
	}
	lines := map[string]string{}
	for line := range strings.SplitSeq(string(b[:n]), "\n") {
		key, value, _ := strings.Cut(line, "=")
		lines[key] = value
	}
	return lines, true
}

// until reads datagrams up to one that has the key.
func until(t *testing.T, conn *net.UnixConn, key string) map[string]string {
	t.Helper()
	for range 10_000 {
		if lines, ok := next(t, conn, time.Minute); !ok {
			break
		} else if _, has := lines[key]; has {
			return lines
		}
	}
	t.Fatalf("no %s", key)
	return nil
}

func TestLife(t *testing.T) {
	conn := manager(t)
	t.Setenv("WATCHDOG_USEC", "30000")
	ctx, stop := context.WithCancel(t.Context())
	ready := make(chan struct{})
	end, err := sdnotify.Watch(ctx, func() sdnotify.State {
		select {
		case <-ready:
			return sdnotify.State{Ready: true, Status: "7 topics\nREADY=0"}
		default:
			return sdnotify.State{Status: "waiting"}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for range 2 {
		lines, _ := next(t, conn, time.Minute)
		_, isReady := lines["READY"]
		if isReady || lines["STATUS"] != "waiting" || lines["WATCHDOG"] != "1" || lines["EXTEND_TIMEOUT_USEC"] == "" {
			t.Errorf("before it is ready: %v", lines)
		}
	}
	close(ready)
	lines := until(t, conn, "READY")
	if fmt.Sprint(lines) != fmt.Sprint(map[string]string{"READY": "1", "STATUS": "7 topics?READY=0", "WATCHDOG": "1"}) {
		t.Errorf("ready: %v", lines)
	}
	if lines, _ := next(t, conn, time.Minute); fmt.Sprint(lines) != fmt.Sprint(map[string]string{"STATUS": "7 topics?READY=0", "WATCHDOG": "1"}) {
		t.Errorf("then: %v", lines)
	}
	stop()
	if lines := until(t, conn, "STOPPING"); lines["EXTEND_TIMEOUT_USEC"] != "30000000" || lines["WATCHDOG"] != "1" {
		t.Errorf("at the end: %v", lines)
	}
	lines, _ = next(t, conn, time.Minute)
	if _, again := lines["STOPPING"]; again || lines["EXTEND_TIMEOUT_USEC"] == "" {
		t.Errorf("still at the end: %v", lines)
	}
}

// TestHang: a program that does not answer is not reported as alive.
func TestHang(t *testing.T) {
	conn := manager(t)
	t.Setenv("WATCHDOG_USEC", "3000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	hangs, hang := make(chan struct{}), make(chan struct{})
	asked := 0
	end, err := sdnotify.Watch(t.Context(), func() sdnotify.State {
		if asked++; asked == 4 {
			close(hangs)
			<-hang
		}
		return sdnotify.State{Ready: true}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	defer close(hang)
	<-hangs // earlier reports are in the socket
	for n := range 3 {
		if _, ok := next(t, conn, time.Minute); !ok {
			t.Fatalf("%d reports, want 3", n)
		}
	}
	if lines, ok := next(t, conn, 50*time.Millisecond); ok {
		t.Errorf("a program that hangs is reported as alive: %v", lines)
	}
}

// TestDeafManager: a system manager that reads nothing delays no call.
func TestDeafManager(t *testing.T) {
	manager(t)
	t.Setenv("WATCHDOG_USEC", "3000")
	asked := make(chan struct{}, 1)
	end, err := sdnotify.WatchWithin(t.Context(), 5*time.Millisecond, func() sdnotify.State {
		select {
		case asked <- struct{}{}:
		default:
		}
		return sdnotify.State{Status: strings.Repeat("x", 50_000)}
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		<-asked
	}
	done := make(chan struct{})
	go func() {
		end()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the end waits for the system manager")
	}
}

func TestElsewhere(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	end, err := sdnotify.Watch(t.Context(), func() sdnotify.State {
		t.Error("asked without systemd")
		return sdnotify.State{}
	})
	if err != nil {
		t.Fatal(err)
	}
	end()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "none"))
	if _, err := sdnotify.Watch(t.Context(), nil); err == nil {
		t.Error("no error without a socket")
	}
	manager(t)
	t.Setenv("WATCHDOG_USEC", "soon")
	if _, err := sdnotify.Watch(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "WATCHDOG_USEC") {
		t.Errorf("got %v", err)
	}
}

// TestBusyManager: a notification for which the system manager had no room is repeated, above all
// that the service is ready: without it, systemd would kill the service.
func TestBusyManager(t *testing.T) {
	conn := manager(t)
	t.Setenv("WATCHDOG_USEC", "3000")
	var ready atomic.Bool
	asked := make(chan struct{})
	end, err := sdnotify.WatchWithin(t.Context(), 5*time.Millisecond, func() sdnotify.State {
		if ready.Load() {
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		return sdnotify.State{Ready: ready.Load(), Status: strings.Repeat("x", 50_000)}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	full(t)
	ready.Store(true)
	for range 3 {
		<-asked
	}
	b := make([]byte, 1<<17)
	for range 10_000 {
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b[:n]), "READY=1") {
			return
		}
	}
	t.Error("never ready")
}

// full fills the queue of the system manager's socket.
func full(t *testing.T) {
	t.Helper()
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: os.Getenv("NOTIFY_SOCKET"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 100_000 {
		if err := conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("WATCHDOG=1")); err != nil {
			return
		}
	}
	t.Fatal("the queue has no end")
}
