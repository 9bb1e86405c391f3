package face_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/cmd/play/internal/face"
	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// answer is what a service answers to a command.
func answer(t *testing.T, c *command.Command, given command.Params) string {
	t.Helper()
	result, err := c.Run(t.Context(), given)
	if err != nil {
		return "false: " + err.Error()
	}
	return "true: " + result.Text
}

// find returns the only command with a property.
func find(t *testing.T, ui *face.Face, is func(*command.Command) bool) *command.Command {
	t.Helper()
	var found []command.Command
	for _, c := range ui.Commands() {
		if is(&c) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d commands", len(found))
	}
	return &found[0]
}

// early is a player two seconds after the first of ten seconds.
func early() (*face.Face, *fakePlayer) {
	ui, f := playing("/t")
	f.stats.Position, f.stats.Length, f.stats.LoopTo, f.stats.BagTime = 2*time.Second, 10*time.Second, 0, rosbag.Time{Sec: 1002}
	return ui, f
}

func TestServices(t *testing.T) {
	t.Parallel()
	ui, f := early()
	call := func(service string, given command.Params) string {
		t.Helper()
		return answer(t, find(t, ui, func(c *command.Command) bool { return c.Service == service }), given)
	}
	on, off := command.Params{"on": true}, command.Params{"on": false}
	const at = " at 2.000 s of 10.000 s"
	for _, step := range []struct {
		service string
		given   command.Params
		want    string
	}{
		{"is_paused", nil, "false: playing" + at},
		{"step", nil, "false: play is not paused: pause it first"},
		{"pause_playback", on, "true: Playback is now paused"},
		{"pause_playback", on, "false: Bag is already paused."},
		{"pause_playback", off, "true: Playback is now resumed"},
		{"pause_playback", off, "false: Bag is already running."},
		{"play", nil, "true: already playing"},
		{"pause", nil, "true: paused" + at},
		{"pause", nil, "true: already paused" + at},
		{"is_paused", nil, "true: paused" + at},
		{"step", nil, "true: one message on from 2.000 s"},
		{"step_back", nil, "true: one message back from 2.000 s"},
		{"play", nil, "true: playing" + at},
		{"toggle", nil, "true: paused" + at},
		{"toggle", nil, "true: playing" + at},
		{"loop_from", nil, "true: ~loop goes from 2.000 s to 10.000 s"},
		{"loop_to", nil, "true: ~loop goes from 0.000 s to 2.000 s"},
		{"loop", on, "true: looping from 0.000 s to 2.000 s"},
		{"loop", off, "true: not looping"},
		{"bookmark", nil, "true: bookmark at 2.000 s"},
		{"pause_on_topics", on, "false: there are no topics to pause on: goplay was started without --pause-topics"},
		{"pause_on_topics", off, "true: not pausing on topics"},
		{"stop", nil, "true: stopped" + at},
	} {
		if got := call(step.service, step.given); got != step.want {
			t.Errorf("~%s answers %q, want %q", step.service, got, step.want)
		}
	}
	f.Pause()
	f.atEnd = true
	if got := call("step", nil); got != "false: there is no message to go to" {
		t.Errorf("at the end: %q", got)
	}
	f.Resume()
	f.did("end", func(s *control.Stats) { s.Phase = control.PhaseKeepAlive })
	const end = "all is published at 2.000 s of 10.000 s"
	for _, step := range []struct{ service, want string }{
		{"is_paused", "false: " + end},
		{"play", "true: " + end},
		{"pause", "true: paused" + at},
		{"is_paused", "true: paused" + at},
		{"play", "true: " + end},
		{"toggle", "true: paused" + at},
		{"toggle", "true: " + end},
	} {
		if got := call(step.service, nil); got != step.want {
			t.Errorf("when everything is published ~%s answers %q, want %q", step.service, got, step.want)
		}
	}
	call("bookmark", nil)
	if got := call("bookmark", nil); got != "false: "+control.ErrBookmarks.Error() {
		t.Errorf("with too many bookmarks: %q", got)
	}
}

// TestTopics: numbers and times mean what the topics of stock tools mean by them.
func TestTopics(t *testing.T) {
	t.Parallel()
	ui, f := early()
	f.stats.Paused = true
	for _, step := range []struct {
		topic string
		value any
		call  string // empty if the command is refused
	}{
		{"seek", 3.5, "seek 3.5s"},
		{"seek", -1.0, "seek 9s"},
		{"seek", math.NaN(), ""}, // no place
		{"seek", math.Inf(1), "seek 10s"},
		{"seek", math.Inf(-1), "seek 0s"},
		{"seek", 1e300, "seek 10s"},
		{"seek_to", rosbag.Time{Sec: 1004, Nsec: 500_000_000}, "seek 4.5s"},
		{"seek_to", rosbag.Time{}, "seek 0s"},
		{"seek_to", rosbag.Time{Sec: math.MaxUint32, Nsec: math.MaxUint32}, "seek 10s"},
		{"set_rate", 2.0, "rate 2"},
		{"set_rate", -1.0, ""},
		{"burst", 0, ""},
		{"burst", 5, "burst 5"},
		{"burst", math.MaxInt32, "burst 2147483647"},
	} {
		c := find(t, ui, func(c *command.Command) bool { return c.Topic == step.topic })
		before := len(f.said())
		_, err := c.Run(t.Context(), command.Params{c.Params[0].Name: step.value})
		calls := f.said()[before:]
		var want []string
		if step.call != "" {
			want = []string{step.call}
		}
		if (err == nil) != (step.call != "") || !slices.Equal(calls, want) {
			t.Errorf("%s %s: %q, %v, want %q", step.topic, fmt.Sprint(step.value), calls, err, want)
		}
	}
}
