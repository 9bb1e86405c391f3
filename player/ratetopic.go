package player

import (
	"encoding/binary"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/internal/msgheader"
	"github.com/gorosbag/gorosbag/tcpros"
)

// maxRateMessage is the largest message that is taken on the topic of rate control, as in
// roscpp. Only its stamp is kept.
const maxRateMessage = 1_000_000_000

// Follow makes the stamps of a topic, of any type that begins with a header, be reported
// to c, until the node is closed.
func (c *RateControl) Follow(node *tcpros.Node, topic string, log *zap.Logger) error {
	_, err := node.Subscribe(tcpros.SubscribeOptions{
		Topic: topic, TCPNoDelay: true, MaxMessageBytes: maxRateMessage,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			definition, _ := info.Header.Get("message_definition")
			_, headed := msgheader.First(definition)
			l := &rateLink{to: c, bad: !headed}
			if l.bad {
				// Stock's text.
				log.Warn("Rate control topic is bad, header is not first. MSG may be malformed.",
					zap.String("topic", info.Topic), zap.String("publisher", info.Peer))
			}
			return l, nil
		},
	})
	return err
}

// stampEnd is where the stamp of a header ends that a frame begins with: behind the
// length, seq, and its two halves.
const stampEnd = 4 + 4 + 8

// rateLink takes the stamps of one publisher. It implements tcpros.LinkSink.
type rateLink struct {
	to   *RateControl
	bad  bool // its messages have no stamp
	head [stampEnd]byte
}

// Frames implements tcpros.LinkSink. The last of several is the one that counts.
func (l *rateLink) Frames(run []byte, count int, _ time.Time) {
	for range count - 1 {
		run = run[4+int(binary.LittleEndian.Uint32(run)):]
	}
	l.report(run)
}

func (l *rateLink) report(frame []byte) {
	if sec, nsec, ok := msgheader.Stamp(frame[4:]); ok && !l.bad {
		l.to.Report(bagfmt.Time{Sec: sec, Nsec: nsec})
	}
}

// Large implements tcpros.LinkSink.
func (l *rateLink) Large(int) tcpros.LargeFrame {
	if l.bad {
		return nil
	}
	return &largeRate{link: l}
}

// Closed implements tcpros.LinkSink.
func (l *rateLink) Closed(error) {}

// largeRate takes the beginning of a large message.
type largeRate struct {
	link *rateLink
	have bool
}

// Room implements tcpros.LargeFrame: when the stamp is there, the rest is of no use.
func (f *largeRate) Room(n int) []byte {
	if f.have || n < stampEnd {
		f.Commit(time.Time{})
		return nil
	}
	f.have = true
	return f.link.head[:]
}

// Commit implements tcpros.LargeFrame.
func (f *largeRate) Commit(time.Time) {
	if f.have {
		f.link.report(f.link.head[:])
	}
}

// Abort implements tcpros.LargeFrame.
func (f *largeRate) Abort() {}
