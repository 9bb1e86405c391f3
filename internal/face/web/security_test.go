package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
)

func withToken(o *web.Options) { o.Token = token }

// TestWhoIsLetIn: without a token only those on this machine can ask, and never in the
// name of another site.
func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	program := newProgram()
	c := webtest.Serve(t, program, func(o *web.Options) { o.Hosts = []string{"Robot.local", "recorder"} })
	port := c.Address[strings.LastIndex(c.Address, ":")+1:]
	tests := map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"plain":                       {"GET", "/api/v1/state", nil, 200},
		"localhost":                   {"GET", "/api/v1/state", []string{"Host: localhost:" + port}, 200},
		"a name that is allowed":      {"GET", "/api/v1/state", []string{"Host: robot.LOCAL."}, 200},
		"another one":                 {"GET", "/metrics", []string{"Host: recorder:" + port}, 200},
		"an address of version 6":     {"GET", "/api/v1/state", []string{"Host: [::1]:" + port}, 200},
		"a rebound name":              {"GET", "/api/v1/state", []string{"Host: evil.example"}, 421},
		"a rebound name with port":    {"GET", "/", []string{"Host: evil.example:" + port}, 421},
		"a name around ours":          {"GET", "/livez", []string{"Host: localhost.evil.example"}, 421},
		"a command":                   {"POST", "/api/v1/pause", nil, 200},
		"a command of our page":       {"POST", "/api/v1/pause", []string{"Sec-Fetch-Site: same-origin"}, 200},
		"a command of another site":   {"POST", "/api/v1/pause", []string{"Sec-Fetch-Site: cross-site"}, 403},
		"of a site beside ours":       {"POST", "/api/v1/pause", []string{"Sec-Fetch-Site: same-site"}, 403},
		"of an old browser":           {"POST", "/api/v1/pause", []string{"Origin: http://evil.example"}, 403},
		"of a page on another port":   {"POST", "/api/v1/pause", []string{"Origin: http://127.0.0.1:1"}, 403},
		"a form":                      {"POST", "/api/v1/pause", []string{"Content-Type: text/plain"}, 200},
		"a path that leads elsewhere": {"GET", "/static/../server.go", nil, 404},
		"a path in a path":            {"GET", "/static/..%2fserver.go", nil, 404},
		"no profile":                  {"GET", "/debug/pprof/", nil, 404},
		"nothing":                     {"GET", "/api/v1/nothing", nil, 404},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.Do(test.method, test.path, "", test.headers...)
			if a.Status != test.want && (test.want != 404 || a.Status/100 != 3) {
				t.Errorf("status %d, want %d: %s", a.Status, test.want, a.Body)
			}
			h := a.Header
			if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'self'") || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
				h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", h)
			}
		})
	}
	t.Run("form with a body", func(t *testing.T) {
		t.Parallel()
		if a := c.Post("/api/v1/rate", `{"rate":7}`, "Content-Type: application/x-www-form-urlencoded"); a.Status != http.StatusUnsupportedMediaType {
			t.Errorf("status %d", a.Status)
		}
	})
	t.Cleanup(func() {
		for _, call := range program.said() {
			if call != "pause" {
				t.Errorf("somebody got in: %q", program.said())
			}
		}
	})
}

