package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// A caller that is slow, or silent, is disconnected after a bounded time.
func TestServiceDeadlines(t *testing.T) {
	for name, tt := range map[string]struct {
		sent []byte // a byte each second
		want error
		took time.Duration
	}{
		"silent":        {nil, os.ErrDeadlineExceeded, wire.HandshakeTimeout},
		"slow length":   {[]byte{100, 0}, os.ErrDeadlineExceeded, wire.HandshakeTimeout},
		"slow request":  {append([]byte{100, 0, 0, 0}, make([]byte, 100)...), wire.ErrStalled, 3*time.Second + wire.StallAfter},
		"takes nothing": {[]byte{0, 0, 0, 0}, os.ErrDeadlineExceeded, 3*time.Second + wire.StallAfter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var wg sync.WaitGroup
				defer wg.Wait()
				defer there.Close()
				s := &Service{
					env: &Env{CallerID: "/n", Log: zap.NewNop(), Pending: wire.NewPending(zap.NewNop())}, opts: Options{MaxRequestBytes: 1 << 20},
					handle:    func([]byte) ([]byte, error) { return nil, nil },
					abandoned: make(chan struct{}), linkEnded: make(chan struct{}, 1),
				}
				l := &serviceLink{conn: here}
				s.add(l)
				wg.Go(func() { trickle(there, tt.sent) })
				start := time.Now()
				if err := s.serve(l, false); !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				_ = here.Close()
			})
		})
	}
}

// A service forgets a caller that it has answered. With no caller, or only idle ones, it ends at once.
func TestServiceEndsAtOnce(t *testing.T) {
	for _, persistent := range []string{"0", "1"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			env := &Env{CallerID: "/n", Log: zap.NewNop(), Pending: wire.NewPending(zap.NewNop()), Timing: DefaultTiming()}
			s := New(env, "/s", Options{MaxRequestBytes: 1 << 10, Handle: func(_ context.Context, request []byte) ([]byte, error) { return request, nil }}, ctx, cancel)
			here, there := net.Pipe()
			defer there.Close()
			served := make(chan struct{})
			go func() {
				defer close(served)
				if text := s.Serve(here, wire.Header{{Key: "persistent", Value: persistent}}, env.Pending.Begin(here, "")); text != "" {
					t.Error(text)
				}
			}()
			read := env.Pending.Begin(there, "")
			if _, err := read.Header(); err != nil {
				t.Error(err)
			}
			read.End()
			_, _ = there.Write(frameOf([]byte("x")))
			if reply, err := readReply(there, 1<<10); string(reply) != "x" || err != nil {
				t.Errorf("got %q, %v", reply, err)
			}
			synctest.Wait()
			if n := strconv.Itoa(len(s.links)); n != persistent {
				t.Errorf("persistent=%s: %s callers", persistent, n)
			}
			start := time.Now()
			s.Stop(t.Context())
			if took := time.Since(start); took != 0 || ctx.Err() == nil {
				t.Errorf("persistent=%s: ended after %v, %v", persistent, took, ctx.Err())
			}
			<-served
		})
	}
}

// A caller names the type of the service if it knows the type.
func TestCallerHeader(t *testing.T) {
	for typ, want := range map[Type]wire.Header{
		{}: {{Key: "callerid", Value: "/n"}, {Key: "md5sum", Value: "*"}, {Key: "service", Value: "/s"}},
		{Type: "a/B", MD5Sum: "1"}: {
			{Key: "callerid", Value: "/n"}, {Key: "md5sum", Value: "1"}, {Key: "service", Value: "/s"}, {Key: "type", Value: "a/B"},
		},
	} {
		here, there := net.Pipe()
		env := &Env{CallerID: "/n", Pending: wire.NewPending(zap.NewNop())}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := env.greet(here, "/s", typ); err != nil {
				t.Error(err)
			}
		})
		read := env.Pending.Begin(there, "")
		if got, err := read.Header(); err != nil || !cmp.Equal(want, got) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		read.End()
		_, _ = there.Write(wire.AppendHeader(nil, wire.Header{{Key: "callerid", Value: "/m"}}))
		wg.Wait()
		_, _ = here.Close(), there.Close()
	}
}

// The text of a long refusal arrives up to its limit.
func TestLongRefusal(t *testing.T) {
	reply := appendReply(nil, errors.New(strings.Repeat("x", maxErrorBytes+1)))
	refusal := (*Error)(nil)
	if _, err := readReply(bytes.NewReader(reply), wire.DefaultMaxMessage); !errors.As(err, &refusal) || len(refusal.Text) != maxErrorBytes {
		t.Errorf("got %.100v", err)
	}
}

