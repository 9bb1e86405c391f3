package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/internal/web"
	"github.com/gorosbag/gorosbag/player/control"
)

// TestVerbs: each command reaches the player as it was meant, or is refused with a word
// about why.
func TestVerbs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		verb, body string
		status     int
		want       string // the call, or of the error
	}{
		{"pause", "", 200, "pause"},
		{"pause", "{}", 200, "pause"},
		{"play", "", 200, "resume"},
		{"toggle", "", 200, "toggle"},
		{"step", "", 200, "step"},
		{"step_back", "", 200, "step back"},
		{"bookmark", "", 200, "bookmark"},
		{"stop", "", 200, "stop"},
		{"burst", `{"n":10}`, 200, "burst 10"},
		{"seek", `{"to":12.5}`, 200, "seek 12.5s"},
		{"seek", `{"by":-1.3}`, 200, "seek 20s"},
		{"seek", `{"by":-100}`, 200, "seek 0s"},
		{"rate", `{"rate":0.25}`, 200, "rate 0.25"},
		{"loop", `{"on":true}`, 200, "loop true"},
		{"pause_topics", `{"on":false}`, 200, "pause on topics false"},
		{"marks", `{"from":1,"to":2.5}`, 200, "marks 1s 2.5s"},
		{"topic", `{"topic":"/t","on":false}`, 200, "topic /t false"},

		{"burst", `{"n":0}`, 400, "n must be between 1 and 1000000"},
		{"burst", "", 400, "n must be"},
		{"seek", "", 400, "give to or by"},
		{"seek", `{"to":1,"by":1}`, 400, "give to or by"},
		{"seek", `{"to":1e300}`, 400, "out of range"},
		{"rate", `{"rate":0}`, 400, "there is no such thing"},
		{"rate", `{"rate":"fast"}`, 400, "the body is not what was expected"},
		{"rate", `{"rate":1} {"rate":2}`, 400, "more data after the object"},
		{"rate", `{"speed":1}`, 400, "unknown field"},
		{"rate", `{`, 400, "the body is not what was expected"},
		{"rate", `{"x":"` + strings.Repeat("x", 20<<10) + `"}`, 413, "too large"},
		{"loop", `{}`, 400, "on must be true or false"},
		{"marks", `{"from":2,"to":1}`, 400, "there is no such thing"},
		{"topic", `{"topic":"/other","on":true}`, 400, "there is no such thing"},
		{"topic", `{"topic":"/t"}`, 400, "on must be"},
		{"pause", `{"on":true}`, 400, "unknown field"},
		{"split", "", 404, "no such endpoint"},
	}
	for _, test := range tests {
		t.Run(test.verb+" "+test.body[:min(len(test.body), 30)], func(t *testing.T) {
			t.Parallel()
			backend, f := playing("/t")
			a := serve(t, backend).post("/api/v1/"+test.verb, test.body)
			if a.status != test.status {
				t.Errorf("status %d, want %d: %s", a.status, test.status, a.body)
			}
			if test.status == http.StatusOK {
				if calls := f.said(); !slices.Equal(calls, []string{test.want}) {
					t.Errorf("calls %q, want %q", calls, test.want)
				}
				return
			}
			if text := decode[struct{ Error string }](t, a).Error; !strings.Contains(text, test.want) {
				t.Errorf("error %q, want %q", text, test.want)
			}
		})
	}
}

// TestBeforeThePlayer: until there is one, the program is alive, not ready, and refuses.
func TestBeforeThePlayer(t *testing.T) {
	t.Parallel()
	backend := web.NewPlayer()
	c := serve(t, backend)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/healthz": 503, "/metrics": 200, "/api/v1/state": 200, "/api/v1/density?n=5": 503} {
		if a := c.get(path); a.status != want {
			t.Errorf("%s: %d, want %d: %s", path, a.status, want, a.body)
		}
	}
	if a := c.post("/api/v1/pause", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "nothing is played yet") {
		t.Errorf("%d %s", a.status, a.body)
	}
	backend.Attach(newFakePlayer("/t"))
	if a := c.get("/readyz"); a.status != http.StatusOK {
		t.Errorf("then: %d %s", a.status, a.body)
	}
	for _, n := range []string{"0", "-1", "2001", "x", ""} {
		if a := c.get("/api/v1/density?n=" + n); a.status != http.StatusBadRequest {
			t.Errorf("density of %q: %d", n, a.status)
		}
	}
	if d := decode[struct{ Messages []int }](t, c.get("/api/v1/density?n=2000")); len(d.Messages) != 2000 {
		t.Errorf("density: %d parts", len(d.Messages))
	}
}

