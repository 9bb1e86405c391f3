package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
)

// reading starts a read whose charge the test sets. closed reports whether its connection was
// closed.
func reading(t *testing.T, p *Pending, incoming bool) (r *PendingRead, closed func() bool) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _ = there.Close() })
	if incoming {
		r = p.Accept(here)
	} else {
		r = p.Begin(here, "publisher")
	}
	return r, func() bool {
		return here.SetDeadline(time.Time{}) != nil
	}
}

func mustHold(t *testing.T, r *PendingRead, bytes int64) {
	t.Helper()
	if err := r.Reserve(bytes); err != nil {
		t.Fatal(err)
	}
}

// A read that needs more memory than is free waits until the slowest read releases its memory. Both
// size and time count; a read without memory, or a new read, is never the slowest.
func TestPendingDropsTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPending(zap.NewNop())
		empty, emptyClosed := reading(t, p, true)
		small, smallClosed := reading(t, p, true)
		mustHold(t, small, 1<<10)
		time.Sleep(time.Second)
		large, largeClosed := reading(t, p, false) // 1.5 MiB for 3 s
		mustHold(t, large, 3<<19)
		time.Sleep(2 * time.Second)
		late, lateClosed := reading(t, p, true) // 2 MiB for 1 s
		mustHold(t, late, 2<<20)
		time.Sleep(time.Second - 100*time.Millisecond)
		fresh, freshClosed := reading(t, p, true)
		mustHold(t, fresh, 15<<17)
		first, firstClosed := reading(t, p, true) // in the part for the first waiting read
		mustHold(t, first, 2<<20)
		time.Sleep(100 * time.Millisecond)

		r, _ := reading(t, p, true)
		done := make(chan error, 1)
		go func() { done <- r.Reserve(1 << 20) }()
		synctest.Wait()
		tiny, _ := reading(t, p, true) // uses the part for small reads
		mustHold(t, tiny, smallRead)
		tiny.End()
		if emptyClosed() || smallClosed() || !largeClosed() || lateClosed() || freshClosed() || firstClosed() {
			t.Errorf("closed: empty %v, small %v, large %v, late %v, fresh %v, first %v",
				emptyClosed(), smallClosed(), largeClosed(), lateClosed(), freshClosed(), firstClosed())
		}
		select {
		case err := <-done:
			t.Errorf("held before room was made: %v", err)
		default:
		}
		if err := large.Reserve(3<<19 + 1); !errors.Is(err, errPendingDropped) {
			t.Errorf("the slowest: %v", err)
		}
		if err := large.ReadError(net.ErrClosed); !errors.Is(err, errPendingDropped) {
			t.Errorf("its read: %v", err)
		}
		if err := small.ReadError(net.ErrClosed); !errors.Is(err, net.ErrClosed) {
			t.Errorf("another read: %v", err)
		}
		large.End()
		large.End() // once is enough
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := int64(1<<10 + 2<<20 + 15<<17 + 2<<20 + 1<<20); p.held != want || p.droppedHeld != 0 {
			t.Errorf("%d held, %d leaving, want %d", p.held, p.droppedHeld, want)
		}
		mustHold(t, late, 1<<20) // less than before
		for _, r := range []*PendingRead{empty, small, late, fresh, first, r} {
			r.End()
		}
		if p.held != 0 || p.droppedHeld != 0 || len(p.reads) != 0 {
			t.Errorf("at the end: %d held, %d leaving, %d reads", p.held, p.droppedHeld, len(p.reads))
		}
	})
}

// In a rush of headers that all make progress, reads wait, and no read is dropped before it is
// slow.
func TestPendingRushWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPending(zap.NewNop())
		var wg sync.WaitGroup
		for range 100 {
			r, _ := reading(t, p, false)
			wg.Go(func() {
				defer r.End()
				for _, n := range []int64{1 << 19, 1 << 20} {
					if err := r.Reserve(n); err != nil {
						t.Error(err)
						return
					}
				}
				time.Sleep(time.Millisecond)
			})
		}
		start := time.Now()
		wg.Wait()
		if took := time.Since(start); took < 100*time.Millisecond/8 || took > slowAfter {
			t.Errorf("took %v", took)
		}
	})
}

