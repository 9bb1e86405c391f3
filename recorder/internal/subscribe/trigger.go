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
	topic string               // resolved
	sub   *tcpros.Subscription // nil if the topic is recorded, and so has a subscription
	fired chan struct{}        // holds a token while messages wait for an answer

	mu          sync.Mutex
	first, last time.Time // when the first and the last message that wait were received
	waiting     int       // number of messages that wait for an answer
}

// Listen subscribes to the trigger, whose resolved name is name. selects reports whether a topic with a type is
// recorded.
func (s *Set) Listen(name string, selects func(topic, typ string) bool) (*Trigger, error) {
	t := &Trigger{topic: name, fired: make(chan struct{}, 1)}
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

// fire adds messages to those that wait. All messages that wait are answered together.
func (t *Trigger) fire(count int, received time.Time) {
	t.mu.Lock()
	if t.waiting == 0 {
		t.first, t.last = received, received
	}
	if received.After(t.last) {
		t.last = received
	}
	t.waiting += count
	t.mu.Unlock()
	select {
	case t.fired <- struct{}{}:
	default: // there is a token already
	}
}

// take returns how many messages wait, and when the first and the last were received, and ends their wait.
func (t *Trigger) take() (first, last time.Time, count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count, t.waiting = t.waiting, 0
	return t.first, t.last, count
}

// ignore is the sink of a trigger that is not recorded.
type ignore struct{}

// Frames implements tcpros.LinkSink.
func (ignore) Frames([]byte, int, time.Time) {}

// Large implements tcpros.LinkSink. A std_msgs/Empty is never large.
func (ignore) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (ignore) Closed(error) {}

// Answer begins snapshots until ctx is done: it calls begin, which begins a snapshot or extends the present one, for
// messages that were received from first to last. When ctx is done, it passes the number of messages that still
// wait to count.
func (t *Trigger) Answer(ctx context.Context, log *zap.Logger, begin func(first, last time.Time, messages int) error, count func(messages int)) {
	var reported loss.Reported
	failed := uint64(0)
	for {
		select {
		case <-t.fired:
			first, last, messages := t.take()
			if messages == 0 {
				continue // an earlier take has returned them
			}
			err := begin(first, last, messages)
			if err == nil {
				continue
			}
			failed += uint64(messages)
			if n := reported.Growth(failed, last); n > 0 {
				log.Error("no snapshot", zap.String("trigger", t.topic), zap.Uint64("times", n), zap.Error(err))
			}
		case <-ctx.Done():
			_, _, messages := t.take()
			count(messages)
			return
		}
	}
}

// close ends the subscription of a trigger that is not recorded. The Trigger may be nil.
func (t *Trigger) close() {
	if t != nil && t.sub != nil {
		t.sub.Close()
	}
}
