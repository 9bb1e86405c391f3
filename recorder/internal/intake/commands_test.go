package intake

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/encode"
)

// TestBegunAt: a recording has begun when it says, unless it begins stopped.
func TestBegunAt(t *testing.T) {
	t.Parallel()
	begun := time.Now().Add(-time.Minute)
	for state, want := range map[control.State]time.Time{control.StateRecording: begun, control.StatePaused: begun, control.StateStopped: {}} {
		in := New(Config{Log: zap.NewNop(), Encoder: encode.New(encode.Options{}), OnChange: func() {}, Begin: state, Begun: begun})
		if got := in.BegunAt(); !got.Equal(want) {
			t.Errorf("%v: begun at %v, want %v", state, got, want)
		}
	}
}

// TestPause: whoever shows the state learns of a pause and of its end once, and a recording that has ended is not
// paused.
func TestPause(t *testing.T) {
	t.Parallel()
	in := bareIntake(-1, 100)
	changes := 0
	in.cfg.OnChange = func() { changes++ }
	resume := func() error { return in.Resume(time.Now()) }
	for i, step := range []struct {
		do      func() error
		state   control.State
		changes int // in all
	}{
		{resume, control.StateRecording, 0},
		{in.Pause, control.StatePaused, 1},
		{in.Pause, control.StatePaused, 1},
		{resume, control.StateRecording, 2},
	} {
		if err := step.do(); err != nil || in.mode.State != step.state || changes != step.changes {
			t.Errorf("step %d: %v after %d changes, %v; want %v after %d", i, in.mode.State, changes, err, step.state, step.changes)
		}
	}
	in.mode.Ended = true
	if err := in.Pause(); !errors.Is(err, control.ErrNotRecording) || in.mode.State != control.StateRecording {
		t.Errorf("at the end: %v, %v", in.mode.State, err)
	}
}