// The read that needs more may be the slowest itself, also while it waits.
func TestPendingDropsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPending(zap.NewNop())
		a, _ := reading(t, p, true)
		mustHold(t, a, 3<<19)
		time.Sleep(100 * time.Millisecond)
		var others []*PendingRead
		for range 3 {
			r, _ := reading(t, p, true)
			mustHold(t, r, 2<<20)
			others = append(others, r)
		}
		start := time.Now()
		if err := a.Reserve(2 << 20); !errors.Is(err, errPendingDropped) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != slowAfter-100*time.Millisecond {
			t.Errorf("after %v", took)
		}
		a.End()
		mustHold(t, others[0], 1<<30) // a service may accept long requests
		if others[0].bytes != maxPendingRead {
			t.Errorf("%d bytes count", others[0].bytes)
		}
		for _, r := range others {
			r.End()
		}
		if p.held != 0 {
			t.Errorf("%d bytes are left", p.held)
		}
	})
}

// There are at most 256 connections whose header is not complete; the oldest is closed. Connections
// that the node opens do not count.
func TestPendingConnections(t *testing.T) {
	p := NewPending(zap.NewNop())
	_, ours := reading(t, p, false)
	var closed []func() bool
	for range maxPending + 2 {
		_, c := reading(t, p, true)
		closed = append(closed, c)
	}
	for i, c := range closed {
		if c() != (i < 2) {
			t.Errorf("connection %d: closed is %v", i, i >= 2)
		}
	}
	if ours() {
		t.Error("a link of ours made room")
	}
}

// The log names one dropped read and counts the others.
func TestPendingLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		p := NewPending(loglimit.Logger(zap.New(core)))
		p.limit = 2 << 20
		drop := func(what string) {
			here, there := net.Pipe()
			defer there.Close()
			r := p.Begin(here, what)
			mustHold(t, r, 1<<20)
			time.Sleep(slowAfter)
			if err := r.Reserve(2 << 20); !errors.Is(err, errPendingDropped) {
				t.Error(err)
			}
			r.End()
		}
		drop("publisher of /t")
		drop("b")
		drop("c")
		drop("d")
		time.Sleep(loglimit.Interval)
		var got []string
		for _, e := range logs.All() {
			m := e.ContextMap()
			got = append(got, fmt.Sprint(m["as"], " ", m["peer"], " ", m["held"], " ", m["after"], " ", m["limit"], " ", m["suppressed"]))
		}
		if want := []string{"publisher of /t pipe 1048576 250ms 2097152 <nil>", "d pipe 1048576 250ms 2097152 2"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	})
}

// A header is charged for its memory: for the received bytes while it arrives, for twice as many
// while it is parsed, and then for its fields.
func TestHeaderIsAccounted(t *testing.T) {
	h := Header{{Key: "callerid", Value: "/p"}, {Key: "message_definition", Value: string(bytes.Repeat([]byte{'x'}, 5000))}}
	b := AppendHeader(nil, h)
	n := int64(len(b) - 4)
	for sent, want := range map[int][]int64{
		4:          {1 << 10},
		1027:       {1 << 10},
		1028:       {1 << 10, 2 << 10},
		2052:       {1 << 10, 2 << 10, 4 << 10},
		len(b):     {1 << 10, 2 << 10, 4 << 10, n, 2 * n, n + 2*fieldCost},
		len(b) - 1: {1 << 10, 2 << 10, 4 << 10, n},
	} {
		var got []int64
		_, err := ReadHeaderFrom(bytes.NewReader(b[:sent]), func(bytes int64) error { got = append(got, bytes); return nil })
		if fmt.Sprint(got) != fmt.Sprint(want) || (err == nil) != (sent == len(b)) {
			t.Errorf("%d bytes: held %v, want %v; %v", sent, got, want, err)
		}
	}
	full := errors.New("full")
	for at := range int64(6) {
		_, err := ReadHeaderFrom(bytes.NewReader(b), func(int64) error {
			if at--; at < 0 {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) {
			t.Errorf("refused memory: %v", err)
		}
	}
}
