// Package subscribe owns the subscriptions of a recording: which there are, what wraps the sinks of
// their links, and when they are left. It knows nothing of memory and files: a link hands its frames
// to the intake.
package subscribe

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/tap"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Priority is the order in which topics register with the master, see
// tcpros.SubscribeOptions.Priority.
type Priority int

// The order, the first first.
const (
	Named Priority = iota // the user asked for the topic by name
	Live                  // the topic has a publisher that answers, as far as is known
	Rest
)

// maxMessageBytes is the limit of roscpp.
const maxMessageBytes = 1_000_000_000

// MostDeserted is how many topics without a publisher stay subscribed to, so that a publisher that
// comes back is linked to at once. Beyond that the topics that were deserted first are left; like
// new topics they are found again when the master lists them again.
const MostDeserted = 64

// Config says how topics are subscribed to.
type Config struct {
	Node        *tcpros.Node
	Log         *zap.Logger
	TCPNoDelay  bool                       // ask the publishers for TCP_NODELAY
	UDP         bool                       // receive over UDPROS from publishers that have it
	CountTopics bool                       // log how many topics are subscribed to, and their names at debug level only
	IsNamed     func(resolved string) bool // whether the user asked for a topic by name
	Watch       control.Watcher            // looks at messages of some topics; nil for none
	Tap         *tap.Tap                   // shows the messages to live viewers; nil for none
}

// Set is the subscriptions of a recording. One goroutine owns a Set; the goroutines of links use what
// does not change once they are let in.
type Set struct {
	Config
	sim *simtime.Sim // nil stands for the wall clock

	subs  map[string]*subscription  // by resolved topic
	tried map[string]bool           // topics of the master that were refused or are in subs
	left  map[string]*account.Topic // accounts of topics that were left, by resolved name
	fresh []string                  // with CountTopics: subscribed to and not logged yet

	links     intake.Links  // where frames go, since Record
	recording bool          // Record was called
	trigger   *Trigger      // nil without snapshots
	ready     chan struct{} // closed when the links are let in
	refused   chan struct{} // closed when the links will never be let in
}

// subscription is the subscription to one topic.
type subscription struct {
	name  string               // as it was asked for
	since time.Time            // before the topic was there; zero if that is not known
	topic *account.Topic       // nil while the recording waits for the clock
	sub   *tcpros.Subscription // nil for that of the clock
	close func()
	ended bool // the limit is reached: no longer subscribed

	deserted time.Time // since when no publisher is listed; zero if one is
}

// New returns a set without subscriptions. Until LetIn the links wait that open.
func New(c Config) *Set {
	return &Set{
		Config: c, subs: map[string]*subscription{}, tried: map[string]bool{}, left: map[string]*account.Topic{},
		ready: make(chan struct{}), refused: make(chan struct{}),
	}
}

// UseClock makes the recording go by the clock of the graph. It comes before the first subscription.
func (s *Set) UseClock(sim *simtime.Sim) { s.sim = sim }

// Record says where the frames of links go. Topics have accounts from now on.
func (s *Set) Record(links intake.Links) { s.links, s.recording = links, true }

// LetIn lets the links in that wait.
func (s *Set) LetIn() {
	for resolved, sub := range s.subs {
		if sub.topic == nil {
			s.account(resolved, sub)
		}
	}
	close(s.ready)
}

// Refuse ends all subscriptions of a recording that does not begin.
func (s *Set) Refuse() {
	close(s.refused)
	s.Close()
}

// Update subscribes to new topics that a round of discovery has found, and leaves topics that are not
// found any more.
func (s *Set) Update(found graph.Found) {
	if !found.Same { // a large graph is mostly the same each second
		for i, name := range found.Names {
			priority := Rest
			if i < found.Live {
				priority = Live
			}
			s.consider(name, priority, found.Since)
		}
		s.LogNew()
	}
	if found.All && (!found.Same || len(s.subs) > len(found.Names)) { // otherwise no topic is deserted
		s.leaveDeserted(found.Names)
	}
}

// consider subscribes to a topic that the master knows, if the topic is new. A name that is not valid
// is logged once and costs only this topic. Topics under the name of this node, such as its status,
// are recorded only where the user names them.
func (s *Set) consider(name string, priority Priority, since time.Time) {
	if s.tried[name] || strings.HasPrefix(name, s.Node.Name()+"/") {
		return
	}
	s.tried[name] = true
	if err := s.Add(name, priority, since); err != nil {
		s.Log.Warn("topic not recorded", zap.String("topic", name), zap.Error(err))
	}
}

