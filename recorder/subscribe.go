package recorder

import (
	"errors"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// errEnded refuses links that open too late.
var errEnded = errors.New("recorder: the recording has ended")

type subscription struct {
	name  string // as it was asked for
	since time.Time
	topic *topic // nil while the recording waits for the clock
	close func()
	ended bool // the limit is reached: no longer subscribed
}

// consider subscribes to a topic that the master knows, if it is new. A name that
// is not valid is said once and costs only this topic. What this node itself publishes
// under its name, its status, is recorded only where it is named.
func (r *recording) consider(name string, since time.Time) {
	if r.tried[name] || strings.HasPrefix(name, r.Node.Name()+"/") {
		return
	}
	r.tried[name] = true
	if err := r.subscribe(name, since); err != nil {
		r.Log.Warn("topic not recorded", zap.String("topic", name), zap.Error(err))
	}
}

// subscribe adds a topic under the name it was asked for, which is also the name
// in the bag, as stock does it. One topic asked for under two names is recorded
// once, under the first (stock writes each message twice). since is before the
// topic's registration, if that is known.
func (r *recording) subscribe(name string, since time.Time) error {
	resolved, err := r.Node.Resolve(name)
	if err != nil {
		return err
	}
	if _, ok := r.subs[resolved]; ok {
		return nil
	}
	s := &subscription{name: name, since: since}
	if r.pipe != nil {
		r.account(resolved, s)
	}
	if r.sim != nil && resolved == r.sim.sub.Topic() {
		err = r.sim.record(func(info tcpros.LinkInfo) (*link, error) { return r.pipe.openLink(s.topic, info) })
		s.close = r.sim.forget
	} else {
		err = r.receive(resolved, s)
	}
	if err != nil {
		return err
	}
	r.Log.Info("Subscribing to", zap.String("topic", name))
	r.subs[resolved] = s
	return nil
}

// account makes the topic of a subscription.
func (r *recording) account(resolved string, s *subscription) {
	s.topic = r.pipe.addTopicOf(s.name, resolved)
	s.topic.since = s.since // no link has it yet
}

// receive subscribes to the topic of s. Links that open before there is a file wait.
func (r *recording) receive(resolved string, s *subscription) error {
	sub, err := r.Node.Subscribe(tcpros.SubscribeOptions{
		Topic:      s.name,
		TCPNoDelay: r.TCPNoDelay,
		UDP:        r.UDP,
		// What is larger than the buffer is refused, and counted, message by message.
		MaxMessageBytes: maxMessageBytes,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			select {
			case <-r.ready:
			case <-r.given:
				return nil, errEnded
			}
			l, err := r.pipe.openLink(s.topic, info)
			if err != nil {
				return nil, err
			}
			return r.trigger.watch(resolved, l), nil
		},
	})
	if err == nil {
		s.close = sub.Close
	}
	return err
}

// begin lets the links in that wait.
func (r *recording) begin() {
	for resolved, s := range r.subs {
		if s.topic == nil {
			r.account(resolved, s)
		}
	}
	close(r.ready)
}

// endLimited leaves the topics that have all the messages asked for, and reports
// whether every topic has.
func (r *recording) endLimited() bool {
	all := true
	for _, s := range r.subs {
		switch {
		case s.ended:
		case r.pipe.reachedLimit(s.topic):
			s.close()
			s.ended = true
		default:
			all = false
		}
	}
	return all
}

// closeSubscriptions ends all links.
func (r *recording) closeSubscriptions() {
	r.trigger.close()
	var wg sync.WaitGroup
	for _, s := range r.subs {
		if !s.ended {
			// owner: closeSubscriptions; ends when the links of s have ended.
			wg.Go(s.close)
		}
	}
	wg.Wait()
	r.sim.close()
}
