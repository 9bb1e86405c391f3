package tcpros

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// reading is a read of which a test only says what it holds. closed tells whether its
// connection was.
func reading(t *testing.T, p *pendingReads, incoming bool) (r *pendingRead, closed func() bool) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _ = there.Close() })
	if incoming {
		r = p.accept(here)
	} else {
		r = p.begin(here, "publisher")
	}
	return r, func() bool {
		return here.SetDeadline(time.Time{}) != nil
	}
}

func mustHold(t *testing.T, r *pendingRead, bytes int64) {
	t.Helper()
	if err := r.reserve(bytes); err != nil {
		t.Fatal(err)
	}
}

// Who needs more memory than there is waits for the slowest to give its own back. Size and
// time count both, and neither what holds nothing nor what has just come.
func TestPendingDropsTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPendingReads(zap.NewNop())
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
		first, firstClosed := reading(t, p, true) // in the room of the first that waits
		mustHold(t, first, 2<<20)
		time.Sleep(100 * time.Millisecond)

		r, _ := reading(t, p, true)
		done := make(chan error, 1)
		go func() { done <- r.reserve(1 << 20) }()
		synctest.Wait()
		tiny, _ := reading(t, p, true) // has room of its own
		mustHold(t, tiny, smallRead)
		tiny.end()
		if emptyClosed() || smallClosed() || !largeClosed() || lateClosed() || freshClosed() || firstClosed() {
			t.Errorf("closed: empty %v, small %v, large %v, late %v, fresh %v, first %v",
				emptyClosed(), smallClosed(), largeClosed(), lateClosed(), freshClosed(), firstClosed())
		}
		select {
		case err := <-done:
			t.Errorf("held before room was made: %v", err)
		default:
		}
		if err := large.reserve(3<<19 + 1); !errors.Is(err, errPendingDropped) {
			t.Errorf("the slowest: %v", err)
		}
		if err := large.readError(net.ErrClosed); !errors.Is(err, errPendingDropped) {
			t.Errorf("its read: %v", err)
		}
		if err := small.readError(net.ErrClosed); !errors.Is(err, net.ErrClosed) {
			t.Errorf("another read: %v", err)
		}
		large.end()
		large.end() // once is enough
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := int64(1<<10 + 2<<20 + 15<<17 + 2<<20 + 1<<20); p.held != want || p.droppedHeld != 0 {
			t.Errorf("%d held, %d leaving, want %d", p.held, p.droppedHeld, want)
		}
		mustHold(t, late, 1<<20) // less than before
		for _, r := range []*pendingRead{empty, small, late, fresh, first, r} {
			r.end()
		}
		if p.held != 0 || p.droppedHeld != 0 || len(p.reads) != 0 {
			t.Errorf("at the end: %d held, %d leaving, %d reads", p.held, p.droppedHeld, len(p.reads))
		}
	})
}

