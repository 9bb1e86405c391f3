package tcpros_test

import (
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/testkit"
	"github.com/gorosbag/gorosbag/tcpros"
)

// heapNow returns the bytes in use after all garbage is freed.
func heapNow() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // frees the memory that finalizers of the first collection released
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// rounds is the number of topics, or publishers, that come and go: 2000 in the long tests.
func rounds() int {
	if testkit.Full() {
		return 2000
	}
	return 200
}

// flat runs round n times and checks that heap and goroutines are then as they were after the first
// tenth. The leaks that it once found were 13 kB or more for each round.
func flat(t *testing.T, n int, round func(i int)) {
	t.Helper()
	var heap int64
	var goroutines int
	for i := range n {
		if i == n/10 {
			heap, goroutines = heapNow(), runtime.NumGoroutine()
		}
		round(i)
	}
	waitFor(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
	// Buffers of connections that are just being closed count as well, but only once: a leak of
	// each round is found by its sum.
	const once, each = 256 << 10, 500
	grown, most := heapNow()-heap, int64(once+each*(n-n/10))
	t.Logf("%d bytes after %d rounds, %d allowed", grown, n, most)
	if grown > most {
		t.Errorf("%d rounds leave %d bytes, more than %d", n, grown, most)
	}
}

// Topics that come and go, each under a name of its own, leave nothing behind.
func TestTopicsAreReleased(t *testing.T) {
	m := newMaster(t)
	pub, sub := newNode(t, nodeOptions("pub", m.URI())), newNode(t, nodeOptions("sub", m.URI()))
	b := &inbox{}
	flat(t, rounds(), func(i int) {
		topic := fmt.Sprint("/topic", i)
		p := advertise(t, pub, topic, 0)
		p.Source(true).Publish(frame("x"))
		s := subscribe(t, sub, topic, b)
		waitFor(t, "the message", func() bool { return b.count() == 1 })
		s.Close()
		p.Close()
		b.reset()
		waitFor(t, "the master to forget it", func() bool { return len(call(t, m.URI(), "getSystemState", "/x").([]any)[1].([]any)) == 0 })
	})
}

// Publishers of one topic that come and go, as rostopic pub -1 makes them, leave nothing
// behind in its subscription.
func TestPublishersAreReleased(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("sub", m.URI()).With(tcpros.Timing{Hint: time.Millisecond}))
	b := &inbox{}
	s := subscribe(t, n, "/t", b)
	p := newFakePublisher(t, "/t", func(c net.Conn) {
		_, _ = c.Write(append(tcpros.AppendHeader(nil, goodHeader("/t")), frame("x")...))
	})
	flat(t, rounds(), func(i int) {
		name, uri := fmt.Sprint("/p", i), fmt.Sprint(p.uri, i)
		call(t, m.URI(), "registerPublisher", name, "/t", stringType, uri)
		waitFor(t, "the message", func() bool { return b.count() > 0 })
		call(t, m.URI(), "unregisterPublisher", name, "/t", uri)
		waitFor(t, "the end of the link", func() bool { return listed(t, n.URI()) == 0 })
		b.reset()
		p.forget()
	})
	if s.Publishers() != 0 {
		t.Errorf("%d publishers", s.Publishers())
	}
}
