package follow

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// ClockTopic is the topic that all nodes on simulated time follow.
const ClockTopic = "/clock"

// clockReport is how often the log says that there is no clock yet.
const clockReport = 3 * time.Second

// MaxClockPeriod is the longest time between two messages of the clock within which messages are
// stamped with the time at which they were due. With a slower clock stamps come closer to the time
// at which they are published.
const MaxClockPeriod = time.Second

// minClockStop is how long the clock has to stand still before that is reported.
const minClockStop = time.Second

// Clock is a clock of another node that play follows. It is the tcpros.LinkSink of each publisher of
// the clock.
type Clock struct {
	*pacing.ClockSleeper
	topic string
	log   *zap.Logger
}

// NewClock returns a clock that follows no topic.
func NewClock(log *zap.Logger) *Clock { return &Clock{pacing.NewClockSleeper(), ClockTopic, log} }

// SubscribeClock follows the topic ClockTopic, until TimeBase.End is called.
func SubscribeClock(node *tcpros.Node, log *zap.Logger) (TimeBase, error) {
	clock := NewClock(log)
	sub, err := node.Subscribe(tcpros.SubscribeOptions{
		Topic: ClockTopic, Type: stdmsg.ClockType, MD5Sum: stdmsg.ClockMD5, TCPNoDelay: true,
		Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return clock, nil },
	})
	if err != nil {
		return TimeBase{}, fmt.Errorf("clock: %w", err)
	}
	clock.topic = sub.Topic()
	return clock.TimeBase(sub.Close), nil
}

// TimeBase goes by the clock. end unsubscribes from the clock.
func (c *Clock) TimeBase(end func()) TimeBase {
	return TimeBase{c, func() time.Duration { return c.At(0) }, c, end}
}

// Topic returns the resolved name of the topic.
func (c *Clock) Topic() string { return c.topic }

// Frames implements tcpros.LinkSink.
func (c *Clock) Frames(run []byte, _ int, _ time.Time) {
	for frame := range rosbag.Frames(run) {
		if len(frame) == stdmsg.FramePrefix+stdmsg.ClockBytes {
			t := stdmsg.StampAt(frame, stdmsg.FramePrefix)
			if jump := c.Set(t.Sub(rosbag.Time{})); jump != 0 {
				c.log.Warn("the clock that play follows has jumped: play goes on where it is",
					zap.String("topic", c.topic),
					zap.Duration("by", jump), zap.Stringer("to", t))
			}
		}
	}
}

// Large implements tcpros.LinkSink. No message of a clock is large.
func (c *Clock) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (c *Clock) Closed(error) {}

// Await waits for the first message of the clock, or until ctx ends.
func (c *Clock) Await(ctx context.Context) {
	report := time.NewTicker(clockReport)
	defer report.Stop()
	for {
		select {
		case <-c.Started():
			return
		case <-report.C:
			c.log.Info("still waiting for the clock", zap.String("topic", c.topic))
		case <-ctx.Done():
			return
		}
	}
}

// StandsStill reports whether the clock stands still, or has not begun. The receiver may be nil.
func (c *Clock) StandsStill() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.Started():
		return c.Stopped() >= minClockStop
	default:
		return true
	}
}
