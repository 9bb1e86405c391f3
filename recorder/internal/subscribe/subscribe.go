// Package subscribe owns the subscriptions of a recording: which topics are subscribed to, which sinks
// wrap those of their links, and when a subscription ends. It knows nothing of memory and files: links hand
// their frames to the intake.
package subscribe

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/control"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/graph"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/unlike"
	"github.com/gorosbag/gorosbag/recorder/internal/viewing"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/tcpros"
)

// The priorities of tcpros.SubscribeOptions, the highest first.
const (
	Named = iota // the user asked for the topic by name
	Live         // the topic has a publisher that answers, as far as is known
	Rest
)

// maxMessageBytes is the limit of roscpp.
const maxMessageBytes = 1_000_000_000

// MostDeserted is how many topics without a publisher stay subscribed to, so that there is a link at once
// when a publisher comes back. Of more such topics, those that lost their publishers first are left.
// Discovery finds them again, like new topics, when the master lists them again.
const MostDeserted = 64

// Accounts has the accounts of topics.
type Accounts interface {
	NewTopic(name topicname.InGraph) *account.Topic
	AddTopic(name topicname.InBag, resolved topicname.InGraph, since time.Time) *account.Topic
	LeaveTopic(t *account.Topic)
	IsLinked(t *account.Topic) bool
	ReachedLimit(t *account.Topic) bool
	NoteWaiting(waiting map[*account.Topic]control.Waiting)
}

// Intake takes the frames of links.
type Intake interface {
	OpenLink(t *account.Topic, info tcpros.LinkInfo) (*intake.Link, error)
	Refuse(t *account.Topic, uri string, err error)
}

// Config says how topics are subscribed to.
type Config struct {
	Node *tcpros.Node
	Log  *zap.Logger
	// ask the publishers for TCP_NODELAY
	TCPNoDelay bool
	// receive over UDPROS from publishers that have it
	UDP bool
	// log how many topics are subscribed to, and their names at debug level only
	CountTopics bool
	// whether the user asked for a topic by name
	IsNamed func(topicname.InGraph) bool
	// looks at messages of some topics; nil for none
	Watch control.Watcher
	// shows the messages to live viewers; nil for none
	Tap *viewing.Tap
}

// Set has the subscriptions of a recording. One goroutine owns a Set. The goroutines of links use only fields
// that do not change after LetIn, and unlike, which has a lock of its own.
type Set struct {
	Config
	sim *simtime.Sim // nil stands for the wall clock

	subs map[topicname.InGraph]*subscription
	// known has the topics that discovery has found before and that were not left since, and the names of
	// their subscriptions: other names where the user remaps topics, and none for topics that were
	// refused.
	known  map[topicname.InGraph]topicname.InGraph
	unlike unlike.Watch // of publishers that do not agree
	bad    badNames     // topics that discovery has found and that are not recorded
	fresh  []string     // with CountTopics: names of new subscriptions that are not logged yet

	in       Intake // where frames go; nil before Record
	accounts Accounts
	trigger  *trigger      // nil without snapshots
	ready    chan struct{} // closed when it is known whether the links are let in
	letIn    bool          // links are let in; set before ready is closed
}

// subscription is the subscription to one topic.
type subscription struct {
	name  topicname.InBag      // as the user wrote it, or as it was found
	since time.Time            // a time before the topic was there; zero if none is known
	topic *account.Topic       // nil while the recording waits for the clock
	sub   *tcpros.Subscription // nil for /clock, whose subscription is that of the Sim
	close func()
	ended bool // the topic has reached its limit, and is not subscribed to any more

	deserted time.Time // since when no publisher is listed; zero while one is
}

// New returns a set without subscriptions. Links that open wait until LetIn or Close.
func New(c Config) *Set {
	return &Set{
		Config: c, subs: map[topicname.InGraph]*subscription{},
		known: map[topicname.InGraph]topicname.InGraph{}, ready: make(chan struct{}),
	}
}

