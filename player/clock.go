package player

import (
	"encoding/binary"

	"github.com/gorosbag/gorosbag/internal/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/framing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// clockTopic is relative, as in stock: a namespace applies, --prefix does not.
const clockTopic = "clock"

// clockQueue is stock's queue length: an old time is of no use.
const clockQueue = 1

// clockPublisher is the source of the clock, and its topic unless that is one of
// the bags'.
type clockPublisher struct {
	stage.Sender
	topic stage.Publication
	own   bool
}

func (c clockPublisher) close() {
	if c.own {
		c.topic.Close()
	}
}

func (c clockPublisher) heard() bool { return c.topic.Subscribers() > 0 }

// advertiseClock offers the clock topic. If the bags hold messages of that topic,
// both go out on it.
func advertiseClock(g stage.Graph, o *output) (c clockPublisher, err error) {
	name, err := g.Resolve(clockTopic)
	if err != nil {
		return c, err
	}
	if planned := o.plan.Topic(name); planned != nil && o.topics[planned.Number] != nil {
		t := o.topics[planned.Number]
		return clockPublisher{t.publication.Source(plan.PublisherID{}), t.publication, false}, nil
	}
	pub, err := g.Advertise(tcpros.AdvertiseOptions{
		Topic: clockTopic, Type: framing.ClockType, MD5Sum: framing.ClockMD5, MessageDefinition: stdmsg.ClockDefinition, QueueFrames: clockQueue,
	}, nil)
	if err != nil {
		return c, err
	}
	return clockPublisher{pub.Source(plan.PublisherID{}), pub, true}, nil
}

// clockFrames makes the frames of the clock. They may be as many as messages, so
// their memory comes in blocks. The zero value is ready.
type clockFrames struct{ block []byte }

const (
	clockFrameBytes = framing.Length + framing.ClockBytes
	clockBlockBytes = 256 * clockFrameBytes
)

// frame is the rosgraph_msgs/Clock message of t as a TCPROS frame.
func (f *clockFrames) frame(t rosbag.Time) []byte {
	if len(f.block) == 0 {
		f.block = make([]byte, clockBlockBytes)
	}
	frame := f.block[:clockFrameBytes:clockFrameBytes]
	f.block = f.block[clockFrameBytes:]
	binary.LittleEndian.PutUint32(frame[0:], 8)
	binary.LittleEndian.PutUint32(frame[4:], t.Sec)
	binary.LittleEndian.PutUint32(frame[8:], t.Nsec)
	return frame
}
