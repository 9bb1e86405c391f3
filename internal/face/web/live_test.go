package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/view/live"
	"github.com/gorosbag/gorosbag/internal/view/live/foxglove"
	"github.com/gorosbag/gorosbag/rosbag"
)

var viewerProtocols = []string{"foxglove.websocket.v1", "foxglove.sdk.v1"}

// liveServer serves a page with a live view that has one topic.
func liveServer(t *testing.T, change ...func(*web.Options)) (*webtest.Client, *live.Feed) {
	t.Helper()
	source := live.Source{Store: live.NewStore(live.Limits{Viewers: 2}, nil), Info: func() live.Info { return live.Info{Name: "fake /node"} }}
	feed := source.Store.Open(live.Channel{Topic: "/chatter", Type: "std_msgs/String", Definition: "string data\n"})
	change = append(change, func(o *web.Options) { o.Live = foxglove.New(source, o.Log) })
	return webtest.Serve(t, newProgram(), change...), feed
}

// dial opens a live view. The path begins with a slash. Headers have the form "Name: value".
func dial(t *testing.T, c *webtest.Client, path string, headers ...string) (ws *websocket.Conn, status int) {
	t.Helper()
	h := http.Header{}
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		h.Add(name, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var resp *http.Response
	err := webtest.Patiently(true, func() (err error) {
		ws, resp, err = websocket.Dial(ctx, "ws"+strings.TrimPrefix(c.Address, "http")+path, &websocket.DialOptions{ //nolint:bodyclose // closed below
			Subprotocols: viewerProtocols, HTTPHeader: h, Host: h.Get("Host"), HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
		return err
	})
	if resp == nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		resp.Body.Close()
	}
	if ws != nil {
		t.Cleanup(func() { ws.CloseNow() })
	}
	return ws, resp.StatusCode
}

// TestLiveOrigin: who may open the live view, by the origin of the page and by the token.
func TestLiveOrigin(t *testing.T) {
	t.Parallel()
	option := func(o *web.Options) { o.Origins = []string{"https://Viewer.example.org", "http://10.0.0.5:8080"} }
	open, _ := liveServer(t, option)
	closed, _ := liveServer(t, option, withToken)
	login := closed.Post("/login", "token="+token, "Content-Type: application/x-www-form-urlencoded").Header.Get("Set-Cookie")
	cookie, _, _ := strings.Cut(login, ";")
	origins := map[string]bool{
		"":                                      true,
		"SAME":                                  true, // the server's own
		"file://":                               true,
		"https://app.foxglove.dev":              true,
		"https://viewer.example.org":            true,
		"http://10.0.0.5:8080":                  true,
		"null":                                  false,
		"https://evil.example":                  false,
		"http://viewer.example.org":             false,
		"https://viewer.example.org.":           false,
		"https://viewer.example.org:8443":       false,
		"https://app.foxglove.dev.evil.example": false,
		"http://app.foxglove.dev":               false,
		"file://evil":                           false,
		"ftp://SAME":                            false,
		"http://localhost:1":                    false,
		"chrome-extension://abc":                false,
	}
	tokens := map[string]struct {
		path, header string
		admitted     bool
	}{
		"none":         {"/", "X: y", false},
		"bearer":       {"/", "Authorization: Bearer " + token, true},
		"wrong bearer": {"/?token=" + token, "Authorization: Bearer 0123456789abcdeF", true}, // one that is right is enough
		"cookie":       {"/", "Cookie: " + cookie, true},
		"wrong cookie": {"/", "Cookie: gorosbag=" + token, false},
		"query":        {"/some/path?a=b&token=" + token, "X: y", true},
		"wrong query":  {"/?token=0123456789abcdeF", "X: y", false},
		"empty query":  {"/?token=", "X: y", false},
		"two queries":  {"/?token=" + token + "&token=" + token, "X: y", false},
		"in the path":  {"/" + token, "X: y", false},
	}
	for origin, allowed := range origins {
		for name, how := range tokens {
			for _, c := range []*webtest.Client{open, closed} {
				headers := []string{how.header}
				if origin != "" {
					headers = append(headers, "Origin: "+strings.Replace(strings.Replace(origin, "ftp://SAME", "ftp://"+strings.TrimPrefix(c.Address, "http://"), 1), "SAME", c.Address, 1))
				}
				want := http.StatusSwitchingProtocols
				switch {
				case !allowed:
					want = http.StatusForbidden
				case c == closed && !how.admitted:
					want = http.StatusUnauthorized
				}
				ws, status := dial(t, c, how.path, headers...)
				if status != want {
					t.Errorf("origin %q, token %s, needed %t: status %d, want %d", origin, name, c == closed, status, want)
				}
				if ws != nil {
					ws.CloseNow()
				}
			}
		}
	}
	if _, status := dial(t, open, "/", "Host: evil.example", "Origin: http://evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("a rebound name: status %d", status)
	}
	if _, status := dial(t, open, "/", "Origin: http://localhost:1", "Origin: "+open.Address); status != http.StatusForbidden {
		t.Errorf("two origins: status %d", status)
	}
}

// TestLiveAsk: what else is asked at the address of the live view.
func TestLiveAsk(t *testing.T) {
	t.Parallel()
	c, _ := liveServer(t)
	if a := c.Get("/"); a.Status != http.StatusOK || !strings.Contains(a.Body, "fake.js") {
		t.Errorf("the page: %d %s", a.Status, a.Body)
	}
	if a := c.Get("/", "Upgrade: websocket", "Connection: upgrade"); a.Status != http.StatusBadRequest || !strings.Contains(a.Body, "foxglove.sdk.v1") {
		t.Errorf("without a subprotocol: %d %s", a.Status, a.Body)
	}
	none := webtest.Serve(t, newProgram())
	if _, status := dial(t, none, "/"); status != http.StatusNotFound {
		t.Errorf("without a live view: %d", status)
	}
	if a := none.Get("/api/v1/state"); !strings.Contains(a.Body, `"live":null`) {
		t.Errorf("the state without a live view: %s", a.Body)
	}
}

// TestLiveState: viewers in the state and in the metrics.
func TestLiveState(t *testing.T) {
	t.Parallel()
	c, feed := liveServer(t, withToken)
	ws, status := dial(t, c, "/?token="+token)
	if status != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", status)
	}
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"op":"subscribe","subscriptions":[{"id":5,"channelId":1}]}`)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !feed.Wanted(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the topic is not subscribed to in time")
		}
	}
	feed.Put(rosbag.Time{Sec: 1}, []byte("hello"), 0)
	for {
		kind, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if kind == websocket.MessageBinary {
			if string(b[13:]) != "hello" {
				t.Errorf("received %q", b)
			}
			break
		}
	}
	var state struct {
		Live struct {
			Token   bool
			Skipped int
			Viewers []struct {
				Peer                             string
				Since                            float64
				Topics, Messages, Bytes, Skipped int
			}
		}
	}
	a := c.Get("/api/v1/state", "Authorization: Bearer "+token)
	if err := json.Unmarshal([]byte(a.Body), &state); err != nil {
		t.Fatal(err)
	}
	v := state.Live.Viewers
	if !state.Live.Token || len(v) != 1 || !strings.HasPrefix(v[0].Peer, "127.0.0.1:") || v[0].Topics != 1 || v[0].Messages != 1 || v[0].Bytes != 5 || v[0].Since == 0 {
		t.Errorf("the state: %s", a.Body)
	}
	a = c.Get("/metrics", "Authorization: Bearer "+token)
	for _, want := range []string{"fake_viewers 1\n", "fake_viewer_messages_total 1\n", "fake_viewer_bytes_total 5\n", "fake_viewer_skipped_total 0\n"} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}

// TestLiveEnds: the server ends in time, and tells its viewers, also one that does not read.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	c, feed := liveServer(t)
	ws, _ := dial(t, c, "/")
	stuck, _ := dial(t, c, "/")
	for _, one := range []*websocket.Conn{ws, stuck} {
		if err := one.Write(t.Context(), websocket.MessageText, []byte(`{"op":"subscribe","subscriptions":[{"id":5,"channelId":1}]}`)); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { // owner: the test; ends when the connection is closed
		for {
			if _, _, err := ws.Read(context.WithoutCancel(t.Context())); err != nil {
				ended <- err
				return
			}
		}
	}()
	ws.SetReadLimit(1 << 30)
	for end := time.Now().Add(20 * time.Second); !strings.Contains(c.Get("/metrics").Body, "fake_viewer_skipped_total") || !feed.Wanted(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the topic is not subscribed to in time")
		}
	}
	for range 40 {
		feed.Put(rosbag.Time{Sec: 1}, make([]byte, 1<<20), 0) // more than the stuck one's buffers
	}
	begun := time.Now()
	c.Server.Close()
	if took := time.Since(begun); took > 10*time.Second { // a second and a half, unless the machine is very slow
		t.Errorf("closing took %v", took)
	}
	var closed websocket.CloseError
	if err := <-ended; !errors.As(err, &closed) || closed.Code != websocket.StatusGoingAway {
		t.Errorf("closed with %v", err)
	}
}

// TestLiveTokenIsNotLogged: the token of an address is in no line of the log.
func TestLiveTokenIsNotLogged(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.DebugLevel)
	c, _ := liveServer(t, withToken, func(o *web.Options) { o.Log = zap.New(core) })
	for _, headers := range [][]string{nil, {"Origin: https://evil.example"}, {"Sec-WebSocket-Version: 12"}} {
		ws, _ := dial(t, c, "/?token="+token, headers...)
		if ws != nil {
			ws.CloseNow()
		}
	}
	c.Get("/?token="+token, "Upgrade: websocket", "Connection: upgrade")
	c.Get("/api/v1/state?token=" + token)
	c.Server.Close()
	if logged.Len() == 0 {
		t.Error("nothing is logged")
	}
	for _, entry := range logged.All() {
		b, err := json.Marshal(entry.ContextMap())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(entry.Message+string(b), token) {
			t.Errorf("the log has the token: %s %s", entry.Message, b)
		}
	}
}
