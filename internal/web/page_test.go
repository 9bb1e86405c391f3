package web_test

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorosbag/gorosbag/internal/web"
)

// TestPagesAreComplete: what a page loads is there, and nothing comes from elsewhere.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()
	backend, _ := playing("/t")
	c := serve(t, backend)
	files, err := filepath.Glob("assets/*")
	if err != nil || len(files) < 7 {
		t.Fatalf("%q, %v", files, err)
	}
	refers := regexp.MustCompile(`(?:src|href)="([^"]+)"|from "\./([^"]+)"`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range refers.FindAllStringSubmatch(string(b), -1) {
			path := m[1]
			if m[2] != "" {
				path = "/static/" + m[2]
			}
			if a := c.get(path); a.status != http.StatusOK {
				t.Errorf("%s: %s: %d", file, path, a.status)
			}
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https:", "@import", "url(", "style=", "onclick", " javascript:"} {
			if strings.Contains(string(b), bad) {
				t.Errorf("%s holds %s", file, bad)
			}
		}
		if addresses := regexp.MustCompile(`http://[^"]*`).FindAllString(string(b), -1); len(addresses) > 0 && (filepath.Ext(file) != ".svg" || addresses[0] != "http://www.w3.org/2000/svg") && filepath.Base(file) != "record.js" {
			t.Errorf("%s: %q", file, addresses)
		}
	}
	for _, path := range []string{"/static/", "/static/gorecord.html", "/static/login.html"} {
		if a := c.get(path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	a := c.get("/static/style.css")
	if b := c.get("/static/style.css", "If-None-Match: "+a.header.Get("ETag")); b.status != http.StatusNotModified || a.header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%d, %v", b.status, a.header)
	}
}

// TestEvents: who watches sees what changes, at once, and there are not too many of them.
func TestEvents(t *testing.T) {
	t.Parallel()
	backend, _ := playing("/t")
	c := serve(t, backend)
	watch := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.address+"/api/v1/events", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: c.http.Transport}).Do(r)
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
	c.post("/api/v1/pause", "")
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
	c.server.Close()
	if took := time.Since(began); took > time.Minute { // TestCloseIsNotHeldUp is exact
		t.Errorf("the end took %v", took)
	}
}

// TestSlowWatchers: those who do not take their events are not sent more, and make room
// for others. Nobody is held up by them.
func TestSlowWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend, _ := playing("/t")
		c, line := serveInBubble(t, backend)
		watch := func() int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.address+"/api/v1/events", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.http.Do(r)
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
		if a := c.post("/api/v1/step", ""); a.status != http.StatusOK {
			t.Errorf("a command: status %d", a.status)
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
		backend, _ := playing("/t")
		c, line := serveInBubble(t, backend)
		line.begin(t, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		line.begin(t, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ")
		synctest.Wait()
		began := time.Now()
		c.server.Close()
		if took := time.Since(began); took > web.ShutdownTime {
			t.Errorf("the end took %v, want %v at most", took, web.ShutdownTime)
		}
	})
}
