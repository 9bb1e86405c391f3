package master_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

const patience = time.Minute // timeout of steps that should need milliseconds

// client calls a master as one HTTP client.
type client struct {
	t    *testing.T
	call func(method string, args ...any) (any, error)
}

// start runs a master on a free port for the length of the test.
func start(t *testing.T, o master.Options) (*master.Master, client) {
	t.Helper()
	o.Listen = "127.0.0.1:0"
	m, err := master.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	hc := xmlrpc.NewHTTPClient(patience)
	t.Cleanup(func() {
		hc.CloseIdleConnections()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m, client{t, func(method string, args ...any) (any, error) {
		return xmlrpc.Call(context.Background(), hc, m.URI(), method, args...)
	}}
}

// ok makes a call that must succeed and returns its value.
func (c client) ok(method string, args ...any) any {
	c.t.Helper()
	code, text, value := c.triple(method, args...)
	if code != 1 {
		c.t.Fatalf("%s%v: code %d, %s", method, args, code, text)
	}
	return value
}

func (c client) triple(method string, args ...any) (code int, text string, value any) {
	c.t.Helper()
	v, err := c.call(method, args...)
	if err != nil {
		c.t.Fatalf("%s%v: %v", method, args, err)
	}
	list, _ := v.([]any)
	if len(list) != 3 {
		c.t.Fatalf("%s%v answers %v", method, args, v)
	}
	code, _ = list[0].(int)
	text, _ = list[1].(string)
	return code, text, list[2]
}

// slave is a node's slave server. It records each call as [method, argument...].
type slave struct {
	uri   string
	calls chan []any
}

// newSlave runs a slave for the length of the test. hold, if not nil, is called
// before each answer.
func newSlave(t *testing.T, hold func(call []any) error) *slave {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &slave{fmt.Sprintf("http://%v/", l.Addr()), make(chan []any, 1000)}
	server := xmlrpc.NewServer(func(_ context.Context, _, method string, args []any) (any, error) {
		call := append([]any{method}, args...)
		s.calls <- call
		if hold != nil {
			if err := hold(call); err != nil {
				return nil, err
			}
		}
		return []any{1, "", 0}, nil
	}, xmlrpc.ServerOptions{})
	ended := make(chan error, 1)
	// owner: the test; ends when the server is closed.
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// next returns the next call, which must come soon.
func (s *slave) next(t *testing.T) []any {
	t.Helper()
	select {
	case c := <-s.calls:
		return c
	case <-time.After(patience):
		t.Fatal("the node was not called")
		return nil
	}
}

// Values may be nested as deeply as parameters may be, also in a system.multicall.
func TestDeepValues(t *testing.T) {
	t.Parallel()
	_, c := start(t, master.Options{})
	nested := func(depth int) (v any) {
		for v = 1; depth > 0; depth-- {
			v = []any{v}
		}
		return v
	}
	for depth, want := range map[int]int{63: 1, 64: -1} { // and one element of the name
		if code, text, _ := c.triple("setParam", "/n", "/a", nested(depth)); code != want {
			t.Errorf("depth %d: code %d, %s", depth, code, text)
		}
		v, err := c.call("system.multicall", []any{map[string]any{"methodName": "setParam", "params": []any{"/n", "/a", nested(depth)}}})
		if err != nil {
			t.Fatal(err)
		}
		if code := v.([]any)[0].([]any)[0].([]any)[0]; code != want {
			t.Errorf("depth %d in system.multicall: %v", depth, v)
		}
		if code, text, _ := c.triple("setParam", "/n", strings.Repeat("/a", depth+1), 1); code != want {
			t.Errorf("%d names: code %d, %s", depth+1, code, text)
		}
	}
}

// A node can shut down the master only where the options permit it.
func TestShutdown(t *testing.T) {
	t.Parallel()
	_, refusing := start(t, master.Options{})
	if code, text, _ := refusing.triple("shutdown", "/n", "done"); code != 0 {
		t.Errorf("code %d, %s", code, text)
	}
	asked := make(chan string, 1)
	_, c := start(t, master.Options{OnShutdown: func(caller, reason, _ string) { asked <- caller + " " + reason }})
	c.ok("shutdown", "/n", "done")
	if got := <-asked; got != "/n done" {
		t.Errorf("got %q", got)
	}
}

// The master has the same port on all its addresses, or does not start.
func TestAlsoListen(t *testing.T) {
	t.Parallel()
	m, _ := start(t, master.Options{AlsoListen: []string{"127.0.0.2", "127.0.0.3"}})
	hc := xmlrpc.NewHTTPClient(patience)
	defer hc.CloseIdleConnections()
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"} {
		uri := fmt.Sprintf("http://%s:%d/", host, m.Addr().(*net.TCPAddr).Port)
		if _, err := xmlrpc.Call(t.Context(), hc, uri, "getPid", "/n"); err != nil {
			t.Error(err)
		}
	}
	const elsewhere = "192.0.2.1" // no address of any machine
	if _, err := master.New(t.Context(), master.Options{Listen: "127.0.0.1:0", AlsoListen: []string{"127.0.0.2", elsewhere}}); err == nil || !strings.Contains(err.Error(), elsewhere) {
		t.Errorf("got %v", err)
	}
}

// TestListensOnIPv4: 0.0.0.0 stands for the addresses of IPv4, and for no others.
func TestListensOnIPv4(t *testing.T) {
	t.Parallel()
	m, err := master.New(t.Context(), master.Options{Listen: "0.0.0.0:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if at := m.Addr().String(); !strings.HasPrefix(at, "0.0.0.0:") {
		t.Errorf("listens on %s", at)
	}
}
