package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/recorder"
)

const token = "0123456789abcdef"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a face until the test ends, and returns how to talk to it.
func serve(t *testing.T, face web.Face, change ...func(*web.Options)) *client {
	t.Helper()
	o := web.Options{
		Listen: "127.0.0.1:0", Node: "/node", Version: "1.2.3", MasterUp: func() bool { return true }, Log: zap.NewNop(),
	}
	for _, c := range change {
		c(&o)
	}
	s, err := web.Serve(t.Context(), o, face)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.Close()
	})
	return &client{t: t, server: s, address: "http://" + s.Addr().String(), http: &http.Client{
		Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// idle is a recording that has not begun.
func idle() web.Face { return web.NewRecorder(new(recorder.Control), time.Minute) }

// playing is a face with a player that remembers what it is told.
func playing(topics ...string) (*web.Player, *fakePlayer) {
	f, face := newFakePlayer(topics...), web.NewPlayer()
	face.Attach(f)
	return face, f
}

type client struct {
	t       *testing.T
	server  *web.Server
	address string
	http    *http.Client
}

type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request that the last argument may change. Words of the form "Name: value"
// are headers.
func (c *client) do(method, path, body string, headers ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.address+path, strings.NewReader(body))
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
	resp, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

func (c *client) get(path string, headers ...string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, path, "", headers...)
}

func (c *client) post(path, body string, headers ...string) answer {
	c.t.Helper()
	return c.do(http.MethodPost, path, body, headers...)
}

// decode reads the JSON of an answer.
func decode[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %q", err, a.body)
	}
	return v
}
