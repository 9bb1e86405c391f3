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

// Trigger is the topic that begins a snapshot with each message, as in stock. It is recorded as well
// if the selection says so by name, expression or type.
type Trigger struct {
	topic string               // resolved
	sub   *tcpros.Subscription // nil if the topic is recorded
	fired chan struct{}        // holds a token while messages wait

	mu          sync.Mutex
	first, last time.Time // of the messages that wait to be answered
	waiting     int       // how many messages wait
}

// Listen subscribes to the trigger of a resolved name. selects decides about a topic that the master
// lists.
func (s *Set) Listen(name string, selects func(topic, typ string) bool) (*Trigger, error) {
	t := &Trigger{topic: name, fired: make(chan struct{}, 1)}
	s.trigger = t
	s.tried[name] = true
	switch {
	case s.IsNamed(name):
		return t, s.Add(name, Named, time.Time{})
	case selects(name, triggerType): // the recording lists the topic once there is a publisher
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

// fires makes messages of a recorded trigger begin snapshots. sink takes the messages.
func (s *Set) fires(topic string, sub *subscription, info tcpros.LinkInfo, sink tcpros.LinkSink) tcpros.LinkSink {
	t := s.trigger
	if t == nil || topic != t.topic {
		return sink
	}
	s.links.List(sub.topic)
	if rosbag.Header(info.Header).Type() != triggerType {
		return sink
	}
	return &triggerLink{sink, t}
}

// triggerLink passes messages on and begins a snapshot with each.
type triggerLink struct {
	tcpros.LinkSink
	trigger *Trigger
}

// Frames implements tcpros.LinkSink.
func (l *triggerLink) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	l.trigger.fire(count, received)
}

// fire adds messages to those that wait. All that wait share one answer.
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

// take returns the messages that wait, which do not wait any more.
func (t *Trigger) take() (first, last time.Time, count int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count, t.waiting = t.waiting, 0
	return t.first, t.last, count
}

// ignore takes messages of a trigger that is not recorded.
type ignore struct{}

// Frames implements tcpros.LinkSink.
func (ignore) Frames([]byte, int, time.Time) {}

// Large implements tcpros.LinkSink. A std_msgs/Empty is never large.
func (ignore) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (ignore) Closed(error) {}

// Answer begins snapshots until ctx is done. begin begins a snapshot, or prolongs the current one, for
// messages that came between two times. count counts messages that get no answer: the recording ends.
func (t *Trigger) Answer(ctx context.Context, log *zap.Logger, begin func(first, last time.Time, messages int) error, count func(messages int)) {
	var told loss.Told
	failed := uint64(0)
	for {
		select {
		case <-t.fired:
			first, last, messages := t.take()
			if messages == 0 {
				continue // answered with those before
			}
			err := begin(first, last, messages)
			if err == nil {
				continue
			}
			failed += uint64(messages)
			if n := told.News(failed, last); n > 0 {
				log.Error("no snapshot", zap.String("trigger", t.topic), zap.Uint64("times", n), zap.Error(err))
			}
		case <-ctx.Done():
			_, _, messages := t.take()
			count(messages)
			return
		}
	}
}

// close ends the subscription, if it is the trigger's own.
func (t *Trigger) close() {
	if t != nil && t.sub != nil {
		t.sub.Close()
	}
}
