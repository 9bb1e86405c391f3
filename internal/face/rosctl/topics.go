package rosctl

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/aler9/goroslib/pkg/msgs/std_msgs"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/face/command"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// maxCommandBytes is the largest message that is read; a larger message closes the link.
const maxCommandBytes = 64 << 10

// message is the message that carries a parameter. std_srvs has no service with a number or a
// text, and the services of other packages are not installed on every machine, so topics carry
// such commands.
type message struct {
	typ, md5 string
	decode   func(payload []byte) (any, error)
}

// messageOf returns the message whose field has the type of a parameter.
func messageOf[M any](typ string, value func(*M) any) message {
	var m M
	return message{typ, stdmsg.MD5Sum(m), func(payload []byte) (any, error) {
		var m M
		if err := stdmsg.Decode(payload, &m); err != nil {
			return nil, err
		}
		return value(&m), nil
	}}
}

// messages are the messages for the types of parameters. No topic carries a bool: services do.
var messages = map[command.Type]message{
	command.Number: messageOf("std_msgs/Float64", func(m *std_msgs.Float64) any { return m.Data }),
	command.Count: messageOf("std_msgs/UInt32",
		func(m *std_msgs.UInt32) any { return int(min(m.Data, math.MaxInt32)) }),
	command.Time: messageOf("std_msgs/Time", func(m *std_msgs.Time) any { return rosbag.TimeOf(m.Data) }),
	command.Text: messageOf("std_msgs/String", func(m *std_msgs.String) any { return m.Data }),
}

// errSelf refuses our own publications: a played bag may contain recorded commands.
var errSelf = errors.New("a command of the node to itself")

// subscribe subscribes to the topic of a command.
func (s *Server) subscribe(c *command.Command) error {
	log := s.log("topic", c.Topic)
	m := messages[c.Params[0].Kind]
	_, err := s.Node.Subscribe(tcpros.SubscribeOptions{
		Topic: "~" + c.Topic, Type: m.typ, MD5Sum: m.md5, TCPNoDelay: true,
		MaxMessageBytes: maxCommandBytes,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			if info.PublisherURI == s.Node.URI() {
				return nil, errSelf
			}
			caller, _ := info.Header.Get("callerid")
			return &commandLink{c, m, log.With(zap.String("from", caller))}, nil
		},
	})
	return err
}

// commandLink carries out the commands of one publisher. It implements tcpros.LinkSink.
type commandLink struct {
	command *command.Command
	message message
	log     *zap.Logger
}

// Frames implements tcpros.LinkSink.
func (l *commandLink) Frames(run []byte, count int, _ time.Time) {
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		l.do(run[4:size])
		run = run[size:]
	}
}

// do carries out the command that one message carries.
func (l *commandLink) do(payload []byte) {
	v, err := l.message.decode(payload)
	if err != nil {
		l.log.Warn("no "+l.message.typ, zap.Error(err))
		return
	}
	// A link has no context: it ends with its connection.
	result, err := l.command.Run(context.Background(), command.Params{l.command.Params[0].Name: v})
	if err != nil {
		l.log.Warn("command refused", zap.Error(err))
		return
	}
	l.log.Info("command", zap.String("answer", result.Text))
}

// Large implements tcpros.LinkSink. No command is large.
func (l *commandLink) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (l *commandLink) Closed(error) {}
