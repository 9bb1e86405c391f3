package face_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/cmd/record/internal/face"
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// ending is a recording that ends right after a split.
type ending struct{ control.Recording }

// Split implements control.Recording.
func (ending) Split(context.Context) (string, error) { return "/bags/a_0.bag", nil }

// Stats implements control.Recording.
func (ending) Stats() (control.Stats, error) { return control.Stats{}, control.ErrNotRecording }

// TestSplitAtTheEnd: a split that was carried out is no failure because the recording has ended since.
func TestSplitAtTheEnd(t *testing.T) {
	t.Parallel()
	f := face.New(ending{}, time.Minute)
	got, err := command.ByService(f.Commands(), "split").Run(t.Context(), nil)
	want := command.Result{Text: "closed /bags/a_0.bag", Brief: "closed a_0.bag", Fields: []command.Field{{Name: "file", Value: "a_0.bag"}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// answer returns what a service answers to a command.
func answer(t *testing.T, c *command.Command, given command.Params) string {
	t.Helper()
	result, err := c.Run(t.Context(), given)
	if err != nil {
		return "false: " + err.Error()
	}
	return "true: " + result.Text
}

// TestServices: each answer says what was done, with the file that it is about.
func TestServices(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo()
	on, off := command.Params{"on": true}, command.Params{"on": false}
	for _, step := range []struct {
		service string
		given   command.Params
		want    string
	}{
		{"pause", nil, "true: paused recording to /bags/a_0.bag"},
		{"pause", nil, "true: already paused"},
		{"start", nil, "true: already started, and paused: ~resume continues the recording to /bags/a_0.bag"},
		{"resume", nil, "true: recording to /bags/a_0.bag"},
		{"resume", nil, "true: already recording to /bags/a_0.bag"},
		{"start", nil, "true: already recording to /bags/a_0.bag"},
		{"pause_recording", on, "true: Recording is now paused"},
		{"pause_recording", on, "false: Recording is already paused."},
		{"pause_recording", off, "true: Recording is now resumed"},
		{"pause_recording", off, "false: Recording is already running."},
		{"pause_recording", nil, "false: on must be true or false"},
		{"split", nil, "true: closed /bags/a_0.bag, recording to /bags/a_1.bag"},
		{"snapshot", nil, "true: wrote /bags/snapshot.bag"},
		{"pin", nil, "true: bags of the last 5m0s are protected from deletion: /bags/a_0.bag a_1.bag"},
		{"mark", nil, `true: marked "mark 1"`},
		{"stop", nil, "true: closed /bags/a_1.bag"},
		{"stop", nil, "true: already stopped"},
		{"pause", nil, "false: " + control.ErrStopped.Error()},
		{"pause_recording", on, "false: " + control.ErrStopped.Error()},
		{"start", nil, "true: recording to /bags/a_2.bag"},
	} {
		if got := answer(t, command.ByService(ui.Commands(), step.service), step.given); got != step.want {
			t.Errorf("~%s answers %q, want %q", step.service, got, step.want)
		}
	}
	f.change(func(s *control.Stats) { s.File, s.Snapshots.Mode = "", control.SnapshotOnly })
	for _, step := range []struct{ service, want string }{{"pause", "true: paused recording"}, {"stop", "true: stopped"}} {
		if got := answer(t, command.ByService(ui.Commands(), step.service), nil); got != step.want {
			t.Errorf("when only snapshots are written ~%s answers %q, want %q", step.service, got, step.want)
		}
	}
}

// TestMarkTopic: a mark from the topic has a text, unlike one from the service, which can give none.
func TestMarkTopic(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo()
	all := ui.Commands()
	mark := &all[slices.IndexFunc(all, func(c command.Command) bool { return c.Topic == "mark" })]
	if got := answer(t, mark, command.Params{"text": "door opened"}); got != `true: marked "door opened"` {
		t.Errorf("with a text: %q", got)
	}
	if got := answer(t, mark, command.Params{"text": ""}); got != "false: "+note.ErrMark.Error() {
		t.Errorf("without a text: %q", got)
	}
	if calls := f.said(); !slices.Equal(calls, []string{"mark door opened"}) {
		t.Errorf("calls %q", calls)
	}
}

// TestVerbs: each command reaches the recording as it was meant, or is refused with its reason. Answers over HTTP name
// no directories.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		verb, body string
		status     int
		call       string // empty if the command is refused before
		want       string // part of the answer
	}{
		{"pause", "", 200, "pause", `"message":"paused recording to a_0.bag"`},
		{"resume", "{}", 200, "resume", `"message":"already recording to a_0.bag"`},
		{"start", "", 200, "start", `"file":"a_0.bag"`},
		{"stop", "", 200, "stop", `{"message":"closed a_0.bag","file":"a_0.bag"}`},
		{"split", "", 200, "split", `{"message":"closed a_0.bag, recording to a_1.bag","file":"a_0.bag"}`},
		{"snapshot", "", 200, "snapshot", `{"message":"wrote snapshot.bag","file":"snapshot.bag"}`},
		{"pin", "", 200, "pin 5m0s", `{"message":"bags of the last 5m0s are protected from deletion: a_0.bag a_1.bag","files":["a_0.bag","a_1.bag"]}`},
		{"pin", `{"seconds":1.5}`, 200, "pin 1.5s", `of the last 1.5s`},
		{"pin", `{"seconds":0}`, 200, "pin 0s", `{"message":"no bag has messages of the last 0s","files":[]}`},
		{"mark", "", 200, "mark ", `{"message":"marked \"mark 1\"","text":"mark 1","time":1748682000.25}`},
		{"mark", `{"text":"door"}`, 200, "mark door", `"text":"door"`},

		{"pin", `{"seconds":-1}`, 400, "", "seconds must be 0 or positive"},
		{"pin", `{"seconds":1e300}`, 400, "", "a time is out of range"},
		{"pin", `{"minutes":1}`, 400, "", `unknown field \"minutes\"`},
		{"mark", `{"text":1}`, 400, "", "text must be a text"},
		{"pause_recording", `{"on":true}`, 404, "", "no such endpoint"},
	} {
		t.Run(test.verb+" "+test.body, func(t *testing.T) {
			t.Parallel()
			ui, f := recordingTo()
			a := webtest.Serve(t, ui).Post("/api/v1/"+test.verb, test.body)
			if a.Status != test.status || !strings.Contains(a.Body, test.want) {
				t.Errorf("status %d, want %d: %s, want %s", a.Status, test.status, a.Body, test.want)
			}
			var want []string
			if test.call != "" {
				want = []string{test.call}
			}
			if calls := f.said(); !slices.Equal(calls, want) {
				t.Errorf("calls %q, want %q", calls, want)
			}
		})
	}
}

// TestRefusals: the status of an answer tells what kind of error a recording has returned.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ui, f := recordingTo()
	c := webtest.Serve(t, ui)
	for err, want := range map[error]int{
		control.ErrNotRecording: http.StatusServiceUnavailable, control.ErrNoRoom: http.StatusServiceUnavailable, control.ErrSplitsTooOften: http.StatusServiceUnavailable,
		control.ErrStopped: http.StatusConflict, control.ErrPaused: http.StatusConflict,
		control.ErrNoSnapshots: http.StatusConflict, control.ErrOnlySnapshots: http.StatusConflict,
		note.ErrMark: http.StatusBadRequest, errors.New("the disk is full"): http.StatusInternalServerError,
	} {
		f.fail(err)
		for _, verb := range []string{"pause", "resume", "start", "stop", "split", "snapshot", "pin", "mark"} {
			a := c.Post("/api/v1/"+verb, "")
			if a.Status != want || webtest.Decode[struct{ Error string }](t, a).Error != err.Error() {
				t.Errorf("%s: %v: status %d, want %d: %s", verb, err, a.Status, want, a.Body)
			}
		}
	}
}
