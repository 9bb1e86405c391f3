package follow

import (
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/msgdef"
	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// maxRateMessage is the largest message that is accepted on the topic of rate control, as in
// roscpp. Only its stamp is stored.
const maxRateMessage = 1_000_000_000

// Follow subscribes to a topic, of any type that begins with a header, and reports its
// stamps to c until the node is closed.
func (c *RateControl) Follow(node *tcpros.Node, topic string, log *zap.Logger) error {
	_, err := node.Subscribe(tcpros.SubscribeOptions{
		Topic: topic, TCPNoDelay: true, MaxMessageBytes: maxRateMessage,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			_, headed := stdmsg.FirstField(msgdef.DefinitionOf(rosbag.Header(info.Header)))
			l := &rateLink{to: c, noStamp: !headed}
			if l.noStamp {
				// Stock's text.
				log.Warn("Rate control topic is bad, header is not first. MSG may be malformed.",
					zap.String("topic", info.Topic), zap.String("publisher", info.Peer))
			}
			return l, nil
		},
	})
	return err
}

// stampEnd is the offset in a frame where the stamp of its header ends: after the frame
// length, seq, sec and nsec.
const stampEnd = 4 + 4 + 8

// rateLink reports the stamps of one publisher. It implements tcpros.LinkSink.
type rateLink struct {
	to      *RateControl
	noStamp bool // its messages have no stamp
	head    [stampEnd]byte
}

// Frames implements tcpros.LinkSink. It reports the stamp of the last frame.
func (l *rateLink) Frames(run []byte, _ int, _ time.Time) { l.report(rosbag.LastFrame(run)) }

func (l *rateLink) report(frame []byte) {
	if sec, nsec, ok := stdmsg.HeaderStamp(frame[4:]); ok && !l.noStamp {
		l.to.Report(rosbag.Time{Sec: sec, Nsec: nsec})
	}
}

// Large implements tcpros.LinkSink.
func (l *rateLink) Large(int) tcpros.LargeFrame {
	if l.noStamp {
		return nil
	}
	return &largeRateFrame{link: l}
}

// Closed implements tcpros.LinkSink.
func (l *rateLink) Closed(error) {}

// largeRateFrame reads the stamp at the beginning of a large message.
type largeRateFrame struct {
	link *rateLink
	have bool
}

// Room implements tcpros.LargeFrame: it takes the stamp and discards the rest.
func (f *largeRateFrame) Room(n int) []byte {
	if f.have || n < stampEnd {
		f.Commit(time.Time{})
		return nil
	}
	f.have = true
	return f.link.head[:]
}

// Commit implements tcpros.LargeFrame.
func (f *largeRateFrame) Commit(time.Time) {
	if f.have {
		f.link.report(f.link.head[:])
	}
}

// Abort implements tcpros.LargeFrame.
func (f *largeRateFrame) Abort() {}