// UseClock makes the recording go by the clock of the graph. It is called before the first subscription.
func (s *Set) UseClock(sim *simtime.Sim) { s.sim = sim }

// Record sets where the frames of links go, and what has the accounts of topics. Topics that are added
// from now on have an account at once.
func (s *Set) Record(in Intake, accounts Accounts) { s.in, s.accounts = in, accounts }

// LetIn gives each topic an account, and lets links hand their frames on. It is called once, after Record.
func (s *Set) LetIn() {
	for resolved, sub := range s.subs {
		if sub.topic == nil {
			sub.topic = s.accounts.AddTopic(sub.name, resolved, sub.since)
		}
	}
	s.letIn = true
	close(s.ready)
}

// Update subscribes to the new topics of a round of discovery, and leaves topics that have lost their
// publishers.
func (s *Set) Update(found graph.Found) {
	if !found.Same { // a large graph is mostly the same each second
		for i, name := range found.Names {
			priority := Rest
			if i < found.Live {
				priority = Live
			}
			s.consider(topicname.InGraph(name), priority, found.Since)
		}
		s.LogNew()
	}
	if found.All && (!found.Same || len(s.subs) > len(found.Names)) { // otherwise every topic has a publisher
		s.leaveDeserted(found.Names)
	}
}

// consider subscribes to a topic that discovery has found, if it is new. A name that is not valid is logged
// once. The recorder's own topics are recorded only if the user names them.
func (s *Set) consider(name topicname.InGraph, priority int, since time.Time) {
	if _, ok := s.known[name]; ok || graph.OfNode(s.Node, string(name)) {
		return
	}
	var err error
	if s.known[name], err = s.add(topicname.InBag(name), priority, since); err != nil {
		s.Log.Warn("topic not recorded", zap.String("topic", string(name)), zap.Error(err))
		s.bad.add(string(name))
	}
}

// NotRecorded describes the topics that discovery has found and that cannot be subscribed to; empty if
// there are none.
func (s *Set) NotRecorded() string { return s.bad.String() }

// badNames are topics whose names ROS does not allow. The first one is kept.
type badNames struct {
	count int
	first string
}

func (b *badNames) add(name string) {
	if b.count++; b.count == 1 {
		b.first = account.Clip(name)
	}
}

// String implements fmt.Stringer.
func (b *badNames) String() string {
	if b.count == 0 {
		return ""
	}
	return fmt.Sprintf("topics that are not recorded because ROS does not allow their names: %d, such as %q",
		b.count, b.first)
}

// Add subscribes to a topic. name is as the user wrote it, and the bag has the same name, as in stock. A
// topic that is named in two ways is recorded once, under the first name; stock writes each of its
// messages twice. See ADR 0012. since is a time before the topic was there; zero if none is known.
func (s *Set) Add(name topicname.InBag, priority int, since time.Time) error {
	_, err := s.add(name, priority, since)
	return err
}

