package web

import (
	"bufio"
	"io"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// nothing is a program without anything to see or to order.
type nothing struct{}

func (nothing) Program() string                  { return "fake" }
func (nothing) Pages() fs.FS                     { return fstest.MapFS{"fake.html": {}} }
func (nothing) Routes(*Server)                   {}
func (nothing) Poll(time.Time) View              { return View{} }
func (nothing) Changed() <-chan struct{}         { return nil }
func (nothing) Describe(chan<- *prometheus.Desc) {}
func (nothing) Collect(chan<- prometheus.Metric) {}

// eventually waits until ok, called with the lock of l, returns true.
func eventually(t *testing.T, l *listener, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		done := ok()
		l.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

// dialAndAsk sends a request for a probe.
func dialAndAsk(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestHold: connections are held until their request is answered, and not too many of them.
// Those that are not held count as unfinished.
func TestHold(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, entered, finish := newListener(tcp, zap.NewNop()), make(chan bool), make(chan bool)
	server := http.Server{ConnContext: connContext, ConnState: l.track, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		l.hold(r, prober)
		entered <- true
		<-finish
	})}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	var peers []net.Conn
	for range heldForProbes + 1 {
		peers = append(peers, dialAndAsk(t, tcp.Addr().String()))
		<-entered
	}
	l.mu.Lock()
	if last := l.conns[heldForProbes]; l.held[prober] != heldForProbes || last.holder != nobody || last.pending == 0 || l.pending != last.pending {
		t.Errorf("%d are held, %d bytes unfinished", l.held[prober], l.pending)
	}
	l.mu.Unlock()
	close(finish)
	eventually(t, l, "all are released", func() bool { return l.held[prober] == 0 && l.pending == 0 && len(l.conns) == len(peers) })
	for _, peer := range peers {
		peer.Close()
	}
	eventually(t, l, "all have gone", func() bool { return len(l.conns) == 0 })
}

// TestProbesAreHeld: a probe that waits for the state is not evicted meanwhile.
func TestProbesAreHeld(t *testing.T) {
	t.Parallel()
	var block atomic.Bool
	block.Store(true)
	finish := make(chan bool)
	unblock := sync.OnceFunc(func() {
		block.Store(false)
		close(finish)
	})
	s, err := Serve(t.Context(), Options{Listen: "127.0.0.1:0", Log: zap.NewNop(), Unread: func() (now, ever string) { return "", "" }, MasterUp: func() bool {
		if block.Load() {
			<-finish
		}
		return true
	}}, nothing{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer unblock()
	conn := dialAndAsk(t, s.Addr().String())
	eventually(t, s.conns, "it is held", func() bool { return s.conns.held[prober] == 1 })
	unblock()
	if text, err := bufio.NewReader(conn).ReadString('\n'); text != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("%q, %v", text, err)
	}
	eventually(t, s.conns, "it is released", func() bool { return s.conns.held[prober] == 0 })
}
