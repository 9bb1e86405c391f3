package sublink

import (
	"errors"
	"net"
	"runtime"
	"testing"
)

// readsOf counts the ordinary reads of a connection.
type readsOf struct {
	net.Conn
	n int
}

func (r *readsOf) Read(p []byte) (int, error) {
	r.n++
	return r.Conn.Read(p)
}

// Only short reads of sockets bypass the scheduler, and only on a machine with another core.
func TestQuickReadsAreChosen(t *testing.T) {
	here, there := sockets(t)
	pipe, _ := net.Pipe()
	cores := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(cores)
	if got := quickReads(pipe); got != frameConn(pipe) {
		t.Errorf("a pipe is read by %T", got)
	}
	r, ok := quickReads(here).(*rawConn)
	if !ok {
		t.Fatal("a socket is not read quickly")
	}
	ordinary := &readsOf{Conn: here}
	r.conn = ordinary
	if _, err := there.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ size, want int }{{0, 1}, {1, 0}, {rawReadMost, 0}, {rawReadMost + 1, 1}} {
		if tt.size >= rawReadMost {
			if _, err := there.Write(make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
		ordinary.n = 0
		if _, err := r.Read(make([]byte, tt.size)); err != nil || ordinary.n != tt.want {
			t.Errorf("%d bytes: %d ordinary reads, want %d; %v", tt.size, ordinary.n, tt.want, err)
		}
	}
	runtime.GOMAXPROCS(1)
	if got := quickReads(here); got != frameConn(here) {
		t.Errorf("with one core it is read by %T", got)
	}
	runtime.GOMAXPROCS(2)
	_ = here.Close()
	if got := quickReads(here); got != frameConn(here) {
		if _, err := got.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}
