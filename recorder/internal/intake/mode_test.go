package intake

import (
	"errors"
	"testing"

	"github.com/gorosbag/gorosbag/recorder/control"
)

func TestWhatAModeAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m         Mode
		records   bool
		bag, mark error
	}{
		"recording":         {Mode{State: control.StateRecording}, true, nil, nil},
		"paused":            {Mode{State: control.StatePaused}, false, nil, control.ErrPaused},
		"stopped":           {Mode{State: control.StateStopped}, false, control.ErrStopped, control.ErrStopped},
		"ended":             {Mode{State: control.StateRecording, Ended: true}, false, control.ErrNotRecording, control.ErrNotRecording},
		"full":              {Mode{State: control.StateRecording, Full: true}, false, control.ErrNotRecording, control.ErrNotRecording},
		"ended, and paused": {Mode{State: control.StatePaused, Ended: true}, false, control.ErrNotRecording, control.ErrNotRecording},
	} {
		if got := c.m.Records(); got != c.records {
			t.Errorf("%s: messages go into the bag: %v", name, got)
		}
		if err := c.m.HasBag(); !errors.Is(err, c.bag) {
			t.Errorf("%s: for commands %v, want %v", name, err, c.bag)
		}
		if err := c.m.CanMark(); !errors.Is(err, c.mark) {
			t.Errorf("%s: for marks %v, want %v", name, err, c.mark)
		}
	}
}
