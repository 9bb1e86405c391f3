package output

import (
	"encoding/binary"
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/stage"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ClockTopic is relative, as in stock: a namespace applies, --prefix does not.
const ClockTopic = "clock"

// clockQueue is stock's queue length: an old time is of no use.
const clockQueue = 1

// clockPublisher publishes the clock.
type clockPublisher struct {
	source stage.Sender
	topic  stage.Publication
	own    bool // the bags do not have the topic
	flood  bool // there are as many values as messages: links may send several together
	frames clockFrames
}

func (c *clockPublisher) publish(t rosbag.Time) {
	if c.flood {
		c.source.Publish(c.frames.frame(t))
	} else {
		c.source.PublishNow(c.frames.frame(t))
	}
}

func (c *clockPublisher) heard() bool { return c.topic.Subscribers() > 0 }

func (c *clockPublisher) close() {
	if c.own {
		c.topic.Close()
	}
}

// AdvertiseClock advertises the topic of the clock. If the bags have that topic, too, and it is selected
// by name, both are published on it. With flood, play does not wait for time, and publishes the clock as
// often as messages.
func (o *Output) AdvertiseClock(g stage.Graph, flood bool) error {
	c := &clockPublisher{flood: flood}
	name, err := g.Resolve(ClockTopic)
	if err != nil {
		return err
	}
	if planned := o.plan.Topic(topicname.InGraph(name)); planned != nil && o.topics[planned.Number] != nil {
		c.topic = o.topics[planned.Number].publication
	} else {
		c.own = true
		if c.topic, err = g.Advertise(tcpros.AdvertiseOptions{
			Topic: ClockTopic, Type: stdmsg.ClockType, MD5Sum: stdmsg.ClockMD5,
			MessageDefinition: stdmsg.ClockDefinition, QueueFrames: clockQueue,
		}, nil); err != nil {
			return err
		}
	}
	c.source = c.topic.Source(plan.PublisherID{})
	o.clock = c
	return nil
}

// WantsClock reports whether the clock has to be published before a message at a position: a node on
// simulated time must not receive a message from its future.
func (o *Output) WantsClock(pos time.Duration) bool { return o.clock != nil && o.clockIsBefore(pos) }

func (o *Output) clockIsBefore(pos time.Duration) bool {
	return o.clockAll || o.head.ClockIsBefore(pos) && o.clock.heard()
}

// Tick publishes the clock, if there is one and play has begun.
func (o *Output) Tick(now time.Duration) {
	if o.clock != nil {
		o.publishClock(now)
	}
}

func (o *Output) publishClock(now time.Duration) {
	t, ok := o.head.Clock(now)
	if !ok {
		return
	}
	if s := o.stamper; s != nil {
		t = s.at(now)
	}
	o.clock.publish(t)
}

// clockFrames makes the frames of the clock. There may be as many as messages, so their memory comes in
// blocks. The zero value is ready.
type clockFrames struct{ block []byte }

const (
	clockFrameBytes = stdmsg.FramePrefix + stdmsg.ClockBytes
	clockBlockBytes = 256 * clockFrameBytes
)

// frame is the rosgraph_msgs/Clock message of t as a TCPROS frame.
func (f *clockFrames) frame(t rosbag.Time) []byte {
	if len(f.block) == 0 {
		f.block = make([]byte, clockBlockBytes)
	}
	frame := f.block[:clockFrameBytes:clockFrameBytes]
	f.block = f.block[clockFrameBytes:]
	binary.LittleEndian.PutUint32(frame, stdmsg.ClockBytes)
	stdmsg.SetStamp(frame, stdmsg.FramePrefix, t)
	return frame
}
