package rosctl

import (
	"encoding/binary"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// number is a command with a number. std_srvs has no service with a number, and the services
// of other packages are not installed on every machine, so the number is sent on a topic.
type number struct {
	name    string
	typ     string
	md5     string
	payload int // bytes
	do      func(payload []byte) (said string, err error)
}

// maxNumber is the largest message that is read and then refused; a larger one closes the
// link.
const maxNumber = 64 << 10

// errSelf refuses our own publications: a played bag may contain recorded commands.
var errSelf = errors.New("rosctl: a command of the node to itself")

// numbers subscribes to commands.
func (s *Server) numbers(commands []number) error {
	for _, c := range commands {
		log := s.limited("topic", c.name)
		_, err := s.node.Subscribe(tcpros.SubscribeOptions{
			Topic: "~" + c.name, Type: c.typ, MD5Sum: c.md5, TCPNoDelay: true,
			MaxMessageBytes: maxNumber,
			Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
				if info.PublisherURI == s.node.URI() {
					return nil, errSelf
				}
				caller, _ := info.Header.Get("callerid")
				return &numberLink{c, log.With(zap.String("from", caller))}, nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// numberLink executes the commands of one publisher. It implements tcpros.LinkSink.
type numberLink struct {
	number
	log *zap.Logger
}

// Frames implements tcpros.LinkSink.
func (l *numberLink) Frames(run []byte, count int, _ time.Time) {
	for range count {
		size := 4 + int(binary.LittleEndian.Uint32(run))
		payload := run[4:size]
		run = run[size:]
		if len(payload) != l.payload {
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

// Large implements tcpros.LinkSink. No number is large.
func (l *numberLink) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (l *numberLink) Closed(error) {}