// Add subscribes to a topic under the name that was asked for, which is also the name in the bag, as
// stock does it. One topic asked for under two names is recorded once, under the first name (stock
// writes each message twice). since is a time before the topic was there, if that is known.
func (s *Set) Add(name string, priority Priority, since time.Time) error {
	resolved, err := s.Node.Resolve(name)
	if err != nil {
		return err
	}
	if _, ok := s.subs[resolved]; ok {
		return nil
	}
	sub := &subscription{name: name, since: since}
	if s.recording {
		s.account(resolved, sub)
	}
	if s.sim != nil && resolved == s.sim.Topic() {
		err = s.sim.Record(func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			l, err := s.links.OpenLink(sub.topic, info)
			if err != nil {
				return nil, err
			}
			return s.Tap.Link(resolved, l.Connection.Conn.Header, l), nil
		})
		sub.close = s.sim.Forget
	} else {
		err = s.receive(resolved, priority, sub)
	}
	if err != nil {
		return err
	}
	if s.CountTopics {
		s.Log.Debug("Subscribing to", zap.String("topic", name))
		s.fresh = append(s.fresh, name)
	} else {
		s.Log.Info("Subscribing to", zap.String("topic", name))
	}
	s.subs[resolved] = sub
	return nil
}

// LogNew logs, in one line, the topics that were subscribed to since the last call.
func (s *Set) LogNew() {
	switch n := len(s.fresh); n {
	case 0:
	case 1:
		s.Log.Info("Subscribing to", zap.String("topic", s.fresh[0]))
	default:
		s.Log.Info(fmt.Sprintf("Subscribing to %d topics", n))
	}
	s.fresh = nil
}

// account makes the account of a subscription.
func (s *Set) account(resolved string, sub *subscription) {
	if t := s.left[resolved]; t != nil { // the topic comes back
		sub.topic = t
		delete(s.left, resolved)
		return
	}
	sub.topic = s.links.AddTopicOf(sub.name, resolved, sub.since)
}

// receive subscribes to a topic. Links that open before LetIn wait.
func (s *Set) receive(resolved string, priority Priority, sub *subscription) error {
	received, err := s.Node.Subscribe(tcpros.SubscribeOptions{
		Topic:      sub.name,
		TCPNoDelay: s.TCPNoDelay,
		UDP:        s.UDP,
		Priority:   int(priority),
		// A message that is larger than the buffer is refused, and counted, by itself.
		MaxMessageBytes: maxMessageBytes,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			select {
			case <-s.ready:
			case <-s.refused:
				return nil, intake.ErrEnded
			}
			l, err := s.links.OpenLink(sub.topic, info)
			if err != nil {
				return nil, err
			}
			return s.Tap.Link(resolved, l.Connection.Conn.Header, s.fires(resolved, sub, info, Watched(s.Watch, s.sim, resolved, info, l))), nil
		},
	})
	if err == nil {
		sub.sub, sub.close = received, received.Close
	}
	return err
}

// leaveDeserted leaves topics that were found, are not listed any more, and have no links.
func (s *Set) leaveDeserted(listed []string) {
	if len(s.subs) <= MostDeserted {
		return
	}
	present := make(map[string]bool, len(listed))
	for _, name := range listed {
		present[name] = true
	}
	var deserted []string
	for resolved, sub := range s.subs {
		switch {
		case present[resolved]:
			sub.deserted = time.Time{}
		case sub.ended || sub.topic == nil || !s.tried[resolved] || s.IsNamed(resolved): // a named topic is waited for
		case s.links.IsLinked(sub.topic):
			sub.deserted = time.Time{}
		default:
			if sub.deserted.IsZero() {
				sub.deserted = time.Now()
			}
			deserted = append(deserted, resolved)
		}
	}
	if len(deserted) <= MostDeserted {
		return
	}
	slices.SortFunc(deserted, func(a, b string) int { return s.subs[a].deserted.Compare(s.subs[b].deserted) })
	for _, resolved := range deserted[:len(deserted)-MostDeserted] {
		sub := s.subs[resolved]
		sub.close()
		s.links.LeaveTopic(sub.topic)
		s.left[resolved] = sub.topic
		delete(s.subs, resolved)
		delete(s.tried, resolved)
		s.Log.Debug("topic left: it has no publisher", zap.String("topic", resolved))
	}
}

// EndLimited leaves the topics that have all the messages asked for, and reports whether every topic
// has.
func (s *Set) EndLimited() bool {
	all := true
	for _, sub := range s.subs {
		switch {
		case sub.ended:
		case s.links.ReachedLimit(sub.topic):
			sub.close()
			sub.ended = true
		default:
			all = false
		}
	}
	return all
}

// NoteWaiting notes in the accounts what topics wait for. It comes before Close.
func (s *Set) NoteWaiting() {
	waiting := map[*account.Topic]control.Waiting{}
	for _, sub := range s.subs {
		if sub.sub == nil || sub.topic == nil {
			continue
		}
		if publishers, ok := sub.sub.Registered(); !ok {
			waiting[sub.topic] = control.WaitingMaster
		} else if publishers > 0 {
			waiting[sub.topic] = control.WaitingPublisher
		}
	}
	s.links.NoteWaiting(waiting)
}

// Close ends all links, and the clock.
func (s *Set) Close() {
	s.trigger.close()
	var wg sync.WaitGroup
	for _, sub := range s.subs {
		if !sub.ended {
			// owner: Close; ends when the links of sub have ended.
			wg.Go(sub.close)
		}
	}
	wg.Wait()
	s.sim.Close()
}
