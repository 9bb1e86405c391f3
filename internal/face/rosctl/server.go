// Package rosctl makes the commands and the status of a program available on the ROS graph:
// services and command topics under the node's name, and the status on a latched topic. It knows
// no program.
//
// Decisions: ADR 0042.
package rosctl

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/loglimit"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Options are what a Server serves, and where.
type Options struct {
	Node     *tcpros.Node
	Log      *zap.Logger // nil means none
	Commands []command.Command

	// KnownBy is the service by which clients recognize the program.
	KnownBy string
	// Status returns the state of the program and of its parts. Their names begin with that of
	// the node. Calls come one at a time.
	Status func(node string) (stamp time.Time, parts []stdmsg.DiagnosticStatus)
	// Changed returns a channel that is closed at the next change of the status which has to be
	// published at once.
	Changed func() <-chan struct{}
}

// Server serves the commands and the status of a program.
type Server struct {
	Options
	seq  uint32 // of the next status; belongs to publishStatus
	end  context.CancelFunc
	done sync.WaitGroup
}

// Serve advertises the commands, and the status as soon as the master knows one of the services.
func Serve(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	o.Log = loglimit.Logger(o.Log)
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{Options: o, end: cancel}
	if err := s.offer(); err != nil {
		cancel()
		return nil, err
	}
	// owner: Close; ends with ctx.
	s.done.Go(func() {
		s.awaitRegistration(ctx)
		s.publishStatus(ctx)
	})
	return s, nil
}

// Close publishes the last status. Services and topics end with the node.
func (s *Server) Close() {
	s.end()
	s.done.Wait()
}

// offer advertises the commands.
func (s *Server) offer() error {
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Service != "" {
			if err := s.advertise(c); err != nil {
				return err
			}
		}
		if c.Topic != "" {
			if err := s.subscribe(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// log returns the log of one command. Its lines are limited: any node may call, at any rate.
func (s *Server) log(kind, name string) *zap.Logger {
	return s.Log.With(loglimit.OnRequest(), zap.String(kind, "~"+name))
}
