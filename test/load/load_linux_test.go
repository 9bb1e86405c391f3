package load_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/tcpros/master"
	"github.com/gorosbag/gorosbag/test/load"
)

// TestUnread holds what the kernel tells of the subscriber's socket against what the
// subscriber has read.
func TestUnread(t *testing.T) {
	t.Parallel()
	const size, count = 10_000, 3
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, served := subscribe(ctx, t, func(l *load.Link) error {
		if _, err := l.Flood(count, nil); err != nil {
			return err
		}
		return nil
	}, size, 0)
	buf := make([]byte, count*(4+size))
	waitUnread(ctx, t, served.link, len(buf))
	for at := 0; at < len(buf); at += 4 + size {
		if _, err := io.ReadFull(conn, buf[at:at+4+size]); err != nil {
			t.Fatal(err)
		}
		waitUnread(ctx, t, served.link, len(buf)-at-4-size)
	}
	conn.Close()
	if err := <-served.done; err != nil {
		t.Error(err)
	}
}

// TestUnreadAfterReset: of what was on the way when the subscriber ended, nothing is waited for.
func TestUnreadAfterReset(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// 10 kB fit into the publisher's buffers, but not into those of this subscriber.
	conn, served := subscribe(ctx, t, func(l *load.Link) error { _, err := l.Flood(10, nil); return err }, 1000, 1)
	if n, err := served.link.Unread(); err != nil || n == 0 {
		t.Fatalf("%d bytes unread, %v", n, err)
	}
	conn.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := served.link.Unread(); err != nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("bytes are unread on a link that was reset")
		}
	}
	cancel()
	<-served.done // with or without an error of the link
}

type serving struct {
	link *load.Link
	done chan error
}

// subscribe connects to a publisher that runs send, and returns when send has. With a readBuffer
// its socket takes about so many bytes, and the publisher keeps the link until ctx ends.
func subscribe(ctx context.Context, t *testing.T, send func(*load.Link) error, size, readBuffer int) (net.Conn, serving) {
	t.Helper()
	m, err := master.New(ctx, master.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	p, err := load.Advertise(ctx, m.Addr().String(), "/load", "/load")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	links, done := make(chan *load.Link, 1), make(chan error, 1)
	go func() {
		done <- p.Serve(ctx, size, func(l *load.Link) error {
			err := send(l)
			links <- l
			if readBuffer > 0 {
				<-ctx.Done()
			}
			return err
		})
	}()
	var d net.Dialer
	if readBuffer > 0 {
		d.Control = func(_, _ string, raw syscall.RawConn) (err error) { // afterward the window would not shrink
			return errors.Join(raw.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, readBuffer)
			}), err)
		}
	}
	conn, err := d.DialContext(ctx, "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write(tcpros.AppendHeader(nil, tcpros.Header{{Key: "callerid", Value: "/test"}})); err != nil {
		t.Fatal(err)
	}
	if _, err := tcpros.ReadHeader(conn); err != nil {
		t.Fatal(err)
	}
	select {
	case l := <-links:
		return conn, serving{l, done}
	case err := <-done:
		t.Fatal(err)
		return nil, serving{}
	}
}

// waitUnread waits until so many bytes are said to be unread, the end of the stream
// not counted.
func waitUnread(ctx context.Context, t *testing.T, l *load.Link, want int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		n, err := l.Unread()
		if err != nil {
			t.Fatal(err)
		}
		if n == want || n == want+1 { // the end of the stream counts as one
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d bytes unread, want %d", n, want)
		}
	}
}