// TestToken: only who has it gets in, as a program by a header, or as a browser by a cookie.
func TestToken(t *testing.T) {
	t.Parallel()
	program := newProgram()
	c := webtest.Serve(t, program, withToken)
	for _, path := range []string{"/api/v1/state", "/api/v1/events", "/metrics", "/api/v1/list"} {
		for header, why := range map[string]string{
			"": "a token is needed", "Authorization: Bearer 0123456789abcdeF": "the token is wrong", "Authorization: Bearer ": "a token is needed",
			"Authorization: Basic " + token: "send it as Authorization: Bearer", "Cookie: gorosbag=" + token: "a token is needed",
		} {
			if a := c.Get(path, header); a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(a.Body, why) {
				t.Errorf("%s, %s: status %d: %s", path, header, a.Status, a.Body)
			}
		}
	}
	if a := c.Post("/api/v1/pause", ""); a.Status != http.StatusUnauthorized {
		t.Errorf("a command: status %d", a.Status)
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		if a := c.Get(path); a.Status != http.StatusOK || a.Body != `{"status":"ok"}`+"\n" {
			t.Errorf("%s tells everybody %d %s", path, a.Status, a.Body)
		}
	}
	if a := c.Get("/api/v1/state", "Authorization: Bearer "+token); a.Status != http.StatusOK {
		t.Errorf("with the token: status %d", a.Status)
	}
	if a := c.Get("/"); a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/login" {
		t.Errorf("the page: %d", a.Status)
	}
	if a := c.Get("/login"); a.Status != http.StatusOK || !strings.Contains(a.Body, `type="password"`) {
		t.Errorf("the login: %d %s", a.Status, a.Body)
	}
	const form = "Content-Type: application/x-www-form-urlencoded"
	if a := c.Post("/login", "token=wrong", form); a.Status != http.StatusUnauthorized || a.Header.Get("Set-Cookie") != "" || !strings.Contains(a.Body, "not the token") {
		t.Errorf("a wrong token: %d %v", a.Status, a.Header)
	}
	if a := c.Post("/login", "token="+token, form, "Sec-Fetch-Site: cross-site"); a.Status != http.StatusForbidden {
		t.Errorf("a login by another site: %d", a.Status)
	}
	a := c.Post("/login", "token="+token, form)
	cookie := a.Header.Get("Set-Cookie")
	if a.Status != http.StatusSeeOther || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, token) {
		t.Errorf("the login: %d, %s", a.Status, cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	if a := c.Post("/api/v1/pause", "", "Cookie: "+cookie, "Sec-Fetch-Site: same-origin"); a.Status != http.StatusOK {
		t.Errorf("with the cookie: %d", a.Status)
	}
	if a := c.Get("/", "Cookie: "+cookie); a.Status != http.StatusOK {
		t.Errorf("the page with the cookie: %d", a.Status)
	}
	other := webtest.Serve(t, newProgram(), withToken)
	if a := other.Get("/api/v1/state", "Cookie: "+cookie); a.Status != http.StatusUnauthorized {
		t.Errorf("the cookie of another process: %d", a.Status)
	}
	if calls := program.said(); len(calls) != 1 {
		t.Errorf("done: %q", calls)
	}
}

// TestProbesOfStrangers: who is not let in cannot make work by asking all the time.
func TestProbesOfStrangers(t *testing.T) {
	t.Parallel()
	looks := func(headers ...string) (n, periods int) {
		program := newProgram()
		c, began := webtest.Serve(t, program, withToken), time.Now()
		for range 30 {
			for _, path := range []string{"/livez", "/readyz", "/healthz"} {
				c.Get(path, headers...)
			}
		}
		program.mu.Lock()
		defer program.mu.Unlock()
		return program.looks, int(time.Since(began) / (200 * time.Millisecond))
	}
	if n, periods := looks(); n > 10+periods {
		t.Errorf("%d looks for strangers", n)
	}
	if n, _ := looks("Authorization: Bearer " + token); n < 30 { // they are told the truth
		t.Errorf("%d looks for others", n)
	}
}

// TestListen: what others could reach needs a token, and is refused at the start.
func TestListen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		listen, token string
		want          string // of the error
	}{
		"loopback":              {"127.0.0.1:0", "", ""},
		"all of loopback":       {"127.0.0.7:0", "", ""},
		"by name":               {"localhost:0", "", ""},
		"every address":         {"0.0.0.0:0", "", "could be reached by others: set --http-token"},
		"every one of 6":        {"[::]:0", "", "could be reached by others"},
		"no host":               {":0", "", "could be reached by others"},
		"in disguise":           {"[::ffff:0.0.0.0]:0", "", "could be reached by others"},
		"another address":       {"192.0.2.1:0", "", "could be reached by others"},
		"with a token":          {"0.0.0.0:0", token, ""},
		"with a short token":    {"0.0.0.0:0", "secret", "the token has 6 characters: give it at least 16"},
		"a short one, loopback": {"127.0.0.1:0", "secret", "the token has 6 characters"},
		"no port":               {"127.0.0.1", "", "want HOST:PORT"},
		"no such host":          {"no-such-host.invalid:0", "", `--http "no-such-host.invalid:0": the address of "no-such-host.invalid" is not found (`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := web.Serve(t.Context(), web.Options{Listen: test.listen, Token: test.token, MasterUp: func() bool { return true }, Unread: func() (now, ever string) { return "", "" }, Log: zap.NewNop()}, newProgram())
			if err == nil {
				s.Close()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestLongHeader: a header that is too long is refused.
func TestLongHeader(t *testing.T) {
	t.Parallel()
	c := webtest.Serve(t, newProgram())
	long, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Address+"/livez", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("X-Long", strings.Repeat("x", 32<<10))
	if r, err := c.HTTP.Do(long); err == nil { // else the server has hung up on the rest of it
		r.Body.Close()
		if r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("long header: %d", r.StatusCode)
		}
	}
}

// TestHowToAsk: who uses the wrong method, or forgets the type of the body, is told the line
// to type, which does not hold anything that others made up.
func TestHowToAsk(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, path, body, host, token string
		status                          int
		allow, want                     string
	}{
		{"GET", "/api/v1/pause", "", "", "", 405, "POST", "only POST is served here, as by: curl -X POST http://ADDRESS/api/v1/pause"},
		{"PUT", "/api/v1/rate", `{"rate":2}`, "", "", 405, "POST", "only POST is served here, as by: curl -X POST http://ADDRESS/api/v1/rate"},
		{"POST", "/api/v1/state", "", "", "", 405, "GET", "only GET is served here, as by: curl http://ADDRESS/api/v1/state"},
		{"DELETE", "/metrics", "", "", "", 405, "GET", "only GET is served here, as by: curl http://ADDRESS/metrics"},
		{"POST", "/livez", "", "", "", 405, "GET", "only GET is served here, as by: curl http://ADDRESS/livez"},
		{"GET", "/api/v1/pause", "", "localhost:17", "", 405, "POST", "only POST is served here, as by: curl -X POST http://localhost:17/api/v1/pause"},
		{"GET", "/api/v1/pause", "", "localhost:$(id)", "", 405, "POST", "only POST is served here, as by: curl -X POST http://ADDRESS/api/v1/pause"},
		{"GET", "/api/v1/pause", "", "", token, 405, "POST", "only POST is served here, as by: curl -X POST -H 'Authorization: Bearer TOKEN' http://ADDRESS/api/v1/pause"},
		{"POST", "/api/v1/rate", `{"rate":2}`, "", "", 415, "", "the body must be application/json, as of: curl -H 'Content-Type: application/json' -d '...' http://ADDRESS/api/v1/rate"},
		{"GET", "/api/v1/other", "", "", "", 404, "", "no such endpoint: see docs/http.md"},
	} {
		program := newProgram()
		c := webtest.Serve(t, program, func(o *web.Options) { o.Token = tc.token })
		headers := []string{"Content-Type: text/plain"}
		if tc.host != "" {
			headers = append(headers, "Host: "+tc.host)
		}
		a := c.Do(tc.method, tc.path, tc.body, headers...)
		want := strings.ReplaceAll(tc.want, "ADDRESS", strings.TrimPrefix(c.Address, "http://"))
		if got := webtest.Decode[struct{ Error string }](t, a).Error; a.Status != tc.status || a.Header.Get("Allow") != tc.allow || got != want {
			t.Errorf("%s %s: %d, allow %q, %q; want %d, %q, %q", tc.method, tc.path, a.Status, a.Header.Get("Allow"), got, tc.status, tc.allow, want)
		}
		if calls := program.said(); len(calls) > 0 {
			t.Errorf("%s %s did %q", tc.method, tc.path, calls)
		}
	}
}
