package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/plural"
	"github.com/gorosbag/gorosbag/internal/sdnotify"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/tcpros"
)

// systemd reports to systemd, if that has started the program.
type systemd struct {
	running atomic.Pointer[control.Control] // nil before play begins
	end     func()
}

func notifySystemd(ctx context.Context, node *tcpros.Node, log *zap.Logger) *systemd {
	s := &systemd{}
	end, err := sdnotify.Watch(ctx, func() sdnotify.State {
		running := s.running.Load()
		if running == nil || !node.MasterUp() {
			return sdnotify.State{Status: "waiting for the ROS master " + node.MasterURI()}
		}
		now := (*running).Stats()
		return sdnotify.State{Ready: now.Phase > control.PhaseRegister, Status: statusLine(&now)}
	})
	if err != nil {
		log.Warn("systemd hears nothing of us", zap.Error(err))
	}
	s.end = end
	return s
}

// attach sets the control when play has begun.
func (s *systemd) attach(running control.Control) { s.running.Store(&running) }

// statusLine returns the status for systemctl.
func statusLine(s *control.Stats) string {
	state := map[control.Phase]string{
		control.PhaseRegister: "registering", control.PhaseDelay: "waiting before the first message", control.PhaseWait: "waiting for subscribers",
		control.PhasePlay: "playing", control.PhaseKeepAlive: "all is played", control.PhaseDrain: "waiting for subscribers to read", control.PhaseDone: "done",
	}[s.Phase]
	if s.Phase == control.PhasePlay && s.Paused {
		state = "paused"
	}
	var dropped uint64
	for i := range s.Topics {
		dropped += s.Topics[i].Dropped
	}
	return fmt.Sprintf("%s, %.1f of %.1f s at rate %g, %s, %s dropped", state, s.Position.Seconds(), s.Length.Seconds(), s.Rate, plural.Of(len(s.Topics), "topic"), plural.Of(dropped, "message"))
}
