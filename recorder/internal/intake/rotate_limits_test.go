package intake

import (
	"testing"
	"time"
)

// TestNoNextFile while nothing is recorded, or behind the end.
func TestNoNextFile(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Intake){
		"paused":    func(p *Intake) { p.State = StatePaused },
		"stopped":   func(p *Intake) { p.State = StateStopped },
		"ended":     func(p *Intake) { p.Ended = true },
		"full":      func(p *Intake) { p.AtSizeLimit = true },
		"recording": func(*Intake) {},
	} {
		p := bareIntake(-1, 800)
		p.State = StateRecording
		set(p)
		p.NextFile(time.Now())
		if began := p.Rotation.Part() == 1; began != (name == "recording") {
			t.Errorf("%s: the next file began: %v", name, began)
		}
	}
}
