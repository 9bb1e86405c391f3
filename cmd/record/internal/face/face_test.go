package face_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/lastminute"
	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder"
	"github.com/gorosbag/gorosbag/recorder/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPagesAreComplete: what the page loads is there, and nothing comes from elsewhere.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()
	webtest.CheckFiles(t, webtest.Serve(t, face.New(new(recorder.Control), time.Minute)), "assets")
}

// TestBeforeTheRecording: without a recording the program is alive, not ready, and refuses commands.
func TestBeforeTheRecording(t *testing.T) {
	t.Parallel()
	c := webtest.Serve(t, face.New(new(recorder.Control), time.Minute))
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/metrics": 200, "/api/v1/state": 200, "/api/v1/bags": 503, "/api/v1/bags/0": 503} {
		if a := c.Get(path); a.Status != want {
			t.Errorf("%s: %d, want %d: %s", path, a.Status, want, a.Body)
		}
	}
	if a := c.Post("/api/v1/pause", ""); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, control.ErrNotRecording.Error()) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := c.Get("/api/v1/state"); !strings.Contains(a.Body, `"state":{"state":"none",`) {
		t.Error(a.Body)
	}
}

// TestHealth: what somebody should look at, and what a supervisor should not act on.
func TestHealth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change        func(*control.Stats)
		ready, health int
		want          string // part of the answer that is not 200
	}{
		"well":            {func(*control.Stats) {}, 200, 200, ""},
		"paused":          {func(s *control.Stats) { s.State = control.StatePaused }, 200, 200, ""},
		"stopped":         {func(s *control.Stats) { s.State, s.File = control.StateStopped, "" }, 503, 200, "there is no bag: the recording is stopped"},
		"only snapshots":  {func(s *control.Stats) { s.File, s.Snapshots.Mode = "", control.SnapshotOnly }, 200, 200, ""},
		"ending":          {func(s *control.Stats) { s.Ending = true }, 503, 503, "the recording is ending"},
		"one dropped":     {func(s *control.Stats) { s.Topics[0].Dropped = 1 }, 200, 503, "1 message was lost within the last minute"},
		"missed":          {func(s *control.Stats) { s.Topics[0].Missed = 2 }, 200, 503, "2 messages were lost within the last minute"},
		"links lost":      {func(s *control.Stats) { s.Topics[0].LinksLost = 3 }, 200, 503, "links to publishers were lost within the last minute (3)"},
		"refused":         {func(s *control.Stats) { s.Topics[0].Refused = 4 }, 200, 503, "publishers were not connected to, for want of memory or file descriptors (4)"},
		"unread":          {func(s *control.Stats) { s.Unread = "2 names of more than 1024 bytes" }, 200, 503, "replies of the master cannot be read in full: 2 names of more than 1024 bytes"},
		"silent":          {func(s *control.Stats) { s.Findings = found()[:1] }, 200, 503, "1 topic is silent: /a for 41 s (publisher gone)"},
		"nearly full":     {func(s *control.Stats) { s.TimeLeft = 90 * time.Second }, 200, 503, "the disk will be full in 1m30s"},
		"not nearly full": {func(s *control.Stats) { s.TimeLeft = face.LowTime }, 200, 200, ""},
		"store away": {func(s *control.Stats) {
			s.Handover = &control.HandoverStats{State: control.HandoverUnreachable, StateErr: "no route to host"}
		}, 200, 200, ""},
		"store refuses": {func(s *control.Stats) {
			s.Handover = &control.HandoverStats{State: control.HandoverFailing, StateSince: time.Unix(0, 0), StateErr: "the secret is wrong"}
		}, 200, 503, "the store has refused uploads since 1970-01-01T00:00:00Z: the secret is wrong"},
		"upload refused": {func(s *control.Stats) { s.Handover = &control.HandoverStats{Refused: 1} }, 200, 503, "bags are not uploaded because the store has other objects of their names (1)"},
		"upload lost":    {func(s *control.Stats) { s.Handover = &control.HandoverStats{Lost: 2} }, 200, 503, "bags were deleted before they were uploaded (2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ui, f := recordingTo(control.TopicStats{Topic: "/t", Publishers: 1})
			f.change(test.change)
			c := webtest.Serve(t, ui)
			live, ready, health := c.Get("/livez"), c.Get("/readyz"), c.Get("/healthz")
			if live.Status != 200 || ready.Status != test.ready || health.Status != test.health {
				t.Errorf("%d; %d %s; %d %s", live.Status, ready.Status, ready.Body, health.Status, health.Body)
			}
			if test.want != "" && !strings.Contains(ready.Body+health.Body, test.want) {
				t.Errorf("no %q in %s %s", test.want, ready.Body, health.Body)
			}
		})
	}
}

