package face_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/player/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// playing is a page with a player that remembers what it is told.
func playing(topics ...string) (*face.Face, *fakePlayer) {
	f, page := newFakePlayer(topics...), face.New()
	page.Attach(f)
	return page, f
}

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
		{"loop_range", `{"from":1,"to":2.5}`, 200, "range 1s 2.5s"},
		{"topic", `{"topic":"/t","on":false}`, 200, "topic /t false"},

		{"burst", `{"n":0}`, 400, "n must be between 1 and 1000000"},
		{"burst", "", 400, "n must be"},
		{"seek", "", 400, "give to or by"},
		{"seek", `{"to":1,"by":1}`, 400, "give to or by"},
		{"seek", `{"to":1e300}`, 400, "out of range"},
		{"rate", `{"rate":0}`, 400, "rate must be positive"},
		{"rate", `{"rate":"fast"}`, 400, "rate must be a number"},
		{"rate", `{"rate":1} {"rate":2}`, 400, "the body is not a JSON object: want a JSON object with rate (a number)"},
		{"rate", `{"speed":1}`, 400, `unknown field "speed": want a JSON object with rate (a number)`},
		{"rate", `{`, 400, "the body is not a JSON object: want a JSON object with rate (a number)"},
		{"rate", `[1]`, 400, "the body is not a JSON object: want"},
		{"burst", `{"n":1.5}`, 400, "n must be a whole number"},
		{"loop", `{"on":1}`, 400, "on must be true or false"},
		{"loop_range", `x`, 400, "want a JSON object with from (a number), to (a number)"},
		{"pause", `x`, 400, "the body is not a JSON object: want no body"},
		{"rate", `{"x":"` + strings.Repeat("x", 20<<10) + `"}`, 413, "too large"},
		{"loop", `{}`, 400, "on must be true or false"},
		{"loop_range", `{"from":2,"to":1}`, 400, "there is no such thing"},
		{"topic", `{"topic":"/other","on":true}`, 400, "there is no such thing"},
		{"topic", `{"topic":"t","on":true}`, 400, "there is no such thing: did you mean /t?"},
		{"topic", `{"topic":"/t"}`, 400, "on must be"},
		{"pause", `{"on":true}`, 400, "unknown field"},
		{"split", "", 404, "no such endpoint"},

		{"step", "", 409, "play is not paused"},
		{"step_back", "", 409, "play is not paused"},
		{"burst", `{"n":3}`, 409, "play is not paused"},
		{"pause_topics", `{"on":true}`, 409, "there are no topics to pause on"},
	}
	for _, test := range tests {
		t.Run(test.verb+" "+test.body[:min(len(test.body), 30)], func(t *testing.T) {
			t.Parallel()
			backend, f := playing("/t")
			f.stats.Paused = test.status != http.StatusConflict
			a := webtest.Serve(t, backend).Post("/api/v1/"+test.verb, test.body)
			if a.Status != test.status {
				t.Errorf("status %d, want %d: %s", a.Status, test.status, a.Body)
			}
			if test.status == http.StatusOK {
				if calls := f.said(); !slices.Equal(calls, []string{test.want}) {
					t.Errorf("calls %q, want %q", calls, test.want)
				}
				return
			}
			if text := webtest.Decode[struct{ Error string }](t, a).Error; !strings.Contains(text, test.want) {
				t.Errorf("error %q, want %q", text, test.want)
			}
		})
	}
}

// TestBeforeThePlayer: until there is one, the program is alive, not ready, and refuses.
func TestBeforeThePlayer(t *testing.T) {
	t.Parallel()
	backend := face.New()
	c := webtest.Serve(t, backend)
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/healthz": 503, "/metrics": 200, "/api/v1/state": 200, "/api/v1/density?n=5": 503} {
		if a := c.Get(path); a.Status != want {
			t.Errorf("%s: %d, want %d: %s", path, a.Status, want, a.Body)
		}
	}
	if a := c.Post("/api/v1/pause", ""); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "nothing is played yet") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	backend.Attach(newFakePlayer("/t"))
	if a := c.Get("/readyz"); a.Status != http.StatusOK {
		t.Errorf("then: %d %s", a.Status, a.Body)
	}
	for _, n := range []string{"0", "-1", "2001", "x", ""} {
		if a := c.Get("/api/v1/density?n=" + n); a.Status != http.StatusBadRequest {
			t.Errorf("density of %q: %d", n, a.Status)
		}
	}
	if d := webtest.Decode[struct{ Messages []int }](t, c.Get("/api/v1/density?n=2000")); len(d.Messages) != 2000 {
		t.Errorf("density: %d parts", len(d.Messages))
	}
}

