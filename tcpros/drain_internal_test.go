package tcpros

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
	"github.com/gorosbag/gorosbag/tcpros/internal/wire"
)

// A subscriber has the timeout for each part that it takes, from the check that saw it take
// the last one.
func TestDrainWaitsForProgress(t *testing.T) {
	const timeout = 6 * drainCheck
	const pause = timeout - drainCheck*3/4 // of the reader: the second frame is taken at 10.5 checks
	for name, tt := range map[string]struct {
		reads int
		want  string
		took  time.Duration
	}{
		"reads all":     {5, "", 5 * pause},
		"stops reading": {2, "takes nothing", 11*drainCheck + timeout},
		"reads nothing": {0, "takes nothing", timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				defer there.Close()
				l := link(here, 0, &room{})
				f := make([]byte, batchBytes) // a write each
				for range 5 {
					l.push(f, false)
				}
				served := make(chan error, 1)
				go func() { served <- l.serve() }()
				go func() {
					for range tt.reads {
						time.Sleep(pause)
						if _, err := io.ReadFull(there, f); err != nil {
							t.Error(err)
						}
					}
					if tt.want == "" {
						synctest.Wait() // all is written
						_ = there.Close()
					}
				}()
				start := time.Now()
				if got := l.drain(t.Context(), timeout); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				<-served
			})
		})
	}
}

// The header that a publisher gets says whom it comes from and what is wanted.
func TestHello(t *testing.T) {
	for _, noDelay := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			n, _ := pipeNode()
			s := &Subscription{node: n, topic: "/t", opts: SubscribeOptions{MD5Sum: wire.AnyMD5, Type: names.AnyType, TCPNoDelay: noDelay}}
			heard := make(chan wire.Header, 1)
			go func() {
				h, _ := wire.ReadHeader(there)
				heard <- h
				_ = there.Close()
			}()
			_, err := (&inLink{sub: s}).handshake(here)
			if !errors.Is(err, wire.ErrHeader) || !errors.Is(err, io.EOF) {
				t.Errorf("a publisher that closes the link: %v", err)
			}
			want := map[bool]string{false: "0", true: "1"}[noDelay]
			if h := <-heard; fmt.Sprint(h) != fmt.Sprint(wire.Header{
				{Key: "callerid", Value: "/n"},
				{Key: "md5sum", Value: "*"},
				{Key: "tcp_nodelay", Value: want},
				{Key: "topic", Value: "/t"},
				{Key: "type", Value: "*"},
			}) {
				t.Errorf("%v", h)
			}
		})
	}
}

// While a link carries messages it is up and has a name, and attempts before it are forgotten.
func TestCarry(t *testing.T) {
	n, _ := pipeNode()
	s := &Subscription{node: n, topic: "/t"}
	l := &inLink{sub: s, failures: warnAfterFailures}
	sink := &ends{}
	lived, err := l.receive(t.Context(), linkTitle{"TCPROS", "name"}, "peer", sink, func() error {
		if title := l.title.Load(); !l.isUp.Load() || s.up.Load() != 1 || l.failures != 0 || title == nil || title.text != "name" {
			t.Errorf("up %v, %d links up, %d refused, %v", l.isUp.Load(), s.up.Load(), l.failures, title)
		}
		return errFull
	})
	if l.isUp.Load() || s.up.Load() != 0 || lived < 1 || !errors.Is(err, errFull) || !errors.Is(sink.err, errFull) || sink.n != 1 {
		t.Errorf("up %v, %d links up, lived %v, %v; the sink was closed %d times, with %v", l.isUp.Load(), s.up.Load(), lived, err, sink.n, sink.err)
	}
}

// ends notes how a link ended.
type ends struct {
	tape
	n   int
	err error
}

func (e *ends) Closed(err error) { e.n, e.err = e.n+1, err }
