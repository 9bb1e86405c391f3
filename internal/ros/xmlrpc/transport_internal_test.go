package xmlrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// TestTransportForgetsNodes: calls to nodes that are gone, each at another address, leave no more in
// memory than those of the last renewAfter connections.
func TestTransportForgetsNodes(t *testing.T) { // not parallel: it measures the heap
	const (
		calls = 16*renewAfter - 2 // so that the last http.Transport remembers as many as it ever does
		each  = 1 << 10           // bytes for each of those that are remembered, at most; 500 were measured
	)
	refused := errors.New("refused")
	transport := NewTransport(func() *http.Transport {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
	})
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	call := func(n int) {
		uri := fmt.Sprintf("http://10.0.%d.%d:11311/", n/256, n%256)
		if _, err := Call(t.Context(), &http.Client{Transport: transport}, uri, "getPid"); !errors.Is(err, ErrTransport) || !strings.Contains(err.Error(), refused.Error()) {
			t.Fatalf("got %v", err)
		}
	}
	call(0)
	before := inUse()
	for n := range calls {
		call(n)
	}
	more := inUse() - before
	t.Logf("%d bytes for %d nodes that are gone", more, calls)
	if more > renewAfter*each {
		t.Errorf("%d nodes that are gone take %d bytes, want %d at most", calls, more, renewAfter*each)
	}
	call(0) // transport lives until here
}

// TestTransportReusesConnections: calls to one node share a connection, also after nodes that are
// gone made the Transport start anew.
func TestTransportReusesConnections(t *testing.T) {
	t.Parallel()
	var opened, closed atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "there")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
		if state == http.StateClosed {
			closed.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	there := server.Listener.Addr().String()
	transport := NewTransport(func() *http.Transport {
		return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != there {
				return nil, errors.New("refused")
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}}
	})
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	get := func(address string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	for round := int32(1); round <= 3; round++ {
		for range 5 {
			if err := get(there); err != nil {
				t.Fatal(err)
			}
		}
		if n := opened.Load(); n != round {
			t.Fatalf("%d connections in round %d, want one for each", n, round)
		}
		for n := range renewAfter {
			if get(fmt.Sprintf("10.0.%d.%d:1", n/256, n%256)) == nil {
				t.Fatal("a node answers that is gone")
			}
		}
	}
	if err := get(there); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	server.Close() // waits until the connections have ended
	if n := closed.Load(); n != opened.Load() {
		t.Errorf("%d of %d connections closed", n, opened.Load())
	}
}
