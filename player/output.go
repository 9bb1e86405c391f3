package player

import (
	"bytes"
	"fmt"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
)

// output publishes messages and the clock, and knows the latched message of each source.
// The controller's lock guards it.
type output struct {
	plan     *plan
	latching []*outlet // sources that latch
	messages uint64    // published

	stamper    *stamper            // nil without Options.Stamps
	clock      func(t bagfmt.Time) // publishes a time; nil without Options.Clock
	clockHeard func() bool         // whether the clock has subscribers; nil without Options.Clock
	clockAll   bool                // Options.ClockPerMessage
}

// outgoing is a message that is about to be published.
type outgoing struct {
	frame    []byte
	private  bool        // the frame is a copy that nobody else has
	recorded bagfmt.Time // when it was recorded
	at       moment      // what its stamps are set by, with a stamper
	alone    bool        // it is sent at once; otherwise the links may send several frames together
}

// publish publishes a message on its topic, unless the topic is off.
func (o *output) publish(r *route, m *outgoing) {
	if r.source.latching {
		r.source.latched = latchedMessage{r, m.frame, m.recorded}
	}
	if r.topic.off {
		return
	}
	o.send(r.source, m)
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
		valid[l.route.source] = true
	}
	for _, s := range o.latching {
		if !valid[s] {
			s.latched = latchedMessage{}
			s.Unlatch()
		}
	}
	for i := range j.latched {
		l := &j.latched[i]
		if !j.endOfPass || !bytes.Equal(l.route.source.latched.frame, l.frame) {
			o.publishLatched(l, now)
		}
	}
}

// setTopic switches a topic off, or on again, which publishes its latched messages. It
// reports whether that changed anything.
func (o *output) setTopic(name string, on bool, now time.Duration) (changed bool, err error) {
	t := o.plan.byName[name]
	if t == nil || t.publication == nil {
		return false, fmt.Errorf("topic %q is not played", name)
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
		case s.latched.frame != nil:
			o.publishLatched(&s.latched, now)
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
