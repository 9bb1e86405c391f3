package xmlrpc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

const patience = time.Minute // timeout of steps that should need milliseconds

// echo answers its arguments, and errors on request.
func echo(_ context.Context, _, method string, args []any) (any, error) {
	switch method {
	case "fault":
		return nil, &xmlrpc.Fault{Code: 7, Text: "as asked"}
	case "error":
		return nil, errors.New("plain")
	case "unencodable":
		return struct{}{}, nil
	}
	if args == nil {
		args = []any{}
	}
	return args, nil
}

// serve runs a server for the length of a test and returns its address.
func serve(t *testing.T, h xmlrpc.Handler, o xmlrpc.ServerOptions) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := xmlrpc.NewServer(h, o)
	ended := make(chan error, 1)
	// owner: the test; ends when the server is closed.
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("Serve outlives Close")
		}
	})
	return l.Addr().String()
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	hc := xmlrpc.NewHTTPClient(patience)
	t.Cleanup(hc.CloseIdleConnections)
	return hc
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// closed waits until the peer has closed c.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		t.Error("connection is still open")
	}
}

func TestCallAndAnswer(t *testing.T) {
	t.Parallel()
	uri := "http://" + serve(t, echo, xmlrpc.ServerOptions{}) + "/"
	hc := newClient(t)
	for _, path := range []string{"", "RPC2", "any/path?x=1"} {
		got, err := xmlrpc.Call(t.Context(), hc, uri+path, "m", "a", 1, []any{true})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]any{"a", 1, []any{true}}, got); d != "" {
			t.Error(d)
		}
	}
	for method, want := range map[string]*xmlrpc.Fault{
		"fault":       {Code: 7, Text: "as asked"},
		"error":       {Code: 1, Text: "plain"},
		"unencodable": {Code: 1, Text: "cannot be written: Go type struct {}"},
	} {
		_, err := xmlrpc.Call(t.Context(), hc, uri, method)
		var f *xmlrpc.Fault
		if !errors.As(err, &f) {
			t.Fatalf("%s: %v", method, err)
		}
		if d := cmp.Diff(want, f); d != "" {
			t.Error(d)
		}
	}
}

// An Answer is sent unchanged, and its end function is called when it was sent, and when it was
// aborted.
func TestAnswerOfTheHandler(t *testing.T) {
	t.Parallel()
	body, err := xmlrpc.AppendResponse(nil, strings.Repeat("x", 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan func(), 1), make(chan struct{}, 1)
	addr := serve(t, func(context.Context, string, string, []any) (any, error) {
		return &xmlrpc.Answer{Body: body, Begin: func(abort func()) func() {
			begun <- abort
			return func() { ended <- struct{}{} }
		}}, nil
	}, xmlrpc.ServerOptions{})
	if v, err := xmlrpc.Call(t.Context(), newClient(t), "http://"+addr, "m"); err != nil {
		t.Error(err)
	} else if s, _ := v.(string); len(s) != 8<<20 {
		t.Errorf("got %d bytes", len(s))
	}
	<-begun
	<-ended
	c := dial(t, addr)
	request, _ := xmlrpc.AppendRequest(nil, "m")
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(request), request)
	(<-begun)() // the caller does not read
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("an answer that was aborted does not end")
	}
}

func TestHandlerSeesPeer(t *testing.T) {
	t.Parallel()
	addr := serve(t, func(_ context.Context, peer, _ string, _ []any) (any, error) { return peer, nil }, xmlrpc.ServerOptions{})
	got, err := xmlrpc.Call(t.Context(), newClient(t), "http://"+addr, "m")
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := got.(string); !strings.HasPrefix(s, "127.0.0.1:") {
		t.Errorf("peer is %q", got)
	}
}

// roscpp needs a length on every answer, and reuses its connection.
func TestAnswersHaveLengthAndKeepAlive(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, echo, xmlrpc.ServerOptions{}))
	r := bufio.NewReader(c)
	for _, body := range []string{
		"<methodCall><methodName>m</methodName></methodCall>",
		"<methodCall><methodName>fault</methodName></methodCall>",
		"not XML-RPC",
		"<methodCall><methodName>m</methodName><params><param><value>" + strings.Repeat("x", 100_000) + "</value></param></params></methodCall>",
	} {
		fmt.Fprintf(c, "POST /RPC2 HTTP/1.1\r\nHost: h:1\r\nContent-Type: text/xml\r\nContent-length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || resp.ContentLength <= 0 || len(resp.TransferEncoding) > 0 || resp.Header.Get("Content-Type") != "text/xml" || resp.Close {
			t.Errorf("status %d, length %d, transfer encoding %v, header %v, close %v", resp.StatusCode, resp.ContentLength, resp.TransferEncoding, resp.Header, resp.Close)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	addr := serve(t, echo, xmlrpc.ServerOptions{Limits: xmlrpc.Limits{BodyBytes: 3 << 20}})
	small := "<methodCall><methodName>m</methodName></methodCall>"
	for name, tc := range map[string]struct {
		method string
		body   string
		header http.Header
		want   int
	}{
		"GET":                 {http.MethodGet, "", nil, http.StatusMethodNotAllowed},
		"PUT":                 {http.MethodPut, small, nil, http.StatusMethodNotAllowed},
		"body over limit":     {http.MethodPost, strings.Repeat(" ", 3<<20+1), nil, http.StatusRequestEntityTooLarge},
		"body at limit":       {http.MethodPost, strings.Repeat(" ", 3<<20-len(small)) + small, nil, http.StatusOK},
		"from a web page":     {http.MethodPost, small, http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"from another origin": {http.MethodPost, small, http.Header{"Origin": {"http://evil.example"}}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+addr, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = tc.header.Clone()
			req.Close = true
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("status %d, want %d", resp.StatusCode, tc.want)
			}
		})
	}
}

