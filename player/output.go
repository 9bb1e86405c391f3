package player

import (
	"bytes"
	"fmt"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// output publishes messages and the clock, and knows the latched message of each source.
// The controller's lock guards it.
type output struct {
	plan     *plan
	latching []*source // sources that latch
	messages uint64    // published

	clock      func(t bagfmt.Time) // publishes a time; nil without Options.Clock
	clockHeard func() bool         // whether the clock has subscribers; nil without Options.Clock
	clockAll   bool                // Options.ClockPerMessage
}

// publish publishes a frame on its topic, unless the topic is off. With alone the frame is
// sent at once; otherwise the links may send several frames together.
func (o *output) publish(r *route, frame []byte, alone bool) {
	if r.source.latching {
		r.source.latchedFrame = frame
	}
	if r.topic.off {
		return
	}
	r.source.send(frame, alone)
	o.messages++
}

// send publishes a frame and counts it.
func (s *source) send(frame []byte, alone bool) {
	if alone {
		s.PublishNow(frame)
	} else {
		s.Publish(frame)
	}
	s.topic.messages++
	s.topic.bytes += uint64(len(frame) - 4)
}

// publishLatched publishes the state before the window, once at the start.
func (o *output) publishLatched() {
	for _, l := range o.plan.latched {
		o.publish(l.route, l.frame, false)
	}
}

// setLatched publishes the latched messages that are valid after a jump and unlatches the
// other sources. At the end of a pass, messages that are latched already are not repeated.
func (o *output) setLatched(j *jump) {
	valid := make(map[*source]bool, len(j.latched))
	for _, l := range j.latched {
		valid[l.route.source] = true
	}
	for _, s := range o.latching {
		if !valid[s] {
			s.latchedFrame = nil
			s.Unlatch()
		}
	}
	for _, l := range j.latched {
		if !j.endOfPass || !bytes.Equal(l.route.source.latchedFrame, l.frame) {
			o.publish(l.route, l.frame, false)
		}
	}
}

// setTopic switches a topic off, or on again, which publishes its latched messages. It
// reports whether that changed anything.
func (o *output) setTopic(name string, on bool) (changed bool, err error) {
	t := o.plan.byName[name]
	if t == nil || t.publication == nil {
		return false, fmt.Errorf("player: topic %q is not played", name)
	}
	if t.off == !on {
		return false, nil
	}
	t.off = !on
	for _, s := range o.latching {
		switch {
		case s.topic != t:
		case !on:
			s.Unlatch()
		case s.latchedFrame != nil:
			s.send(s.latchedFrame, false)
			o.messages++
		}
	}
	return true, nil
}

// hasRoom reports whether every subscriber of a topic can take another message.
func (t *topic) hasRoom() bool {
	return t.publication == nil || t.publication.Room()
}

// notReading returns the subscribers of a topic that are full.
func notReading(t *topic, subscribers []tcpros.SubscriberStats) (names []string) {
	for _, s := range subscribers {
		if s.Full {
			names = append(names, s.CallerID+" of "+t.name)
		}
	}
	return names
}
