package rosctl

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// StatusTopic is the topic of the status, before name resolution.
const StatusTopic = "~status"

const (
	// statusEvery is how often the status is published while it does not change.
	statusEvery = time.Second
	// statusRate limits the bytes per second of the status of a huge graph, unless it changes.
	statusRate = 400_000
	// statusTimeout is how long the first status waits until the services are registered,
	// followed by the range of the intervals between checks. Clients identify the owner of
	// the topic by its services, and would take it for a robot's topic without them. A node
	// registers its topics first, which takes seconds for hundreds of them on a busy machine.
	statusTimeout = 30 * time.Second
	statusPoll    = 20 * time.Millisecond
	statusPollMax = time.Second
	// statusSettle is the minimum time between two messages: clients may cause any number of
	// changes.
	statusSettle = 20 * time.Millisecond
)

// awaitRegistration returns when the master knows the service of KnownBy, or after a while.
func (s *Server) awaitRegistration(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	for wait := statusPoll; ; wait = min(2*wait, statusPollMax) {
		if _, err := s.Node.Master().LookupService(ctx, s.Node.Name()+"/"+s.KnownBy); err == nil {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// publishStatus publishes the status every second and after each change.
func (s *Server) publishStatus(ctx context.Context) {
	topic, err := s.Node.Advertise(tcpros.AdvertiseOptions{
		Topic:             StatusTopic,
		Type:              stdmsg.DiagnosticArrayType,
		MD5Sum:            stdmsg.DiagnosticArrayMD5Sum(),
		MessageDefinition: stdmsg.DiagnosticArrayDefinition,
		Latching:          true,
		QueueFrames:       1, // a slow subscriber needs only the latest status
		Transient:         true,
	})
	switch {
	case errors.Is(err, tcpros.ErrClosed):
		return // it has ended already
	case err != nil:
		s.Log.Warn("no status topic", zap.Error(err)) // a topic with that name may be played
		return
	}
	to := topic.Source(true)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		changed := s.Changed()
		frame := s.status()
		to.Publish(frame)
		tick.Reset(max(statusEvery, time.Duration(len(frame))*time.Second/statusRate))
		select {
		case <-tick.C:
		case <-changed:
			settled := time.NewTimer(statusSettle)
			select {
			case <-settled.C:
			case <-ctx.Done():
			}
			settled.Stop()
		case <-ctx.Done():
			to.Publish(s.status())
			return
		}
	}
}

// status returns a frame with a diagnostic_msgs/DiagnosticArray.
func (s *Server) status() []byte {
	d := stdmsg.DiagnosticArray{Seq: s.seq}
	s.seq++
	d.Stamp, d.Status = s.Status(s.Node.Name())
	return d.AppendFrame(nil)
}
