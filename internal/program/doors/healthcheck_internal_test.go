package doors

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestProbe: the error of a probe says what the program reports, or what answers in its place.
func TestProbe(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/livez":
		case r.Header.Get("Authorization") != "Bearer "+webtest.Token:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"status":"degraded"}`)
		case r.URL.Path == "/readyz":
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"status":"degraded","problems":["the master does not answer","the recording is ending"]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		listen, token string
		words         []string
		want          string // empty if the program is healthy
	}{
		{"127.0.0.1:" + port, "", nil, ""},
		{"127.0.0.1:" + port, "", []string{"livez"}, ""},
		{":" + port, "", nil, ""},
		{"0.0.0.0:" + port, "", nil, ""},
		{"[::]:" + port, "", nil, ""},
		{"127.0.0.1:" + port, webtest.Token, []string{"readyz"}, "healthcheck: readyz: the master does not answer; the recording is ending"},
		{"127.0.0.1:" + port, "", []string{"readyz"}, "healthcheck: readyz: 503 Service Unavailable"},
		{"127.0.0.1:" + port, webtest.Token, []string{"healthz"}, "healthcheck: healthz: 404 Not Found"},
		{"127.0.0.1:" + port, "", []string{"livez", "readyz"}, "healthcheck takes one of the words livez, readyz and healthz"},
		{"127.0.0.1:" + port, "", []string{"alive"}, `healthcheck "alive": want livez, readyz or healthz`},
		{"", "", nil, "healthcheck: no address: give --http or set its variable, as for the program to check"},
	} {
		got := ""
		if err := probe(t.Context(), "gorecord", tc.listen, tc.token, tc.words); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s %v: %q, want %q", tc.listen, tc.words, got, tc.want)
		}
	}
}

// TestNoAnswer: when nobody answers, the error says what to look at, without the terms of the network libraries.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	past, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := probe(past, "gorecord", at, "", nil); err == nil || err.Error() != "healthcheck: no answer from "+at+" within 2s: the program hangs, or the machine is overloaded" {
		t.Errorf("in time: %v", err)
	}
	ln.Close()
	if err := probe(t.Context(), "gorecord", at, "", nil); err == nil || err.Error() != "healthcheck: nothing listens on "+at+": is gorecord running, with --http and this address?" {
		t.Errorf("without a server: %v", err)
	}
	route := &url.Error{Op: "Get", URL: "http://" + at, Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}}
	if got := noAnswer("gorecord", at, route).Error(); got != "healthcheck: no answer from "+at+": no route to host" {
		t.Errorf("without a route: %s", got)
	}
}
