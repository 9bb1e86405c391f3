package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/internal/view/live/foxglove"
)

const viewToken = "fedcba9876543210"

// TestViewToken: the token that only shows opens what is asked with GET, and no command, with a header and after a login.
func TestViewToken(t *testing.T) {
	t.Parallel()
	program := newProgram()
	c := webtest.Serve(t, program, withToken, func(o *web.Options) { o.ViewToken = viewToken })
	login := func(given string) string {
		t.Helper()
		a := c.Do("POST", "/login", url.Values{"token": {given}}.Encode(), "Content-Type: application/x-www-form-urlencoded")
		cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
		if a.Status != http.StatusSeeOther && a.Status != http.StatusOK {
			t.Errorf("login: status %d", a.Status)
		}
		return "Cookie: " + cookie
	}
	for name, test := range map[string]struct {
		header       string
		look, do     int
		page, nopage string
	}{
		"nobody":      {"X: y", 401, 401, "token", "looks"},
		"header":      {"Authorization: Bearer " + viewToken, 200, 403, `class="looks"`, "xxx"},
		"cookie":      {login(viewToken), 200, 403, `class="looks"`, "xxx"},
		"control":     {"Authorization: Bearer " + token, 200, 200, "<body>", `class="looks"`},
		"control too": {login(token), 200, 200, "<body>", `class="looks"`},
	} {
		if a := c.Get("/api/v1/state", test.header); a.Status != test.look {
			t.Errorf("%s: looking: status %d, want %d", name, a.Status, test.look)
		}
		if a := c.Do("POST", "/api/v1/pause", "", test.header); a.Status != test.do {
			t.Errorf("%s: a command: status %d, want %d", name, a.Status, test.do)
		}
		if a := c.Get("/", test.header); a.Status == 200 && (!strings.Contains(a.Body, test.page) || strings.Contains(a.Body, test.nopage)) {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
	if calls := program.said(); len(calls) != 2 {
		t.Errorf("commands: %v", calls)
	}
}

// TestViewTokenAlone: the token that only shows needs another one, or everybody would control.
func TestViewTokenAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string][3]string{
		"alone":    {"", viewToken, "without --http-token"},
		"the same": {token, token, "another one"},
		"short":    {token, "short", "at least 16"},
		"good":     {token, viewToken, ""},
		"none":     {"", "", ""},
	} {
		err := web.CheckViewToken(test[1], test[0])
		if (err == nil) != (test[2] == "") || err != nil && !strings.Contains(err.Error(), test[2]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestViewTokenLive: the token that only shows opens the live view of a recording, and not that of a playback, which its
// viewers control.
func TestViewTokenLive(t *testing.T) {
	t.Parallel()
	both := func(o *web.Options) { o.Token, o.ViewToken = token, viewToken }
	c, _ := liveServer(t, both)
	if _, status := dial(t, c, "/?token="+viewToken); status != http.StatusSwitchingProtocols {
		t.Errorf("of a recording: status %d", status)
	}
	source := live.Source{Store: live.NewStore(live.Limits{}, nil), Info: func() live.Info { return live.Info{} }, Playback: struct{ live.Playback }{}}
	played := webtest.Serve(t, newProgram(), both, func(o *web.Options) { o.Live = foxglove.New(source, o.Log) })
	if _, status := dial(t, played, "/?token="+viewToken); status != http.StatusUnauthorized {
		t.Errorf("of a playback: status %d", status)
	}
}
