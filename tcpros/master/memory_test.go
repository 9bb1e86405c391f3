package master_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// hold reads the first byte of connections and keeps them open until the test ends.
type hold struct {
	t     *testing.T
	begun chan struct{} // one value for each connection
}

func newHold(t *testing.T) *hold { return &hold{t, make(chan struct{}, 1000)} }

func (h *hold) keep(c net.Conn) {
	h.t.Cleanup(func() { c.Close() })
	if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
		h.begun <- struct{}{}
	}
}

func (h *hold) wait(n int) {
	h.t.Helper()
	for range n {
		select {
		case <-h.begun:
		case <-time.After(patience):
			h.t.Fatal("not all messages were begun")
		}
	}
}

// silentNode listens for the length of the test, and reads one byte of each call.
func (h *hold) silentNode() (addr string) {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	var wg sync.WaitGroup
	h.t.Cleanup(wg.Wait)
	h.t.Cleanup(func() { l.Close() })
	// owner: the test; ends when the listener is closed.
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.keep(c)
		}
	})
	return l.Addr().String()
}

// unread makes a call and reads one byte of the answer.
func (h *hold) unread(addr, method string, args ...any) {
	h.t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		h.t.Fatal(err)
	}
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	body, err := xmlrpc.AppendRequest(nil, method, args...)
	if err != nil {
		h.t.Fatal(err)
	}
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	h.keep(c)
}

// inUse returns the bytes of live memory.
func inUse() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// An unread message is in memory once, for any number of peers, and does not delay the end. These
// tests are not parallel: they measure the memory of the process.
func TestUnreadMessagesShareMemory(t *testing.T) {
	const param = 10 << 20
	for name, tt := range map[string]struct {
		peers int
		begin func(h *hold, m *master.Master, c client)
	}{
		"answers": {peers: 12, begin: func(h *hold, m *master.Master, c client) {
			c.ok("setParam", "/a", "/big", strings.Repeat("x", param))
			for i := range 12 {
				h.unread(m.Addr().String(), "getParam", fmt.Sprintf("/n%d", i), "/big")
			}
		}},
		"updates": {peers: 100, begin: func(h *hold, _ *master.Master, c client) {
			addr := h.silentNode()
			for i := range 100 {
				c.ok("subscribeParam", fmt.Sprintf("/n%d", i), fmt.Sprintf("http://%s/%d", addr, i), "/big")
			}
			c.ok("setParam", "/a", "/big", strings.Repeat("x", param))
		}},
		"updates that wait": {peers: 1, begin: func(h *hold, _ *master.Master, c client) {
			addr := h.silentNode()
			c.ok("subscribeParam", "/n", "http://"+addr+"/", "/")
			c.ok("setParam", "/a", "/first", 1)
			h.wait(1)
			for i := range 8 { // each is another notice, which waits for the first
				c.ok("setParam", "/a", fmt.Sprint("/ns/big", i), strings.Repeat("x", param))
				c.ok("deleteParam", "/a", "/ns")
			}
			h.begun <- struct{}{}
		}},
		"lists of publishers": {peers: 100, begin: func(h *hold, _ *master.Master, c client) {
			addr := h.silentNode()
			for i := range 500 {
				c.ok("registerPublisher", fmt.Sprintf("/p%d", i), "/topic", "a/B", fmt.Sprintf("http://127.0.0.1:1/%s%d", strings.Repeat("p", 1000), i))
			}
			for i := range 100 {
				c.ok("registerSubscriber", fmt.Sprintf("/n%d", i), "/topic", "a/B", fmt.Sprintf("http://%s/%d", addr, i))
			}
			c.ok("registerPublisher", "/last", "/topic", "a/B", "http://127.0.0.1:1/")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before := inUse()
			m, c := start(t, master.Options{})
			h := newHold(t)
			tt.begin(h, m, c)
			h.wait(tt.peers)
			// The parameter, the message with it, and some 100 KB for each connection.
			if most, got := int64(3*param+tt.peers*100<<10), inUse()-before; got > most {
				t.Errorf("%d MiB in use, more than %d", got>>20, most>>20)
			}
			c.ok("getPid", "/x")
			began := time.Now()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 5*time.Second { // 0.1 s when the machine is idle
				t.Errorf("closing took %v", took)
			}
		})
	}
}

// TestUnreadMessagesGiveWay: peers that do not read their answers, all different, do not keep other
// peers from getting theirs.
func TestUnreadMessagesGiveWay(t *testing.T) {
	t.Parallel()
	m, c := start(t, master.Options{})
	h := newHold(t)
	big := strings.Repeat("x", 5<<20)
	for i := range 3 {
		c.ok("setParam", "/a", fmt.Sprint("/big", i), big)
		h.unread(m.Addr().String(), "getParam", "/n", fmt.Sprint("/big", i))
	}
	h.wait(3)
	c.ok("setParam", "/a", "/good", big)
	if got := c.ok("getParam", "/n", "/good"); got != big {
		t.Error("another value")
	}
	calls := []any{map[string]any{"methodName": "getParam", "params": []any{"/n", "/good"}}}
	if v, err := c.call("system.multicall", calls); err != nil || len(v.([]any)) != 1 {
		t.Errorf("system.multicall: %v", err)
	}
	if _, err := c.call("system.multicall", append(calls, calls...)); err == nil {
		t.Error("system.multicall answers without a limit")
	}
}

// TestUpdatesAreTheLatest: a node that was busy gets the value that a parameter has by then.
func TestUpdatesAreTheLatest(t *testing.T) {
	t.Parallel()
	_, c := start(t, master.Options{})
	release := make(chan struct{})
	s := newSlave(t, func([]any) error { <-release; return nil })
	c.ok("subscribeParam", "/n", s.uri, "/a")
	c.ok("setParam", "/x", "/a/first", 1)
	s.next(t)
	c.ok("setParam", "/x", "/a/b", 1)
	c.ok("setParam", "/x", "/a", map[string]any{"b": 2})
	close(release)
	if got := s.next(t); got[2] != "/a/b/" || got[3] != 2 {
		t.Errorf("the node is told %v", got)
	}
	s.next(t)
}