// TestRecordedMarks: the page gets the marks that lie in what is played.
func TestRecordedMarks(t *testing.T) {
	t.Parallel()
	f := newFakePlayer("/t")
	zero := f.stats.BagTime.Add(-f.stats.Position)
	ui := face.New(note.Mark{Time: zero.Add(-time.Second), Text: "before"}, note.Mark{Time: zero.Add(1500 * time.Millisecond), Text: "<door>"},
		note.Mark{Time: zero.Add(time.Hour), Text: "after"})
	c := webtest.Serve(t, ui)
	if a := c.Get("/api/v1/recorded_marks"); a.Status != http.StatusServiceUnavailable {
		t.Errorf("before the player: %d", a.Status)
	}
	ui.Attach(f)
	got := webtest.Decode[[]struct {
		Position, Time float64
		Text           string
	}](t, c.Get("/api/v1/recorded_marks"))
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
		"late":        {func(s *control.Stats) { s.Late = 2 * time.Second }, false, 200, 200, 503, "messages are published 2s late"},
		"waiting":     {func(s *control.Stats) { s.Phase, s.WaitingFor = control.PhaseWait, []string{"/t"} }, false, 200, 503, 503, "waiting for /t"},
		"ended":       {func(s *control.Stats) { s.Phase = control.PhaseDone }, false, 200, 503, 200, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend, f := playing("/t")
			f.did("", test.change)
			c := webtest.Serve(t, backend, func(o *web.Options) { o.MasterUp = func() bool { return !test.away } })
			live, ready, health := c.Get("/livez"), c.Get("/readyz"), c.Get("/healthz")
			if live.Status != test.live || ready.Status != test.ready || health.Status != test.health || !strings.Contains(health.Body, test.want) {
				t.Errorf("%d, %d %s, %d %s", live.Status, ready.Status, ready.Body, health.Status, health.Body)
			}
		})
	}
	backend, _ := playing("/t")
	c := webtest.Serve(t, backend, func(o *web.Options) { o.Unread = func() (now, ever string) { return "getSystemState: 1 too long", "" } })
	if a := c.Get("/healthz"); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "getSystemState: 1 too long") {
		t.Errorf("with an unreadable reply: %d %s", a.Status, a.Body)
	}
	backend, f := playing("/t")
	c = webtest.Serve(t, backend)
	f.did("", func(s *control.Stats) { s.Topics[0].Dropped = 3 })
	if a := c.Get("/healthz"); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "3 messages were dropped within the last minute") {
		t.Errorf("after drops: %d %s", a.Status, a.Body)
	}
}

// TestTooManyBookmarks: what the player refuses is an error, with its reason.
func TestTooManyBookmarks(t *testing.T) {
	t.Parallel()
	backend, f := playing("/t")
	c := webtest.Serve(t, backend)
	for i := range 3 {
		a := c.Post("/api/v1/bookmark", "")
		if want := []int{200, 200, 409}[i]; a.Status != want {
			t.Errorf("bookmark %d: status %d, want %d: %s", i+1, a.Status, want, a.Body)
		}
		if i == 2 && webtest.Decode[struct{ Error string }](t, a).Error != control.ErrBookmarks.Error() {
			t.Errorf("error %s", a.Body)
		}
	}
	if n := len(f.Status().Bookmarks); n != 2 {
		t.Errorf("%d bookmarks", n)
	}
}

// TestReadingChangesNothing: whatever a GET asks for, nothing is done.
func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	backend, player := playing("/t")
	c := webtest.Serve(t, backend)
	for _, name := range []string{"play", "pause", "toggle", "step", "step_back", "burst", "seek", "rate", "loop", "loop_range", "bookmark", "topic", "pause_topics", "stop"} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
			if a := c.Do(method, "/api/v1/"+name, ""); a.Status < 400 {
				t.Errorf("%s %s: %d", method, name, a.Status)
			}
		}
	}
	if calls := player.said(); len(calls) > 0 {
		t.Errorf("done: %q", calls)
	}
}

// TestPagesAreComplete: what the page loads is there, and nothing comes from elsewhere.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()
	backend, _ := playing("/t")
	webtest.CheckFiles(t, webtest.Serve(t, backend), "assets")
}

// TestPace: beside the average since the first message, the page gets the rate that is achieved now, which a change of
// the rate begins afresh.
func TestPace(t *testing.T) {
	t.Parallel()
	ui, f := playing("/t")
	shows := func(when, want string) {
		t.Helper()
		_, state, _ := strings.Cut(webtest.JSON(t, ui.Poll(time.Unix(0, 0)).State), `"rate":`)
		if !strings.HasPrefix(state, want) {
			t.Errorf("%s: %.60s, want %s", when, state, want)
		}
	}
	play := func(wall, bag time.Duration) {
		f.did("", func(s *control.Stats) {
			s.Elapsed, s.Played = s.Elapsed+wall, s.Played+bag
		})
	}
	f.did("", func(s *control.Stats) { s.Elapsed, s.Played = 0, 0 })
	shows("before play", `1,"pace":null,`)
	play(10*time.Second, 10*time.Second)
	shows("at the first rate", `1,"pace":1,"achieved":1,`)
	f.SetRate(3)
	shows("at once after the change", `3,"pace":null,"achieved":1,`)
	play(10*time.Second, 20*time.Second)
	shows("then", `3,"pace":2,"achieved":1.5,`)
	play(10*time.Second, 0)
	shows("standing still", `3,"pace":0,"achieved":1,`)
}