// found is one finding of each kind that is learned or expected.
func found() []finding.Finding {
	return []finding.Finding{
		{Topic: "/a", Kind: finding.Silent, Cause: finding.Gone, For: 41 * time.Second},
		{Topic: "/b", Kind: finding.Slow, Hz: 0.1249, Want: 0.2512, Expected: true},
		{Topic: "/a", Kind: finding.Stamps, Cause: finding.Ahead, Offset: -time.Hour},
	}
}

// TestHealthDetails counts topics, publishers, and topics without a publisher; those of gorecord itself are neither.
func TestHealthDetails(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo(control.TopicStats{Topic: "/a", Publishers: 2}, control.TopicStats{Topic: "/b"}, control.TopicStats{Topic: "/gorecord/params", Own: true})
	f.change(func(s *control.Stats) { s.DiskFree = 5000 })
	got := webtest.Serve(t, ui).Get("/healthz").Body
	const want = `"details":{"state":"recording","topics":2,"publishers":2,"topics_without_publisher":1,"publishers_refused":0,"links_lost_last_minute":0,` +
		`"messages_lost_last_minute":0,"disk_free":5000,"time_left":null,"findings":[]}`
	if !strings.Contains(got, want) {
		t.Errorf("%s\nhas no %s", got, want)
	}
}