// TestRecordedMarks: the page gets the marks that lie in what is played.
func TestRecordedMarks(t *testing.T) {
	t.Parallel()
	f := newFakePlayer("/t")
	zero := f.stats.BagTime.Add(-f.stats.Position)
	face := web.NewPlayer(bagnote.Mark{Time: zero.Add(-time.Second), Text: "before"}, bagnote.Mark{Time: zero.Add(1500 * time.Millisecond), Text: "<door>"},
		bagnote.Mark{Time: zero.Add(time.Hour), Text: "behind"})
	c := serve(t, face)
	if a := c.get("/api/v1/recorded_marks"); a.status != http.StatusServiceUnavailable {
		t.Errorf("before the player: %d", a.status)
	}
	face.Attach(f)
	got := decode[[]struct {
		Position, Time float64
		Text           string
	}](t, c.get("/api/v1/recorded_marks"))
	if len(got) != 1 || got[0].Position != 1.5 || got[0].Text != "<door>" {
		t.Errorf("%+v", got)
	}
}

// TestPlayerHealth: what somebody should look at, and what a supervisor should not act on.
func TestPlayerHealth(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change              func(*control.Stats)
		away                bool // the master
		live, ready, health int
		want                string
	}{
		"well":        {func(*control.Stats) {}, false, 200, 200, 200, ""},
		"paused":      {func(s *control.Stats) { s.Paused, s.Late = true, time.Minute }, false, 200, 200, 200, ""},
		"master away": {func(*control.Stats) {}, true, 200, 503, 503, "the master does not answer"},
		"late":        {func(s *control.Stats) { s.Late = 2 * time.Second }, false, 200, 200, 503, "messages go out 2s late"},
		"waiting":     {func(s *control.Stats) { s.Phase, s.WaitingFor = control.PhaseWait, []string{"/t"} }, false, 200, 503, 503, "waiting for /t"},
		"ended":       {func(s *control.Stats) { s.Phase = control.PhaseDone }, false, 200, 503, 200, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend, f := playing("/t")
			f.did("", test.change)
			c := serve(t, backend, func(o *web.Options) { o.MasterUp = func() bool { return !test.away } })
			live, ready, health := c.get("/livez"), c.get("/readyz"), c.get("/healthz")
			if live.status != test.live || ready.status != test.ready || health.status != test.health || !strings.Contains(health.body, test.want) {
				t.Errorf("%d, %d %s, %d %s", live.status, ready.status, ready.body, health.status, health.body)
			}
		})
	}
	backend, _ := playing("/t")
	c := serve(t, backend, func(o *web.Options) { o.Unread = func() (now, ever string) { return "getSystemState: 1 too long", "" } })
	if a := c.get("/healthz"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "getSystemState: 1 too long") {
		t.Errorf("with an unreadable reply: %d %s", a.status, a.body)
	}
	backend, f := playing("/t")
	c = serve(t, backend)
	f.did("", func(s *control.Stats) { s.Topics[0].Dropped = 3 })
	if a := c.get("/healthz"); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, "3 messages were dropped within the last minute") {
		t.Errorf("after drops: %d %s", a.status, a.body)
	}
}

// TestTooManyBookmarks: what the player refuses is an error, with its reason.
func TestTooManyBookmarks(t *testing.T) {
	t.Parallel()
	backend, f := playing("/t")
	c := serve(t, backend)
	for i := range 3 {
		a := c.post("/api/v1/bookmark", "")
		if want := []int{200, 200, 409}[i]; a.status != want {
			t.Errorf("bookmark %d: status %d, want %d: %s", i+1, a.status, want, a.body)
		}
		if i == 2 && decode[struct{ Error string }](t, a).Error != control.ErrBookmarks.Error() {
			t.Errorf("error %s", a.body)
		}
	}
	if n := len(f.Status().Bookmarks); n != 2 {
		t.Errorf("%d bookmarks", n)
	}
}
