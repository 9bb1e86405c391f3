package intake

import (
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// TestNoNextFile while nothing is recorded, or after the end.
func TestNoNextFile(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Intake){
		"paused":    func(p *Intake) { p.mode.State = control.StatePaused },
		"stopped":   func(p *Intake) { p.mode.State = control.StateStopped },
		"ended":     func(p *Intake) { p.mode.Ended = true },
		"full":      func(p *Intake) { p.mode.Full = true },
		"recording": func(*Intake) {},
	} {
		p := bareIntake(-1, 800)
		p.mode.State = control.StateRecording
		set(p)
		p.nextFileLocked(time.Now())
		if began := p.rotation.Part() == 1; began != (name == "recording") {
			t.Errorf("%s: the next file began: %v", name, began)
		}
	}
}
