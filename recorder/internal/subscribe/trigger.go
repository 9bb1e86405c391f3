package subscribe

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TriggerTopic is the topic of the trigger, relative as stock's.
const TriggerTopic = "snapshot_trigger"

// The type of the trigger.
const (
	triggerType = "std_msgs/Empty"
	triggerMD5  = "d41d8cd98f00b204e9800998ecf8427e"
)

// Trigger is a topic each of whose messages begins a snapshot, as in stock. The topic is also recorded if the user
// has selected it.
type Trigger struct {
	topic   string               // resolved
	sub     *tcpros.Subscription // nil if the topic is recorded, and so has a subscription
	mu      sync.Mutex           // held while messages are put into waiting
	waiting chan Messages        // has room for one: all messages that wait for an answer
}

// Messages are messages of the trigger that are answered together.
type Messages struct {
	First, Last time.Time // when the first and the last one were received
	Count       int
}

// newTrigger returns a trigger without a subscription.
func newTrigger(topic string) *Trigger {
	return &Trigger{topic: topic, waiting: make(chan Messages, 1)}
}

// Listen subscribes to the trigger, whose resolved name is name. selects reports whether a topic with a type is
// recorded.
func (s *Set) Listen(name string, selects func(topic, typ string) bool) (*Trigger, error) {
	t := newTrigger(name)
	s.trigger = t
	s.known[name] = true
	switch {
	case s.IsNamed(name):
		return t, s.Add(name, Named, time.Time{})
	case selects(name, triggerType): // the topic is in the summary once it has a publisher
		sub := &subscription{name: name, topic: s.links.NewTopic(name)}
		if err := s.receive(name, Named, sub); err != nil {
			return t, err
		}
		s.subs[name] = sub
		return t, nil
	}
	var err error
	t.sub, err = s.Node.Subscribe(tcpros.SubscribeOptions{
		Topic: TriggerTopic, Type: triggerType, MD5Sum: triggerMD5,
		Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return &triggerLink{ignore{}, t}, nil },
	})
	return t, err
}

// withTrigger returns a sink that begins a snapshot with each message, if the topic is the trigger and is recorded.
// Otherwise it returns sink.
func (s *Set) withTrigger(topic string, sub *subscription, info tcpros.LinkInfo, sink tcpros.LinkSink) tcpros.LinkSink {
	t := s.trigger
	if t == nil || topic != t.topic {
		return sink
	}
	s.links.EnsureListed(sub.topic)
	if rosbag.Header(info.Header).Type() != triggerType {
		return sink
	}
	return &triggerLink{sink, t}
}

// triggerLink hands messages on, and fires the trigger.
type triggerLink struct {
	tcpros.LinkSink
	trigger *Trigger
}

// Frames implements tcpros.LinkSink.
func (l *triggerLink) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	l.trigger.fire(count, received)
}

// fire adds messages to those that wait.
func (t *Trigger) fire(count int, received time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := Messages{received, received, count}
	select {
	case earlier := <-t.waiting:
		m.First, m.Count = earlier.First, earlier.Count+count
		if earlier.Last.After(received) {
			m.Last = earlier.Last
		}
	default:
	}
	t.waiting <- m // does not block: there is room, and nobody else puts messages
}

// ignore is the sink of a trigger that is not recorded.
type ignore struct{}

// Frames implements tcpros.LinkSink.
func (ignore) Frames([]byte, int, time.Time) {}

// Large implements tcpros.LinkSink. A std_msgs/Empty is never large.
func (ignore) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (ignore) Closed(error) {}

// Answer begins snapshots until ctx is done: for messages it calls begin, which begins a snapshot or extends the present
// one. Meanwhile, further messages wait. When ctx is done, Answer passes the number of messages that still wait to count.
func (t *Trigger) Answer(ctx context.Context, log *zap.Logger, begin func(Messages) error, count func(messages int)) {
	var reported loss.Reported
	failed := uint64(0)
	for ctx.Err() == nil {
		select {
		case m := <-t.waiting:
			err := begin(m)
			if err == nil {
				continue
			}
			failed += uint64(m.Count)
			if n := reported.Growth(failed, m.Last); n > 0 {
				log.Error("no snapshot", zap.String("trigger", t.topic), zap.Uint64("times", n), zap.Error(err))
			}
		case <-ctx.Done():
		}
	}
	select {
	case m := <-t.waiting:
		count(m.Count)
	default:
	}
}

// close ends the subscription of a trigger that is not recorded. The Trigger may be nil.
func (t *Trigger) close() {
	if t != nil && t.sub != nil {
		t.sub.Close()
	}
}
