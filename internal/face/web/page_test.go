package web_test

import (
	"bufio"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
)

// TestURL: the log has an address that a browser opens, also if the server listens on all addresses. 0.0.0.0 is all of IPv4,
// and no more.
func TestURL(t *testing.T) {
	t.Parallel()
	for listen, test := range map[string]struct{ url, on string }{
		"0.0.0.0:0":   {"http://127.0.0.1:", "0.0.0.0:"},
		":0":          {"http://127.0.0.1:", ""}, // [::], or 0.0.0.0 without IPv6
		"127.0.0.1:0": {"http://127.0.0.1:", "127.0.0.1:"},
	} {
		core, logs := observer.New(zap.InfoLevel)
		c := webtest.Serve(t, newProgram(), withToken, func(o *web.Options) { o.Listen, o.Log = listen, zap.New(core) })
		on := c.Server.Addr().String()
		_, port, _ := net.SplitHostPort(on)
		fields := logs.FilterMessage("web page").All()[0].ContextMap()
		if want := test.url + port + "/"; test.on != "" && on != test.on+port || fields["url"] != want || fields["listens on"] != on || c.Server.URL() != want {
			t.Errorf("%s: listens on %s, and the log has %v, want %s", listen, on, fields, want)
		}
		c.Address = strings.TrimSuffix(c.Server.URL(), "/")
		if a := c.Get("/livez"); a.Status != http.StatusOK {
			t.Errorf("%s: status %d", listen, a.Status)
		}
	}
}

// TestPagesAreComplete: what pages load is there, and nothing comes from elsewhere.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()
	c := webtest.Serve(t, newProgram())
	webtest.CheckFiles(t, c, "assets")
	for _, path := range []string{"/static/", "/static/fake.html"} {
		if a := c.Get(path); a.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
	for _, path := range []string{"/", "/static/fake.js"} {
		if a := c.Get(path); a.Status != http.StatusOK {
			t.Errorf("%s: %d", path, a.Status)
		}
	}
	a := c.Get("/static/style.css")
	if b := c.Get("/static/style.css", "If-None-Match: "+a.Header.Get("ETag")); b.Status != http.StatusNotModified || a.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%d, %v", b.Status, a.Header)
	}
}

// TestEvents: who watches sees what changes, at once, and there are not too many of them.
func TestEvents(t *testing.T) {
	t.Parallel()
	program := newProgram()
	c := webtest.Serve(t, program)
	watch := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Address+"/api/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: c.HTTP.Transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	first := watch()
	defer first.Body.Close()
	if kind := first.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("type %s", kind)
	}
	lines := bufio.NewScanner(first.Body)
	next := func(want string) {
		t.Helper()
		for start := time.Now(); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), want) {
				return
			}
			if time.Since(start) > time.Minute {
				break
			}
		}
		t.Fatalf("no event with %s", want)
	}
	next(`"paused":false`)
	c.Post("/api/v1/pause", "")
	next(`"paused":true`)
	var others []*http.Response
	for range 15 {
		others = append(others, watch()) //nolint:bodyclose // below
	}
	if r := watch(); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the 17th: %d", r.StatusCode)
	} else {
		r.Body.Close()
	}
	for _, r := range others {
		if r.StatusCode != http.StatusOK {
			t.Errorf("status %d", r.StatusCode)
		}
		r.Body.Close()
	}
	next(`"paused":true`) // the first is not held up
	began := time.Now()
	c.Server.Close()
	if took := time.Since(began); took > time.Minute { // TestCloseIsNotHeldUp is exact
		t.Errorf("the end took %v", took)
	}
}

// TestSlowWatchers: those who do not take their events are not sent more, and make room
// for others. Nobody is held up by them.
func TestSlowWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		program := newProgram()
		c, line := serveInBubble(t, program)
		watch := func() int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Address+"/api/v1/events", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.HTTP.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode
		}
		start := time.Now()
		for range web.MaxWatchers {
			line.begin(t, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
		synctest.Wait() // all are being sent their first event, which they do not read
		if status := watch(); status != http.StatusServiceUnavailable {
			t.Errorf("one more: status %d", status)
		}
		if a := c.Post("/api/v1/step", ""); a.Status != http.StatusOK {
			t.Errorf("a command: status %d", a.Status)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("others waited %v for slow watchers", waited)
		}
		time.Sleep(web.EventTime - time.Nanosecond)
		if status := watch(); status != http.StatusServiceUnavailable {
			t.Errorf("before the time for an event is over: status %d", status)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if status := watch(); status != http.StatusOK {
			t.Errorf("after the time for an event: status %d", status)
		}
	})
}

// TestCloseIsNotHeldUp: who does not take an event, or does not end a request, has a
// second.
func TestCloseIsNotHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		program := newProgram()
		c, line := serveInBubble(t, program)
		line.begin(t, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line.begin(t, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")
		synctest.Wait()
		began := time.Now()
		c.Server.Close()
		if took := time.Since(began); took > web.ShutdownTime {
			t.Errorf("the end took %v, want %v at most", took, web.ShutdownTime)
		}
	})
}
