// Package output is what subscribers see of play: messages with their stamps, the latched message of
// each original publisher, and the clock.
//
// An Output has no lock. The lock of play guards it: nothing is published once a pause has returned,
// and no value of the clock overtakes a message. Its methods do not block.
//
// Decisions: ADR 0016.
package output

import (
	"bytes"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/stdmsg"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/transport"
	"github.com/gorosbag/gorosbag/player/internal/wanted"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Options says what is published, and how.
type Options struct {
	Plan            *plan.Plan
	Head            *transport.Head // where play is
	ClockPerMessage bool            // as in the options of play
	// Stamps is the clock that messages are stamped by, see follow.TimeBase; nil keeps their stamps.
	Stamps func() time.Duration
	// MaxLate is the longest lateness that stamps hide: a message that is late by less is stamped as if
	// it were published in time.
	MaxLate time.Duration
	Viewers Viewers             // nil for none
	Reuse   func(memory []byte) // gets what Done was told of; nil leaves it to the garbage collector
	Wanted  *wanted.Desk
	Log     *zap.Logger
}

// Viewers are shown what is played, besides the subscribers. The methods are called under the lock of
// play, and must not wait.
type Viewers interface {
	// Open is called with the topics of the plan that are published.
	Open(p *plan.Plan, topics []*plan.Topic)
	// Show shows a message that was recorded at a time. The frame may change after the call.
	Show(t *plan.Topic, recorded rosbag.Time, frame []byte)
	// Jumped is called when play continues at another time in the bags. What is shown from now on is
	// valid there.
	Jumped(to rosbag.Time)
	// Switched is called when a topic is published again, or is no longer published.
	Switched(t *plan.Topic, off bool)
}

// Output publishes messages and the clock. Use New and Advertise.
type Output struct {
	plan     *plan.Plan
	head     *transport.Head
	topics   []*Topic  // by the number of the topic in the plan; nil if it is refused
	outlets  []*outlet // by the number of the publisher in the plan; nil if its topic is refused
	latching []*outlet // outlets of publishers that latch
	messages uint64    // published

	stamper  *stamper        // nil if stamps stay as they were recorded
	clock    *clockPublisher // nil without AdvertiseClock
	clockAll bool            // Options.ClockPerMessage
	viewers  Viewers         // nil for none
	wanted   *wanted.Desk

	used  []used
	reuse func(memory []byte)
}

// New returns an output that has advertised nothing yet.
func New(o Options) *Output {
	out := &Output{
		plan: o.Plan, head: o.Head, clockAll: o.ClockPerMessage, viewers: o.Viewers, wanted: o.Wanted,
		reuse: o.Reuse,
	}
	if o.Stamps != nil {
		out.stamper = &stamper{clock: o.Stamps, head: o.Head, maxLate: o.MaxLate, log: o.Log}
	}
	return out
}

// Message is a message that is about to be published.
type Message struct {
	Frame    []byte
	Private  bool        // the frame is a copy that nobody else has
	Recorded rosbag.Time // when it was recorded
	At       Moment      // when the message is due; its stamps are set by this moment
	Alone    bool        // send the frame at once; otherwise links may send several frames together
}

// Moment ties the time lines of bags and graph together: the position Pos is due at the time Due of
// the sleeper.
type Moment struct{ Pos, Due time.Duration }

// OnSchedule sets the moment of a message that has a deadline. late is how late the message is.
func (o *Output) OnSchedule(m *Message, late time.Duration) {
	if o.stamper != nil {
		m.At = o.stamper.onSchedule(late)
	}
}

// Jumped is called after play has moved to another position.
func (o *Output) Jumped(now time.Duration) {
	if s := o.stamper; s != nil {
		s.reached = s.at(now)
	}
}

// Reached returns the time of the last published message, or of the jump after it, as
// subscribers see it in stamps.
func (o *Output) Reached() rosbag.Time {
	if s := o.stamper; s != nil {
		return s.reached
	}
	return o.head.Reached()
}

// Messages returns how many messages were published.
func (o *Output) Messages() uint64 { return o.messages }

// Publish publishes a message on its topic, unless the topic is off.
func (o *Output) Publish(r *plan.Route, m *Message) {
	s := o.outletOf(r)
	if s.latching {
		s.latched = plan.Latched{Route: r, Frame: m.Frame, Recorded: m.Recorded}
	}
	if s.topic.off {
		return
	}
	if o.viewers != nil {
		o.viewers.Show(r.Topic, m.Recorded, m.Frame) // first: send may set the stamps in the frame
	}
	o.send(s, m)
}

// publishLatched publishes a latched message out of its turn.
func (o *Output) publishLatched(l *plan.Latched, now time.Duration) {
	m := Message{Frame: l.Frame, Recorded: l.Recorded}
	if o.stamper != nil {
		m.At = o.stamper.outOfTurn(l.Recorded, now)
	}
	o.Publish(l.Route, &m)
}

// send publishes a message and counts it.
func (o *Output) send(s *outlet, m *Message) {
	frame := m.Frame
	if o.stamper != nil {
		frame = o.stamper.stamp(s.topic, m)
	}
	if m.Alone {
		s.PublishNow(frame)
	} else {
		s.Publish(frame)
	}
	o.messages++
	s.topic.messages++
	s.topic.bytes += uint64(len(frame) - stdmsg.FramePrefix)
}

// PublishState publishes the state before the window, once at the start.
func (o *Output) PublishState(now time.Duration) {
	for i := range o.plan.Latched {
		o.publishLatched(&o.plan.Latched[i], now)
	}
}

// SetLatched tells viewers of a jump, publishes the latched messages that are valid after the jump,
// and unlatches the other sources. At the end of a pass, messages that are latched already are not
// published again, but only shown to viewers.
func (o *Output) SetLatched(latched []plan.Latched, endOfPass bool, now time.Duration) {
	if o.viewers != nil {
		zero, length := o.head.Span()
		o.viewers.Jumped(zero.Add(min(o.head.Position(now), length)))
	}
	valid := make(map[*outlet]bool, len(latched))
	for _, l := range latched {
		valid[o.outletOf(l.Route)] = true
	}
	for _, s := range o.latching {
		if !valid[s] {
			s.latched = plan.Latched{}
			s.Unlatch()
		}
	}
	for i := range latched {
		l := &latched[i]
		s := o.outletOf(l.Route)
		switch {
		case !endOfPass || !bytes.Equal(s.latched.Frame, l.Frame):
			o.publishLatched(l, now)
		case o.viewers != nil && !s.topic.off:
			o.viewers.Show(l.Route.Topic, l.Recorded, l.Frame) // viewers drop at a jump what subscribers keep
		}
	}
}

// SetTopic switches a topic off, or on again. Switching a topic on publishes its latched messages.
// SetTopic reports whether the topic has changed.
func (o *Output) SetTopic(name topicname.InGraph, on bool, now time.Duration) (changed bool, err error) {
	planned := o.plan.Topic(name)
	if planned == nil || o.topics[planned.Number] == nil {
		return false, fmt.Errorf("topic %q is not played", name)
	}
	t := o.topics[planned.Number]
	if t.off == !on {
		return false, nil
	}
	t.off = !on
	if o.viewers != nil {
		o.viewers.Switched(planned, !on)
	}
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

func (o *Output) outletOf(r *plan.Route) *outlet { return o.outlets[r.Publisher.Number] }
