// Package webtest serves a page to tests, and asks it.
package webtest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/web"
)

// Token is a token that is long enough.
const Token = "0123456789abcdef"

// Client asks a server that ends with its test.
type Client struct {
	Server  *web.Server
	Address string // http://HOST:PORT
	HTTP    *http.Client

	t *testing.T
}

// Answer is what a server has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Options returns the options of a server whose master answers.
func Options() web.Options {
	return web.Options{
		Listen: "127.0.0.1:0", Node: "/node", Version: "1.2.3", MasterUp: func() bool { return true },
		Unread: func() (now, ever string) { return "", "" }, Log: zap.NewNop(),
	}
}

// Serve serves a backend until the test ends.
func Serve(t *testing.T, backend web.Backend, change ...func(*web.Options)) *Client {
	t.Helper()
	o := Options()
	for _, c := range change {
		c(&o)
	}
	s, err := web.Serve(t.Context(), o, backend)
	if err != nil {
		t.Fatal(err)
	}
	return NewClient(t, s, &http.Transport{DisableKeepAlives: true})
}

// NewClient asks a server, and closes it when the test ends.
func NewClient(t *testing.T, s *web.Server, transport *http.Transport) *Client {
	t.Helper()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return &Client{t: t, Server: s, Address: "http://" + s.Addr().String(), HTTP: &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request. A body is JSON unless a header says otherwise. Headers have the form
// "Name: value"; a text without a colon is ignored.
func (c *Client) Do(method, path, body string, headers ...string) Answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.Address+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			continue
		}
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	var resp *http.Response
	err = Patiently(method == http.MethodGet, func() (err error) {
		resp, err = c.HTTP.Do(r) //nolint:bodyclose // closed below
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Header, string(b)}
}

// lateAfter is when a server closes a connection at the earliest because the request, or its answer,
// is late.
const lateAfter = 5 * time.Second

// Patiently sends a request. When the server has closed the connection because it was late, which
// happens on a busy machine, Patiently sends the request again, if that is safe.
func Patiently(again bool, send func() error) error {
	for {
		start := time.Now()
		if err := send(); !again || !errors.Is(err, io.EOF) || time.Since(start) < lateAfter {
			return err
		}
	}
}

// Get asks for a path.
func (c *Client) Get(path string, headers ...string) Answer {
	c.t.Helper()
	return c.Do(http.MethodGet, path, "", headers...)
}

// Post sends a command.
func (c *Client) Post(path, body string, headers ...string) Answer {
	c.t.Helper()
	return c.Do(http.MethodPost, path, body, headers...)
}

// Decode reads the JSON of an answer.
func Decode[T any](t *testing.T, a Answer) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &v); err != nil {
		t.Fatalf("%v in %q", err, a.Body)
	}
	return v
}

// JSON returns a value as JSON.
func JSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