// A full service disconnects the oldest idle caller, and refuses a caller only when all others are
// being answered.
func TestServiceLinkLimit(t *testing.T) {
	s := &Service{name: "/s", linkEnded: make(chan struct{}, 1)}
	var links []*serviceLink
	for range maxServiceLinks {
		here, there := net.Pipe()
		defer there.Close()
		links = append(links, &serviceLink{conn: here})
		if text := s.add(links[len(links)-1]); text != "" {
			t.Fatal(text)
		}
	}
	if !s.begin(links[0]) {
		t.Fatal("closed")
	}
	if text := s.add(&serviceLink{}); text != "" {
		t.Error(text)
	}
	if _, err := links[1].conn.Write([]byte{0}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the oldest that waits: %v", err)
	}
	for _, l := range s.links {
		s.begin(l)
	}
	if text := s.add(&serviceLink{}); text != "service /s is busy with 64 calls" {
		t.Errorf("got %q", text)
	}
	for _, l := range links {
		_ = l.conn.Close()
	}
}

func FuzzServiceAnswer(f *testing.F) {
	f.Add(appendReply([]byte("x"), nil))
	f.Add(appendReply(nil, errors.New("not today")))
	f.Add(append(appendReply(nil, nil), "rest"...))
	f.Add([]byte("\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 20
		r := bytes.NewReader(in)
		body, err := readReply(r, limit)
		used := in[:len(in)-r.Len()]
		refusal := (*Error)(nil)
		switch {
		case errors.As(err, &refusal):
			if out := appendReply(nil, errors.New(refusal.Text)); !bytes.HasPrefix(used[5:], out[5:]) || used[0] != 0 {
				t.Fatalf("refusal %q of %q", refusal.Text, used)
			}
		case err == nil:
			if out := appendReply(body, nil); !bytes.Equal(out, used) {
				t.Fatalf("round trip of %q gave %q", used, out)
			}
		}
	})
}

// FuzzServiceCaller gives the server the bytes that a hostile caller sends after its header.
func FuzzServiceCaller(f *testing.F) {
	f.Add(false, frameOf([]byte("x")))
	f.Add(true, append(frameOf([]byte("x")), frameOf(nil)...))
	f.Add(true, []byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, persistent bool, in []byte) {
		calls := 0
		s := &Service{
			env: &Env{Log: zap.NewNop(), Pending: wire.NewPending(zap.NewNop())}, opts: Options{MaxRequestBytes: 1 << 10},
			handle: func(request []byte) ([]byte, error) {
				if len(request) > 1<<10 {
					t.Errorf("request of %d bytes", len(request))
				}
				calls++
				return request, nil
			},
			cancelHandlers: func() {}, abandoned: make(chan struct{}), linkEnded: make(chan struct{}, 1),
		}
		here, there := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, there) })
		wg.Go(func() {
			_, _ = there.Write(in)
			_ = there.Close()
		})
		l := &serviceLink{conn: here}
		s.add(l)
		err := s.serve(l, persistent)
		_ = here.Close()
		wg.Wait()
		if persistent && err == nil || !persistent && calls > 1 {
			t.Errorf("%d calls, %v", calls, err)
		}
		s.remove(l)
		s.Stop(context.Background())
	})
}

// TestHalfRequestsAreBounded: unfinished requests occupy no more memory than the common limit, and
// release it.
func TestHalfRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pending := wire.NewPending(zap.NewNop())
		half := append(binary.LittleEndian.AppendUint32(nil, 1<<20), make([]byte, 1<<20-1)...)
		const heldMost = 8 << 20
		var wg sync.WaitGroup
		for i := range 30 {
			s := &Service{
				env: &Env{Log: zap.NewNop(), Pending: pending}, name: "/s" + strconv.Itoa(i), opts: Options{MaxRequestBytes: 1 << 20},
				handle:    func([]byte) ([]byte, error) { return nil, nil },
				abandoned: make(chan struct{}), linkEnded: make(chan struct{}, 1),
			}
			here, there := net.Pipe()
			wg.Go(func() {
				if err := s.serve(&serviceLink{conn: here}, false); err == nil {
					t.Error("half a request was answered")
				}
				_ = here.Close()
			})
			wg.Go(func() {
				_, _ = there.Write(half)
				_, _ = there.Read(make([]byte, 1))
			})
		}
		time.Sleep(time.Second)
		if held := pending.Held(); held > heldMost || held < heldMost/2 {
			t.Errorf("%d bytes are held", held)
		}
		wg.Wait()
		if held := pending.Held(); held != 0 {
			t.Errorf("%d bytes are left", held)
		}
	})
}

// trickle sends a byte each second until the other side closes.
func trickle(c net.Conn, b []byte) {
	for _, x := range b {
		if _, err := c.Write([]byte{x}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}