// A rush of headers that are all on their way waits, and nobody is dropped before it is slow.
func TestPendingRushWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPendingReads(zap.NewNop())
		var wg sync.WaitGroup
		for range 100 {
			r, _ := reading(t, p, false)
			wg.Go(func() {
				defer r.end()
				for _, n := range []int64{1 << 19, 1 << 20} {
					if err := r.reserve(n); err != nil {
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

// The one that needs more may be the slowest itself, also while it waits.
func TestPendingDropsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPendingReads(zap.NewNop())
		a, _ := reading(t, p, true)
		mustHold(t, a, 3<<19)
		time.Sleep(100 * time.Millisecond)
		var others []*pendingRead
		for range 3 {
			r, _ := reading(t, p, true)
			mustHold(t, r, 2<<20)
			others = append(others, r)
		}
		start := time.Now()
		if err := a.reserve(2 << 20); !errors.Is(err, errPendingDropped) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != slowAfter-100*time.Millisecond {
			t.Errorf("after %v", took)
		}
		a.end()
		mustHold(t, others[0], 1<<30) // a service may take long requests
		if others[0].bytes != maxPendingRead {
			t.Errorf("%d bytes count", others[0].bytes)
		}
		for _, r := range others {
			r.end()
		}
		if p.held != 0 {
			t.Errorf("%d bytes are left", p.held)
		}
	})
}

// There are at most 256 connections whose header is not complete; the oldest gives way. Links
// that we make do not count.
func TestPendingConnections(t *testing.T) {
	p := newPendingReads(zap.NewNop())
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

// The log names one that was dropped and counts the others.
func TestPendingLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		p := newPendingReads(loglimit.Logger(zap.New(core)))
		p.limit = 2 << 20
		drop := func(what string) {
			here, there := net.Pipe()
			defer there.Close()
			r := p.begin(here, what)
			mustHold(t, r, 1<<20)
			time.Sleep(slowAfter)
			if err := r.reserve(2 << 20); !errors.Is(err, errPendingDropped) {
				t.Error(err)
			}
			r.end()
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

// A header counts what it holds: what has arrived while it comes, twice that while it is
// parsed, and then its fields.
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
		_, err := readHeader(bytes.NewReader(b[:sent]), func(bytes int64) error { got = append(got, bytes); return nil })
		if fmt.Sprint(got) != fmt.Sprint(want) || (err == nil) != (sent == len(b)) {
			t.Errorf("%d bytes: held %v, want %v; %v", sent, got, want, err)
		}
	}
	full := errors.New("full")
	for at := range int64(6) {
		_, err := readHeader(bytes.NewReader(b), func(int64) error {
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

// halfHeader announces 1 MiB and is a byte short of it.
func halfHeader() []byte {
	return append(binary.LittleEndian.AppendUint32(nil, maxHeaderBytes), make([]byte, maxHeaderBytes-1)...)
}

// While 200 connections hold half headers, in either direction, a sound subscriber and a
// sound publisher get in within a second.
func TestHalfHeadersKeepNobodyOut(t *testing.T) {
	half := halfHeader()
	hello := AppendHeader(nil, Header{
		{Key: "callerid", Value: "/s"}, {Key: "md5sum", Value: AnyMD5}, {Key: "topic", Value: "/t"}, {Key: "type", Value: names.AnyType},
	})
	synctest.Test(t, func(t *testing.T) {
		n, _ := pipeNode()
		var wg sync.WaitGroup
		defer wg.Wait()
		var mu sync.Mutex
		most := int64(0)
		accept := func(c net.Conn) {
			(&tcprosServer{node: n}).handle(c, n.pending.accept(c))
			_ = c.Close()
		}
		connect := func(c net.Conn) error {
			defer c.Close()
			sub := &Subscription{node: n, topic: "/t"}
			_, err := (&inLink{sub: sub, uri: "http://p/"}).handshake(c)
			return err
		}
		attack := func(i int) {
			here, there := net.Pipe()
			wg.Go(func() {
				if i%2 == 0 {
					accept(here)
				} else {
					_ = connect(here)
				}
			})
			wg.Go(func() {
				if i%2 == 1 {
					_, _ = ReadHeader(there)
				}
				for b := half; len(b) > 0; {
					k, err := there.Write(b[:min(len(b), 64<<10)])
					if err != nil {
						break
					}
					b = b[k:]
					n.pending.mu.Lock()
					held := n.pending.held
					n.pending.mu.Unlock()
					mu.Lock()
					most = max(most, held)
					mu.Unlock()
				}
				_, _ = there.Read(make([]byte, 1)) // until it is closed
			})
		}
		for i := range 200 {
			attack(i)
		}
		for _, wait := range []time.Duration{0, slowAfter, 3 * time.Second} {
			time.Sleep(wait)
			start := time.Now()
			here, there := net.Pipe()
			wg.Go(func() { accept(here) })
			if _, err := there.Write(hello); err != nil {
				t.Error(err)
			}
			if h, err := ReadHeader(there); err != nil || h.get("callerid") != "/n" {
				t.Errorf("subscriber: %v, %v", h, err)
			}
			_ = there.Close()
			here, there = net.Pipe()
			linked := make(chan error, 1)
			wg.Go(func() { linked <- connect(here) })
			if _, err := ReadHeader(there); err != nil {
				t.Error(err)
			}
			_, _ = there.Write(hello)
			if err := <-linked; err != nil {
				t.Errorf("publisher: %v", err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v", took)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if most > pendingBytes || most < pendingBytes/2 {
			t.Errorf("%d bytes were held, the bound is %d", most, pendingBytes)
		}
	})
}

// The same holds for requests to services, and what they held is given back.
func TestHalfRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := pipeNode()
		var wg sync.WaitGroup
		for i := range 30 {
			s := &Service{
				node: n, name: "/s" + strconv.Itoa(i), opts: ServiceOptions{MaxRequestBytes: 1 << 20},
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
				_, _ = there.Write(halfHeader())
				_, _ = there.Read(make([]byte, 1))
			})
		}
		time.Sleep(time.Second)
		n.pending.mu.Lock()
		if held := n.pending.held; held > pendingBytes || held < pendingBytes/2 {
			t.Errorf("%d bytes are held", held)
		}
		n.pending.mu.Unlock()
		wg.Wait()
		if n.pending.held != 0 || len(n.pending.reads) != 0 {
			t.Errorf("%d bytes are left, in %d reads", n.pending.held, len(n.pending.reads))
		}
	})
}
