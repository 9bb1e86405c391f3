package player

import (
	"bytes"
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// output publishes messages and the clock, and knows the latched message of each source.
// The controller's lock guards it.
type output struct {
	plan     *plan
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
func (o *output) publish(r *route, m *outgoing) {
	s := o.outletOf(r)
	if s.latching {
		s.latched = latchedMessage{r, m.frame, m.recorded}
	}
	if s.topic.off {
		return
	}
	o.send(s, m)
}

// publishLatched publishes a latched message out of its turn.
func (o *output) publishLatched(l *latchedMessage, now time.Duration) {
	m := outgoing{frame: l.frame, recorded: l.recorded}
	if o.stamper != nil {
		m.at = o.stamper.outOfTurn(l.recorded, now)
	}
	o.publish(l.route, &m)
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
	s.topic.bytes += uint64(len(frame) - frameLength)
}

// publishState publishes the state before the window, once at the start.
func (o *output) publishState(now time.Duration) {
	for i := range o.plan.latched {
		o.publishLatched(&o.plan.latched[i], now)
	}
}

// setLatched publishes the latched messages that are valid after a jump and unlatches the
// other sources. At the end of a pass, messages that are latched already are not repeated.
func (o *output) setLatched(j *jump, now time.Duration) {
	valid := make(map[*outlet]bool, len(j.latched))
	for _, l := range j.latched {
		valid[o.outletOf(l.route)] = true
	}
	for _, s := range o.latching {
		if !valid[s] {
			s.latched = latchedMessage{}
			s.Unlatch()
		}
	}
	for i := range j.latched {
		l := &j.latched[i]
		if !j.endOfPass || !bytes.Equal(o.outletOf(l.route).latched.frame, l.frame) {
			o.publishLatched(l, now)
		}
	}
}

// setTopic switches a topic off, or on again, which publishes its latched messages. It
// reports whether that changed anything.
func (o *output) setTopic(name string, on bool, now time.Duration) (changed bool, err error) {
	planned := o.plan.byName[name]
	if planned == nil || o.topics[planned.number] == nil {
		return false, fmt.Errorf("topic %q is not played", name)
	}
	t := o.topics[planned.number]
	if t.off == !on {
		return false, nil
	}
	t.off = !on
	for _, s := range o.latching {
		switch {
		case s.topic != t:
		case !on:
			s.Unlatch()
		case s.latched.frame != nil:
			o.publishLatched(&s.latched, now)
		}
	}
	return true, nil
}

// takes reports whether a message on a topic can be published now: the topic is off, or every
// subscriber has room for the message.
func (t *outTopic) takes() bool { return t.off || t.publication.Room() }

func (o *output) outletOf(r *route) *outlet { return o.outlets[r.publisher.number] }

// topicOf returns the topic that the messages of a route are published on.
func (o *output) topicOf(r *route) *outTopic { return o.topics[r.topic.number] }

// notReading returns the subscribers of a topic that are full.
func notReading(t *outTopic, subscribers []tcpros.SubscriberStats) (names []string) {
	for _, s := range subscribers {
		if s.Full {
			names = append(names, s.CallerID+" of "+t.name)
		}
	}
	return names
}
