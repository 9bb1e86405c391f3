package sublink

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// sockets returns both ends of a TCP connection.
func sockets(tb testing.TB) (here, there *net.TCPConn) {
	tb.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	var d net.Dialer
	c, err := d.DialContext(tb.Context(), "tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	peer, err := ln.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = peer.Close() })
	return c.(*net.TCPConn), peer.(*net.TCPConn)
}

func TestQuickReads(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), minReadBuffer)
	for name, size := range map[string]int{"a byte": 1, "small": 100, "the buffer": minReadBuffer, "large": 4 * minReadBuffer} {
		t.Run(name, func(t *testing.T) {
			here, there := sockets(t)
			sent := data[:min(50*size, len(data))]
			wrote := make(chan error, 1)
			go func() {
				_, err := there.Write(sent)
				wrote <- errors.Join(err, there.CloseWrite())
			}()
			got, r, p := []byte(nil), quickReads(here), make([]byte, size)
			for {
				n, err := r.Read(p)
				got = append(got, p[:n]...)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil || n == 0 {
					t.Fatal(n, err)
				}
			}
			if err := <-wrote; err != nil || !bytes.Equal(got, sent) {
				t.Errorf("got %d of %d bytes, %v", len(got), len(sent), err)
			}
		})
	}
}

// The end of the stream arrives together with the last data; the kernel signals both only once.
func TestQuickReadsSeeAnEndAfterData(t *testing.T) {
	for name, end := range map[string]struct {
		how  func(c *net.TCPConn) error
		want error
	}{
		"closed": {(*net.TCPConn).Close, io.EOF},
		"reset": {func(c *net.TCPConn) error {
			return errors.Join(c.SetLinger(0), c.Close())
		}, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := sockets(t)
			if _, err := there.Write([]byte("last")); err != nil {
				t.Fatal(err)
			}
			if err := end.how(there); err != nil {
				t.Fatal(err)
			}
			r, p := quickReads(here), make([]byte, 100)
			if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			var err error
			for n := 1; n > 0; {
				n, err = r.Read(p)
			}
			if !errors.Is(err, end.want) {
				t.Errorf("got %v, want %v", err, end.want)
			}
		})
	}
}

func TestQuickReadsEndByUs(t *testing.T) {
	here, _ := sockets(t)
	r, p := quickReads(here), make([]byte, 100)
	if err := r.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(p); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("late: got %d, %v", n, err)
	}
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := r.Read(p)
		ended <- err
	}()
	_ = here.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
	if _, err := quickReads(here).Read(p); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed before: got %v", err)
	}
}

func TestQuickReadsAllocateNothing(t *testing.T) {
	here, there := sockets(t)
	r, p := quickReads(here), make([]byte, 100)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := there.Write(p); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < len(p); {
			n, err := r.Read(p[got:])
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations in a read", allocs)
	}
}