// TestState: the state has all that the page shows, without directories; null is what is not known.
func TestState(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo()
	taken := time.Unix(1_748_682_000, 0)
	f.change(func(s *control.Stats) {
		s.Elapsed, s.Part, s.Finished, s.Buffered, s.BufferMost = 90*time.Second, 2, 3, 10, 20
		s.Snapshots = control.SnapshotStats{Mode: control.SnapshotBeside, Held: 5 * time.Second, Bytes: 7, Taken: 1, File: "/bags/s.bag"}
		s.Handover = &control.HandoverStats{Waiting: 1, WaitingBytes: 2, Done: 3, DoneBytes: 4, Sent: 5, Failures: 6, Err: "no route", State: control.HandoverOK, StateSince: taken.Add(-time.Minute)}
		s.Triggers = []control.TriggerStats{{Option: "stop-on", Expression: "topic == '/a'", Fired: 1, Suppressed: 2, Refused: 3, Skipped: 4, Errors: 5}}
		s.Topics = []control.TopicStats{{
			Topic: "/a", Type: "a/B", Publishers: 1, Messages: 10, Bytes: 100, Dropped: 2, Causes: map[string]uint64{"disk": 2}, Missed: 3, LeftOut: 5, Passed: 4, Last: taken.Add(-2 * time.Second), Latching: true,
		}, {Topic: "/b"}}
		s.Findings = found()
		s.Episodes = []finding.Sum{{Topic: "/a", Kind: finding.Silent, Episodes: 2, Time: 50 * time.Second}}
	})
	view := ui.Poll(taken)
	got := webtest.JSON(t, view.State)
	const want = `{"state":"recording","ending":false,"elapsed":90,"file":"a_0.bag","part":2,"file_bytes":4096,"bytes":4096,"messages":10,"dropped":2,"missed":3,` +
		`"lost_last_minute":5,"buffered":10,"buffer_most":20,"disk_free":null,"time_left":null,"finished":3,"pin":300,` +
		`"snapshots":{"only":false,"held":5,"bytes":7,"taken":1,"file":"s.bag"},` +
		`"uploads":{"waiting":1,"waiting_bytes":2,"done":3,"done_bytes":4,"sent":5,"failures":6,"refused":0,"lost":0,"error":"no route","store":{"state":"ok","for":60,"error":""}},` +
		`"triggers":[{"option":"stop-on","expression":"topic == '/a'","fired":1,"suppressed":2,"refused":3,"skipped":4,"errors":5}],` +
		`"headlines":["1 topic is silent: /a for 41 s (publisher gone)","1 topic is slow: /b 0.12 Hz, expected 0.25","the stamps of 1 topic are off: /a 1 h ahead"],` +
		`"findings":[{"topic":"/a","kind":"silent","cause":"publisher gone","for":41,"expected":false,"text":"silent for 41 s (publisher gone)"},` +
		`{"topic":"/b","kind":"slow","for":0,"hz":0.12,"want":0.25,"expected":true,"text":"slow: 0.12 Hz, expected 0.25"},` +
		`{"topic":"/a","kind":"stamps","cause":"ahead","for":0,"offset":-3600,"expected":false,"text":"stamps 1 h ahead"}],` +
		`"episodes":[{"topic":"/a","kind":"silent","episodes":2,"seconds":50,"open":false,"unmet":false,"untold":0}],` +
		`"topics":[{"topic":"/a","type":"a/B","publishers":1,"messages":10,"bytes":100,"hz":0,"bytes_per_second":0,"dropped":2,"causes":{"disk":2},"missed":3,"left_out":5,"passed":4,"age":2,"latched":true,"problems":["silent for 41 s (publisher gone)","stamps 1 h ahead"]},` +
		`{"topic":"/b","type":"","publishers":0,"messages":0,"bytes":0,"hz":0,"bytes_per_second":0,"dropped":0,"missed":0,"left_out":0,"passed":0,"age":null,"latched":false,"problems":["slow: 0.12 Hz, expected 0.25"]}]}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRates: rates are those over the last second or more, of all messages that arrive, recorded or not. A poll sooner
// than that repeats them, and the last minute has one for each second.
func TestRates(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo(control.TopicStats{Topic: "/a"})
	poll := func(after time.Duration, messages uint64) string {
		f.change(func(s *control.Stats) {
			s.Taken, s.Elapsed = s.Taken.Add(after), s.Elapsed+after
			s.Topics[0].Messages += messages
			s.Topics[0].LeftOut += messages / 2
			s.Topics[0].Passed += messages - messages/2
			s.Topics[0].Bytes += 100 * messages
		})
		_, rates, _ := strings.Cut(webtest.JSON(t, ui.Poll(time.Unix(0, 0)).State), `"hz":`)
		rates, _, _ = strings.Cut(rates, `,"dropped"`)
		return rates
	}
	for i, step := range []struct {
		after    time.Duration
		messages uint64
		want     string
	}{
		{0, 5, `0,"bytes_per_second":0`},
		{time.Second, 10, `20,"bytes_per_second":1000`},
		{100 * time.Millisecond, 1000, `20,"bytes_per_second":1000`},
		{1900 * time.Millisecond, 0, `1000,"bytes_per_second":50000`},
	} {
		if got := poll(step.after, step.messages); got != step.want {
			t.Errorf("poll %d: hz %s, want %s", i, got, step.want)
		}
	}
}

// TestTopicsThatAreGone: the rates of a topic are its own when others come and go, and its last minute ends when it is
// gone for a minute.
func TestTopicsThatAreGone(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo(control.TopicStats{Topic: "/a"}, control.TopicStats{Topic: "/b"})
	poll := func(change func(s *control.Stats)) string {
		f.change(func(s *control.Stats) {
			s.Taken, s.Elapsed = s.Taken.Add(time.Second), s.Elapsed+time.Second
			s.Topics = slices.Clone(s.Topics)
			change(s)
		})
		return webtest.JSON(t, ui.Poll(time.Unix(0, 0)).State)
	}
	poll(func(*control.Stats) {})
	poll(func(s *control.Stats) { s.Topics[0].Messages, s.Topics[1].Messages = 10, 20 })
	got := poll(func(s *control.Stats) {
		s.Topics = append(s.Topics[1:], control.TopicStats{Topic: "/a"})
		s.Topics[0].Messages += 30
	})
	for topic, hz := range map[string]string{"/a": `"hz":0,`, "/b": `"hz":30,`} {
		_, of, _ := strings.Cut(got, `"topic":"`+topic+`"`)
		if of, _, _ = strings.Cut(of, "}"); !strings.Contains(of, hz) {
			t.Errorf("%s: no %s in %s", topic, hz, got)
		}
	}
	for range lastminute.Seconds + 1 {
		poll(func(s *control.Stats) { s.Topics = s.Topics[:1] })
	}
	c := webtest.Serve(t, ui, func(o *web.Options) { o.Node = "/rec" })
	if minutes := webtest.Decode[map[string][]float64](t, c.Get("/api/v1/last_minute")); len(minutes) != 1 || minutes["/b"] == nil {
		t.Errorf("the last minute of %v", slices.Sorted(maps.Keys(minutes)))
	}
}

// TestLastMinute: the page gets the rate of each second of the last minute.
func TestLastMinute(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo(control.TopicStats{Topic: "/a"})
	for second := range 5 {
		f.change(func(s *control.Stats) {
			s.Taken, s.Elapsed = s.Taken.Add(time.Second), time.Duration(second)*time.Second
			s.Topics[0].Messages += uint64(10 * second)
		})
		ui.Poll(time.Unix(int64(second), 0))
	}
	c := webtest.Serve(t, ui, func(o *web.Options) { o.Node = "/rec" })
	got := webtest.Decode[map[string][]float64](t, c.Get("/api/v1/last_minute"))
	if want := []float64{10, 20, 30, 40}; !slices.Equal(got["/a"], want) || len(got) != 1 {
		t.Errorf("%v, want %v", got, want)
	}
}
