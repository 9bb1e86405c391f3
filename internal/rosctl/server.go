// Package rosctl provides the control of a recording or of play on the ROS graph: services and
// command topics under the node's name, and the status on a latched topic.
package rosctl

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Server serves the control of a recording or of play.
type Server struct {
	node    *tcpros.Node
	log     *zap.Logger
	subject subject
	end     context.CancelFunc
	done    sync.WaitGroup
}

// subject is what a Server controls: a recording or play.
type subject interface {
	// offer advertises the commands.
	offer(*Server) error
	// changed returns a channel that is closed at the next change that has to be published
	// at once.
	changed() <-chan struct{}
	// status returns a frame with a diagnostic_msgs/DiagnosticArray.
	status() []byte
}

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

// serve advertises the commands of a subject, and its status as soon as the master knows one
// of its services.
func serve(node *tcpros.Node, log *zap.Logger, what subject, service string) (*Server, error) {
	if log == nil {
		log = zap.NewNop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{node: node, log: loglimit.Logger(log), subject: what, end: cancel}
	if err := what.offer(s); err != nil {
		cancel()
		return nil, err
	}
	// owner: Close; ends with ctx.
	s.done.Go(func() {
		s.awaitRegistration(ctx, service)
		s.publishStatus(ctx)
	})
	return s, nil
}

// Close publishes the last status. Services and topics end with the node.
func (s *Server) Close() {
	s.end()
	s.done.Wait()
}

// awaitRegistration returns when the master knows the service, or after a while.
func (s *Server) awaitRegistration(ctx context.Context, service string) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	for wait := statusPoll; ; wait = min(2*wait, statusPollMax) {
		if _, err := s.node.Master().LookupService(ctx, s.node.Name()+"/"+service); err == nil {
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
	topic, err := s.node.Advertise(tcpros.AdvertiseOptions{
		Topic:             "~status",
		Type:              tcpros.DiagnosticArrayType,
		MD5Sum:            tcpros.DiagnosticArrayMD5Sum,
		MessageDefinition: tcpros.DiagnosticArrayDefinition,
		Latching:          true,
		QueueFrames:       1, // a slow subscriber needs only the latest status
		Transient:         true,
	})
	switch {
	case errors.Is(err, tcpros.ErrClosed):
		return // it has ended already
	case err != nil:
		s.log.Warn("no status topic", zap.Error(err)) // a played bag may have a topic with that name
		return
	}
	to := topic.Source(true)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		changed := s.subject.changed()
		frame := s.subject.status()
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
			to.Publish(s.subject.status())
			return
		}
	}
}

// command executes a command and returns a text about the result.
type command func(context.Context) (said string, err error)

// triggers advertises commands as services of type std_srvs/Trigger.
func (s *Server) triggers(commands map[string]command) error {
	for name, do := range commands {
		err := s.advertise(name, tcpros.TriggerService, func(ctx context.Context, _ []byte) (tcpros.Outcome, error) {
			said, err := do(ctx)
			if err != nil {
				said = err.Error()
			}
			return tcpros.Outcome{Success: err == nil, Message: said}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// switches advertises commands as services of type std_srvs/SetBool.
func (s *Server) switches(commands map[string]func(on bool) tcpros.Outcome) error {
	for name, do := range commands {
		err := s.advertise(name, tcpros.SetBoolService, func(_ context.Context, request []byte) (tcpros.Outcome, error) {
			on, err := tcpros.DecodeBool(request)
			if err != nil {
				return tcpros.Outcome{}, err
			}
			return do(on), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// advertise advertises a service. Calls that only query are not logged.
func (s *Server) advertise(name string, t tcpros.ServiceType, handle func(context.Context, []byte) (tcpros.Outcome, error)) error {
	log := s.commandLog("service", name)
	if strings.HasPrefix(name, "is_") {
		log = zap.NewNop()
	}
	_, err := s.node.AdvertiseService(tcpros.ServiceOptions{
		Name: "~" + name, Type: t,
		Handle: func(ctx context.Context, request []byte) ([]byte, error) {
			o, err := handle(ctx, request)
			if err != nil {
				return nil, err
			}
			log.Info("service call", zap.Bool("success", o.Success), zap.String("answer", o.Message))
			return o.Encode(), nil
		},
	})
	return err
}

// commandLog returns the log of one command. Its lines are limited: any node may call, at any
// rate.
func (s *Server) commandLog(kind, name string) *zap.Logger {
	return s.log.With(loglimit.OnRequest(), zap.String(kind, "~"+name))
}
