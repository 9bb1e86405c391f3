package rosctl

import (
	"encoding/binary"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// commandTopic is a command with a number or a text. std_srvs has no service with either, and
// the services of other packages are not installed on every machine, so a topic carries it.
type commandTopic struct {
	name    string
	typ     string
	md5     string
	payload int // bytes, or anySize
	do      func(payload []byte) (said string, err error)
}

const (
	anySize = -1 // do checks the payload

	// maxCommandBytes is the largest message that is read and then refused; a larger one
	// closes the link.
	maxCommandBytes = 64 << 10
)

// errSelf refuses our own publications: a played bag may contain recorded commands.
var errSelf = errors.New("a command of the node to itself")

// commandTopics subscribes to commands.
func (s *Server) commandTopics(commands []commandTopic) error {
	for _, c := range commands {
		log := s.commandLog("topic", c.name)
		_, err := s.node.Subscribe(tcpros.SubscribeOptions{
			Topic: "~" + c.name, Type: c.typ, MD5Sum: c.md5, TCPNoDelay: true,
			MaxMessageBytes: maxCommandBytes,
			Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
				if info.PublisherURI == s.node.URI() {
					return nil, errSelf
				}
				caller, _ := info.Header.Get("callerid")
				return &commandLink{c, log.With(zap.String("from", caller))}, nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// commandLink executes the commands of one publisher. It implements tcpros.LinkSink.
type commandLink struct {
	commandTopic
	log *zap.Logger
}

// Frames implements tcpros.LinkSink.
func (l *commandLink) Frames(run []byte, count int, _ time.Time) {
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		payload := run[4:size]
		run = run[size:]
		if l.payload != anySize && len(payload) != l.payload {
			l.log.Warn("no "+l.typ, zap.Int("bytes", len(payload)), zap.Int("expected", l.payload))
			continue
		}
		if said, err := l.do(payload); err != nil {
			l.log.Warn("command refused", zap.Error(err))
		} else {
			l.log.Info("command", zap.String("answer", said))
		}
	}
}

// Large implements tcpros.LinkSink. No command is large.
func (l *commandLink) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (l *commandLink) Closed(error) {}
