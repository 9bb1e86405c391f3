package recorder

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// trigger is the topic that begins a snapshot with each message, as in stock. It is
// recorded as well if the selection says so by name, expression or type.
type trigger struct {
	topic string               // resolved
	sub   *tcpros.Subscription // nil if it is recorded
	fired chan struct{}        // holds a token while messages wait

	mu          sync.Mutex
	first, last time.Time // of the messages that wait to be answered
	waiting     int       // how many they are
}

// The topic, relative as stock's.
const (
	triggerTopic = "snapshot_trigger"
	triggerType  = "std_msgs/Empty"
	triggerMD5   = "d41d8cd98f00b204e9800998ecf8427e"
)

// listen subscribes to the trigger, if there are snapshots.
func (r *session) listen() error {
	if r.Snapshot.Mode == control.SnapshotOff {
		return nil
	}
	name, err := r.Node.Resolve(triggerTopic)
	if err != nil {
		return err
	}
	t := &trigger{topic: name, fired: make(chan struct{}, 1)}
	r.trigger = t
	s := r.Snapshot
	r.Log.Info("Keeping the latest messages for snapshots", zap.String("trigger", name),
		zap.Int64("bytes", s.Bytes), zap.Duration("pre-roll", s.PreRoll), zap.Duration("post-roll", s.PostRoll))
	r.tried[name] = true
	switch {
	case r.names(name):
		return r.subscribe(name, priorityNamed, time.Time{})
	case r.Select.selects(name, triggerType): // the account has it when there is a publisher
		sub := &subscription{name: name, topic: r.in.Links().NewTopic(name)}
		if err := r.receive(name, priorityNamed, sub); err != nil {
			return err
		}
		r.subs[name] = sub
		return nil
	}
	t.sub, err = r.Node.Subscribe(tcpros.SubscribeOptions{
		Topic: triggerTopic, Type: triggerType, MD5Sum: triggerMD5,
		Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return &triggerLink{ignore{}, t}, nil },
	})
	return err
}

// names reports whether the user has named a topic in full.
func (o *Options) names(topic string) bool {
	return slices.ContainsFunc(o.Select.literal, func(name string) bool {
		resolved, err := o.resolve(name)
		return err == nil && resolved == topic
	})
}

// fires makes messages of a recorded trigger begin snapshots. sink takes the messages.
func (r *session) fires(topic string, s *subscription, info tcpros.LinkInfo, sink tcpros.LinkSink) tcpros.LinkSink {
	t := r.trigger
	if t == nil || topic != t.topic {
		return sink
	}
	r.in.Links().List(s.topic)
	if rosbag.Header(info.Header).Type() != triggerType {
		return sink
	}
	return &triggerLink{sink, t}
}

// triggerLink passes messages on and begins a snapshot with each.
type triggerLink struct {
	tcpros.LinkSink
	trigger *trigger
}

// Frames implements tcpros.LinkSink.
func (l *triggerLink) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	l.trigger.fire(count, received)
}

// fire adds messages to those that wait. They share one answer.
func (t *trigger) fire(count int, received time.Time) {
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
func (t *trigger) take() (first, last time.Time, count int) {
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

// answerTriggers begins snapshots until ctx is done.
func (r *session) answerTriggers(ctx context.Context) {
	var told loss.Told
	failed := uint64(0)
	for {
		select {
		case <-r.trigger.fired:
			first, last, count := r.trigger.take()
			if count == 0 {
				continue // answered with those before
			}
			_, err := r.sink.Snapshotter.TriggerAll(first, last, count)
			if err == nil {
				continue
			}
			failed += uint64(count)
			if n := told.News(failed, last); n > 0 {
				r.Log.Error("no snapshot", zap.String("trigger", r.trigger.topic), zap.Uint64("times", n), zap.Error(err))
			}
		case <-ctx.Done():
			_, _, count := r.trigger.take()
			r.sink.Snapshotter.Count(count)
			return
		}
	}
}

// close ends the subscription, if it is the trigger's own.
func (t *trigger) close() {
	if t != nil && t.sub != nil {
		t.sub.Close()
	}
}
