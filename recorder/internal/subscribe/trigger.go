package subscribe

import (
	"time"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/tcpros"
)

// TriggerTopic is the topic of the trigger, relative as stock's.
const TriggerTopic = "snapshot_trigger"

// The type of the trigger.
const (
	triggerType = "std_msgs/Empty"
	triggerMD5  = "d41d8cd98f00b204e9800998ecf8427e"
)

// trigger is a topic each of whose messages begins a snapshot, as in stock. The topic is also recorded if
// the user has selected it. A trigger watches its links.
type trigger struct {
	topic topicname.InGraph
	// nil if the topic is recorded, and so has a subscription
	sub *tcpros.Subscription
	// called with messages that were received together; must not wait
	fire func(topic string, messages int, received time.Time)
}

// Listen subscribes to the trigger. selects reports whether a topic with a type is
// recorded. fire is called with messages that were received together, and must not wait.
func (s *Set) Listen(name topicname.InGraph, selects func(topic, typ string) bool,
	fire func(topic string, messages int, received time.Time),
) error {
	t := &trigger{topic: name, fire: fire}
	s.trigger = t
	s.known[name] = "" // discovery does not subscribe to the topic again, and the topic is not left
	switch {
	case s.IsNamed(name):
		return nil // Add subscribes to the topic, under the name that the user wrote
	case selects(string(name), triggerType): // the topic is in the summary once it has a publisher
		sub := &subscription{name: topicname.InBag(name), topic: s.accounts.NewTopic(name)}
		if err := s.receive(name, Named, sub); err != nil {
			return err
		}
		s.subs[name] = sub
		return nil
	}
	var err error
	t.sub, err = s.Node.Subscribe(tcpros.SubscribeOptions{
		Topic: TriggerTopic, Type: triggerType, MD5Sum: triggerMD5,
		Open: func(tcpros.LinkInfo) (tcpros.LinkSink, error) { return watched(ignore{}, s.sim, t), nil },
	})
	return err
}

// Frames implements control.LinkWatcher.
func (t *trigger) Frames(_ []byte, count int, _, received time.Time) {
	t.fire(string(t.topic), count, received)
}

// Skipped implements control.LinkWatcher. A std_msgs/Empty is never large.
func (t *trigger) Skipped(int) {}

// ignore is the sink of a trigger that is not recorded.
type ignore struct{}

// Frames implements tcpros.LinkSink.
func (ignore) Frames([]byte, int, time.Time) {}

// Large implements tcpros.LinkSink.
func (ignore) Large(int) tcpros.LargeFrame { return nil }

// Closed implements tcpros.LinkSink.
func (ignore) Closed(error) {}

// close ends the subscription of a trigger that is not recorded. The trigger may be nil.
func (t *trigger) close() {
	if t != nil && t.sub != nil {
		t.sub.Close()
	}
}
