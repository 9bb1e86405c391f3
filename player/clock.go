package player

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/aler9/goroslib/pkg/msgproc"
	"github.com/aler9/goroslib/pkg/msgs/rosgraph_msgs"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// clockTopic is relative, as in stock: a namespace applies, --prefix does not.
const clockTopic = "clock"

// clockQueue is stock's queue length: an old time is of no use to anybody.
const clockQueue = 1

// clockPublisher is the source of the clock, and its topic unless that is one of
// the bags'.
type clockPublisher struct {
	publisher
	own publication
}

func (c clockPublisher) close() {
	if c.own != nil {
		c.own.Close()
	}
}

// advertiseClock offers the clock topic. If the bags hold messages of that topic,
// both go out on it.
func advertiseClock(g graph, p *plan) (c clockPublisher, err error) {
	name, err := g.Resolve(clockTopic)
	if err != nil {
		return c, err
	}
	if t := p.topic(name); t != nil && t.publication != nil {
		return clockPublisher{publisher: t.publication.Source(false)}, nil
	}
	msg := rosgraph_msgs.Clock{}
	typ, err := msgproc.Type(msg)
	if err != nil {
		return c, err
	}
	md5, err := msgproc.MD5(msg)
	if err != nil {
		return c, err
	}
	definition, err := msgproc.Definition(msg)
	if err != nil {
		return c, err
	}
	pub, err := g.Advertise(tcpros.AdvertiseOptions{
		Topic: clockTopic, Type: typ, MD5Sum: md5, MessageDefinition: definition, QueueFrames: clockQueue,
	})
	if err != nil {
		return c, err
	}
	return clockPublisher{pub.Source(false), pub}, nil
}

// clockFrame is the rosgraph_msgs/Clock message of t as a TCPROS frame.
func clockFrame(t bagfmt.Time) []byte {
	frame := make([]byte, 12)
	binary.LittleEndian.PutUint32(frame[0:], 8)
	binary.LittleEndian.PutUint32(frame[4:], t.Sec)
	binary.LittleEndian.PutUint32(frame[8:], t.Nsec)
	return frame
}

// runClock publishes the clock at hz, by the wall, until ctx ends. It does not
// depend on the pacer: the clock goes on, at the time that play has reached, also
// while play waits for the disk or is behind.
func (h *playhead) runClock(ctx context.Context, hz float64) {
	period := time.Duration(float64(time.Second) / hz)
	next := time.Now().Add(period)
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		h.mu.Lock()
		h.tick()
		h.mu.Unlock()
		next = next.Add(period)
		if late := time.Since(next); late > 0 {
			next = next.Add(late.Truncate(period)) // after a stall no burst of ticks
		}
		timer.Reset(time.Until(next))
	}
}
