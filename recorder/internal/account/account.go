// Package account has the accounts of topics, connections and publishers: how much memory each of them
// uses, how many messages were recorded, and how many were lost and why. The package is pure: the caller
// has the lock of the intake. Only the intake calls it, and gets values.
package account

import (
	"slices"
	"time"

	"github.com/gorosbag/gorosbag/bagfmt/chunk"
	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/latch"
	"github.com/gorosbag/gorosbag/recorder/internal/loss"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Accounts has the accounts of all topics, connections and publishers of a recording.
type Accounts struct {
	limits []Limit
	// in the order of their subscription
	topics []*Topic
	// the few topics of Topics on which the recorder itself publishes
	own []*Topic
	// the topics of Topics that nobody publishes any more, in the order in which they were left
	left []*Topic
	// of Topics: the sum of the topics that were left before those; nil if there are none
	ended       *Topic
	connections Connections

	// OnlySnapshots says that nothing is written but snapshots. Then the Tally of a topic has all
	// messages that were received outside pauses, whether they are in a file or not.
	onlySnapshots bool

	unread     string // which parts of the master's last replies could not be read; empty if none
	everUnread string // which parts of any reply of the master could not be read; empty if none
}

// New returns the accounts of a recording without topics. onlySnapshots says that nothing is written but
// snapshots.
func New(limits []Limit, onlySnapshots bool) Accounts {
	return Accounts{limits: limits, onlySnapshots: onlySnapshots}
}

// NoteUnread notes which parts of the master's replies could not be read, so that topics may be missing:
// now is about the last replies, ever about all.
func (a *Accounts) NoteUnread(now, ever string) { a.unread, a.everUnread = now, ever }

// Unread returns which parts of the master's last replies could not be read; empty if none.
func (a *Accounts) Unread() string { return a.unread }

// EverUnread returns which parts of any reply of the master could not be read; empty if none.
func (a *Accounts) EverUnread() string { return a.everUnread }

// Of returns the account of a connection; nil if it was released.
func (a *Accounts) Of(conn *rosbag.Connection) *Connection { return a.connections.Of(conn) }

// Connect adds a connection with a header to a topic.
func (a *Accounts) Connect(t *Topic, h rosbag.Header) *Connection { return a.connections.Add(t, h) }

// Admit returns a *HeadersFullError if there is no memory for the account of a publisher or, unless known
// says that the topic has a connection with this header, for the header.
func (a *Accounts) Admit(t *Topic, known bool, h rosbag.Header, id, uri string) error {
	return a.connections.Admit(t, known, h, id, uri)
}

// Headers returns how many connections are not released, and how many bytes all headers and publishers take.
func (a *Accounts) Headers() (connections int, bytes int64) {
	return len(a.connections.all), a.connections.held
}

// Stored returns the connections whose records are in some file.
func (a *Accounts) Stored() []*rosbag.Connection {
	var all []*rosbag.Connection
	for _, c := range a.connections.all {
		if c.stored > 0 {
			all = append(all, c.Conn())
		}
	}
	return all
}

// NewTopic returns the account of a topic that has its resolved name in the bag, too, and that is not
// listed before EnsureListed.
func (a *Accounts) NewTopic(name topicname.InGraph) *Topic {
	return &Topic{name: topicname.InBag(name), resolved: name, sampler: SamplerOf(a.limits, name)}
}

// AddTopic makes an account for a topic, or finds that of a topic that was left. Limits refer to the
// resolved name. since is a time before the topic was registered; zero if the topic was there before.
func (a *Accounts) AddTopic(name topicname.InBag, resolved topicname.InGraph, since time.Time) *Topic {
	if t := named(a.left, name); t != nil {
		a.left = slices.DeleteFunc(a.left, func(l *Topic) bool { return l == t })
		return t
	}
	t := named(a.own, name)
	if t == nil {
		t = &Topic{name: name}
		a.topics = append(a.topics, t)
	}
	t.resolved, t.sampler = resolved, SamplerOf(a.limits, resolved)
	t.beginning.since = since
	return t
}

// OwnTopic returns the account of a topic on which the recorder itself publishes, under its resolved
// name. A topic that others publish, too, has one account.
func (a *Accounts) OwnTopic(resolved topicname.InGraph) *Topic {
	name := topicname.InBag(resolved)
	t := named(a.topics, name)
	if t == nil {
		t = &Topic{name: name, resolved: resolved}
		a.topics = append(a.topics, t)
	}
	if !slices.Contains(a.own, t) {
		a.own = append(a.own, t)
	}
	return t
}

// EnsureListed adds t to the topics, unless it is there.
func (a *Accounts) EnsureListed(t *Topic) {
	if !slices.Contains(a.topics, t) {
		a.topics = append(a.topics, t)
	}
}

// named returns the account of a topic, or nil.
func named(topics []*Topic, name topicname.InBag) *Topic {
	i := slices.IndexFunc(topics, func(t *Topic) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	return topics[i]
}

// Sources returns all connections as sources of latched messages, by id.
func (a *Accounts) Sources() []*latch.Source {
	all := make([]*latch.Source, len(a.connections.all))
	for i, c := range a.connections.all {
		all[i] = c.Source()
	}
	return all
}

// ReleaseGone releases the oldest latched messages and accounts of publishers and topics that are gone,
// and the connections for which needed returns false.
func (a *Accounts) ReleaseGone(latched *latch.Store, needed func(*Connection) bool, now time.Time) {
	kept, all := map[*Topic]int{}, 0
	for _, c := range slices.Backward(a.connections.all) {
		if c.links > 0 || !latched.Holds(c.Source()) {
			continue
		}
		if kept[c.topic] == KeptLatched || all >= KeptLatchedOfAll && !slices.Contains(a.own, c.topic) {
			latched.Forget(c.Source())
			latched.ForgetBeforeRing(c.Source())
			continue
		}
		kept[c.topic]++
		all++
	}
	a.connections.Release(func(c *Connection) bool { return !needed(c) })
	for _, t := range a.topics {
		a.FoldPublishers(t, KeptPublishers, func(u *loss.Publisher) bool { return u.Settled(now) }, now)
	}
	a.foldTopics()
}

// LatchingOf returns the latching connections with messages in a chunk, nil if there are none.
func (a *Accounts) LatchingOf(c *chunk.Sealed) (all map[rosbag.ConnID]*latch.Source) {
	for _, n := range c.Counts {
		if of := a.connections.Of(n.Conn); of != nil && of.Latching() {
			if all == nil {
				all = map[rosbag.ConnID]*latch.Source{}
			}
			all[n.Conn.ID] = of.Source()
		}
	}
	return all
}
