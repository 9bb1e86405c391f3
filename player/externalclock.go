package player

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/player/internal/framing"
	"github.com/gorosbag/gorosbag/player/internal/pacing"
	"github.com/gorosbag/gorosbag/tcpros"
)

// externalClockTopic is the one that all nodes on simulated time follow.
const externalClockTopic = "/clock"

// clockReport is how often the log says that there is no clock yet.
const clockReport = 3 * time.Second

// externalClock is a clock of another node that play follows, for StampsClock. It is the
// tcpros.LinkSink of each publisher of the clock.
type externalClock struct {
	*pacing.ClockSleeper
	topic string
	log   *zap.Logger
}

// timeBase is what play takes its time from.
type timeBase struct {
	pacing.Sleeper
	stamps   stampClock     // nil if stamps stay as they were recorded
	external *externalClock // nil unless play follows it
	end      func()
}

// newTimeBase returns what play with these options takes its time from. The caller has to
// call end.
func newTimeBase(o *Options) (timeBase, error) {
	if o.Stamps == StampsClock {
		clock := newExternalClock(o.Log)
		sub, err := o.Node.Subscribe(tcpros.SubscribeOptions{
			Topic: externalClockTopic, Type: clockType, MD5Sum: framing.ClockMD5, TCPNoDelay: true,
			Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return clock, nil },
		})
		if err != nil {
			return timeBase{}, fmt.Errorf("clock: %w", err)
		}
		clock.topic = sub.Topic()
		return clock.timeBase(sub.Close), nil
	}
	s := pacing.NewSleeper(o.Log)
	return internalTime(o, s), nil
}

// internalTime goes by the clocks of this machine.
func internalTime(o *Options, s pacing.Sleeper) timeBase {
	t := timeBase{Sleeper: s, end: s.Close}
	if o.Stamps == StampsNow {
		wall := wallClock{start: time.Now(), zero: s.Now()}
		t.stamps = wall.sinceEpoch
	}
	return t
}

func newExternalClock(log *zap.Logger) *externalClock {
	return &externalClock{pacing.NewClockSleeper(), externalClockTopic, log}
}

// timeBase goes by the clock. end unsubscribes.
func (c *externalClock) timeBase(end func()) timeBase {
	return timeBase{c, func() time.Duration { return c.At(0) }, c, end}
}

// Frames implements tcpros.LinkSink.
func (c *externalClock) Frames(run []byte, count int, _ time.Time) {
	for range count {
		end := framing.Length + int(binary.LittleEndian.Uint32(run))
		if end == framing.Length+framing.ClockBytes {
			t := framing.StampAt(run, framing.Length)
			if jump := c.Set(t.Sub(epoch)); jump != 0 {
				c.log.Warn("the clock that play follows has jumped: play goes on where it is", zap.String("topic", c.topic),
					zap.Duration("by", jump), zap.Stringer("to", t))
			}
		}
		run = run[end:]
	}
}

// Large implements tcpros.LinkSink. No message of a clock is large.
func (c *externalClock) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (c *externalClock) Closed(error) {}

// await waits for the first message of the clock, or until ctx ends.
func (c *externalClock) await(ctx context.Context) {
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

// maxClockPeriod is the longest time between two messages of the clock within which messages
// are stamped with the time at which they were due. With a slower clock stamps come closer
// to the time at which they are published.
const maxClockPeriod = time.Second

// minClockStop is how long the clock has to stand still before that is reported.
const minClockStop = time.Second

// stopped reports whether the clock stands still, or has not begun. The receiver may be nil.
func (c *externalClock) stopped() bool {
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
