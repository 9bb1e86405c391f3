package rosctl

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/tcpros"
)

// advertise advertises the service of a command. Calls that only query are not logged.
func (s *Server) advertise(c *command.Command) error {
	log := s.log("service", c.Service)
	if c.Query {
		log = zap.NewNop()
	}
	_, err := s.Node.AdvertiseService(tcpros.ServiceOptions{
		Name: "~" + c.Service, Type: serviceType(c),
		Handle: func(ctx context.Context, request []byte) ([]byte, error) {
			given := command.Params{}
			if c.Switch() {
				on, err := stdmsg.DecodeBool(request)
				if err != nil {
					return nil, err
				}
				given[c.Params[0].Name] = on
			} else if err := stdmsg.DecodeTrigger(request); err != nil {
				return nil, err
			}
			o := call(ctx, c, given)
			log.Info("service call", zap.Bool("success", o.Success), zap.String("answer", o.Message))
			return o.Encode(), nil
		},
	})
	return err
}

// serviceType returns the type of the service of a command.
func serviceType(c *command.Command) tcpros.ServiceType {
	if c.Switch() {
		return tcpros.SetBoolService
	}
	return tcpros.TriggerService
}

// call carries out a command for a service.
func call(ctx context.Context, c *command.Command, given command.Params) stdmsg.Outcome {
	if !c.Patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, command.Patience)
		defer cancel()
	}
	result, err := c.Run(ctx, given)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return stdmsg.Outcome{Message: fmt.Sprintf("not done within %v: it will be, after the messages that wait for the disk", command.Patience)}
	case err != nil:
		return stdmsg.Outcome{Message: err.Error()}
	}
	return stdmsg.Outcome{Success: true, Message: result.Text}
}
