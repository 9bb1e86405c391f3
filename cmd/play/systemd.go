package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/sdnotify"
	"github.com/gorosbag/gorosbag/player"
	"github.com/gorosbag/gorosbag/tcpros"
)

// systemd reports to systemd, if that has started the program.
type systemd struct {
	control atomic.Pointer[player.Control] // nil before play begins
	end     func()
}

func notifySystemd(ctx context.Context, node *tcpros.Node, log *zap.Logger) *systemd {
	s := &systemd{}
	end, err := sdnotify.Watch(ctx, func() sdnotify.State {
		control := s.control.Load()
		if control == nil || !node.MasterUp() {
			return sdnotify.State{Status: "waiting for the ROS master " + node.MasterURI()}
		}
		now := (*control).Stats()
		return sdnotify.State{Ready: now.Phase > player.PhaseRegister, Status: statusLine(&now)}
	})
	if err != nil {
		log.Warn("systemd hears nothing of us", zap.Error(err))
	}
	s.end = end
	return s
}

// attach sets the control when play has begun.
func (s *systemd) attach(control player.Control) { s.control.Store(&control) }

// statusLine returns the status for systemctl.
func statusLine(s *player.Stats) string {
	state := map[player.Phase]string{
		player.PhaseRegister: "registering", player.PhaseDelay: "waiting before the first message", player.PhaseWait: "waiting for subscribers",
		player.PhasePlay: "playing", player.PhaseKeepAlive: "all is played", player.PhaseDrain: "waiting for subscribers to read", player.PhaseDone: "done",
	}[s.Phase]
	if s.Phase == player.PhasePlay && s.Paused {
		state = "paused"
	}
	var dropped uint64
	for i := range s.Topics {
		dropped += s.Topics[i].Dropped
	}
	return fmt.Sprintf("%s, %.1f of %.1f s at rate %g, %s, %s dropped", state, s.Position.Seconds(), s.Length.Seconds(), s.Rate, plural.Of(len(s.Topics), "topic"), plural.Of(dropped, "message"))
}
