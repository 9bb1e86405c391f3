package recorder

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// trigger is the topic that begins a snapshot with each message, as in stock. It is
// recorded as well if the selection says so by name, expression or type.
type trigger struct {
	topic string               // resolved
	sub   *tcpros.Subscription // nil if it is recorded
	fired chan struct{}
}

// The topic, relative as stock's, and how many triggers wait at most.
const (
	triggerTopic = "snapshot_trigger"
	triggerType  = "std_msgs/Empty"
	triggerMD5   = "d41d8cd98f00b204e9800998ecf8427e"
	maxTriggers  = 100
)

// listen subscribes to the trigger, if there are snapshots.
func (r *recording) listen() error {
	if r.pipe.snaps == nil {
		return nil
	}
	name, err := r.Node.Resolve(triggerTopic)
	if err != nil {
		return err
	}
	t := &trigger{topic: name, fired: make(chan struct{}, maxTriggers)}
	r.trigger = t
	s := r.pipe.snaps
	r.Log.Info("Keeping the latest messages for snapshots", zap.String("trigger", name),
		zap.Int64("bytes", s.Bytes), zap.Duration("pre-roll", s.PreRoll), zap.Duration("post-roll", s.PostRoll))
	r.tried[name] = true
	switch {
	case r.names(name):
		return r.subscribe(name, time.Time{})
	case r.Select.selects(name, triggerType): // the account has it when there is a publisher
		sub := &subscription{name: name, topic: &topic{name: name, share: shareOf(r.pipe.limits, name)}}
		if err := r.receive(name, sub); err != nil {
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
func (r *recording) names(topic string) bool {
	return slices.ContainsFunc(r.Select.literal, func(name string) bool {
		resolved, err := r.Node.Resolve(name)
		return err == nil && resolved == topic
	})
}

// watch makes messages of a recorded trigger begin snapshots.
func (t *trigger) watch(topic string, l *link) tcpros.LinkSink {
	if t == nil || topic != t.topic {
		return l
	}
	l.pipe.list(l.connection.topic)
	if l.connection.conn.Header.Type() != triggerType {
		return l
	}
	return &triggerLink{l, t}
}

// list makes sure that the account has t.
func (p *pipeline) list(t *topic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.topics, t) {
		p.topics = append(p.topics, t)
	}
}

// triggerLink passes messages on and begins a snapshot with each.
type triggerLink struct {
	tcpros.LinkSink
	trigger *trigger
}

// Frames implements tcpros.LinkSink.
func (l *triggerLink) Frames(run []byte, count int, received time.Time) {
	l.LinkSink.Frames(run, count, received)
	for range count {
		select {
		case l.trigger.fired <- struct{}{}:
		default: // as many wait already
		}
	}
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
func (r *recording) answerTriggers(ctx context.Context) {
	for {
		select {
		case <-r.trigger.fired:
			if _, err := r.pipe.snapshot(time.Now()); err != nil {
				r.Log.Error("no snapshot", zap.String("trigger", r.trigger.topic), zap.Error(err))
			}
		case <-ctx.Done():
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
