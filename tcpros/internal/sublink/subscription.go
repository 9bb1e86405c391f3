// Package sublink is the receiving side of a topic: a subscription, its links to publishers over
// TCPROS and UDPROS, and the connector that decides when each of them tries again. Connector.mu
// guards the schedule of all links of a node; counters of a link are atomic. A link calls its
// sink from one goroutine. Package tcpros calls it; nothing else does.
package sublink

import (
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
	"github.com/gorosbag/gorosbag/tcpros/internal/linksink"
	"github.com/gorosbag/gorosbag/tcpros/internal/rosapi"
)

const (
	lingerChecks = 2      // checks without data before a link that the master no longer lists is closed
	orphanChecks = 5 * 60 // checks without a link before a publisher of an earlier master is given up
)

// Options describe a subscription; SubscribeOptions explains each field.
type Options struct {
	Type            string
	MD5Sum          string
	TCPNoDelay      bool
	UDP             bool
	MaxMessageBytes int
	Open            func(linksink.LinkInfo) (linksink.LinkSink, error)
	Refused         func(uri string, err error) // may be nil
}

// Subscription receives one topic from all its publishers.
type Subscription struct {
	connector *Connector
	opts      Options
	topic     string // resolved

	attempts sync.WaitGroup // goroutines of links
	sessions atomic.Int32   // links that are up, or that wait for the reply of their publisher
	up       atomic.Int32

	// Guarded by connector.mu.
	links  []*link
	closed bool // no attempt starts
}

// New returns a subscription to a topic. topic is the resolved name.
func New(c *Connector, topic string, o Options) *Subscription {
	return &Subscription{connector: c, opts: o, topic: topic}
}

// Stop ends all links; Wait waits for their goroutines.
func (s *Subscription) Stop() { s.connector.close(s) }

// Wait returns when the goroutines of all links have ended.
func (s *Subscription) Wait() { s.attempts.Wait() }

// Topic returns the resolved name.
func (s *Subscription) Topic() string { return s.topic }

// Publishers returns the number of links that are up.
func (s *Subscription) Publishers() int { return int(s.up.Load()) }

// Type returns the type and the md5sum that the subscription requests.
func (s *Subscription) Type() (typ, md5sum string) { return s.opts.Type, s.opts.MD5Sum }

// Row is the state of a link for the slave API.
type Row struct {
	ID        int
	URI       string // the publisher's slave API
	Transport string // TCPROS or UDPROS; empty unless the link is up
	Title     string // in the form that rosnode parses; empty unless the link is up
	Frames    uint64
	Bytes     uint64
	Up        bool
}

// Rows returns the state of each link for the slave API.
func (s *Subscription) Rows() []Row {
	links := s.allLinks()
	rows := make([]Row, len(links))
	for i, l := range links {
		rows[i] = Row{
			ID: l.id, URI: l.uri, Frames: l.stats.frames.Load(), Bytes: l.stats.bytes.Load(),
			Up: l.isUp.Load(),
		}
		if title := l.title.Load(); title != nil && rows[i].Up {
			rows[i].Transport, rows[i].Title = title.transport, title.text
		}
	}
	return rows
}

// logger returns the node's log with the topic. It is made at the first use: a node may have
// thousands of subscriptions that log nothing.
func (s *Subscription) logger() *zap.Logger {
	return s.connector.env.Log.With(zap.String("topic", s.topic))
}

func (s *Subscription) allLinks() []*link {
	s.connector.mu.Lock()
	defer s.connector.mu.Unlock()
	return slices.Clone(s.links)
}

// AllUp reports whether every link is up, including links that the master no longer lists.
// It ignores publishers that have no link because of an unusable URI.
func (s *Subscription) AllUp() bool {
	s.connector.mu.Lock()
	defer s.connector.mu.Unlock()
	for _, l := range s.links {
		if !l.isUp.Load() {
			return false
		}
	}
	return true
}

// SetPublishers updates the links from a list of the master.
func (s *Subscription) SetPublishers(p rosapi.Publishers) { s.connector.update(s, p) }

// removeLinkLocked removes a link.
func (s *Subscription) removeLinkLocked(l *link) {
	last := len(s.links) - 1
	s.links[l.sched.place] = s.links[last]
	s.links[l.sched.place].sched.place = l.sched.place
	s.links[last] = nil
	s.links = s.links[:last]
}

// newLink returns a link to a publisher, or nil if the URI is not usable.
func (s *Subscription) newLink(uri string) *link {
	hostport, err := endpoint.SplitURI(uri)
	if err != nil {
		s.logger().Warn("publisher advertises an unusable URI: set ROS_HOSTNAME or ROS_IP on its machine to a name or address that is known here", zap.String("uri", uri), zap.Error(err))
		return nil
	}
	l := &link{
		sub: s, uri: uri, hostport: hostport, id: s.connector.env.NextLink(),
		backoff: backoff{timing: &s.connector.env.Timing.Retry},
	}
	l.listed.Store(true)
	return l
}
