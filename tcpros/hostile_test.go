package tcpros_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros"
)

// A call ends with an error, soon and cheaply, for any answer of the master.
func TestHostileMaster(t *testing.T) {
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
	}
	value := func(v string) string {
		return "<?xml version='1.0'?><methodResponse><params><param><value>" + v + "</value></param></params></methodResponse>"
	}
	array := func(vs ...string) string {
		return "<array><data><value>" + strings.Join(vs, "</value><value>") + "</value></data></array>"
	}
	tests := map[string]http.HandlerFunc{
		"garbage":    answer("garbage"),
		"nothing":    answer(""),
		"not found":  http.NotFound,
		"not a list": answer(value("<int>1</int>")),
		"short list": answer(value(array("<int>1</int>", "x"))),
		"text code":  answer(value(array("one", "x", array()))),
		"wrong type": answer(value(array("<int>1</int>", "x", "<int>7</int>"))),
		"wrong rows": answer(value(array("<int>1</int>", "x", array("<int>7</int>")))),
		"fault":      answer("<methodResponse><fault><value>boom</value></fault></methodResponse>"),
		"deep":       answer(value(strings.Repeat("<array><data><value>", 100_000))),
		"DOCTYPE":    answer("<!DOCTYPE x [<!ENTITY a 'b'>]>" + value("&a;")),
		"redirect":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"1 GB": func(w http.ResponseWriter, _ *http.Request) {
			b := make([]byte, 1<<20)
			for range 1 << 10 {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		},
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the caller left
			<-r.Context().Done()
		},
	}
	for name, h := range tests {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			o := nodeOptions("n", srv.URL)
			log, logs := observedLog()
			o.Log = log
			n := newNode(t, o)
			subscribe(t, n, "/t", &inbox{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			timeout := patience
			if name == "hangs" {
				timeout = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			_, err := n.Master().PublishedTopics(ctx)
			runtime.ReadMemStats(&after)
			if c := (*tcpros.CallError)(nil); !errors.As(err, &c) {
				t.Errorf("got %v", err)
			}
			if name == "1 GB" && !errors.Is(err, xmlrpc.ErrLimit) { // not the timeout of the call
				t.Errorf("got %v, want the limit", err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 256<<20 {
				t.Errorf("cost %d bytes", got)
			}
			// A call that wants a number gets one from "wrong type".
			if name != "hangs" && name != "wrong type" {
				waitFor(t, "the complaint", func() bool { return logs.FilterMessageSnippet("Failed to contact master").Len() == 1 })
			}
			if err := n.Close(t.Context()); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// A flood of updates costs a bounded number of calls to the master, and no links.
func TestUpdateFlood(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	_, s, _ := subscriber(t, nodeOptions("sub", m.URI()), "/t")
	good := newFakePublisher(t, "/t", sends("/t", frame("x")))
	good.register(m.URI(), "/good")
	waitFor(t, "the link", func() bool { return s.Publishers() == 1 })
	uri := s2uri(t, m.URI())
	many := make([]any, 5000)
	for i := range many {
		many[i] = fmt.Sprintf("http://127.0.0.1:%d/", 10_000+i)
	}
	for range 50 {
		call(t, uri, "publisherUpdate", "/evil", "/t", many)
	}
	if s.Publishers() != 1 || listed(t, uri) != 1 {
		t.Errorf("%d links, %d known", s.Publishers(), listed(t, uri))
	}
}

// Topics that come and go leave nothing behind; goleak looks at the rest.
func TestManyCycles(t *testing.T) {
	m := newMaster(t)
	pub, sub := newNode(t, nodeOptions("pub", m.URI())), newNode(t, nodeOptions("sub", m.URI()))
	goroutines := 0
	for i := range 60 {
		b := &inbox{}
		p := advertise(t, pub, "/t", 0)
		p.Source(true).Publish(frame("x"))
		s := subscribe(t, sub, "/t", b)
		waitFor(t, fmt.Sprint("message ", i), func() bool { return b.count() == 1 })
		if i%2 == 0 {
			p.Close()
			s.Close()
		} else {
			s.Close()
			p.Close()
		}
		// A subscriber may link again while the publisher unregisters.
		if links, ends := len(b.links()), len(b.ends()); ends == 0 || ends != links {
			t.Fatalf("cycle %d: %d ends of %d links", i, ends, links)
		}
		if i == 10 {
			goroutines = runtime.NumGoroutine()
		}
	}
	waitFor(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines+4 })
}

// Many links with a length bomb each cost the memory of the bytes that were sent, not of the
// announced length.
func TestManyBombs(t *testing.T) {
	m := newMaster(t)
	n := newNode(t, nodeOptions("sub", m.URI()))
	bomb := append(frame("x"), 0xff, 0xff, 0xff, 0x0f, 'x') // 256 MiB - 1, within the limit
	b := &inbox{}
	_, err := n.Subscribe(tcpros.SubscribeOptions{Topic: "/t", Open: func(i tcpros.LinkInfo) (tcpros.LinkSink, error) {
		b.mu.Lock()
		b.opened = append(b.opened, i)
		b.mu.Unlock()
		return &frugalSink{boxSink{b: b}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const links = 100
	for i := range links {
		p := newFakePublisher(t, "/t", sends("/t", bomb))
		p.register(m.URI(), fmt.Sprint("/p", i))
	}
	waitFor(t, "all links", func() bool { return b.count() == links })
	runtime.ReadMemStats(&after)
	if got := after.HeapAlloc - min(after.HeapAlloc, before.HeapAlloc); got > 64<<20 {
		t.Errorf("%d links cost %d bytes", links, got)
	}
}

// Half headers of 1 MiB, in both directions, cost no more than their common bound, are logged once,
// and exclude no peer.
func TestHalfHeaders(t *testing.T) {
	start := time.Now()
	half := append(binary.LittleEndian.AppendUint32(nil, 1<<20), make([]byte, 1<<20-1)...)
	m := newMaster(t)
	var closed atomic.Int32 // half headers whose connection the node closed
	attack := func(c net.Conn) {
		_, _ = c.Write(half)
		waitClosed(c)
		closed.Add(1)
	}
	const each = 100
	for i := range each {
		newFakePublisher(t, "/in", attack).register(m.URI(), fmt.Sprint("/p", i))
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	o := nodeOptions("n", m.URI())
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	p := advertise(t, n, "/out", 0)
	b := &inbox{}
	s := subscribe(t, n, "/in", b)
	address := tcprosAddress(t, n, "/out")
	var wg sync.WaitGroup
	defer wg.Wait()
	for range each {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		wg.Go(func() { attack(c) })
	}
	const limit = 64 << 20 // the bound, as much again before it is collected, and the links
	waitFor(t, "most to be given up", func() bool {
		runtime.ReadMemStats(&now)
		if now.HeapAlloc > before.HeapAlloc+limit {
			t.Fatalf("half headers hold %d MiB", (now.HeapAlloc-before.HeapAlloc)>>20)
		}
		return closed.Load() > 3*each/2
	})
	dial(t, address, subscriberHeader("/s", "/out"))
	newFakePublisher(t, "/in", sends("/in", frame("x"))).register(m.URI(), "/sound")
	waitFor(t, "the sound ones", func() bool { return p.Subscribers() == 1 && s.Publishers() == 1 && b.count() == 1 })
	if n := logs.FilterMessageSnippet("unfinished connection headers").Len(); n < 1 || n > 1+int(time.Since(start)/loglimit.Interval) {
		t.Errorf("said %d times in %v", n, time.Since(start))
	}
}

// frugalSink allocates the memory of a large frame as the bytes arrive.
type frugalSink struct{ boxSink }

func (s *frugalSink) Large(int) tcpros.LargeFrame { return &frugalFrame{} }

type frugalFrame struct{ b []byte }

func (f *frugalFrame) Room(n int) []byte {
	f.b = make([]byte, min(n, 1000))
	return f.b
}

func (f *frugalFrame) Commit(time.Time) {}
func (f *frugalFrame) Abort()           {}
