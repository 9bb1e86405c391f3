package face

import (
	"context"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/face/sdnotify"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Service returns the state for systemd.
func (f *Face) Service(_ context.Context, node *tcpros.Node) sdnotify.State {
	c, err := f.controlOrError()
	if err != nil || !node.MasterUp() {
		return sdnotify.State{Status: "waiting for the ROS master " + node.MasterURI()}
	}
	now := c.Stats()
	return sdnotify.State{Ready: now.Phase > control.PhaseRegister, Status: statusLine(&now)}
}

// statusLine returns the status for systemctl.
func statusLine(s *control.Stats) string {
	state := phaseTexts[s.Phase]
	if s.Phase == control.PhasePlay && s.Paused {
		state = "paused"
	}
	return fmt.Sprintf("%s, %.1f of %.1f s at rate %g, %s, %s dropped", state, s.Position.Seconds(),
		s.Length.Seconds(), s.Rate, wording.Plural(len(s.Topics), "topic"),
		wording.Plural(s.Dropped(), "message"))
}
