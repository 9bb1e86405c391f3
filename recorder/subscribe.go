package recorder

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Topics register with the master in this order, see tcpros.SubscribeOptions.Priority.
const (
	priorityNamed = iota // was asked for by name
	priorityLive         // has a publisher that answers, as far as is known
	priorityRest
)

type subscription struct {
	name  string // as it was asked for
	since time.Time
	topic *intake.Topic        // nil while the recording waits for the clock
	sub   *tcpros.Subscription // nil for the clock's
	close func()
	ended bool // the limit is reached: no longer subscribed

	deserted time.Time // since when no publisher is listed; zero if one is
}

// mostDeserted is how many topics without a publisher stay subscribed to, so that one that
// comes back is linked to at once. Beyond that those that were deserted first are left; like
// new ones they are found again when they are listed again.
const mostDeserted = 64

// leaveDeserted leaves topics that were found, are not listed any more, and have no links.
func (r *session) leaveDeserted(listed []string) {
	if len(r.subs) <= mostDeserted {
		return
	}
	present := make(map[string]bool, len(listed))
	for _, name := range listed {
		present[name] = true
	}
	var deserted []string
	for resolved, s := range r.subs {
		switch {
		case present[resolved]:
			s.deserted = time.Time{}
		case s.ended || s.topic == nil || !r.tried[resolved] || r.names(resolved): // what was named is waited for
		case r.in.Links().IsLinked(s.topic):
			s.deserted = time.Time{}
		default:
			if s.deserted.IsZero() {
				s.deserted = time.Now()
			}
			deserted = append(deserted, resolved)
		}
	}
	if len(deserted) <= mostDeserted {
		return
	}
	slices.SortFunc(deserted, func(a, b string) int { return r.subs[a].deserted.Compare(r.subs[b].deserted) })
	for _, resolved := range deserted[:len(deserted)-mostDeserted] {
		s := r.subs[resolved]
		s.close()
		r.in.Links().LeaveTopic(s.topic)
		r.left[resolved] = s.topic
		delete(r.subs, resolved)
		delete(r.tried, resolved)
		r.Log.Debug("topic left: it has no publisher", zap.String("topic", resolved))
	}
}

// consider subscribes to a topic that the master knows, if it is new. A name that
// is not valid is logged once and costs only this topic. What this node itself publishes
// under its name, its status, is recorded only where it is named.
func (r *session) consider(name string, priority int, since time.Time) {
	if r.tried[name] || strings.HasPrefix(name, r.Node.Name()+"/") {
		return
	}
	r.tried[name] = true
	if err := r.subscribe(name, priority, since); err != nil {
		r.Log.Warn("topic not recorded", zap.String("topic", name), zap.Error(err))
	}
}

// subscribe adds a topic under the name it was asked for, which is also the name
// in the bag, as stock does it. One topic asked for under two names is recorded
// once, under the first (stock writes each message twice). priority is that of its
// registration with the master; since is before the topic's own, if that is known.
func (r *session) subscribe(name string, priority int, since time.Time) error {
	resolved, err := r.Node.Resolve(name)
	if err != nil {
		return err
	}
	if _, ok := r.subs[resolved]; ok {
		return nil
	}
	s := &subscription{name: name, since: since}
	if r.in != nil {
		r.account(resolved, s)
	}
	if r.sim != nil && resolved == r.sim.Topic() {
		err = r.sim.Record(func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			l, err := r.in.Links().OpenLink(s.topic, info)
			if err != nil {
				return nil, err
			}
			return r.Tap.Link(resolved, l.Connection.Conn.Header, l), nil
		})
		s.close = r.sim.Forget
	} else {
		err = r.receive(resolved, priority, s)
	}
	if err != nil {
		return err
	}
	if r.CountTopics {
		r.Log.Debug("Subscribing to", zap.String("topic", name))
		r.fresh = append(r.fresh, name)
	} else {
		r.Log.Info("Subscribing to", zap.String("topic", name))
	}
	r.subs[resolved] = s
	return nil
}

// logSubscribed logs, in one line, the topics that were subscribed to since the last call.
func (r *session) logSubscribed() {
	switch n := len(r.fresh); n {
	case 0:
	case 1:
		r.Log.Info("Subscribing to", zap.String("topic", r.fresh[0]))
	default:
		r.Log.Info(fmt.Sprintf("Subscribing to %d topics", n))
	}
	r.fresh = nil
}

// account makes the topic of a subscription.
func (r *session) account(resolved string, s *subscription) {
	if t := r.left[resolved]; t != nil { // it comes back
		s.topic = t
		delete(r.left, resolved)
		return
	}
	s.topic = r.in.Links().AddTopicOf(s.name, resolved, s.since)
}

// receive subscribes to the topic of s. Links that open before there is a file wait.
func (r *session) receive(resolved string, priority int, s *subscription) error {
	sub, err := r.Node.Subscribe(tcpros.SubscribeOptions{
		Topic:      s.name,
		TCPNoDelay: r.TCPNoDelay,
		UDP:        r.UDP,
		Priority:   priority,
		// What is larger than the buffer is refused, and counted, message by message.
		MaxMessageBytes: maxMessageBytes,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			select {
			case <-r.ready:
			case <-r.given:
				return nil, intake.ErrEnded
			}
			l, err := r.in.Links().OpenLink(s.topic, info)
			if err != nil {
				return nil, err
			}
			return r.Tap.Link(resolved, l.Connection.Conn.Header, r.fires(resolved, s, info, r.watch(resolved, info, l))), nil
		},
	})
	if err == nil {
		s.sub, s.close = sub, sub.Close
	}
	return err
}

// begin lets the links in that wait.
func (r *session) begin() {
	for resolved, s := range r.subs {
		if s.topic == nil {
			r.account(resolved, s)
		}
	}
	close(r.ready)
}

// endLimited leaves the topics that have all the messages asked for, and reports
// whether every topic has.
func (r *session) endLimited() bool {
	all := true
	for _, s := range r.subs {
		switch {
		case s.ended:
		case r.in.Links().ReachedLimit(s.topic):
			s.close()
			s.ended = true
		default:
			all = false
		}
	}
	return all
}

// closeSubscriptions ends all links.
func (r *session) closeSubscriptions() {
	r.trigger.close()
	var wg sync.WaitGroup
	for _, s := range r.subs {
		if !s.ended {
			// owner: closeSubscriptions; ends when the links of s have ended.
			wg.Go(s.close)
		}
	}
	wg.Wait()
	r.sim.Close()
}
