package tcpros_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/tcpros"
)

// costs are the resources that connections use.
type costs struct{ goroutines, files int }

func costsNow() costs {
	files, _ := os.ReadDir("/proc/self/fd") // empty on systems without /proc
	return costs{runtime.NumGoroutine(), len(files)}
}

// back waits until all resources are released, except for a small allowance for other users.
func (c costs) back(t *testing.T) {
	t.Helper()
	waitFor(t, "the end of what connections took", func() bool {
		now := costsNow()
		return now.goroutines <= c.goroutines+8 && now.files <= c.files+8
	})
}

// N14: a flood of connections that send nothing, or nonsense, blocks neither port of a node. The
// flood costs no more than the limits, and nothing afterwards.
func TestConnectFlood(t *testing.T) {
	n, p, data := publisher(t, 0)
	api, err := url.Parse(n.URI())
	if err != nil {
		t.Fatal(err)
	}
	before := costsNow()
	c, _ := dial(t, data, subscriberHeader("/good", "/t"))
	waitFor(t, "the link", func() bool { return p.Subscribers() == 1 })
	src := p.Source(false)
	const most, flood = 256 + 64, 1000 // connections that both ports accept together
	var all []net.Conn
	for i := range flood {
		for _, address := range []string{data, api.Host} {
			f, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, f)
			if i%10 == 0 {
				_, _ = f.Write([]byte("GET / HTTP/1.1\r\n"))
			}
		}
		if i%100 == 0 {
			src.Publish(frame(fmt.Sprint(i)))
			if got := readFrames(t, c, 1); got[0] != fmt.Sprint(i) {
				t.Fatalf("got %q", got)
			}
		}
	}
	waitFor(t, "the limits", func() bool { return costsNow().goroutines <= before.goroutines+2*most })
	dial(t, data, subscriberHeader("/late", "/t"))
	call(t, n.URI(), "getPid", "/x")
	for _, f := range all {
		_ = f.Close()
	}
	before.back(t)
}

// N14: a subscriber that connects again and again, and never closes a link, has one link.
func TestSameCallerManyTimes(t *testing.T) {
	_, p, address := publisher(t, 10)
	src := p.Source(true)
	src.Publish(frame("latched"))
	before := costsNow()
	var last net.Conn
	const times = 500
	for range times {
		last, _ = dial(t, address, subscriberHeader("/s", "/t")) // closed with the test
		src.Publish(frame("latched"))
	}
	waitFor(t, "one link", func() bool { return p.Subscribers() == 1 })
	if got := readFrames(t, last, 1); got[0] != "latched" {
		t.Errorf("got %q", got)
	}
	waitFor(t, "the end of the others", func() bool {
		now := costsNow()
		return now.goroutines <= before.goroutines+8 && now.files <= before.files+times+8 // the test's ends
	})
}

// N7: a link that is reset is up again within half a second on an idle machine.
func TestReset(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	reset := make(chan time.Time, 1)
	got := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(got) })
	defer letGo()
	p := newFakePublisher(t, "/t", func(c net.Conn) {
		sends := sends("/t", frame("x"))
		if len(reset) == 0 {
			_ = c.(*net.TCPConn).SetLinger(0)
			sends = func(c net.Conn) {
				_, _ = c.Write(append(tcpros.AppendHeader(nil, goodHeader("/t")), frame("x")...))
				<-got
				reset <- time.Now()
			}
		}
		sends(c)
	})
	p.register(m.URI(), "/fake")
	b, _, _ := subscriber(t, nodeOptions("sub", m.URI()), "/t")
	waitFor(t, "the first message", func() bool { return b.count() == 1 })
	letGo()
	waitFor(t, "the next one", func() bool { return b.count() == 2 })
	if took := time.Since(<-reset); took > 10*time.Second { // the longest wait is 20 s
		t.Errorf("again after %v", took)
	}
	if ends := b.ends(); len(ends) != 1 || !errors.Is(ends[0], syscall.ECONNRESET) {
		t.Errorf("ended by %v", ends)
	}
}

// N9: the address of a node that was killed, which the master still lists, is tried ever
// more rarely, with one warning.
func TestStaleRegistration(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	dead := newFakePublisher(t, "/t", nil)
	dead.register(m.URI(), "/dead")
	asked := make(chan time.Time, 100)
	start := time.Now()
	dead.mu.Lock()
	dead.answer = func(method string, _ []any) any {
		if method == "requestTopic" {
			asked <- time.Now()
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	dead.mu.Unlock()
	_, _, logged := subscriber(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{RetryFirst: 20 * time.Millisecond}), "/t")
	waitFor(t, "five attempts", func() bool { return len(asked) >= 5 })
	last := <-asked
	for _, ms := range []int{20, 40, 80, 160} {
		now := <-asked
		if wait := now.Sub(last); wait < time.Duration(ms)*time.Millisecond*8/10 {
			t.Errorf("asked again after %v, want at least about %d ms", wait, ms)
		}
		last = now
	}
	saidOnce(t, "listed but not reached", logged("listed but not reached"), start)
}
