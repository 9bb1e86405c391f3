package player

import (
	"bytes"
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/player/internal/framing"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/readahead"
	"github.com/gorosbag/gorosbag/rosbag"
)

// output publishes messages and the clock, and knows the latched message of each source.
// The controller's lock guards it.
type output struct {
	plan     *plan.Plan
	topics   []*outTopic // by topic.number; nil if it is refused
	outlets  []*outlet   // by publisher.number; nil if the topic is refused
	latching []*outlet   // those that latch
	messages uint64      // published

	stamper    *stamper            // nil without Options.Stamps
	clock      func(t rosbag.Time) // publishes a time; nil without Options.Clock
	clockHeard func() bool         // whether the clock has subscribers; nil without Options.Clock
	clockAll   bool                // Options.ClockPerMessage
}

// outgoing is a message that is about to be published.
type outgoing struct {
	frame    []byte
	private  bool        // the frame is a copy that nobody else has
	recorded rosbag.Time // when it was recorded
	at       moment      // what its stamps are set by, with a stamper
	alone    bool        // it is sent at once; otherwise the links may send several frames together
}

// publish publishes a message on its topic, unless the topic is off.
func (o *output) publish(r *plan.Route, m *outgoing) {
	s := o.outletOf(r)
	if s.latching {
		s.latched = plan.Latched{Route: r, Frame: m.frame, Recorded: m.recorded}
	}
	if s.topic.off {
		return
	}
	o.send(s, m)
}

// publishLatched publishes a latched message out of its turn.
func (o *output) publishLatched(l *plan.Latched, now time.Duration) {
	m := outgoing{frame: l.Frame, recorded: l.Recorded}
	if o.stamper != nil {
		m.at = o.stamper.outOfTurn(l.Recorded, now)
	}
	o.publish(l.Route, &m)
}

// send publishes a message and counts it.
func (o *output) send(s *outlet, m *outgoing) {
	frame := m.frame
	if o.stamper != nil {
		frame = o.stamper.stamp(s.topic, m)
	}
	if m.alone {
		s.PublishNow(frame)
	} else {
		s.Publish(frame)
	}
	o.messages++
	s.topic.messages++
	s.topic.bytes += uint64(len(frame) - framing.Length)
}

// publishState publishes the state before the window, once at the start.
func (o *output) publishState(now time.Duration) {
	for i := range o.plan.Latched {
		o.publishLatched(&o.plan.Latched[i], now)
	}
}

// setLatched publishes the latched messages that are valid after a jump and unlatches the
// other sources. At the end of a pass, messages that are latched already are not repeated.
func (o *output) setLatched(j *readahead.Jump, now time.Duration) {
	valid := make(map[*outlet]bool, len(j.Latched))
	for _, l := range j.Latched {
		valid[o.outletOf(l.Route)] = true
	}
	for _, s := range o.latching {
		if !valid[s] {
			s.latched = plan.Latched{}
			s.Unlatch()
		}
	}
	for i := range j.Latched {
		l := &j.Latched[i]
		if !j.EndOfPass || !bytes.Equal(o.outletOf(l.Route).latched.Frame, l.Frame) {
			o.publishLatched(l, now)
		}
	}
}

// setTopic switches a topic off, or on again, which publishes its latched messages. It
// reports whether that changed anything.
func (o *output) setTopic(name string, on bool, now time.Duration) (changed bool, err error) {
	planned := o.plan.Topic(name)
	if planned == nil || o.topics[planned.Number] == nil {
		return false, fmt.Errorf("topic %q is not played", name)
	}
	t := o.topics[planned.Number]
	if t.off == !on {
		return false, nil
	}
	t.off = !on
	for _, s := range o.latching {
		switch {
		case s.topic != t:
		case !on:
			s.Unlatch()
		case s.latched.Frame != nil:
			o.publishLatched(&s.latched, now)
		}
	}
	return true, nil
}

// takes reports whether a message on a topic can be published now: the topic is off, or every
// subscriber has room for the message.
func (t *outTopic) takes() bool { return t.off || t.publication.Room() }

func (o *output) outletOf(r *plan.Route) *outlet { return o.outlets[r.Publisher.Number] }

// topicOf returns the topic that the messages of a route are published on.
func (o *output) topicOf(r *plan.Route) *outTopic { return o.topics[r.Topic.Number] }
