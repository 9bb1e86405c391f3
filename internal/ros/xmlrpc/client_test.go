package xmlrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"garbage":       {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "garbage") }, xmlrpc.ErrMalformed},
		"nothing":       {func(http.ResponseWriter, *http.Request) {}, xmlrpc.ErrMalformed},
		"document type": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!DOCTYPE x>") }, xmlrpc.ErrMalformed},
		"not found":     {http.NotFound, xmlrpc.ErrNotXMLRPC},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, xmlrpc.ErrNotXMLRPC},
		"deep nesting": {func(w http.ResponseWriter, _ *http.Request) { w.Write(response(nested(100_000, ""))) }, xmlrpc.ErrLimit},
		"hang-up":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, xmlrpc.ErrTransport},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "<methodResponse>")
		}, xmlrpc.ErrTransport},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for b := []byte(strings.Repeat(" ", 1<<16)); ; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}, xmlrpc.ErrLimit},
		"endless, announced": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			io.WriteString(w, "<methodResponse>")
		}, xmlrpc.ErrLimit},
		"lying gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "xx")
		}, xmlrpc.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(tc.answer)
			defer s.Close()
			hc := newClient(t)
			defer hc.CloseIdleConnections()
			if v, err := xmlrpc.Call(t.Context(), hc, s.URL, "m"); !errors.Is(err, tc.want) {
				t.Errorf("got %v, %v, want %v", v, err, tc.want)
			}
		})
	}
}

func TestBadURIs(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"", "h:1", "/x", "https://127.0.0.1:1", "rosrpc://127.0.0.1:1", "http://", "http://a b", "file:///etc/passwd", "http://%zz"} {
		if _, err := xmlrpc.Call(t.Context(), newClient(t), uri, "m"); !errors.Is(err, xmlrpc.ErrTransport) {
			t.Errorf("%q: got %v, want %v", uri, err, xmlrpc.ErrTransport)
		}
	}
	if _, err := xmlrpc.Call(t.Context(), newClient(t), "http://127.0.0.1:1", "m", nil); !errors.Is(err, xmlrpc.ErrEncode) {
		t.Errorf("got %v, want %v", err, xmlrpc.ErrEncode)
	}
}

func TestCallEnds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	hc := xmlrpc.NewHTTPClient(20 * time.Millisecond)
	defer hc.CloseIdleConnections()
	if _, err := xmlrpc.Call(t.Context(), hc, s.URL, "m"); !errors.Is(err, xmlrpc.ErrTransport) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("timeout: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := xmlrpc.Call(ctx, newClient(t), s.URL, "m"); !errors.Is(err, xmlrpc.ErrTransport) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancel: got %v", err)
	}
}

// Nodes close connections that were idle for long; a call must survive that.
func TestCallOverDeadKeepAlive(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var broken atomic.Bool
	var asked sync.Map // addresses of connections that were used for a call
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength <= 0 {
			t.Errorf("request without length: %v", r.Header)
		}
		if _, ok := r.Header["Idempotency-Key"]; ok {
			t.Error("the marker was sent")
		}
		calls.Add(1)
		if _, again := asked.LoadOrStore(r.RemoteAddr, true); again && broken.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler) // as if closed while idle
		}
		fmt.Fprint(w, string(response("<value>ok</value>")))
	}))
	defer s.Close()
	hc := newClient(t)
	defer hc.CloseIdleConnections()
	made := int32(0)
	for ; !broken.Load() && made < 100; made++ { // net/http does not keep a connection whose writer is late
		if v, err := xmlrpc.Call(t.Context(), hc, s.URL, "m"); err != nil || v != "ok" {
			t.Fatalf("%v, %v", v, err)
		}
	}
	if n := calls.Load(); !broken.Load() || n != made+1 {
		t.Errorf("%d requests for %d calls, want one more; one was broken off: %v", n, made, broken.Load())
	}
}