func TestSlowCallersAreCut(t *testing.T) {
	t.Parallel()
	addr := serve(t, echo, xmlrpc.ServerOptions{Timeout: 50 * time.Millisecond})
	for name, sent := range map[string]string{
		"silent":      "",
		"half header": "POST / HTTP/1.1\r\nHost:",
		"half body":   "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n<method",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, addr)
			if err := c.SetDeadline(time.Now().Add(9 * time.Second)); err != nil { // less than the server is patient by default
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
			closed(t, c)
		})
	}
}

// A connection that is idle, or never sent a request, is closed for a new caller.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	const body = "<methodCall><methodName>m</methodName></methodCall>"
	post := fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	addr := serve(t, echo, xmlrpc.ServerOptions{Conns: 8})
	call := func(c net.Conn) {
		t.Helper()
		if _, err := io.WriteString(c, post); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	first, silent := dial(t, addr), dial(t, addr)
	call(first)
	gone := func(c net.Conn) bool {
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, err := c.Read(make([]byte, 1))
		return !errors.Is(err, os.ErrDeadlineExceeded)
	}
	var last net.Conn
	for start := time.Now(); !gone(first) || !gone(silent); { // when the server counts an answer as given is up to the scheduler
		if time.Since(start) > 20*time.Second { // less than the time for which connections may be idle
			t.Fatal("old connections are still open")
		}
		last = dial(t, addr)
		call(last)
	}
	call(last) // still there
}

// Connections that begin a request and never finish it do not shut others out either, and a
// connection whose answer is being made stays open.
func TestUnfinishedRequestsGiveWay(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	addr := serve(t, func(_ context.Context, _, method string, _ []any) (any, error) {
		if method == "slow" {
			close(entered)
			<-release
		}
		return method, nil
	}, xmlrpc.ServerOptions{Conns: 8, Timeout: 5 * patience})
	hc := newClient(t)
	slow := make(chan error, 1)
	// owner: the test; ends when the call does.
	go func() {
		_, err := xmlrpc.Call(t.Context(), hc, "http://"+addr, "slow")
		slow <- err
	}()
	<-entered
	var first net.Conn
	for range 20 {
		c := dial(t, addr)
		if first == nil {
			first = c
		}
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n<method")
	}
	closed(t, first)
	if _, err := xmlrpc.Call(t.Context(), hc, "http://"+addr, "quick"); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	s := xmlrpc.NewServer(func(ctx context.Context, _, _ string, _ []any) (any, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}, xmlrpc.ServerOptions{})
	ended := make(chan error, 1)
	// owner: the test; ends when the server is closed.
	go func() { ended <- s.Serve(l) }()
	failed := make(chan error, 1)
	hc := newClient(t)
	// owner: the test; ends when the call does.
	go func() {
		_, err := xmlrpc.Call(t.Context(), hc, "http://"+l.Addr().String(), "m")
		failed <- err
	}()
	<-entered
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, xmlrpc.ErrTransport) {
		t.Errorf("got %v, want %v", err, xmlrpc.ErrTransport)
	}
	if err := s.Serve(l); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
}

func TestShutdownLetsCallsEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	s := xmlrpc.NewServer(func(context.Context, string, string, []any) (any, error) {
		close(entered)
		<-release
		return "done", nil
	}, xmlrpc.ServerOptions{})
	ended := make(chan error, 1)
	// owner: the test; ends when the server is closed.
	go func() { ended <- s.Serve(l) }()
	got := make(chan any, 1)
	hc := newClient(t)
	// owner: the test; ends when the call does.
	go func() {
		v, err := xmlrpc.Call(t.Context(), hc, "http://"+l.Addr().String(), "m")
		got <- []any{v, err}
	}()
	<-entered
	down := make(chan error, 1)
	// owner: the test; ends when the call under way has.
	go func() { down <- s.Shutdown(t.Context()) }()
	if err := <-ended; err != nil { // Serve returns at once
		t.Error(err)
	}
	close(release)
	if err := <-down; err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(any([]any{"done", nil}), <-got); d != "" {
		t.Error(d)
	}
}
