package tcpros_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros"
)

// echo answers with the request, and refuses "no".
func echo(_ context.Context, request []byte) ([]byte, error) {
	if string(request) == "no" {
		return nil, errors.New("not today")
	}
	return append([]byte("echo "), request...), nil
}

func serve(t *testing.T, n *tcpros.Node, name string, h tcpros.ServiceHandler) *tcpros.Service {
	t.Helper()
	s, err := n.AdvertiseService(tcpros.ServiceOptions{Name: name, Type: tcpros.TriggerService, Handle: h})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serviceAt waits until the master knows a service and returns its address.
func serviceAt(t *testing.T, masterURI, name string) string {
	t.Helper()
	var at string
	waitFor(t, "the service "+name, func() bool {
		v, err := reply(t, masterURI, "lookupService", "/x", name)
		if err != nil || v[0] != 1 {
			return false
		}
		at = strings.TrimPrefix(v[2].(string), "rosrpc://")
		return true
	})
	return at
}

// services starts a node that serves /s, and another that may call it.
func services(t *testing.T, h tcpros.ServiceHandler) (server, client *tcpros.Node, address string) {
	t.Helper()
	return servicesWith(t, tcpros.Timing{}, h)
}

// servicesWith is services with another timing of the server.
func servicesWith(t *testing.T, timing tcpros.Timing, h tcpros.ServiceHandler) (server, client *tcpros.Node, address string) {
	t.Helper()
	m := newMaster(t)
	server, client = newNode(t, nodeOptions("server", m.URI()).With(timing)), newNode(t, nodeOptions("client", m.URI()))
	serve(t, server, "/s", h)
	return server, client, serviceAt(t, m.URI(), "/s")
}

func TestServiceCalls(t *testing.T) {
	_, client, _ := services(t, echo)
	trigger := tcpros.TriggerService
	long := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		service string
		typ     tcpros.ServiceType
		request string
		want    string
		wantErr error
		text    string
	}{
		"good":         {"/s", trigger, "x", "echo x", nil, ""},
		"relative":     {"s", trigger, "x", "echo x", nil, ""},
		"empty":        {"/s", trigger, "", "echo ", nil, ""},
		"1 MiB":        {"/s", trigger, long, "echo " + long, nil, ""},
		"any type":     {"/s", tcpros.ServiceType{}, "x", "echo x", nil, ""},
		"upper case":   {"/s", tcpros.ServiceType{MD5Sum: strings.ToUpper(trigger.MD5Sum)}, "x", "echo x", nil, ""},
		"refused":      {"/s", trigger, "no", "", tcpros.ErrService, `service /s says "not today"`},
		"unknown":      {"/none", trigger, "", "", tcpros.ErrStatus, "service /none: lookupService at "},
		"another type": {"/s", tcpros.EmptyService, "", "", tcpros.ErrPeer, "client wants service /s to have md5sum d41d8cd98f00b204e9800998ecf8427e, but it has 937c9679a518e3a18d831e57125ea522. Dropping connection."},
		"too long":     {"/s", trigger, long + "x", "", io.EOF, ""},
		"bad name":     {"a b", trigger, "", "", tcpros.ErrName, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := client.CallService(t.Context(), tt.service, tt.typ, []byte(tt.request))
			if tt.wantErr == nil {
				if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" {
					t.Errorf("%v %.200s", err, diff)
				}
				return
			}
			// A service that closes on us while we still write may also reset the connection.
			reset := (*net.OpError)(nil)
			if !errors.Is(err, tt.wantErr) && (!errors.Is(tt.wantErr, io.EOF) || !errors.As(err, &reset)) {
				t.Errorf("got %v, want %v", err, tt.wantErr)
			}
			if !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Many callers are answered at the same time, each with its own answer.
func TestServiceCallsAtOnce(t *testing.T) {
	const callers = 20
	var inside sync.WaitGroup
	inside.Add(callers)
	_, client, _ := services(t, func(ctx context.Context, request []byte) ([]byte, error) {
		inside.Done()
		inside.Wait() // no call returns before all have started
		return echo(ctx, request)
	})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			got, err := client.CallService(t.Context(), "/s", tcpros.TriggerService, []byte(itoa(i)))
			if err != nil || string(got) != "echo "+itoa(i) {
				t.Errorf("call %d: %q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
}

func TestServiceCallEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	_, client, _ := services(t, func(context.Context, []byte) ([]byte, error) { <-release; return nil, nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.CallService(ctx, "/s", tcpros.TriggerService, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func serviceHeader(name string) tcpros.Header {
	return tcpros.Header{{Key: "callerid", Value: "/c"}, {Key: "md5sum", Value: "*"}, {Key: "service", Value: name}}
}

func TestServiceHeaders(t *testing.T) {
	_, _, address := services(t, echo)
	good := serviceHeader("/s")
	missing := "bogus tcpros header. did not have the required elements: md5sum, service, callerid"
	for name, tt := range map[string]struct {
		header tcpros.Header
		want   string // start of the error
	}{
		"no md5sum":     {without(good, "md5sum"), missing},
		"no callerid":   {without(good, "callerid"), missing},
		"empty service": {with(good, "service", ""), missing},
		"unknown":       {with(good, "service", "/x"), "received a tcpros connection for a nonexistent service [/x] from [TCPROS connection on port "},
		"other md5sum":  {with(good, "md5sum", "0123"), "client wants service /s to have md5sum 0123, but it has " + tcpros.TriggerService.MD5Sum},
		"good":          {good, ""},
		"odd name":      {with(good, "service", "//s/"), ""},
		"unknown field": {with(good, "zfoo", "bar"), ""},
		"topic too":     {with(good, "topic", "/t"), ""},
		"probe":         {with(good, "probe", "1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, reply := dial(t, address, tt.header)
			text, refused := reply.Get("error")
			if refused != (tt.want != "") || !strings.HasPrefix(text, tt.want) {
				t.Fatalf("got %q, want %q", text, tt.want)
			}
			if !refused {
				want := tcpros.Header{
					{Key: "callerid", Value: "/server"},
					{Key: "md5sum", Value: tcpros.TriggerService.MD5Sum},
					{Key: "request_type", Value: "std_srvs/TriggerRequest"},
					{Key: "response_type", Value: "std_srvs/TriggerResponse"},
					{Key: "type", Value: "std_srvs/Trigger"},
				}
				if diff := cmp.Diff(want, reply); diff != "" {
					t.Error(diff)
				}
			}
			if refused || name == "probe" {
				if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Errorf("the connection stays open: %d, %v", n, err)
				}
			}
		})
	}
}

// answers reads n answers of a service.
func answers(t *testing.T, c net.Conn, n int) []string {
	t.Helper()
	var out []string
	for range n {
		var head [5]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			t.Fatalf("after %d answers: %v", len(out), err)
		}
		b := make([]byte, binary.LittleEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(head[0], " ", string(b)))
	}
	return out
}

// A persistent connection serves one call after the other, even if calls arrive early; any other
// connection ends with its first call.
func TestServicePersistent(t *testing.T) {
	_, _, address := services(t, echo)
	calls := append(append(frame("a"), frame("no")...), frame("")...)
	for value, want := range map[string]int{"1": 3, "True": 3, "0": 1, "": 1} {
		c, _ := dial(t, address, with(serviceHeader("/s"), "persistent", value))
		if _, err := c.Write(calls); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"1 echo a", "0 not today", "1 echo "}[:want], answers(t, c, want)); diff != "" {
			t.Error(diff)
		}
		if want == 1 {
			if n, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("persistent=%q: %d bytes more", value, n)
			}
		}
	}
}

func TestServiceRefuses(t *testing.T) {
	n := newNode(t, nodeOptions("n", newMaster(t).URI()).With(calm))
	good := tcpros.ServiceOptions{Name: "/s", Type: tcpros.TriggerService, Handle: echo}
	for name, change := range map[string]func(*tcpros.ServiceOptions){
		"any md5sum":   func(o *tcpros.ServiceOptions) { o.Type.MD5Sum = "*" },
		"no md5sum":    func(o *tcpros.ServiceOptions) { o.Type.MD5Sum = "" },
		"no type":      func(o *tcpros.ServiceOptions) { o.Type.Type = "" },
		"XML as type":  func(o *tcpros.ServiceOptions) { o.Type.Type = "a</value>" },
		"invalid name": func(o *tcpros.ServiceOptions) { o.Name = "a b" },
		"limit":        func(o *tcpros.ServiceOptions) { o.MaxRequestBytes = -1 },
		"no handler":   func(o *tcpros.ServiceOptions) { o.Handle = nil },
	} {
		o := good
		change(&o)
		if _, err := n.AdvertiseService(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s, err := n.AdvertiseService(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.AdvertiseService(good); !errors.Is(err, tcpros.ErrConflict) {
		t.Errorf("twice: %v", err)
	}
	s.Close()
	if _, err := n.AdvertiseService(good); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := n.AdvertiseService(good); !errors.Is(err, tcpros.ErrClosed) {
		t.Errorf("on a closed node: %v", err)
	}
}

// A service is registered with each new master, and unregistered at the end.
func TestServiceRegistration(t *testing.T) {
	t.Parallel()
	address := freePort(t)
	m := masterAt(t, address)
	timing := brisk
	timing.Unregister = patience
	server, client := newNode(t, nodeOptions("server", m.URI()).With(timing)), newNode(t, nodeOptions("client", m.URI()))
	kept, dropped := serve(t, server, "/kept", echo), serve(t, server, "/dropped", echo)
	serviceAt(t, m.URI(), "/kept")
	serviceAt(t, m.URI(), "/dropped")
	dropped.Close()
	provided := func() string {
		return fmt.Sprint(call(t, m.URI(), "getSystemState", "/x").([]any)[2])
	}
	waitFor(t, "the end of one", func() bool { return provided() == "[[/kept [/server]]]" })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	m = masterAt(t, address)
	serviceAt(t, m.URI(), kept.Name())
	if got, err := client.CallService(t.Context(), "/kept", tcpros.TriggerService, []byte("x")); string(got) != "echo x" {
		t.Errorf("got %q, %v", got, err)
	}
	call(t, m.URI(), "unregisterService", "/server", "/kept", "rosrpc://"+serviceAt(t, m.URI(), "/kept"))
	serviceAt(t, m.URI(), "/kept") // a service that others unregister is registered again
	if err := server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := provided(); got != "[]" {
		t.Errorf("left %v", got)
	}
}

// A service that another node took over is not taken back.
func TestServiceTaken(t *testing.T) {
	t.Parallel()
	m := newMaster(t)
	o := nodeOptions("old", m.URI()).With(brisk)
	log, logs := observedLog()
	o.Log = log
	serve(t, newNode(t, o), "/s", echo)
	first := serviceAt(t, m.URI(), "/s")
	serve(t, newNode(t, nodeOptions("young", m.URI())), "/s", echo)
	waitFor(t, "the other one", func() bool { return serviceAt(t, m.URI(), "/s") != first })
	waitFor(t, "the word", func() bool { return logs.FilterMessageSnippet("another node provides this service").Len() == 1 })
	if serviceAt(t, m.URI(), "/s") == first {
		t.Error("taken back")
	}
}

// A call in progress is answered before the node ends; an idle connection does not delay the end.
func TestServiceAnswersAtTheEnd(t *testing.T) {
	inside, closing := make(chan struct{}), make(chan struct{})
	server, client, address := servicesWith(t, calm, func(ctx context.Context, request []byte) ([]byte, error) {
		close(inside)
		<-closing
		return echo(ctx, request)
	})
	rest, _ := dial(t, address, with(serviceHeader("/s"), "persistent", "1"))
	var wg sync.WaitGroup
	wg.Go(func() {
		got, err := client.CallService(t.Context(), "/s", tcpros.TriggerService, []byte("x"))
		if err != nil || string(got) != "echo x" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	<-inside
	wg.Go(func() {
		if _, err := rest.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection at rest: %v", err)
		}
		close(closing) // Close has begun
	})
	if err := server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// The context of a handler that does not end is canceled, and then the handler is abandoned.
func TestServiceStuckHandler(t *testing.T) {
	t.Parallel()
	inside, told, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(release)
	server, client, _ := servicesWith(t, tcpros.Timing{ServiceGrace: 50 * time.Millisecond, Unregister: patience}, func(ctx context.Context, _ []byte) ([]byte, error) {
		close(inside)
		<-ctx.Done()
		close(told)
		<-release
		return nil, nil
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := client.CallService(t.Context(), "/s", tcpros.TriggerService, nil); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
	<-inside
	start := time.Now()
	if err := server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("took %v", took)
	}
	<-told
	wg.Wait()
}

// Silent callers do not shut others out, and announced lengths cost no memory.
func TestServiceHostileCallers(t *testing.T) {
	_, client, address := services(t, echo)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 200 {
		c, _ := dial(t, address, with(serviceHeader("/s"), "persistent", itoa(i%2)))
		if _, err := c.Write([]byte{0, 0, 0x10, 0, 'x'}[:i%6]); err != nil { // up to 1 MiB and one byte of it
			t.Logf("connection %d: %v", i, err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 16<<20 {
		t.Errorf("200 claims cost %d bytes", got)
	}
	if got, err := client.CallService(t.Context(), "/s", tcpros.TriggerService, []byte("x")); string(got) != "echo x" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, request := range map[string]string{"4 GiB": "\xff\xff\xff\xff", "1 MiB + 1": "\x01\x00\x10\x00"} {
		c, _ := dial(t, address, serviceHeader("/s"))
		if _, err := c.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: answered %d bytes", name, n)
		}
	}
}

// A call ends with an error for each invalid answer of a service.
func TestServiceHostileAnswers(t *testing.T) {
	m := newMaster(t)
	client := newNode(t, nodeOptions("client", m.URI()))
	header := string(tcpros.AppendHeader(nil, serviceHeader("/s")))
	for name, tt := range map[string]struct {
		sent string
		want error
	}{
		"nothing":          {"", tcpros.ErrHeader},
		"no header":        {"\xff\xff\xff\xff", tcpros.ErrHeader},
		"garbage":          {"HTTP/1.1 400 Bad Request\r\n", tcpros.ErrHeader},
		"error":            {string(tcpros.AppendHeader(nil, tcpros.Header{{Key: "error", Value: "go away"}})), tcpros.ErrPeer},
		"no answer":        {header, io.EOF},
		"half an answer":   {header + "\x01\x05\x00\x00\x00abc", io.ErrUnexpectedEOF},
		"half a head":      {header + "\x01\x05\x00", io.ErrUnexpectedEOF},
		"4 GiB":            {header + "\x01\xff\xff\xff\xff", tcpros.ErrTooLarge},
		"4 GiB of text":    {header + "\x00\xff\xff\xff\xff", tcpros.ErrTooLarge},
		"64 KiB + of text": {header + "\x00\x01\x00\x01\x00", tcpros.ErrTooLarge},
		"neither 0 nor 1":  {header + "\x02\x00\x00\x00\x00", nil},
		"empty text":       {header + "\x00\x00\x00\x00\x00", tcpros.ErrService},
		"text with zero":   {header + "\x00\x02\x00\x00\x00x\x00", tcpros.ErrService},
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakePublisher(t, "/t", func(c net.Conn) {
				_, _ = c.Write([]byte(tt.sent))
				_ = c.(*net.TCPConn).CloseWrite()
				waitClosed(c)
			})
			call(t, m.URI(), "registerService", "/fake", "/s", "rosrpc://"+p.ln.Addr().String(), p.uri)
			got, err := client.CallService(t.Context(), "/s", tcpros.TriggerService, nil)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %q, %v", got, err)
			}
			if s := (*tcpros.ServiceError)(nil); errors.As(err, &s) && (s.Service != "/s" || strings.Contains(s.Text, "\x00")) {
				t.Errorf("got %+v", s)
			}
		})
	}
	for _, uri := range []string{"http://127.0.0.1:1", "rosrpc://", "rosrpc://h", "x", "rosrpc://%zz"} {
		call(t, m.URI(), "registerService", "/fake", "/s", "rosrpc://127.0.0.1:1", "http://127.0.0.1:1/")
		if v, err := reply(t, m.URI(), "registerService", "/fake", "/s", uri, "http://127.0.0.1:1/"); err == nil && v[0] == 1 {
			if _, err := client.CallService(t.Context(), "/s", tcpros.TriggerService, nil); err == nil {
				t.Errorf("%s: no error", uri)
			}
		}
	}
}

func TestStdSrvs(t *testing.T) {
	t.Parallel()
	for want, got := range map[tcpros.ServiceType]tcpros.ServiceType{
		{Type: "std_srvs/Empty", MD5Sum: "d41d8cd98f00b204e9800998ecf8427e"}:   tcpros.EmptyService,
		{Type: "std_srvs/Trigger", MD5Sum: "937c9679a518e3a18d831e57125ea522"}: tcpros.TriggerService,
		{Type: "std_srvs/SetBool", MD5Sum: "09fb03525b03e7ea1fd3992bafd87e16"}: tcpros.SetBoolService,
	} {
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
