package load_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

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
	}, size)
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

type serving struct {
	link *load.Link
	done chan error
}

// subscribe connects to a publisher that runs send, and returns when send has.
func subscribe(ctx context.Context, t *testing.T, send func(*load.Link) error, size int) (net.Conn, serving) {
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
			return err
		})
	}()
	conn, err := net.Dial("tcp", p.Address())
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