// add is Add, and returns the name in the graph; empty with an error.
func (s *Set) add(
	name topicname.InBag, priority int, since time.Time,
) (resolved topicname.InGraph, err error) {
	full, err := s.Node.Resolve(string(name))
	if err != nil {
		return "", err
	}
	resolved = topicname.InGraph(full)
	if _, ok := s.subs[resolved]; ok {
		return resolved, nil
	}
	sub := &subscription{name: name, since: since}
	if s.in != nil {
		sub.topic = s.accounts.AddTopic(sub.name, resolved, sub.since)
	}
	if resolved == s.sim.Topic() {
		err = s.sim.Record(func(info tcpros.LinkInfo) (tcpros.LinkSink,
			error,
		) {
			return s.openLink(resolved, sub, info)
		})
		sub.close = s.sim.Forget
	} else {
		err = s.receive(resolved, priority, sub)
	}
	if err != nil {
		return "", err
	}
	if s.CountTopics {
		s.Log.Debug("Subscribing to", zap.String("topic", string(name)))
		s.fresh = append(s.fresh, string(name))
	} else {
		s.Log.Info("Subscribing to", zap.String("topic", string(name)))
	}
	s.subs[resolved] = sub
	return resolved, nil
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

// receive subscribes to a topic. Links that open wait until LetIn or Close.
func (s *Set) receive(resolved topicname.InGraph, priority int, sub *subscription) error {
	received, err := s.Node.Subscribe(tcpros.SubscribeOptions{
		Topic:      string(sub.name),
		TCPNoDelay: s.TCPNoDelay,
		UDP:        s.UDP,
		Priority:   priority,
		// The intake refuses messages that are larger than the buffer, one by one, and counts them.
		MaxMessageBytes: maxMessageBytes,
		Open: func(info tcpros.LinkInfo) (tcpros.LinkSink, error) {
			if <-s.ready; !s.letIn {
				return nil, intake.ErrEnded
			}
			return s.openLink(resolved, sub, info)
		},
		Refused: func(uri string, err error) {
			if <-s.ready; s.letIn {
				s.in.Refuse(sub.topic, uri, err)
			}
		},
	})
	if err == nil {
		sub.sub, sub.close = received, received.Close
	}
	return err
}

// openLink returns the sink of a link that is let in.
func (s *Set) openLink(
	resolved topicname.InGraph, sub *subscription, info tcpros.LinkInfo,
) (tcpros.LinkSink, error) {
	l, err := s.in.OpenLink(sub.topic, info)
	if err != nil {
		return nil, err
	}
	s.unlike.Opened(resolved, rosbag.Header(info.Header), s.Log)
	// A message is recorded first, then shown to the watchers, and then to viewers: none of them may
	// delay a message on its way to the bag, and what a message triggers comes after the message.
	return s.Tap.Link(resolved, l.Conn().Header, watched(l, s.sim, s.watchersOf(resolved, info)...)), nil
}

// leaveDeserted leaves topics that discovery has found before and does not list any more, and that have
// no links. MostDeserted of them stay.
func (s *Set) leaveDeserted(listed []string) {
	if len(s.subs) <= MostDeserted {
		return
	}
	present, found := make(map[topicname.InGraph]bool, len(listed)),
		make(map[topicname.InGraph]bool, len(s.known))
	for _, name := range listed {
		present[s.known[topicname.InGraph(name)]] = true
	}
	for _, resolved := range s.known {
		found[resolved] = true
	}
	var deserted []topicname.InGraph
	for resolved, sub := range s.subs {
		switch {
		case present[resolved]:
			sub.deserted = time.Time{}
		case sub.ended || sub.topic == nil || !found[resolved] || s.IsNamed(resolved):
			// a named topic is waited for
		case s.accounts.IsLinked(sub.topic):
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
	slices.SortFunc(deserted,
		func(a, b topicname.InGraph) int { return s.subs[a].deserted.Compare(s.subs[b].deserted) })
	for _, resolved := range deserted[:len(deserted)-MostDeserted] {
		sub := s.subs[resolved]
		sub.close()
		s.accounts.LeaveTopic(sub.topic)
		delete(s.subs, resolved)
		s.Log.Debug("topic left: it has no publisher", zap.String("topic", string(resolved)))
	}
	maps.DeleteFunc(s.known,
		func(_, resolved topicname.InGraph) bool { return resolved != "" && s.subs[resolved] == nil })
}

// EndLimited leaves the topics that have reached their limit, and reports whether all topics have.
func (s *Set) EndLimited() bool {
	all := true
	for _, sub := range s.subs {
		switch {
		case sub.ended:
		case s.accounts.ReachedLimit(sub.topic):
			sub.close()
			sub.ended = true
		default:
			all = false
		}
	}
	return all
}

// NoteWaiting notes in the accounts what topics without a link still wait for. It is called before Close.
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
	s.accounts.NoteWaiting(waiting)
}

// Close ends all links, and the clock. Links that wait for LetIn are refused.
func (s *Set) Close() {
	if !s.letIn {
		close(s.ready)
	}
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
